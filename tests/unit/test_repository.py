"""The house rules that a machine can check, over all files of the repository."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from all_wrong import modules, none_wrong, relative
from conftest import REPOSITORY
from packaging.requirements import Requirement
from tiers import GIT

from vsperf.errors import ExitCode
from vsperf.records.flags import Flag
from vsperf.records.result import Limit
from vsperf.records.run import Outcome

REFERENCE = REPOSITORY / "docs" / "reference"
LONGEST_MODULE = 600
WORDS_IN_TEN_MINUTES = 2_500
MACHINE_PATHS = re.compile(r"(?<![\w.~-])/(?:work|root|home/\w+|opt|Users)/\w|/tmp/[s]cratch\b")
REGISTRIES = re.compile(r"\b(?:pypi|pythonhosted|npmjs|crates)\.(?:org|com|io)\b")
CODE_BLOCK = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
PIN = re.compile(
    r"^(?P<package>\w[\w.-]*)==\S+(?P<hashes>(?: \\\n +--hash=sha256:\w{64})*)", re.MULTILINE
)
TESTBED_FILE = re.compile(
    r"^```yaml\n# (?:[\w-]+/)*([\w-]+)\.yaml\ntestbed:\n  name: (\S+)$", re.MULTILINE
)
MAKE = re.compile(r"(?:^|[`$] ?|; ?|&& ?)make ([a-z][a-z-]*)", re.MULTILINE)

pages = sorted([REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")])


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


def line_of(text: str, found: re.Match[str]) -> int:
    # The first group is what was looked for; what leads to it may begin on the line before.
    return text.count("\n", 0, found.start(1)) + 1


def test_a_module_is_short() -> None:
    long = [(path, len(path.read_text().splitlines())) for path in modules()]
    none_wrong(
        f"{relative(path)}:{LONGEST_MODULE + 1}: of {lines} lines"
        for path, lines in long
        if lines > LONGEST_MODULE
    )


def test_a_module_says_what_it_owns_and_a_test_module_what_it_is_about() -> None:
    none_wrong(
        f"{relative(path)}:1: the module has no docstring"
        for path in [*modules(), *sorted((REPOSITORY / "tests").rglob("*.py"))]
        if not ast.get_docstring(ast.parse(path.read_text(), path))
    )


@pytest.mark.needs("checkout")
def test_a_name_of_a_module_means_one_thing() -> None:
    """Given a second value below, it would have that in all that stands above, too."""
    for path in modules():
        tops = [one for one in ast.parse(path.read_text()).body if isinstance(one, ast.Assign)]
        names = Counter(name for top in tops for target in top.targets for name in _names(target))
        none_wrong(f"{relative(path)}: {name}" for name, count in names.items() if count > 1)


def _names(target: ast.expr) -> Iterator[str]:
    return (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    none_wrong(
        f"{relative(path)}:{number}: {line.strip()[:80]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if MACHINE_PATHS.search(line) or REGISTRIES.search(line)
    )


@pytest.mark.needs("checkout")
def test_every_shell_script_is_checked() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    listed = re.search(r"^scripts := (.*)$", makefile, re.MULTILINE)
    assert listed
    scripts = {
        relative(path) for path, text in texts() if re.match(r"#!.*\b(?:sh|bash|dash)\b", text)
    }
    assert scripts == set(listed[1].split())


def requirements_wrong(name: str) -> Iterator[str]:
    """Yield each requirement that is not pinned, has no hash, or no reason above it."""
    pinned = (REPOSITORY / f"{name}.txt").read_text()
    pins = set()
    for block in PIN.finditer(pinned):
        pins.add(block["package"].lower())
        if not block["hashes"]:
            yield f"{name}.txt:{line_of(pinned, block)}: {block['package']} has no hash"
    lines = (REPOSITORY / f"{name}.in").read_text().splitlines()
    for number, line in enumerate(lines, start=1):
        if not re.match(r"\w", line):
            continue
        if Requirement(line).name.lower() not in pins:
            yield f"{name}.in:{number}: {line} is not pinned"
        if not lines[number - 2].startswith("# "):
            yield f"{name}.in:{number}: {line} has no reason"


def test_every_direct_requirement_is_pinned_and_has_a_reason() -> None:
    both = ("requirements", "requirements-dev")
    none_wrong(one for name in both for one in requirements_wrong(name))


def test_no_test_uses_a_group_that_nobody_keeps() -> None:
    """pytest-xdist forgets its groups with this pytest; the mark `machine` is kept by a lock."""
    mark = "xdist_" + "group"
    none_wrong(
        f"{relative(path)}:{number}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if mark in line
    )


def slug(heading: str) -> str:
    """Return the anchor of a heading, as renderers of Markdown make it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = CODE_BLOCK.sub("", page.read_text())
    return {slug(found) for found in re.findall(r"^#+ +(.*)$", text, re.MULTILINE)}


def broken_links(page: Path) -> Iterator[str]:
    """Yield each link of a page that leads nowhere, with its place."""
    # Lines of code have no links, but count.
    text = CODE_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page.read_text())
    for link in LINK.finditer(text):
        if re.match(r"[a-z]+:", link[1]):
            continue  # another site; tests need no network
        name, _, anchor = link[1].partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield f"{relative(page)}:{line_of(text, link)}: {link[1]}"


def test_every_link_of_a_page_leads_somewhere() -> None:
    assert len(pages) > 1
    none_wrong(one for page in pages for one in broken_links(page))


def test_every_page_is_reached_from_the_index() -> None:
    """Nobody reads a page that no other leads to; methods and decisions have their own index."""
    folders = ("", "methods", "decisions")
    indices = [REPOSITORY / "docs" / folder / "README.md" for folder in folders]
    reached = {*indices, REPOSITORY / "README.md"}
    for index in indices:
        links = LINK.findall(index.read_text())
        reached |= {(index.parent / link.partition("#")[0]).resolve() for link in links}
    none_wrong(f"{relative(page)}: no index leads to it" for page in pages if page not in reached)


def test_the_design_is_read_in_ten_minutes() -> None:
    text = (REPOSITORY / "docs" / "design.md").read_text()
    words = [word for word in text.split() if re.search(r"\w", word)]
    assert len(words) <= WORDS_IN_TEN_MINUTES, "what belongs to one module stands there, else a why"


def test_every_module_that_design_and_decisions_name_is_there() -> None:
    ours = [*modules(), *(REPOSITORY / "tools").rglob("*.py")]
    none_wrong(
        f"{relative(page)}: {named}"
        for page in pages
        if page.name == "design.md" or page.parent.name == "decisions"
        for named in re.findall(r"`([\w/]+\.py)`", page.read_text())
        if not any(path.match(named) for path in ours)
    )


def test_every_make_target_that_a_page_names_exists() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = [
        (page, text, found)
        for page in pages
        for text in (page.read_text(),)
        for found in MAKE.finditer(text)
    ]
    assert named
    none_wrong(
        f"{relative(page)}:{line_of(text, found)}: make {found[1]}"
        for page, text, found in named
        if found[1] not in targets
    )


def test_the_readme_opens_with_the_two_commands() -> None:
    assert MAKE.findall((REPOSITORY / "README.md").read_text())[:2] == ["run", "test"]


def test_the_reference_explains_every_word_of_a_result() -> None:
    words = {
        "flags.md": [f"`{one.value}`" for one in (*Flag, *Limit)],
        "exit-codes.md": [
            *(f"| {int(code)} |" for code in ExitCode),
            *(f"| {outcome.value} |" for outcome in Outcome),
        ],
    }
    texts_of = {page: (REFERENCE / page).read_text() for page in words}
    none_wrong(
        f"docs/reference/{page}: nothing on {word}"
        for page, wanted in words.items()
        for word in wanted
        if word not in texts_of[page]
    )


def test_a_testbed_on_a_page_is_called_as_its_file_is() -> None:
    found = [(page, *row) for page in pages for row in TESTBED_FILE.findall(page.read_text())]
    assert found
    none_wrong(
        f"{relative(page)}: {file}.yaml calls itself {name}"
        for page, file, name in found
        if file != name
    )


def test_the_generated_pages_are_current() -> None:
    """As `make docs` writes them, in a process in which nothing else has been."""
    script = str(REPOSITORY / "tools" / "make-reference")
    command = (sys.executable, "-I", script, "--check")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run `make docs`:\n{done.stdout}{done.stderr}"


def test_the_page_of_settings_says_what_each_means() -> None:
    """A `kind` is explained by the settings that it brings."""
    page = (REFERENCE / "settings.md").read_text()
    rows = re.findall(r"^\| `([\w.\[\]-]+)`[^|]*\|.*\| ([^|]*) \|$", page, re.MULTILINE)
    assert ("vnf.each.NAME", True) in [(path, bool(said)) for path, said in rows]
    none_wrong(path for path, said in rows if not said and not path.endswith(".kind"))


def test_no_test_is_skipped_past_the_parts() -> None:
    """Continuous integration fails for a part that is missing, but sees no skip of another kind."""
    skips = re.compile(r"pytest\.skip\(|mark\.skip|importorskip")
    found = [
        path.name for path in (REPOSITORY / "tests").rglob("*.py") if skips.search(path.read_text())
    ]
    assert sorted(found) == ["conftest.py", "test_repository.py"]


def test_nothing_is_installed_by_a_name_of_ours_that_somebody_else_may_own() -> None:
    """`pip install vsperf` fetches whatever is called so; a checkout or a wheel is ours."""
    asked = re.compile(
        r"pip install [^\n`#]*?(?<![\w./-])(vsperf(?:-chassis)?(?:\[\w+\])?)(?!'s)(?=['\"\s`]|$)"
    )
    ours = {REPOSITORY / name for name in ("README.md", "docs", "vsperf", "tools/chassis")}
    none_wrong(
        f"{relative(path)}:{line_of(text, found)}: {found[0]}"
        for path, text in texts()
        if ours & {path, *path.parents}
        for found in asked.finditer(text)
    )
