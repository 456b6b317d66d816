"""Nothing that can be written into a file or an option gives anything but cases or `SpecError`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from config_world import DRIVERS, MINIMAL, library, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vsperf.errors import SpecError
from vsperf.spec.case import Case
from vsperf.spec.document import settable_paths
from vsperf.spec.loader import Request, load_cases

PATHS = [
    *settable_paths(DRIVERS),
    *("extends", "testcases", "testcases.NAME", "testcases.NAME.extends"),
    *("methods", "methods.NAME", "methods.mlr.width", "methods.fixed.loads"),
]
FULL = (
    "name: mine\ntitle: a\ntopology: {name: pvvp, vms: 2}\n"
    "traffic: {frame_size: [64, 128], flows: 1, direction: both}\n"
    "search: {kind: mlr, width: 1%, goals: {ndr: {loss_ratio: 0}}}\n"
    "expect:\n  - {metric: ndr, min: 1Mfps, frame_size: 64}\n"
    "vswitch: {kind: sim, behaviour: {kind: lossy, probability: 0.5}}\n"
    "vnf: {kind: loop}\nlatency: null\n"
)

SUITE = (
    "title: a\nextends: phy2phy_tput\ntags: [a]\n"
    "methods: {mlr: {width: 1%}, fixed: {duration: 1s}}\n"
    "testcases:\n  mine: {}\n  other: {extends: mine, tags: [b], traffic: {frame_size: 64}}\n"
    "  third: {search: {kind: fixed, loads: [10%]}, latency: null, use: {preset: tst009}}\n"
)

words = st.sampled_from(
    [
        "64", "64B", "10G", "50%", "1Mfps", "5s", "ndr", "p2p", "pvvp3", "sim", "mlr", "fixed",
        "true", "yes", "null", "~", "0x10", "010", "1e9", "-1", "12:30", "[", "]", "{", "}", "- ",
        ": ", "? ", "&a ", "*a", "!!str ", "<<", "|", ">", "'", '"', "#", "%", "@", "`", "\n", "\t",
        "\u2028", "\ufeff", "\x00", "\x1b", "---", "...", "kind", "traffic", "frame_size",
        "extends", "testcases", "methods",
    ]
)  # fmt: skip
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), words
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(words, st.text(max_size=8)), inner, max_size=4),
        st.fixed_dictionaries({"kind": st.one_of(words, inner)}),
    ),
    max_leaves=12,
)
quick = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield write(Path(name), {"testcases/mine.yaml": MINIMAL})


def answers(folder: Path, request: Request) -> None:
    """Load, and check that the answer is a good one whichever it is."""
    try:
        cases = load_cases(request, library(folder, folder), DRIVERS)
    except SpecError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.what
            json.dumps([problem.what, problem.why, problem.fix]).encode()
            if problem.where is not None:
                str(problem.where).encode()
                assert problem.where.line is None or problem.where.line >= 1
    else:
        assert cases
        assert all(isinstance(case, Case) and case.id and case.origins for case in cases)


def with_file(folder: Path, data: bytes) -> None:
    (folder / "fuzz.yaml").write_bytes(data)
    (folder / "fuzz.suite.yaml").write_bytes(data)
    answers(folder, Request(("./fuzz.suite.yaml",), testbed="sim"))
    answers(folder, Request(("./fuzz.yaml",), testbed="sim"))
    answers(folder, Request(("mine",), testbed="sim", conf=(Path("fuzz.yaml"),)))
    answers(folder, Request(("mine",), testbed="./fuzz.yaml"))
    answers(folder, Request(("mine",), testbed="sim", preset="./fuzz.yaml"))


@quick
@given(data=st.binary(max_size=200))
def test_any_bytes_as_a_file(folder: Path, data: bytes) -> None:
    with_file(folder, data)


@quick
@given(parts=st.lists(st.one_of(words, st.text(max_size=6)), max_size=30))
def test_any_text_as_a_file(folder: Path, parts: list[str]) -> None:
    with_file(folder, "".join(parts).encode("utf-8", "surrogatepass"))


@quick
@given(start=st.integers(0, len(FULL)), length=st.integers(0, 30), text=st.one_of(words, st.text()))
def test_any_damage_to_a_good_file(folder: Path, start: int, length: int, text: str) -> None:
    damaged = FULL[:start] + text + FULL[start + length :]
    with_file(folder, damaged.encode("utf-8", "surrogatepass"))


@quick
@given(
    start=st.integers(0, len(SUITE)), length=st.integers(0, 30), text=st.one_of(words, st.text())
)
def test_any_damage_to_a_good_suite(folder: Path, start: int, length: int, text: str) -> None:
    damaged = SUITE[:start] + text + SUITE[start + length :]
    data = damaged.encode("utf-8", "surrogatepass")
    with_file(folder, data)
    suite = folder / "testcases/fuzz.suite.yaml"
    suite.write_bytes(data)
    try:
        assert library(folder, folder).testcases()
        answers(folder, Request(("mine", "other", "third"), testbed="sim"))
    finally:
        suite.unlink()


@quick
@given(path=st.sampled_from(PATHS), value=values, name=words)
def test_any_value_at_any_place_of_a_file(folder: Path, path: str, value: Any, name: str) -> None:
    document: dict[str, Any] = {"name": "fuzz", "topology": "p2p", "traffic": {"frame_size": 64}}
    here = document
    *keys, last = [name if key == "NAME" else key for key in path.split(".")]
    for key in keys:
        inner = here.get(key)
        here[key] = here = dict(inner) if isinstance(inner, dict) else {}
    here[last] = value
    with_file(folder, json.dumps(document).encode())


@quick
@given(
    sets=st.lists(
        st.one_of(st.text(max_size=30), st.lists(words, max_size=6).map("".join)), max_size=3
    )
)
def test_any_text_as_a_setting(folder: Path, sets: list[str]) -> None:
    answers(folder, Request(("mine",), testbed="sim", sets=tuple(sets)))


@quick
@given(
    path=st.one_of(st.sampled_from(PATHS), st.lists(words, max_size=4).map(".".join)),
    value=st.one_of(st.text(max_size=20), st.lists(words, max_size=8).map("".join)),
)
def test_any_value_of_any_setting(folder: Path, path: str, value: str) -> None:
    setting = f"{path.replace('NAME', 'ndr')}={value}"
    answers(folder, Request(("mine",), testbed="sim", sets=(setting,)))


@quick
@given(
    names=st.lists(st.one_of(st.text(max_size=12), words), max_size=3),
    tags=st.lists(st.text(max_size=5), max_size=2),
    testbed=st.one_of(st.none(), st.text(max_size=12)),
    preset=st.one_of(st.none(), st.text(max_size=12)),
    repeat=st.integers(-1, 3),
)
def test_any_names_on_the_command_line(
    folder: Path,
    names: list[str],
    tags: list[str],
    testbed: str | None,
    preset: str | None,
    repeat: int,
) -> None:
    request = Request(tuple(names), tuple(tags), testbed, preset, repeat=repeat)
    answers(folder, request)
