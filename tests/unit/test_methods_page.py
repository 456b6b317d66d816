"""The page on methods: it knows all of them, and its example is one."""

from __future__ import annotations

import re
from pathlib import Path

from all_methods import METHODS
from all_wrong import none_wrong, relative
from bench_models import FluidBench
from search_models import case_of

from vsperf.methods.base import Method

PAGES = Path(__file__).parents[2] / "docs" / "methods"
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def test_every_method_has_a_row_that_leads_to_its_page() -> None:
    rows = re.findall(r"^\| \[(.*?)\]\((.*?)\)", (PAGES / "README.md").read_text(), re.MULTILINE)
    named = {name.strip("`") for names, _ in rows for name in names.split(", ")}

    assert named == set(METHODS)
    none_wrong(
        f"docs/methods/README.md: {page}" for _, page in rows if not (PAGES / page).is_file()
    )


def test_every_page_says_how_long_it_takes_and_what_it_cannot_tell() -> None:
    texts = {page: page.read_text() for page in sorted(PAGES.glob("*.md"))}
    assert len(texts) > 1
    none_wrong(
        f"{relative(page)}: nothing begins with {heading}"
        for page, text in texts.items()
        if page.name != "README.md"
        for heading in ("**What it cannot tell.**", "**Time.**", "**On a virtual machine")
        if heading not in text
    )


def test_the_method_of_the_example_works() -> None:
    (code,) = CODE.findall((PAGES / "README.md").read_text())
    found: dict[str, object] = {"__name__": "example"}
    exec(compile(code, "README.md", "exec", dont_inherit=True), found)
    kind = found["TopLoad"]
    assert isinstance(kind, type) and issubclass(kind, Method)
    settings = {"kind": "top", "min_load": "1fps", "max_load": "50%", "duration": "1s"}
    method = kind.model_validate(settings)

    result = method.run(FluidBench(1_000_000))

    assert result.figures[0].text == "1.000 Mfps"
    assert result.figures[0].at == "the line rate"
    assert method.compliance(case_of("mlr"), (64,), result) == ()
