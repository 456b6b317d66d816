"""Every broken input is told what is wrong, where, and how to mend it; nothing ends in a traceback.

`tests/golden/broken` holds the inputs, each with what it is told in a file `….expected` beside it.
`testcases/` are run as they are; `requests/` are arguments of a run of the testcase `fine`.
"""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

import pytest
from all_wrong import hold_each, relative
from config_world import DRIVERS, MINIMAL, library, loaded, problems, shown, write

from vsperf.errors import SpecError
from vsperf.spec.loader import Request, load

BROKEN = Path(__file__).parents[1] / "golden" / "broken"
TESTCASES = sorted(path for path in BROKEN.glob("testcases/*.yaml"))
REQUESTS = sorted(BROKEN.glob("requests/*.args"))
JARGON = ("Input should", "pydantic", "Traceback", "value_error", "NoneType", " dict", "http")


def request_of(arguments: str) -> Request:
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset")
    parser.add_argument("--testbed", nargs="?", default="sim")
    parser.add_argument("--conf", type=Path, action="append", default=[])
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--tag", action="append", default=[])
    parser.add_argument("--repeat", type=int, default=1)
    words = shlex.split(arguments)
    names = tuple(words[1:]) if words[0] == "NAME" else ("./fine.yaml",)
    given = parser.parse_args([] if words[0] == "NAME" else words)
    return Request(
        names, tuple(given.tag), given.testbed, given.preset,
        tuple(given.conf), tuple(given.set), given.repeat,
    )  # fmt: skip


def told(path: Path) -> str:
    if path.suffix == ".args":
        request = request_of(path.read_text())
    else:
        request = Request((f"./testcases/{path.name}",), testbed="sim")
    return "\n".join(map(shown, problems(library(BROKEN, BROKEN), request))) + "\n"


def test_there_are_enough_broken_inputs() -> None:
    assert len(TESTCASES) + len(REQUESTS) >= 60


def test_a_broken_input_is_told_exactly_what_is_wrong() -> None:
    def check(path: Path) -> None:
        message = told(path)
        assert message == path.with_suffix(".expected").read_text()
        assert not [word for word in JARGON if word in message]

    hold_each([*TESTCASES, *REQUESTS], check, relative)


def test_the_testcase_of_the_broken_requests_is_fine_itself() -> None:
    assert not problems(library(BROKEN, BROKEN), Request(("./fine.yaml",), testbed="sim"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ten megabytes of lists", "[" * 10_000_000),
        ("ten megabytes of mappings", "{a: " * 2_500_000),
        ("as many lists as a file may hold", "[" * 999_999),
        ("as many keys as a file may hold", "".join(f"k{n}: \n" for n in range(120_000))),
        ("blocks nested line by line", "\n".join(" " * n + f"k{n}:" for n in range(1200))),
        ("one endless word", "a" * 999_999),
        ("closing brackets", "]" * 999_999),
        ("question marks", "? " * 499_999),
        ("dashes", "- " * 499_999),
        ("quotes", '"' * 999_999),
        ("unknown keys", "name: mine\n" + "".join(f"key{n}: 1\n" for n in range(4_000))),
    ],
)
def test_a_huge_input_is_refused_at_once(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path, {"mine.yaml": text})
    found = problems(library(tmp_path), Request(("./mine.yaml",), testbed="sim"))
    assert found
    assert len(found) < 100


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").mkdir()
    found = problems(library(tmp_path), Request(("./mine.yaml",), testbed="sim"))
    assert [shown(problem) for problem in found] == [
        "mine.yaml: this is a folder, not a file\n  fix: name a file inside it"
    ]


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mine.yaml")
    found = problems(library(tmp_path), Request(("./mine.yaml",), testbed="sim"))
    assert [problem.what for problem in found] == ["this is a device or a pipe, not a file"]


def test_a_file_that_the_system_does_not_let_read_is_named_with_the_reason(tmp_path: Path) -> None:
    # Unlike a file without permission, this one cannot be read by root either.
    (tmp_path / "mine.yaml").symlink_to("/proc/self/mem")
    found = problems(library(tmp_path), Request(("./mine.yaml",), testbed="sim"))
    assert [(problem.what, problem.why) for problem in found] == [
        ("the file cannot be read", "Input/output error")
    ]


def test_a_loop_of_links_is_an_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").symlink_to(tmp_path / "mine.yaml")
    found = problems(library(tmp_path), Request(("./mine.yaml",), testbed="sim"))
    assert [problem.what for problem in found] == ["the file cannot be read"]


def test_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "conf/presets/mine.yaml": "preset: {name: mine, extends: quick}\ntrial: {drain: 5}\n",
            "conf/testbeds/mine.yaml": "testbed: {name: mine, links: {phy0: {speed: 1}}}\n",
            "testcases/mine.yaml": MINIMAL + "colour: blue\n",
            "more.yaml": "a: [\n",
        },
    )
    request = Request(
        ("mine",), (), "mine", "mine", (Path("more.yaml"),), ("traffic.flows=x", "oops")
    )
    sources = {
        problem.where.source
        for problem in problems(library(tmp_path, tmp_path), request)
        if problem.where
    }
    assert sources == {
        "conf/presets/mine.yaml",
        "conf/testbeds/mine.yaml",
        "testcases/mine.yaml",
        "more.yaml",
        "--set traffic.flows=x",
        "--set oops",
    }


def test_the_location_holds_all_that_a_caret_needs(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, MINIMAL + "trial:\n  drain: 5 # seconds\n")
    where = caught.value.problems[0].where
    assert where is not None
    assert (where.line, where.column, where.text) == (5, 10, "  drain: 5 # seconds")


def test_what_is_missing_is_not_told_while_a_layer_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, {"conf/defaults.yaml": "trial: [\n", "testcases/mine.yaml": MINIMAL})
    here = library(tmp_path, tmp_path)
    with pytest.raises(SpecError) as caught:
        load(Request(("mine",), testbed="sim", preset="quick"), here, DRIVERS)
    assert [problem.what for problem in caught.value.problems] == [
        "not valid YAML: a value is missing or misplaced"
    ]
