"""Broken input is told what is wrong; schema and loader agree on what that is."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from all_wrong import hold_each, relative
from config_world import CHECKOUT, DRIVERS, MINIMAL, library, loaded, problems, shown, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from vsperf.config.case import Case
from vsperf.config.described import QUANTITIES
from vsperf.config.document import ALTERNATIVES, BY_KIND, document_schema, settable_paths
from vsperf.config.expect import Bound
from vsperf.config.loader import Request, load, load_cases
from vsperf.errors import SpecError
from vsperf.methods.paired import TurnsLoad
from vsperf.plugins import Plugins
from vsperf.quantities.quantity import Quantity, UnitError
from vsperf.quantities.units import CpuSet, MeasuredCount

# Every broken input is told what is wrong, where, and how to mend it; nothing ends in a traceback.

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


NO_WORDS = ("[1]", "{a: [1]}", "1")
"""The first two cannot be looked up at all."""


def test_a_kind_that_is_no_word_is_refused_where_it_stands(tmp_path: Path) -> None:
    """Drivers, and parts of their settings, are looked up by it."""
    kinds = [path for path in settable_paths(DRIVERS) if path.endswith(".kind")]
    sections = {path.partition(".")[0] for path in kinds}
    assert sections >= {*DRIVERS, "traffic"}
    requests = [
        (MINIMAL, f"{path.replace('NAME', 'x')}={value}") for path in kinds for value in NO_WORDS
    ]
    for value in NO_WORDS:
        items = [f"{section}: [{{kind: {value}}}, {{kind: {value}}}]" for section in ALTERNATIVES]
        by_kind = [f"{name}: {{{value}: {{kind: {value}}}}}" for name in BY_KIND]
        others = [f"collect: [{{x: {{kind: {value}}}}}]", f"collect: {{proc: {{kind: {value}}}}}"]
        requests += [(f"{MINIMAL}{text}\n", "") for text in (*items, *by_kind, *others)]

    def check(row: tuple[str, str]) -> None:
        text, option = row
        write(tmp_path, {"testcases/mine.yaml": text})
        request = Request(("mine",), testbed="sim", sets=(option,) if option else ())
        found = problems(library(tmp_path, tmp_path), request)
        assert found
        for problem in found:
            assert problem.where is not None and problem.where.column is not None, problem
            assert problem.where.source.startswith("--set") or problem.where.line == 4, problem

    hold_each(requests, check)


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


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Path.mkdir, "this is a folder, not a file\n  fix: name a file inside it"),
        (os.mkfifo, "this is a device or a pipe, not a file"),
        # Unlike a file without permission, this one cannot be read by root either.
        (
            lambda path: path.symlink_to("/proc/self/mem"),
            "the file cannot be read\n  why: Input/output error",
        ),
        (lambda path: path.symlink_to(path), "the file cannot be read"),
    ],
    ids=["folder", "pipe", "one that the system does not let read", "loop of links"],
)
def test_what_is_no_file_that_can_be_read_is_named_and_not_waited_for(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    make(tmp_path / "mine.yaml")
    (found,) = problems(library(tmp_path), Request(("./mine.yaml",), testbed="sim"))
    assert shown(found).startswith(f"mine.yaml: {said}")


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


# The schema and the settable paths describe exactly what the loader accepts.

SCHEMA = document_schema(DRIVERS)


def refused(document: Any) -> list[str]:
    """Return what the schema has against a document."""
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(document)]


def test_the_schema_is_a_valid_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_accepts_the_files_that_an_editor_is_told_to_hold_against_it() -> None:
    page = (CHECKOUT / "docs" / "how-to" / "set-up-your-editor.md").read_text()
    (told,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (patterns,) = json.loads(told)["yaml.schemas"].values()
    assert [one for one in patterns if page.count(f'"{one}"') != 3] == [], "of three editors"
    files = [path for one in patterns for path in sorted(CHECKOUT.glob(one))]
    assert len({path.relative_to(CHECKOUT).parts[:2] for path in files}) > len(patterns)
    printed = Draft202012Validator(document_schema(Plugins.load().specs()))

    def check(path: Path) -> None:
        assert [one.message for one in printed.iter_errors(yaml.safe_load(path.read_text()))] == []

    hold_each([*files, CHECKOUT / "conf/defaults.yaml"], check, relative)


@pytest.mark.parametrize(
    "document",
    [
        {"name": "part"},
        {"topology": "pvvp3"},
        {"topology": {"name": "pvvp", "vms": 3}},
        {"topology": {"paths": [["phy0", "phy1"]]}},
        {"traffic": {"frame_size": ["64B", 128], "flows": [1, "1M"], "direction": ["both"]}},
        {"search": {"width": "1%"}},
        {
            "search": ["rr", {"kind": "stream", "name": "tcp"}],
            "expect": [{"metric": "rate", "search": "tcp"}],
        },
        {"places": {"phy0": {"kind": "vm"}, "phy1": {"kind": ["vm", "network"]}}},
        {"vswitch": {"behaviour": {"kind": "lossy"}}},
        {"vswitch": "other"},
        {"vswitches": {"other": {"cpus": "1"}, "sim": None}},
        {"vswitch": ["sim", {"kind": "other", "cpus": "1"}, {"kind": "sim", "name": "twin"}]},
        {"use": {"preset": "quick"}},
        {"latency": None},
        {"extends": "base"},
        {"methods": {"fixed": {"duration": "1s"}, "mlr": None}},
        {"testcases": {"one": {}, "two": {"extends": "one", "traffic": {"flows": [1, 2]}}}},
    ],
    ids=str,
)
def test_the_schema_accepts_a_part_of_a_document(document: Any) -> None:
    assert refused(document) == []


@pytest.mark.parametrize(
    "document",
    [
        {"traffics": {}},
        {"traffic": {"size": 64}},
        {"traffic": {"frame_size": []}},
        {"topology": 3},
        {"topology": {"name": "pvp", "vnfs": 1}},
        {"search": {"kind": "mrl"}},
        {"search": {"kind": "fixed", "width": "1%"}},
        {"vswitch": {"kind": "xpp"}},
        {"vswitch": "xpp"},
        {"vswitches": {"xpp": {}}},
        {"vswitches": {"sim": {"cpus": "1"}}},
        {"vswitch": []},
        {"vswitch": ["sim", "xpp"]},
        {"vswitch": ["sim", {"kind": "sim", "cpus": "1"}]},
        {"vswitch": {"kind": "sim", "name": "twin"}},
        {"generator": ["sim", "xpp"]},
        {"search": ["mlr", "fixd"]},
        {"search": []},
        {"trial": {"learning": "yes"}},
        {"extends": ["base"]},
        {"methods": {"fixd": {"duration": "1s"}}},
        {"methods": {"fixed": {"width": "1%"}}},
        {"testcases": {}},
        {"testcases": {"one": None}},
        {"testcases": {"one": {"name": "one"}}},
        {"testcases": {"one": {"testcases": {"two": {}}}}},
    ],
    ids=str,
)
def test_the_schema_refuses_what_the_loader_refuses(document: Any) -> None:
    assert refused(document)


AMOUNTS = (*QUANTITIES, MeasuredCount, Bound, TurnsLoad)
WRITTEN: tuple[Any, ...] = (
    *(example for quantity in AMOUNTS for example in quantity.EXAMPLES),
    *(0, 1, 64, 5000, 9217, 8192, 0.5, 1.5, -1, -0.1, 1e-5, 10**6, True, None, "", " ", "0", "0s"),
    *([], [1], [2, 3], [1, "2"], [-1], [9000], {}, {"a": 1}, ["64B"]),
    *([{"size": 64, "share": 7}, {"size": "512B", "share": 1}], [{"size": 64}], ["64B", 64]),
    *("10kk", "3 parsecs", "10", " 64B ", "64 bytes", "64C", "10 s", "1h 30m", "10s,20s", "--3ms"),
    *("1_000", "1__000", "1e3", "1e", ".5", "5.", "+5", "5 Gfps", "5Gbit/s", "5Gbps_l1", "5fps L2"),
    *("2;3", "4-", "2, 4 - 7", "0x", "32", "32kB", "2GiB", "1way", "two ways", "8 ways, 50%"),
    *("7j", "7x64/4", "7x64", "80% of fastest", "of slowest", "٣s", "8\n", "a" * 100),
)
"""What may stand, or be tried, where an amount is expected."""
OUT_OF_BOUNDS = re.compile(
    r" is outside | at least | must be a whole number| between | above | holds at least one |"
    r"of at least two sizes|backwards"
)
"""What the loader says of texts that are well written, and mean too much or too little."""


LIKE_MASKS = [(CpuSet, number) for number in (9217, 8192, 10**6)]
"""Numbers that may be masks to an editor, and are no CPUs."""


@pytest.mark.parametrize("quantity", AMOUNTS)
def test_the_schema_takes_of_each_quantity_what_the_loader_takes(quantity: type[Quantity]) -> None:
    """But for bounds of what is written as a text: a pattern cannot reckon."""
    schema = Draft202012Validator(quantity.json_schema())

    def check(value: Any) -> None:
        try:
            quantity.parse(value)
        except UnitError as error:
            too_much = OUT_OF_BOUNDS.search(str(error)) is not None
            accepted = too_much if isinstance(value, str) else (quantity, value) in LIKE_MASKS
            assert not schema.is_valid(value) or accepted, error
        else:
            assert schema.is_valid(value), value

    hold_each(WRITTEN, check)


@pytest.mark.parametrize(
    ("path", "value", "taken"),
    [
        ("vswitch.cpus", [1], True),
        ("vswitch.cpus", "0-1", True),
        ("vswitch.cpus", 1, True),
        ("vswitch.cpus", [0, 9000], False),
        ("vswitch.cpus", ["1"], False),
        ("vswitch.behaviour.capacity", "10kk", False),
        ("vswitch.behaviour.capacity", "10kfps", True),
        ("trial.drain", "3 parsecs", False),
        ("trial.drain", 3, False),
        ("trial.drain", 0, True),
        ("trial.offered_tolerance", 2, False),
        ("testbed.links.phy0.speed", "10G", True),
        ("testbed.links.phy0.speed", 10, False),
        ("cache.switch", "two ways", False),
        ("cache.switch", "2 ways", True),
        ("search.max_connections", "20x", False),
        ("search.max_connections", "20k", True),
    ],
)
def test_schema_and_loader_agree_on_a_setting(
    tmp_path: Path, path: str, value: Any, taken: bool
) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "vswitch.cpus": {"vswitch": {"kind": "other"}},
        "vswitch.behaviour.capacity": {"vswitch": {"kind": "sim", "behaviour": {"kind": "steady"}}},
        "search.max_connections": {"search": {"kind": "cc"}},
    }
    document = kinds.get(path, {})
    *above, last = path.split(".")
    inner: dict[str, Any] = document
    for key in above:
        inner = inner.setdefault(key, {})
    inner[last] = value
    assert (refused(document) == []) == taken
    text = yaml.safe_dump(yaml.safe_load(MINIMAL) | document)
    write(tmp_path, {"testcases/mine.yaml": text})
    found = problems(library(tmp_path, tmp_path), Request(("mine",), testbed="sim"))
    about = [one.what for one in found if f"`{path}`" in one.what]
    assert (about == []) == taken, found


def test_a_mask_of_cpus_is_right_where_it_is_read_as_a_number() -> None:
    """The loader leaves `0xff000` a text; YAML 1.2, by which editors go, has numbers so."""
    assert refused({"vswitch": {"kind": "other", "cpus": 0xFF000}}) == []
    assert refused({"vswitch": {"kind": "other", "cpus": "0xff000"}}) == []


def test_paths_name_settings_of_all_kinds_and_drivers() -> None:
    found = settable_paths(DRIVERS)
    assert {
        "traffic.frame_size",
        "trial.drain",
        "search.kind",
        "search.width",
        "search.resolution",
        "search.goals.NAME.loss_ratio",
        "testbed.links.NAME.speed",
        "vswitch.behaviour.probability",
        "vswitch.cpus",
        "generator.max_rate",
        "vnf.queues",
        "topology",
        "topology.vms",
        "use.testbed",
        "latency.loads",
    } <= set(found)
    assert list(found) == sorted(set(found))


def test_every_listed_path_is_known_to_the_loader(tmp_path: Path) -> None:
    write(tmp_path, {"testcases/mine.yaml": MINIMAL})

    def check(path: str) -> None:
        setting = f"{path.replace('NAME', 'phy0' if 'links' in path else 'ndr')}=junk"
        last = path.rsplit(".", 1)[-1]
        # A setting of another kind is known where that kind is chosen.
        sets = ["vswitch.behaviour.kind=lossy"] if last == "probability" else []
        section, _, inside = path.partition(".")
        if section in ("vswitch", "generator", "vnf", "search") and not sets:
            setting_of = inside.split(".")[0]
            specs = DRIVERS[section].items()
            sets = [
                f"{section}.kind={kind}" for kind, one in specs if setting_of in one.model_fields
            ]
            sets = sets[:1]
        request = Request(("mine",), testbed="sim", sets=(*sets, setting))
        told = [problem.what for problem in problems(library(tmp_path, tmp_path), request)]
        assert not [what for what in told if f"{last!r} is not known" in what]

    hold_each(settable_paths(DRIVERS), check)


# Nothing that can be written into a file or an option gives anything but cases or `SpecError`.

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
