"""The house rules that a machine can check, over all files of the repository."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import GIT, REPOSITORY, Require
from packaging.requirements import Requirement

from vsperf.errors import ExitCode
from vsperf.record.flags import Flag
from vsperf.record.limit import Limit
from vsperf.record.run import Outcome

REFERENCE = REPOSITORY / "docs" / "reference"
LONGEST_MODULE = 400
MACHINE_PATHS = re.compile(r"(?<![\w.~-])/(?:work|root|home/\w+|opt|Users)/\w|/tmp/[s]cratch\b")
REGISTRIES = re.compile(r"\b(?:pypi|pythonhosted|npmjs|crates)\.(?:org|com|io)\b")
CODE_BLOCK = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
MAKE = re.compile(r"(?:^|[`$] ?|; ?|&& ?)make ([a-z][a-z-]*)", re.MULTILINE)

modules = sorted((REPOSITORY / "vsperf").rglob("*.py"))
pages = sorted([REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")])


def relative(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def tracked() -> list[Path]:
    """Return all files of the project: those that git knows, or would add."""
    argv = [*GIT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(argv, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return [path for name in done.stdout.split("\0") if (path := REPOSITORY / name).is_file()]


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in tracked():
        try:
            found.append((path, path.read_text()))
        except UnicodeDecodeError:
            continue  # a broken input on purpose
    return found


def load_tool(name: str) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(
        name.replace("-", "_"), str(REPOSITORY / "tools" / name)
    )
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module  # where its dataclasses look for their annotations
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("module", modules, ids=relative)
def test_a_module_is_short_and_says_what_it_owns(module: Path) -> None:
    text = module.read_text()
    assert len(text.splitlines()) <= LONGEST_MODULE
    assert ast.get_docstring(ast.parse(text)), "the module has no docstring"


def test_a_test_module_says_what_it_is_about() -> None:
    silent = [
        relative(path)
        for path in sorted((REPOSITORY / "tests").rglob("*.py"))
        if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_no_file_names_a_path_of_somebodys_machine(require: Require) -> None:
    require("checkout")
    found = [
        f"{relative(path)}:{number}: {line.strip()[:80]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if MACHINE_PATHS.search(line) or REGISTRIES.search(line)
    ]
    assert found == []


def test_every_shell_script_is_checked(require: Require) -> None:
    require("checkout")
    makefile = (REPOSITORY / "Makefile").read_text()
    listed = re.search(r"^scripts := (.*)$", makefile, re.MULTILINE)
    assert listed
    scripts = {
        relative(path) for path, text in texts() if re.match(r"#!.*\b(?:sh|bash|dash)\b", text)
    }
    assert scripts == set(listed[1].split())


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_every_direct_requirement_is_pinned_and_has_a_reason(name: str) -> None:
    pinned = (REPOSITORY / f"{name}.txt").read_text()
    blocks = re.findall(
        r"^(\w[\w.-]*)==\S+((?: \\\n +--hash=sha256:\w{64})*)", pinned, re.MULTILINE
    )
    pins = {package.lower() for package, _ in blocks}
    assert [package for package, hashes in blocks if not hashes] == []
    lines = (REPOSITORY / f"{name}.in").read_text().splitlines()
    wanted = [number for number, line in enumerate(lines) if re.match(r"\w", line)]
    assert {Requirement(lines[number]).name.lower() for number in wanted} <= pins
    assert [lines[n] for n in wanted if not lines[n - 1].startswith("# ")] == []


def test_no_test_uses_a_group_that_nobody_keeps() -> None:
    """pytest-xdist forgets its groups with this pytest; the mark `machine` is kept by a lock."""
    mark = "xdist_" + "group"
    assert [relative(path) for path, text in texts() if mark in text] == []


def slug(heading: str) -> str:
    """Return the anchor of a heading, as renderers of Markdown make it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = CODE_BLOCK.sub("", page.read_text())
    return {slug(found) for found in re.findall(r"^#+ +(.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", pages, ids=relative)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(CODE_BLOCK.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue  # another site; tests need no network
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", pages, ids=relative)
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(MAKE.findall(page.read_text())) <= targets


def test_the_readme_opens_with_the_two_commands() -> None:
    assert MAKE.findall((REPOSITORY / "README.md").read_text())[:2] == ["run", "test"]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("flags.md", [f"`{flag.value}`" for flag in Flag]),
        ("flags.md", [f"`{limit.value}`" for limit in Limit]),
        ("exit-codes.md", [f"| {int(code)} |" for code in ExitCode]),
        ("exit-codes.md", [f"| {outcome.value} |" for outcome in Outcome]),
    ],
    ids=["flags", "limits", "exit codes", "outcomes"],
)
def test_the_reference_explains_every_word_of_a_result(page: str, words: list[str]) -> None:
    text = (REFERENCE / page).read_text()
    assert [word for word in words if word not in text] == []


def test_the_generated_pages_are_current() -> None:
    pages_now: dict[str, str] = load_tool("make-reference").pages()
    outdated = [name for name, text in pages_now.items() if (REFERENCE / name).read_text() != text]
    assert outdated == [], "run `make docs`"


def test_no_test_is_skipped_past_the_parts() -> None:
    """Continuous integration fails for a part that is missing, but sees no skip of another kind."""
    skips = re.compile(r"pytest\.skip\(|mark\.skip|importorskip")
    found = [
        path.name for path in (REPOSITORY / "tests").rglob("*.py") if skips.search(path.read_text())
    ]
    assert sorted(found) == ["conftest.py", "test_repository.py"]
