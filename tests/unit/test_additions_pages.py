"""The pages on additions show the package of `tests/outside`, and all of it.

It imports no name of vsperf that is not meant for packages outside, and nor does that for chassis.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from all_wrong import CHASSIS, none_wrong

from vsperf.public import PUBLIC

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
