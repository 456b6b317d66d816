"""`methods:` says what a method is asked wherever a case has it and `search:` says no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_world import DRIVERS, MINIMAL, library, loaded, problems, shown, write

from vsperf.methods.fixed import FixedLoad
from vsperf.methods.mlr import MlrSearch
from vsperf.spec.case import Case
from vsperf.spec.loader import Request
from vsperf.spec.suggest import listed
from vsperf.units import Duration, Rate

FIXED = MINIMAL + "search: {kind: fixed, loads: [10%]}\nlatency: null\n"


def case_of(folder: Path, text: str, methods: str = "", request: Request | None = None) -> Case:
    """Return the case of a testcase under a preset that says `methods`."""
    own = f"preset: {{name: own, extends: quick}}\nmethods:\n{methods}" if methods else ""
    write(folder, {"conf/presets/own.yaml": own or "preset: {name: own, extends: quick}\n"})
    request = request or Request(("mine",), testbed="sim", preset="own")
    (case,) = loaded(folder, text, request).cases
    return case


def told(folder: Path, methods: str, text: str = FIXED) -> list[str]:
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
    assert str(b.spec.search.width) == "1%"  # `search:` of the preset says it


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
            "over.yaml:1:16: `methods.mlr` holds settings of the method, and is a list",
        ),
        (
            "methods: {mlr: }",
            "over.yaml:1:16: `methods.mlr` holds settings of the method, and is empty",
        ),
        (
            "methods: [mlr]",
            "over.yaml:1:10: `methods` holds settings by the kind of a method, and is a list",
        ),
        (
            "methods:",
            "over.yaml:1:9: `methods` holds settings by the kind of a method, and is empty",
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
    assert told(tmp_path, f"{methods}\n", fine) == [expected]


def test_settings_that_contradict_each_other_are_told_where_they_stand(tmp_path: Path) -> None:
    methods = "methods:\n  fixed: {event: restart-switch, frames: 10}\n"
    assert told(tmp_path, methods) == [
        "over.yaml:2:11: `search`: an event needs a duration of at least 4s, "
        "and no number of frames"
    ]


@pytest.mark.parametrize(
    ("search", "path"),
    [
        ("{kind: reset, events: [kill-switch, reboot-machines]}", "events"),
        ("{kind: fixed, loads: [10%], duration: 5s, event: reboot-machines}", "event"),
    ],
)
def test_a_reboot_needs_a_machine(tmp_path: Path, search: str, path: str) -> None:
    text = f"{MINIMAL}search: {search}\nlatency: null\n"
    (problem,) = told(tmp_path, "{}\n", text)
    place, _, said = problem.partition(": ")
    assert place.startswith("mine.yaml:4:")
    assert said == (
        f"`search.{path}` names reboot-machines, and topology p2p has no machine\n"
        "  why: only a machine can reboot\n"
        "  fix: choose a topology with a machine, such as pvp, or leave this event out"
    )
    with_machine = text.replace("topology: p2p", "topology: pvp")
    assert not told(tmp_path, "{}\n", with_machine)


def test_what_a_method_is_never_asked_is_missing_all_the_same(tmp_path: Path) -> None:
    (problem,) = told(tmp_path, "methods: {mlr: {width: 1%}}\n")
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
