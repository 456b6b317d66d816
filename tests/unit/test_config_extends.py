"""Testcases that extend others, and what is asked of methods wherever a case has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_world import DRIVERS, MINIMAL, library, loaded, problems, shown, write

from vsperf.config.case import Case
from vsperf.config.loader import Loaded, Request, load
from vsperf.config.suggest import listed
from vsperf.methods.fixed import FixedLoad
from vsperf.methods.mlr import MlrSearch
from vsperf.quantities.units import Duration, Rate

# A testcase can extend another: it lies over it as over a preset, and is another one.

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
    assert str(search.duration_sum) == "3s"  # of the preset


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
            [
                "mine.yaml:2:10: `extends` names a testcase, and is a list\n"
                "  fix: write `extends: NAME`"
            ],
        ),
        (
            "extends:",
            {},
            [
                "mine.yaml:2:9: `extends` names a testcase, and is empty\n"
                "  fix: write `extends: NAME`"
            ],
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


# `methods:` says what a method is asked wherever a case has it and `search:` says no more.

FIXED = MINIMAL + "search: {kind: fixed, loads: [10%]}\nlatency: null\n"


def case_of(folder: Path, text: str, methods: str = "", request: Request | None = None) -> Case:
    """Return the case of a testcase under a preset that says `methods`."""
    own = f"preset: {{name: own, extends: quick}}\nmethods:\n{methods}" if methods else ""
    write(folder, {"conf/presets/own.yaml": own or "preset: {name: own, extends: quick}\n"})
    request = request or Request(("mine",), testbed="sim", preset="own")
    (case,) = loaded(folder, text, request).cases
    return case


def told_of_methods(folder: Path, methods: str, text: str = FIXED) -> list[str]:
    """Return what is wrong where a `--conf` file says `methods`."""
    write(folder, {"testcases/mine.yaml": text, "over.yaml": methods})
    request = Request(("mine",), testbed="sim", conf=(Path("over.yaml"),))
    return [shown(problem) for problem in problems(library(folder, folder), request)]


def test_a_preset_says_what_a_method_is_asked_that_the_testcase_chooses(tmp_path: Path) -> None:
    case = case_of(tmp_path, FIXED, "  fixed: {duration: 3s, repeats: 7}\n")
    assert case.spec.search == FixedLoad(
        kind="fixed", loads=(Rate.parse("10%"),), duration=Duration.parse("3s"), repeats=7
    )
    assert case.origins["search.repeats"] == "preset own (own.yaml:3)"
    assert case.origins["search.kind"] == "mine.yaml:4"


def test_what_search_says_wins_wherever_it_stands(tmp_path: Path) -> None:
    asked = "search: {kind: fixed, loads: [10%], duration: 5s}\nlatency: null\n"
    write(tmp_path, {"over.yaml": "methods: {fixed: {duration: 9s, repeats: 2}}\n"})
    request = Request(("mine",), testbed="sim", preset="own", conf=(Path("over.yaml"),))
    search = case_of(tmp_path, MINIMAL + asked, request=request).spec.search
    assert isinstance(search, FixedLoad)
    assert (str(search.duration), search.repeats) == ("5s", 2)


def test_settings_for_other_methods_change_nothing(tmp_path: Path) -> None:
    others = "  fixed: {duration: 3s}\n  tst009: {step: 2%}\n"
    with_others = case_of(tmp_path / "a", MINIMAL, others)
    assert with_others.id == case_of(tmp_path / "b", MINIMAL).id


def test_they_hold_for_a_method_that_the_command_line_chooses(tmp_path: Path) -> None:
    sets = ("search.kind=fixed", "search.loads=[10%]", "latency=null")
    request = Request(("mine",), testbed="sim", preset="own", sets=sets)
    search = case_of(tmp_path, MINIMAL, "  fixed: {duration: 4s}\n", request).spec.search
    assert isinstance(search, FixedLoad)
    assert str(search.duration) == "4s"


def test_layers_say_it_together_and_the_higher_wins(tmp_path: Path) -> None:
    write(tmp_path, {"over.yaml": "methods: {fixed: {repeats: 2}}\n"})
    request = Request(("mine",), testbed="sim", preset="own", conf=(Path("over.yaml"),))
    text = FIXED + "methods: {fixed: {repeats: 3, duration: 2s}}\n"
    case = case_of(tmp_path, text, "  fixed: {repeats: 4, duration: 6s, loss_ratio: 1%}\n", request)
    search = case.spec.search
    assert isinstance(search, FixedLoad)
    assert (search.repeats, str(search.duration), str(search.loss_ratio)) == (2, "2s", "1%")
    assert case.origins["search.duration"] == "mine.yaml:6"


def test_a_suite_says_for_each_method_what_its_testcases_ask_of_it(tmp_path: Path) -> None:
    suite = MINIMAL.replace("name: mine\n", "latency: null\n") + (
        "methods: {fixed: {duration: 2s, loads: [10%]}, mlr: {width: 3%}}\n"
        "testcases: {a: {search: {kind: fixed}}, b: {search: {kind: mlr}}}\n"
    )
    write(tmp_path, {"testcases/mine.suite.yaml": suite})
    request = Request(("a", "b"), testbed="sim", preset="tst009")
    here = library(tmp_path, tmp_path)
    assert problems(here, request)  # this preset says nothing of mlr
    a, b = loaded(tmp_path, MINIMAL, Request(("a", "b"), testbed="sim")).cases
    assert (a.spec.search.kind, b.spec.search.kind) == ("fixed", "mlr")
    assert isinstance(b.spec.search, MlrSearch)
    assert str(b.spec.search.width) == "2%"  # `search:` of the preset says it


def test_null_takes_out_what_a_lower_layer_says_of_a_method(tmp_path: Path) -> None:
    text = FIXED.replace("10%]", "10%], duration: 1s") + "methods: {fixed: null}\n"
    search = case_of(tmp_path, text, "  fixed: {repeats: 4}\n").spec.search
    assert isinstance(search, FixedLoad)
    assert search.repeats == 1
    case = case_of(tmp_path, text.replace("{fixed: null}", "null"), "  fixed: {repeats: 4}\n")
    assert case.spec.search == search


def test_goals_of_a_method_can_be_removed_as_in_search(tmp_path: Path) -> None:
    text = MINIMAL + "search: {kind: tst009, duration: 1s, step: 1%, max_repeats: 1, "
    text += "loss_threshold: 0, min_load: 9kfps, max_load: 100%}\nlatency: null\n"
    methods = "  tst009: {goals: {ndr: {loss_ratio: 0}, pdr: {loss_ratio: 1%}}}\n"
    text += "methods: {tst009: {goals: {pdr: null}}}\n"
    assert list(case_of(tmp_path, text, methods).spec.search.asked()) == ["ndr"]


def test_the_kind_may_be_repeated(tmp_path: Path) -> None:
    case = case_of(tmp_path, FIXED, "  fixed: {kind: fixed, duration: 3s}\n")
    assert case.origins["search.kind"] == "mine.yaml:4"


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (
            "methods: {fixd: {duration: 1s}}",
            "over.yaml:1:11: there is no method 'fixd'\n  fix: did you mean `fixed`?",
        ),
        (
            "methods: {back_and_forth: {}}",
            "over.yaml:1:11: there is no method 'back_and_forth'\n"
            f"  fix: known methods: {listed(DRIVERS['search'])}",
        ),
        (
            "methods: {fixed: {duraton: 1s}}",
            "over.yaml:1:19: 'duraton' is not known in `methods.fixed`\n"
            "  fix: did you mean `duration`?",
        ),
        (
            "methods: {fixed: {duration: 1}}",
            "over.yaml:1:29: `methods.fixed.duration`: 1 has no unit\n  fix: did you mean 1s?",
        ),
        (
            "methods: {mlr: {widths: 1%}}",
            "over.yaml:1:17: 'widths' is not known in `methods.mlr`\n  fix: did you mean `width`?",
        ),
        (
            "methods: {mlr: {width: wide}}",
            "over.yaml:1:24: `methods.mlr.width`: 'wide' is not a ratio\n"
            "  fix: a ratio is written like 0, 0.5%, 0.001, 1e-5",
        ),
        (
            "methods: {mlr: {goals: {ndr: {los_ratio: 1%}}}}",
            "over.yaml:1:31: 'los_ratio' is not known in `methods.mlr.goals.ndr`\n"
            "  fix: did you mean `loss_ratio`?",
        ),
        (
            "methods: {mlr: [1]}",
            "over.yaml:1:16: `methods.mlr` holds settings of the method, and is a list\n"
            "  fix: write `mlr: {SETTING: VALUE}`, or `mlr: {}`",
        ),
        (
            "methods: {mlr: }",
            "over.yaml:1:16: `methods.mlr` holds settings of the method, and is empty\n"
            "  fix: write `mlr: {SETTING: VALUE}`, or `mlr: {}`",
        ),
        (
            "methods: [mlr]",
            "over.yaml:1:10: `methods` holds settings by the kind of a method, and is a list\n"
            "  fix: write `methods: {KIND: {SETTING: VALUE}}`",
        ),
        (
            "methods:",
            "over.yaml:1:9: `methods` holds settings by the kind of a method, and is empty\n"
            "  fix: write `methods: {KIND: {SETTING: VALUE}}`",
        ),
        (
            "method: {fixed: {}}",
            "over.yaml:1:1: 'method' is not known as a section\n  fix: did you mean `methods`?",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place_for_used_and_unused_methods(
    tmp_path: Path, methods: str, expected: str
) -> None:
    fine = FIXED.replace("10%]", "10%], duration: 1s")
    assert told_of_methods(tmp_path, f"{methods}\n", fine) == [expected]


def test_settings_that_contradict_each_other_are_told_where_they_stand(tmp_path: Path) -> None:
    methods = "methods:\n  fixed: {event: restart-switch, frames: 10}\n"
    assert told_of_methods(tmp_path, methods) == [
        "over.yaml:2:11: `search`: an event needs a duration of at least 4s, "
        "and no number of frames"
    ]


@pytest.mark.parametrize(
    ("search", "path"),
    [
        ("{kind: reset, events: [kill-switch, reboot-vnfs]}", "events"),
        ("{kind: fixed, loads: [10%], duration: 5s, event: reboot-vnfs}", "event"),
    ],
)
def test_a_reboot_needs_a_vnf(tmp_path: Path, search: str, path: str) -> None:
    text = f"{MINIMAL}search: {search}\nlatency: null\n"
    (problem,) = told_of_methods(tmp_path, "{}\n", text)
    place, _, said = problem.partition(": ")
    assert place.startswith("mine.yaml:4:")
    assert said == (
        f"`search.{path}` names reboot-vnfs, and topology p2p has no VNF\n"
        "  why: only a VNF can reboot\n"
        "  fix: choose a topology with a VNF, such as pvp, or leave this event out"
    )
    with_vnf = text.replace("topology: p2p", "topology: pvp")
    assert not told_of_methods(tmp_path, "{}\n", with_vnf)


def test_what_a_method_is_never_asked_is_missing_all_the_same(tmp_path: Path) -> None:
    (problem,) = told_of_methods(tmp_path, "methods: {mlr: {width: 1%}}\n")
    assert "a fixed load needs a duration, or a number of frames" in problem


@pytest.mark.parametrize(
    ("setting", "instead"),
    [
        ("methods.mlr.width=1%", "search.width"),
        ("methods.mlr.goals.ndr.loss_ratio=1%", "search.goals.ndr.loss_ratio"),
        ("methods.mlr={width: 1%}", "search.width"),
        ("methods={mlr: {width: 1%}}", "search.width"),
        ("methods.mlr=null", "search.NAME"),
        ("methods=", "search.NAME"),
    ],
)
def test_an_option_says_it_of_the_search(tmp_path: Path, setting: str, instead: str) -> None:
    write(tmp_path, {"testcases/mine.yaml": MINIMAL})
    request = Request(("mine",), testbed="sim", sets=(setting,))
    (problem,) = problems(library(tmp_path, tmp_path), request)
    assert problem.what == "`methods` stands in files only, below all that `search` says"
    assert problem.fix == f"give `--set {instead}=…`"
    assert problem.where is not None
    assert problem.where.source == f"--set {setting}"


def test_every_method_of_the_project_can_be_named(tmp_path: Path) -> None:
    kinds = "".join(f"  {kind}: {{}}\n" for kind in DRIVERS["search"])
    assert case_of(tmp_path, MINIMAL, kinds).spec.search.kind == "mlr"
