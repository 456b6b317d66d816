"""The pages that tell people what to type are tried by typing it.

In a `console` block a line that begins with `$ ` is run as it stands, and the lines below it are
what it prints: `…` stands for anything within a line, and a line with nothing else for any lines.
Each command must succeed, unless the next one is `echo $?`. A `yaml`, `toml` or `python` block
whose first line is a comment with a path is written to that file. All of a page happens in one
folder, in order. A page that measures a real switch is tried where there is one, alone on the
machine.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from conftest import REPOSITORY, Require

DOCS = REPOSITORY / "docs"
TUTORIAL = DOCS / "tutorial.md"
SERVICE = DOCS / "tutorial-service.md"
ADD_YOUR_OWN = DOCS / "how-to" / "add-your-own.md"
ADDITIONS = (ADD_YOUR_OWN, *sorted(set((DOCS / "how-to").glob("add-*.md")) - {ADD_YOUR_OWN}))
"""Together they build one package."""
HOW_TO = sorted(set((DOCS / "how-to").glob("*.md")) - set(ADDITIONS))
PAGES = (DOCS / "tutorial-simulated.md", *HOW_TO)
EVERY_DAY = PAGES[0]
"""The other pages are followed in test-all."""
WRITTEN = ("yaml", "toml", "python")
NOT_A_READERS = re.compile(
    r"^(?:! hides what is built in: |of vsperf-\d+-[0-9a-f]{6}, whose folder is elsewhere, ).*\n",
    re.MULTILINE,
)
"""Lines that no reader sees: he has no testcase of his own, and nobody tests beside him and has
killed a run."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a page and the output that the page shows."""

    command: str
    shown: tuple[str, ...]
    may_fail: bool


@dataclass(frozen=True, slots=True)
class File:
    """A file that the page asks its reader to write."""

    path: str
    text: str


def things_to_do(page: str) -> Iterator[Step | File]:
    for kind, body in BLOCK.findall(page):
        if kind == "console":
            yield from steps(body)
        elif kind in WRITTEN and (found := re.match(r"# (\S+\.(?:ya?ml|toml|py))\n", body)):
            yield File(found[1], body)


def steps(body: str) -> Iterator[Step]:
    lines = body.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        may_fail = end < len(lines) and lines[end] == "$ echo $?"
        yield Step(lines[start][2:], tuple(lines[start + 1 : end]), may_fail)


def pattern(shown: tuple[str, ...]) -> str:
    """Return a regular expression of what a page shows; how much space there is does not matter."""
    parts = []
    for line in shown:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
            continue
        words = [re.escape(word).replace("…", ".*") for word in line.split()]
        parts.append(r"[ ]*" + r"[ ]+".join(words) + r"[ ]*\n")
    return "".join(parts)


def run(
    command: str, folder: Path, code: int, patience_s: float = 120
) -> subprocess.CompletedProcess[str]:
    keep = {"LANG", "LC_ALL", "TMPDIR", "PIP_TARGET", "PYTHONPATH"}
    environ = {key: value for key, value in os.environ.items() if key in keep}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ |= {"PATH": programs, "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    environ |= {"VSPERF_RUNTIME": os.environ["VSPERF_RUNTIME"], "VSPERF_ANYWAY": "1"}
    return subprocess.run(
        ["bash", "-c", f"(exit {code})\n{command}"],
        cwd=folder,
        env=environ,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=patience_s,
        check=False,
    )


@pytest.fixture(autouse=True)
def _own_deployments(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let `vsperf clean` of a page find what the page has left, and nothing of anybody else."""
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        monkeypatch.setenv("VSPERF_RUNTIME", folder)
        yield


def write(file: File, folder: Path) -> None:
    target = folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(file.text)


def follow(page: Path, folder: Path) -> None:
    """Do all that a page says, and compare what it shows."""
    code = 0
    for thing in things_to_do(page.read_text()):
        if isinstance(thing, File):
            write(thing, folder)
            continue
        done = run(thing.command, folder, code)
        code = done.returncode
        assert thing.may_fail or code == 0, f"$ {thing.command}\n{done.stdout}"
        if thing.shown:
            fits = re.fullmatch(pattern(thing.shown), NOT_A_READERS.sub("", done.stdout))
            assert fits, f"$ {thing.command}\nprints\n{done.stdout}\nnot\n" + "\n".join(thing.shown)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=page.stem,
            marks=pytest.mark.everyday("the tutorial that needs no switch")
            if page == EVERY_DAY
            else (),
        )
        for page in PAGES
    ],
)
def test_what_a_page_tells_to_type_does_what_it_says(page: Path, tmp_path: Path) -> None:
    follow(page, tmp_path)


@pytest.mark.everyday("all that a reader types first, on the real switch")
@pytest.mark.machine
@pytest.mark.needs("ovs-dpdk", "tgen", "dpdk-testpmd", "hugepages")
def test_the_tutorial_measures_the_real_switch(tmp_path: Path) -> None:
    bear_a_busy_machine(tmp_path)
    try:
        follow(TUTORIAL, tmp_path)
    finally:
        run("vsperf clean", tmp_path, 0)


@pytest.mark.thorough
@pytest.mark.machine
def test_the_tutorial_of_services_asks_what_applications_get(
    require: Require, tmp_path: Path
) -> None:
    for part in ("ovs-dpdk", "tgen", "hugepages", "bridges", "ovs"):
        require(part)
    for program in ("iperf3", "wrk", "h2load", "nginx", "irtt"):
        require(program)
    bear_a_busy_machine(tmp_path)
    try:
        follow(SERVICE, tmp_path)
    finally:
        run("vsperf clean", tmp_path, 0)


@pytest.fixture(scope="module")
def added(require: Require, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all was done that the pages on additions say: a package of its own."""
    for part in ("setuptools", "pip"):
        require(part)
    folder = tmp_path_factory.mktemp("added")
    for page in ADDITIONS:
        for thing in things_to_do(page.read_text()):
            if isinstance(thing, File):
                write(thing, folder)
    # Beside vsperf, but not into the environment of these tests.
    packages = str(folder / "packages")
    with (
        tempfile.TemporaryDirectory(prefix="page-") as runtime,
        pytest.MonkeyPatch.context() as own,
    ):
        own.setenv("PIP_TARGET", packages)
        own.setenv("PYTHONPATH", packages)
        own.setenv("VSPERF_RUNTIME", runtime)
        for page in ADDITIONS:
            follow(page, folder)
    return folder


@pytest.mark.everyday("all that a package outside of vsperf can bring, from installing to a report")
def test_the_pages_on_additions_build_a_package_that_works(added: Path) -> None:
    report = (added / "report.html").read_text()
    assert "Loss of each trial" in report
    assert "kept load" in report


def test_the_package_that_the_pages_build_keeps_the_contracts(added: Path) -> None:
    tests = REPOSITORY / "tests"
    paths = os.pathsep.join(map(str, (added / "packages", tests, tests / "contract")))
    held = run(
        f"PYTHONPATH={shlex.quote(paths)} python -m pytest -q -p assertions -p no:cacheprovider "
        "-p no:warnings vsperf-wires",
        added,
        0,
        patience_s=300,
    )
    assert held.returncode == 0, held.stdout


TRIALS = {
    "retries": 0,
    "offered_tolerance": "100%",
    "stretch_tolerance": "100%",
    "unexplained_tolerance": "100%",
}
LASTING = "400ms"
"""Of a trial: by as much may be late who sends, and for less a machine is away."""
SEARCH = {
    "width": "25%",
    **dict.fromkeys(("initial_duration", "final_duration", "duration_sum"), LASTING),
}
"""Coarser than a reader's: nobody looks at the number."""


def bear_a_busy_machine(home: Path) -> None:
    """Have results whatever frames other programs cost, by a testcase of the user's own.

    A reader's machine is quiet. On one that others use, a generator comes late or not at all, and
    vsperf rightly calls the result invalid; what the page shows is how a result looks.
    """
    testcase = yaml.safe_load((REPOSITORY / "testcases/phy2phy/phy2phy_smoke.yaml").read_text())
    testcase["trial"] |= TRIALS
    testcase["search"]["goals"]["ndr"]["loss_ratio"] = "99.9%"
    testcase["search"] |= SEARCH
    testcase["latency"]["duration"] = LASTING
    own = home / ".config" / "vsperf" / "testcases"
    own.mkdir(parents=True)
    (own / "phy2phy_smoke.yaml").write_text(yaml.safe_dump(testcase))


@pytest.mark.everyday
@pytest.mark.parametrize("page", [TUTORIAL, PAGES[0]], ids=lambda page: page.stem)
def test_the_tutorials_have_commands_to_try(page: Path) -> None:
    assert sum(isinstance(thing, Step) for thing in things_to_do(page.read_text())) >= 10


@pytest.mark.everyday
def test_shown_output_is_compared_and_dots_stand_for_the_rest() -> None:
    fits = re.compile(pattern(("run …-k7f3  done", "…", "end")))
    assert fits.fullmatch("run 2026-k7f3 done\nsome\nmore\nend\n")
    assert fits.fullmatch("run x-k7f3     done  \nend\n")
    assert not fits.fullmatch("run x-k7f4 done\nend\n")
    assert not fits.fullmatch("run x-k7f3 done\nnot the end\n")
