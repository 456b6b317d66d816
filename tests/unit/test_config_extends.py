"""A testcase can extend another: it lies over it as over a preset, and is another one."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_world import DRIVERS, library, problems, shown, write

from vsperf.methods.fixed import FixedLoad
from vsperf.methods.mlr import MlrSearch
from vsperf.spec.case import Case
from vsperf.spec.loader import Loaded, Request, load
from vsperf.units import Duration, Rate

BASE = """\
name: base
title: The base
description: What the base is for
tags: [based]
topology: p2p
traffic: {frame_size: [64, 128], flows: 4}
search: {min_load: 20kfps}
expect:
  - {metric: ndr, min: 1Mfps, frame_size: 128}
"""


MINE = Request(("mine",), testbed="sim")


def load_from(folder: Path, request: Request = MINE, /, **testcases: str) -> Loaded:
    """Load from testcases by name."""
    write(folder, {f"testcases/{name}.yaml": text for name, text in testcases.items()})
    return load(request, library(folder, folder), DRIVERS)


def told(folder: Path, request: Request = MINE, /, **testcases: str) -> list[str]:
    """Return what is wrong with testcases by name."""
    write(folder, {f"testcases/{name}.yaml": text for name, text in testcases.items()})
    return [shown(problem) for problem in problems(library(folder, folder), request)]


def only(loaded: Loaded) -> Case:
    (case,) = loaded.cases
    return case


def test_a_testcase_says_only_what_differs_from_the_one_it_extends(tmp_path: Path) -> None:
    mine = "name: mine\nextends: base\ntraffic: {frame_size: 128}\nsearch: {min_load: 30kfps}\n"
    case = only(load_from(tmp_path, base=BASE, mine=mine))
    assert (case.spec.name, str(case.spec.traffic.frame_size)) == ("mine", "128B")
    assert case.spec.traffic.flows.value == 4
    assert isinstance(case.spec.search, MlrSearch)
    assert str(case.spec.search.min_load) == "30kfps"
    assert [str(one.min) for one in case.spec.expect] == ["1Mfps"]


def test_a_value_names_the_file_of_the_testcase_that_says_it(tmp_path: Path) -> None:
    mine = "name: mine\nextends: base\ntraffic: {frame_size: 128}\n"
    origins = only(load_from(tmp_path, base=BASE, mine=mine)).origins
    assert origins["name"] == "mine.yaml:1"
    assert origins["traffic.frame_size"] == "mine.yaml:3"
    assert origins["traffic.flows"] == "base.yaml:6"
    assert origins["search.min_load"] == "base.yaml:7"
    assert origins["expect.0.min"] == "base.yaml:9"


def test_it_measures_what_a_testcase_with_all_of_it_would(tmp_path: Path) -> None:
    whole = BASE.replace("name: base", "name: mine").replace("[64, 128]", "128")
    extending = "name: mine\nextends: base\ntraffic: {frame_size: 128}\n"
    alone = only(load_from(tmp_path / "one", mine=whole))
    assert only(load_from(tmp_path / "two", base=BASE, mine=extending)).id == alone.id


def test_what_a_testcase_says_of_itself_is_not_inherited(tmp_path: Path) -> None:
    mine = "name: mine\nextends: base\ntraffic: {frame_size: 128}\n"
    spec = only(load_from(tmp_path, base=BASE, mine=mine)).spec
    assert (spec.title, spec.description, spec.tags) == ("", "", ())
    chosen = Request(tags=("based",), testbed="sim")
    assert {case.spec.name for case in load_from(tmp_path, chosen).cases} == {"base"}


def test_a_testcase_without_a_name_has_none_though_its_base_has(tmp_path: Path) -> None:
    assert told(tmp_path, base=BASE, mine="extends: base\ntraffic: {frame_size: 128}\n") == [
        "mine.yaml:1:1: `name` is missing\n  fix: add `name:` and the file's name"
    ]


def test_a_base_may_extend_another(tmp_path: Path) -> None:
    middle = "name: middle\nextends: base\ntraffic: {frame_size: 128, flows: 5}\n"
    mine = "name: mine\nextends: middle\ntraffic: {flows: 6}\n"
    case = only(load_from(tmp_path, base=BASE, middle=middle, mine=mine))
    assert (str(case.spec.traffic.frame_size), case.spec.traffic.flows.value) == ("128B", 6)
    assert case.origins["traffic.frame_size"] == "middle.yaml:3"
    assert case.origins["search.min_load"] == "base.yaml:7"


def test_a_base_of_the_project_can_be_extended(tmp_path: Path) -> None:
    mine = "name: mine\nextends: phy2phy_tput\ntraffic: {frame_size: 64, flows: 1k}\n"
    case = only(load_from(tmp_path, mine=mine))
    assert case.spec.topology.name == "p2p"
    assert case.origins["topology.name"].startswith("phy2phy_tput.yaml:")


ORDER = ("testbed", "base", "testcase", "conf", "set")


@pytest.mark.parametrize("rank", range(len(ORDER)), ids=ORDER)
def test_a_base_lies_above_the_testbed_and_below_its_testcase(tmp_path: Path, rank: int) -> None:
    said = {name: f"trial: {{drain: {n}s}}\n" for n, name in enumerate(ORDER[: rank + 1], 1)}
    testbed = (Path(__file__).parents[2] / "conf/testbeds/sim.yaml").read_text()
    write(
        tmp_path,
        {
            "conf/testbeds/lab.yaml": testbed.replace("name: sim", "name: lab") + said["testbed"],
            "over.yaml": "tags: [over]\n" + said.get("conf", ""),
        },
    )
    sets = ("trial.drain=5s",) if "set" in said else ()
    request = Request(("mine",), testbed="lab", conf=(Path("over.yaml"),), sets=sets)
    mine = "name: mine\nextends: base\ntraffic: {frame_size: 128}\n" + said.get("testcase", "")
    case = only(load_from(tmp_path, request, base=BASE + said.get("base", ""), mine=mine))
    assert str(case.spec.trial.drain) == f"{rank + 1}s"


def test_the_choice_of_a_base_counts_and_its_testcase_chooses_over_it(tmp_path: Path) -> None:
    base = BASE + "use: {preset: tst009, testbed: sim}\n"
    mine = "name: mine\nextends: base\ntraffic: {frame_size: 128}\n"
    loaded = load_from(tmp_path, Request(("mine",)), base=base, mine=mine)
    assert (loaded.preset, loaded.testbed) == ("tst009", "sim")
    chosen = mine + "use: {preset: rfc2544-strict}\n"
    loaded = load_from(tmp_path, Request(("mine",)), base=base, mine=chosen)
    assert (loaded.preset, loaded.testbed) == ("rfc2544-strict", "sim")


def test_a_method_named_here_takes_what_a_base_asks_of_any_method(tmp_path: Path) -> None:
    base = BASE.replace("search: {min_load: 20kfps}", "search: {duration: 3s, loads: [10%]}")
    base = base.split("expect")[0] + "latency: null\n"
    mine = "name: mine\nextends: base\ntraffic: {frame_size: 64}\nsearch: {kind: fixed}\n"
    assert only(load_from(tmp_path, base=base, mine=mine)).spec.search == FixedLoad(
        kind="fixed", loads=(Rate.parse("10%"),), duration=Duration.parse("3s")
    )


def test_a_method_named_here_drops_what_a_base_asks_of_its_own(tmp_path: Path) -> None:
    base = "name: base\ntopology: p2p\ntraffic: {frame_size: 64}\nlatency: null\n"
    base += "search: {kind: fixed, loads: [10%], duration: 3s}\n"
    mine = "name: mine\nextends: base\nsearch: {kind: mlr}\n"
    search = only(load_from(tmp_path, base=base, mine=mine)).spec.search
    assert isinstance(search, MlrSearch)
    assert str(search.duration_sum) == "5s"  # of the preset


def test_expectations_of_a_base_may_be_for_sizes_that_are_left_out_here(tmp_path: Path) -> None:
    mine = "name: mine\nextends: base\ntraffic: {frame_size: 64}\n"
    assert not only(load_from(tmp_path, base=BASE, mine=mine)).spec.expect


def test_a_base_is_found_in_the_first_folder_that_has_it(tmp_path: Path) -> None:
    hidden = BASE.replace("flows: 4", "flows: 9")
    write(tmp_path / "later", {"testcases/base.yaml": hidden})
    write(
        tmp_path / "first",
        {
            "testcases/base.yaml": BASE,
            "testcases/mine.yaml": "name: mine\nextends: base\ntraffic: {frame_size: 64}\n",
        },
    )
    here = library(tmp_path, tmp_path / "first", tmp_path / "later")
    case = only(load(Request(("mine",), testbed="sim"), here, DRIVERS))
    assert case.spec.traffic.flows.value == 4


def test_a_file_by_its_path_may_have_the_name_of_what_it_extends(tmp_path: Path) -> None:
    write(tmp_path, {"base.yaml": "name: base\nextends: base\ntraffic: {frame_size: 128}\n"})
    case = only(load_from(tmp_path, Request(("./base.yaml",), testbed="sim"), base=BASE))
    assert (case.spec.name, case.spec.traffic.flows.value) == ("base", 4)


@pytest.mark.parametrize(
    ("mine", "others", "expected"),
    [
        (
            "extends: bsae",
            {},
            ["mine.yaml:2:10: there is no testcase 'bsae'\n  fix: did you mean `base`?"],
        ),
        (
            "extends: [base]",
            {},
            ["mine.yaml:2:10: `extends` names a testcase, and is a list"],
        ),
        (
            "extends:",
            {},
            ["mine.yaml:2:9: `extends` names a testcase, and is empty"],
        ),
        (
            "extends: mine",
            {},
            [
                "mine.yaml:2:10: testcases extend each other\n  why: mine → mine\n"
                "  fix: let one of them extend another testcase, or none"
            ],
        ),
        (
            "extends: a",
            {"a": "name: a\nextends: b\n", "b": "name: b\nextends: a\n"},
            [
                "b.yaml:2:10: testcases extend each other\n  why: a → b → a\n"
                "  fix: let one of them extend another testcase, or none"
            ],
        ),
        (
            "extends: a",
            {"a": "name: a\nextends: nobody_knows\n"},
            ["a.yaml:2:10: there is no testcase 'nobody_knows'"],
        ),
        (
            "extends: a",
            {"a": "name: a\ntraffic: [\n"},
            [
                "a.yaml:3:1: not valid YAML: a value is missing or misplaced\n"
                "  fix: write a value here"
            ],
        ),
        (
            "extends: a",
            {"a": BASE.replace("name: base", "name: other")},
            [
                "a.yaml:1:7: `name` is 'other', but the file is called a.yaml\n"
                "  fix: write `name: a`, or rename the file"
            ],
        ),
        (
            "extends: a",
            {"a": BASE.replace("name: base", "name: a").replace("flows: 4", "flow: 4")},
            ["a.yaml:6:34: 'flow' is not known in `traffic`\n  fix: did you mean `flows`?"],
        ),
        (
            "extend: base",
            {},
            ["mine.yaml:2:1: 'extend' is not known as a section\n  fix: did you mean `extends`?"],
        ),
    ],
    ids=[
        "unknown", "a list", "empty", "itself", "a circle", "unknown further down", "broken",
        "wrong name", "wrong setting", "mistyped",
    ],
)  # fmt: skip
def test_what_cannot_be_extended_is_told_with_its_place(
    tmp_path: Path, mine: str, others: dict[str, str], expected: list[str]
) -> None:
    mine = f"name: mine\n{mine}\ntopology: p2p\ntraffic: {{frame_size: 64}}\n"
    found = told(tmp_path, MINE, base=BASE, mine=mine, **others)
    assert [line.partition("\n  fix: found: ")[0] for line in found] == expected


def test_null_extends_nothing(tmp_path: Path) -> None:
    mine = "name: mine\nextends: null\ntopology: p2p\ntraffic: {frame_size: 64}\n"
    assert only(load_from(tmp_path, mine=mine)).spec.name == "mine"


def test_a_chain_of_hundreds_of_testcases_is_followed(tmp_path: Path) -> None:
    chain = {f"t{n}": f"name: t{n}\nextends: t{n + 1}\n" for n in range(400)}
    chain["t400"] = "name: t400\ntopology: p2p\ntraffic: {frame_size: 64}\n"
    mine = "name: mine\nextends: t0\n"
    assert only(load_from(tmp_path, MINE, mine=mine, **chain)).spec.topology.name == "p2p"


@pytest.mark.parametrize("where", ["conf", "set", "testbed", "preset"])
def test_only_a_testcase_can_extend_a_testcase(tmp_path: Path, where: str) -> None:
    testbed = (Path(__file__).parents[2] / "conf/testbeds/sim.yaml").read_text()
    write(
        tmp_path,
        {
            "over.yaml": "extends: base\n",
            "conf/testbeds/lab.yaml": testbed.replace("name: sim", "name: lab") + "extends: base\n",
            "conf/presets/own.yaml": "preset: {name: own, extends: quick}\nextends: base\n",
        },
    )
    request = Request(
        ("base",),
        testbed="lab" if where == "testbed" else "sim",
        preset="own" if where == "preset" else None,
        conf=(Path("over.yaml"),) if where == "conf" else (),
        sets=("extends=base",) if where == "set" else (),
    )
    (problem,) = told(tmp_path, request, base=BASE)
    assert "`extends` cannot stand here" in problem
    assert "a testcase says it at the top of its file, a preset in `preset:`" in problem


def test_root_does_not_extend_what_another_user_can_change(tmp_path: Path) -> None:
    mine = "name: mine\nextends: base\ntraffic: {frame_size: 128}\n"
    write(tmp_path, {"testcases/base.yaml": BASE, "testcases/mine.yaml": mine})
    tmp_path.joinpath("testcases/base.yaml").chmod(0o666)
    anybody = library(tmp_path, tmp_path)
    careful = type(anybody)(anybody.folders, anybody.cwd, frozenset({0, tmp_path.stat().st_uid}))
    assert not problems(anybody, Request(("mine",), testbed="sim"))
    (problem,) = problems(careful, Request(("mine",), testbed="sim"))
    assert problem.what == "another user can decide what this file says, and so what root does"
    assert problem.where is not None
    assert problem.where.source == "testcases/base.yaml"
