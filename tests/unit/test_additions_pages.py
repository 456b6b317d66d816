"""The pages on additions show the package of `tests/outside`, and all of it.

It imports no name of vsperf that is not meant for packages outside, and nor does that for chassis.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from all_wrong import CHASSIS, none_wrong
from conftest import REPOSITORY
from reread import of_runs
from test_attacks import load_tool

from vsperf.errors import ComponentError
from vsperf.public import PUBLIC
from vsperf.records.files.folders import RECORDS

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS / "outside"
PAGES = sorted((TESTS.parent / "docs" / "how-to").glob("add-*.md"))
BLOCK = re.compile(r"^```(?:yaml|toml|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\S+\.(?:ya?ml|toml|py))\n")
ENTRIES = "[project.entry-points."


def blocks() -> Iterator[tuple[str, str]]:
    """Yield the page of each block, and what stands in it."""
    for page in PAGES:
        for body in BLOCK.findall(page.read_text()):
            yield page.name, body


def files() -> dict[str, str]:
    """Return what the package consists of, by the path in it."""
    found = (path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".toml", ".yaml"))
    return {str(path.relative_to(PACKAGE)): path.read_text() for path in found}


def test_each_block_is_a_file_of_the_package_as_it_stands() -> None:
    package = files()
    description = package["vsperf-wires/pyproject.toml"]
    none_wrong(_wrong(package, description))


def _wrong(package: dict[str, str], description: str) -> Iterator[str]:
    for page, body in blocks():
        named = NAMED.match(body)
        if named is None:
            if not (body.startswith(ENTRIES) and body in description):
                yield f"{page}: a block that is not of the package: {body.splitlines()[0]}"
        elif package.get(named[1]) != body:
            yield f"{page}: {named[1]} is not as it stands in tests/outside"


def test_all_of_the_package_is_on_the_pages_and_each_file_once() -> None:
    shown = Counter(named[1] for _, body in blocks() if (named := NAMED.match(body)))
    assert shown == Counter(dict.fromkeys(files(), 1))


def test_each_kind_of_what_it_brings_has_a_page() -> None:
    groups = set(re.findall(r'"(vsperf\.\w+)"', files()["vsperf-wires/pyproject.toml"]))
    told = [body for _, body in blocks() if body.startswith(ENTRIES)]
    assert groups == {group for body in told for group in re.findall(r'"(vsperf\.\w+)"', body)}
    assert len(told) == len(groups)


def names_of_vsperf(source: str) -> Iterator[str]:
    """Yield what a file imports of vsperf: names with their modules, or whole modules."""
    for part in ast.walk(ast.parse(source)):
        if isinstance(part, ast.ImportFrom) and (part.module or "").split(".")[0] == "vsperf":
            yield from (f"{part.module}.{one.name}" for one in part.names)
        elif isinstance(part, ast.Import):
            yield from (one.name for one in part.names if one.name.split(".")[0] == "vsperf")


def test_packages_outside_import_no_name_of_vsperf_but_those_for_them() -> None:
    public = {
        f"{module}.{name}" for part in PUBLIC.values() for module in part for name in part[module]
    }
    sources = {path: text for path, text in files().items() if path.endswith(".py")}
    sources |= {str(path): path.read_text() for path in CHASSIS.rglob("*.py")}
    assert len(sources) > 20
    none_wrong(
        f"{path}: {name}"
        for path, source in sources.items()
        for name in names_of_vsperf(source)
        if name not in public
    )


def test_each_name_for_packages_outside_is_there() -> None:
    none_wrong(
        f"{module}.{name}"
        for part in PUBLIC.values()
        for module, names in part.items()
        for name in names
        if not hasattr(import_module(module), name)
    )


def test_pages_on_additions_point_at_modules_that_hold_such_names() -> None:
    """What a page names as a file of vsperf is where these names are, or is one of the drivers."""
    modules = {f"{module.replace('.', '/')}.py" for part in PUBLIC.values() for module in part}
    none_wrong(
        f"{page.name}: {named}"
        for page in PAGES
        for named in set(re.findall(r"\bvsperf/[\w/]+\.py", page.read_text()))
        if named not in modules
    )


# Samples of the documentation: each the best of several runs, and right by its own trials.

RUN = REPOSITORY / "tests" / "golden" / "records" / "2026-11-20-phy2phy_tput-gxq9"


@pytest.fixture(name="tool")
def fixture_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, which writes its pages here."""
    tool = load_tool("make-samples")
    monkeypatch.setattr(tool, "REPOSITORY", tmp_path)
    monkeypatch.setattr(tool, "PAGES", tmp_path)
    monkeypatch.setattr(tool, "BENCH", REPOSITORY / "tools" / "bench")
    return tool


def test_the_best_run_is_the_one_against_which_least_is_to_be_said(tool: ModuleType) -> None:
    """First of all that it has answers, then that nothing is suspect, then that it was clean."""
    against = [
        tool.Against(0, 1, Fraction(1, 10)),
        tool.Against(0, 1, Fraction(1, 20)),
        tool.Against(0, 2, Fraction(0)),
        tool.Against(1, 0, Fraction(0)),
    ]
    runs = [tool.Made(Path(str(number)), 7, one) for number, one in enumerate(against)]
    assert tool.choose(runs) is runs[1]
    assert tool.choose([runs[3], runs[2]]) is runs[2]


def test_a_sample_is_kept_with_its_records_and_says_that_it_is_the_best_of_its_runs(
    tool: ModuleType, tmp_path: Path
) -> None:
    """What lies in the checkout, such as a program built there, is said to lie elsewhere."""
    here, records = tmp_path / "run", (RUN / RECORDS).read_text()
    here.mkdir()
    (here / RECORDS).write_text(records.replace('"example"', f'"{tmp_path}/build"'))
    made = tool.weighed(here)
    tool.keep("p2p", made)
    kept = tmp_path / "p2p.jsonl.gz"
    with tool.unpacked(kept) as folder:
        assert folder.name == RUN.name
        told = (folder / RECORDS).read_text()
        assert told == records.replace('"example"', '"/usr/src/vsperf/build"')
    tool.write(kept)
    assert RUN.name in (tmp_path / "p2p.html").read_text()
    sample, other = tool.SAMPLES[0], tool.weighed(RUN)
    first, second = tool.lines([(sample, [other, made], made)])
    assert first.startswith("| p2p |")
    assert second.startswith("| [p2p](p2p.html) |")
    assert second.endswith(" shown, the best of 2 |\n")


def test_a_run_of_which_an_answer_is_not_what_its_trials_come_to_is_no_sample(
    tool: ModuleType, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong"
    shutil.copytree(RUN, wrong)
    lines = [json.loads(line) for line in (RUN / RECORDS).read_text().splitlines()]
    goal = next(one for one in lines if one["type"] == "case")["result"]["goals"][0]
    goal["lower_fps"] -= 1
    (wrong / RECORDS).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(ComponentError) as raised:
        tool.keep("p2p", tool.weighed(wrong))
    assert "lower bound printed" in str(raised.value.problems[0].why)
    assert not (tmp_path / "p2p.jsonl.gz").exists()


def test_each_sample_whose_records_are_kept_is_right_and_is_the_page_of_them(
    tool: ModuleType,
) -> None:
    for kept in sorted((REPOSITORY / "docs" / "samples").glob("*.jsonl.gz")):
        page = kept.with_name(f"{kept.name.partition('.')[0]}.html").read_text()
        with tool.unpacked(kept) as folder:
            none_wrong(
                f"{kept.name}, {name}: {text}"
                for _, name, said in of_runs([folder])
                for text in said
            )
            assert folder.name in page


# docs/security.md: each threat names its tests, and they are there.

THREATS = Path(__file__).resolve().parents[1]
PAGE = THREATS.parent / "docs" / "security.md"
NAMED_TESTS = re.compile(r"`(test_\w+\.py)::(test_\w+)`")


def threats() -> list[list[str]]:
    """Return the rows of the table of threats, as cells."""
    table = PAGE.read_text().partition("| Threat |")[2].partition("\n\n")[0]
    return [line.strip("|").split("|") for line in table.splitlines()[2:]]


def test_every_threat_has_something_against_it_and_a_test() -> None:
    assert len(threats()) > 20
    none_wrong(row[0] for row in threats() if len(row) != 3 or not NAMED_TESTS.search(row[2]))


def test_every_test_that_is_named_is_there() -> None:
    known = {
        (path.name, name)
        for path in THREATS.rglob("test_*.py")
        for name in re.findall(r"^(?: {4})?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    named = {found for row in threats() for found in NAMED_TESTS.findall(row[2])}
    none_wrong(f"{file}::{name}" for file, name in sorted(named - known))
