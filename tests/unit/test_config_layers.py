"""Layers and lists: how they merge, where files are found, and which cases come of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from config_world import CHECKOUT, DRIVERS, MINIMAL, library, loaded, write

from vsperf.config.loader import Request, load, load_cases
from vsperf.config.lookup import Library
from vsperf.config.select import select
from vsperf.config.tree import BUILT_IN
from vsperf.drivers.vswitches.proxy.haproxy.driver import HaproxySpec
from vsperf.errors import SpecError
from vsperf.methods.fixed import FixedLoad
from vsperf.methods.mlr import MlrSearch
from vsperf.methods.rfc2544 import Rfc2544Search
from vsperf.methods.tst009 import Tst009Search
from vsperf.quantities.units import Count, Duration, Rate, Ratio

# Layers merge by one rule, in one order, and every value remembers where it was written.


def drain(loaded_from: Path, *layers: str) -> tuple[str, str]:
    """Return the drain time, and its origin, when each of `layers` sets one of its own."""
    defaults = (CHECKOUT / "conf/defaults.yaml").read_text()
    assert "{preset: quick, testbed: local}" in defaults
    write(
        loaded_from,
        {
            "conf/defaults.yaml": defaults.replace("quick, testbed: local}", "mine}"),
            "conf/presets/base.yaml": "preset: {name: base, extends: bare}\n"
            + ("trial: {drain: 2s}\n" if "base preset" in layers else ""),
            "conf/presets/bare.yaml": (CHECKOUT / "conf/presets/quick.yaml")
            .read_text()
            .replace("name: quick", "name: bare")
            .replace("drain: 100ms, ", ""),
            "conf/presets/mine.yaml": "preset: {name: mine, extends: base}\n"
            + ("trial: {drain: 3s}\n" if "preset" in layers else ""),
            "conf/testbeds/lab.yaml": (CHECKOUT / "conf/testbeds/sim.yaml")
            .read_text()
            .replace("name: sim", "name: lab")
            + ("trial: {drain: 4s}\n" if "testbed" in layers else ""),
            "testcases/mine.yaml": MINIMAL
            + ("trial: {drain: 5s}\n" if "testcase" in layers else ""),
            "one.yaml": "tags: [one]\n" + ("trial: {drain: 6s}\n" if "conf" in layers else ""),
            "two.yaml": "tags: [two]\n"
            + ("trial: {drain: 7s}\n" if "second conf" in layers else ""),
        },
    )
    sets = [f"trial.drain={n}s" for n, name in ((8, "set"), (9, "second set")) if name in layers]
    request = Request(
        ("mine",), testbed="lab", conf=(Path("one.yaml"), Path("two.yaml")), sets=tuple(sets)
    )
    case = load(request, library(loaded_from, loaded_from), DRIVERS).cases[0]
    assert case.spec.tags == ("two",)
    return str(case.spec.trial.drain), case.origins["trial.drain"]


ORDER = (
    ("defaults", "500ms", "defaults.yaml:9"),
    ("base preset", "2s", "preset base (base.yaml:2)"),
    ("preset", "3s", "preset mine (mine.yaml:2)"),
    ("testbed", "4s", "testbed lab (lab.yaml:14)"),
    ("testcase", "5s", "mine.yaml:4"),
    ("conf", "6s", "one.yaml:2"),
    ("second conf", "7s", "two.yaml:2"),
    ("set", "8s", "--set trial.drain=8s"),
    ("second set", "9s", "--set trial.drain=9s"),
)


@pytest.mark.parametrize("rank", range(len(ORDER)), ids=[name for name, _, _ in ORDER])
def test_a_layer_wins_over_all_below_it_and_is_named_as_the_origin(
    tmp_path: Path, rank: int
) -> None:
    below = [name for name, _, _ in ORDER[: rank + 1]]
    assert drain(tmp_path, *below) == ORDER[rank][1:]


@pytest.mark.parametrize("rank", range(len(ORDER)), ids=[name for name, _, _ in ORDER])
def test_a_layer_alone_wins_over_the_defaults(tmp_path: Path, rank: int) -> None:
    assert drain(tmp_path, ORDER[rank][0]) == ORDER[rank][1:]


def test_mappings_merge_and_lists_replace(tmp_path: Path) -> None:
    text = MINIMAL + "search: {goals: {pdr: {loss_ratio: 1%}}}\nlatency: {loads: [20%]}\n"
    spec = loaded(tmp_path, text).cases[0].spec
    assert isinstance(spec.search, MlrSearch)
    assert {name: str(goal.loss_ratio) for name, goal in spec.search.goals.items()} == {
        "ndr": "0",
        "pdr": "1%",
    }
    assert spec.latency is not None
    assert spec.latency.loads == (Ratio.parse("20%"),)
    assert spec.latency.goal == "ndr"


def test_another_kind_drops_the_settings_of_the_kind_below(tmp_path: Path) -> None:
    text = MINIMAL + "search: {kind: fixed, loads: [50%], duration: 3s}\nlatency: null\n"
    spec = loaded(tmp_path, text).cases[0].spec
    assert spec.search == FixedLoad(
        kind="fixed", loads=(Rate.parse("50%"),), duration=Duration.parse("3s")
    )


def test_the_same_kind_keeps_the_settings_below(tmp_path: Path) -> None:
    spec = loaded(tmp_path, MINIMAL + "search: {kind: mlr, width: 3%}\n").cases[0].spec
    assert isinstance(spec.search, MlrSearch)
    assert str(spec.search.width) == "3%"
    assert str(spec.search.duration_sum) == "3s"


@pytest.mark.parametrize("named", ["pvvp", "{name: pvvp}", "pvvp3", "{name: pvvp, vms: 3}"])
def test_a_setting_of_a_topology_keeps_the_family_below(tmp_path: Path, named: str) -> None:
    text = f"name: mine\ntopology: {named}\ntraffic: {{frame_size: 64}}\n"
    (plain,) = loaded(tmp_path, text).cases
    request = Request(("mine",), testbed="sim", sets=("topology.nics=1",))
    (case,) = loaded(tmp_path, text, request).cases
    assert (plain.spec.topology.nics, case.spec.topology.nics) == (2, 1)
    assert case.spec.topology.paths == plain.spec.topology.paths
    assert case.origins["topology.nics"] == "--set topology.nics=1"


def test_null_removes_an_optional_section(tmp_path: Path) -> None:
    write(tmp_path, {"vm.yaml": "vnf: {kind: loop}\n"})
    conf = (Path("vm.yaml"),)
    with_guest = loaded(tmp_path, MINIMAL, Request(("mine",), testbed="sim", conf=conf))
    assert with_guest.cases[0].spec.vnf is not None
    request = Request(("mine",), testbed="sim", conf=conf, sets=("vnf=null", "latency="))
    case = loaded(tmp_path, MINIMAL, request).cases[0]
    assert (case.spec.vnf, case.spec.latency) == (None, None)
    assert case.origins["vnf"] == "--set vnf=null"


def test_null_removes_a_goal(tmp_path: Path) -> None:
    case = loaded(tmp_path, MINIMAL + "search: {goals: {pdr: null}}\n").cases[0]
    assert isinstance(case.spec.search, MlrSearch)
    assert list(case.spec.search.goals) == ["ndr"]
    assert not [path for path in case.origins if path.startswith("search.goals.pdr")]


def test_a_goal_that_was_left_empty_is_not_removed_silently(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, MINIMAL + "search:\n  goals:\n    pdr:\n")
    assert "must be a mapping" in caught.value.problems[0].what


def test_null_may_remove_what_no_lower_layer_has(tmp_path: Path) -> None:
    request = Request(("mine",), testbed="sim", preset="rfc2544-strict")
    case = loaded(tmp_path, MINIMAL + "search: {goals: {pdr: null, mrr: null}}\n", request).cases[0]
    assert isinstance(case.spec.search, Rfc2544Search)
    assert list(case.spec.search.goals) == ["ndr"]


def test_every_leaf_of_the_resolved_case_has_an_origin(tmp_path: Path) -> None:
    case = loaded(tmp_path, MINIMAL + "expect:\n  - {metric: ndr, min: 1Mfps}\n").cases[0]
    origins = case.origins
    assert origins["name"] == "mine.yaml:1"
    assert origins["topology.paths"] == "mine.yaml:2"
    assert origins["traffic.frame_size"] == "mine.yaml:3"
    assert origins["traffic.flows"] == BUILT_IN
    assert origins["search.kind"] == "preset quick (quick.yaml:10)"
    assert origins["search.goals.ndr.loss_ratio"] == "defaults.yaml:22"
    assert origins["testbed.links.phy0.speed"] == "testbed sim (sim.yaml:8)"
    assert origins["vswitch.behaviour.kind"] == BUILT_IN
    assert origins["expect.0.min"] == "mine.yaml:5"


def test_the_command_line_chooses_preset_and_testbed_over_use(tmp_path: Path) -> None:
    text = MINIMAL + "use: {preset: tst009, testbed: sim}\n"
    assert loaded(tmp_path, text, Request(("mine",))).preset == "tst009"
    assert loaded(tmp_path, text, Request(("mine",), preset="standard")).preset == "standard"


def test_use_in_a_conf_file_and_in_a_setting_wins_over_the_testcase(tmp_path: Path) -> None:
    write(tmp_path, {"my.yaml": "use: {preset: standard, testbed: sim}\n"})
    text = MINIMAL + "use: {preset: tst009}\n"
    conf = (Path("my.yaml"),)
    found = loaded(tmp_path, text, Request(("mine",), conf=conf))
    assert (found.preset, found.testbed, found.simulated) == ("standard", "sim", True)
    sets = ("use.preset=rfc2544-strict",)
    assert loaded(tmp_path, text, Request(("mine",), conf=conf, sets=sets)).preset == sets[0][11:]


def test_nothing_is_simulated_unless_a_simulated_testbed_is_asked_for() -> None:
    defaults = (CHECKOUT / "conf/defaults.yaml").read_text()
    assert "testbed: local}" in defaults
    assert "simulated" not in (CHECKOUT / "conf/testbeds/local.yaml").read_text()


def test_without_a_testbed_the_choices_are_named(tmp_path: Path) -> None:
    defaults = (CHECKOUT / "conf/defaults.yaml").read_text()
    write(tmp_path, {"conf/defaults.yaml": defaults.replace(", testbed: local}", "}")})
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, MINIMAL, Request(("mine",)))
    (problem,) = caught.value.problems
    assert problem.what == "no testbed was chosen"
    assert problem.fix is not None
    assert "--testbed sim" in problem.fix


def test_testcases_that_choose_different_testbeds_do_not_share_a_run(tmp_path: Path) -> None:
    lab = (CHECKOUT / "conf/testbeds/sim.yaml").read_text().replace("name: sim", "name: lab")
    write(
        tmp_path,
        {
            "conf/testbeds/lab.yaml": lab,
            "testcases/other.yaml": MINIMAL.replace("mine", "other") + "use: {testbed: lab}\n",
        },
    )
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, MINIMAL + "use: {testbed: sim}\n", Request(("mine", "other")))
    assert [problem.what for problem in caught.value.problems] == ["a run has one testbed"]


@pytest.mark.parametrize(
    ("preset", "search"),
    [
        ("quick", MlrSearch),
        ("standard", MlrSearch),
        ("rfc2544-strict", Rfc2544Search),
        ("tst009", Tst009Search),
    ],
)
def test_each_preset_makes_every_testcase_of_the_project_complete(
    tmp_path: Path, preset: str, search: type
) -> None:
    here = library(tmp_path)
    assert load_cases(Request(("*",), testbed="sim", preset=preset), here, DRIVERS)
    cases = load_cases(Request(("phy2phy_tput",), testbed="sim", preset=preset), here, DRIVERS)
    assert [case.spec.traffic.frame_size.bytes for case in cases] == [
        64, 128, 256, 512, 1024, 1280, 1518,
    ]  # fmt: skip
    assert {type(case.spec.search) for case in cases} == {search}


def test_the_strict_preset_follows_the_standard_to_the_letter(tmp_path: Path) -> None:
    request = Request(("phy2phy_tput",), testbed="sim", preset="rfc2544-strict")
    spec = load_cases(request, library(tmp_path), DRIVERS)[0].spec
    assert isinstance(spec.search, Rfc2544Search)
    assert spec.search.duration == Duration.parse("60s")
    assert {name: str(goal.loss_ratio) for name, goal in spec.search.goals.items()} == {"ndr": "0"}
    assert (spec.trial.learning, str(spec.trial.settle)) == (True, "2s")
    assert (str(spec.trial.drain), str(spec.trial.pause)) == ("2s", "5s")


@pytest.mark.parametrize(
    ("written", "name", "paths"),
    [
        ("p2p", "p2p", [("phy0", "phy1")]),
        ("pvp", "pvp", [("phy0", "vm1", "phy1")]),
        ("pvvp", "pvvp", [("phy0", "vm1", "vm2", "phy1")]),
        ("pvvp2", "pvvp", [("phy0", "vm1", "vm2", "phy1")]),
        ("pvvp3", "pvvp3", [("phy0", "vm1", "vm2", "vm3", "phy1")]),
        ("{name: pvvp, vms: 3}", "pvvp3", [("phy0", "vm1", "vm2", "vm3", "phy1")]),
        ("pvpv", "pvpv", [("phy0", "vm1", "phy1"), ("phy0", "vm2", "phy1")]),
        ("pvpv1", "pvpv1", [("phy0", "vm1", "phy1")]),
        ("v2v", "v2v", [("vm1", "vm2")]),
        ("star1", "star1", [("phy0", "phy1")]),
        ("{paths: [[phy1, vm1, phy0]]}", "custom", [("phy1", "vm1", "phy0")]),
    ],
)
def test_a_topology_is_a_family_with_a_number_or_spelled_out(
    tmp_path: Path, written: str, name: str, paths: list[tuple[str, ...]]
) -> None:
    text = f"name: mine\ntopology: {written}\ntraffic: {{frame_size: 64}}\n"
    topology = loaded(tmp_path, text).cases[0].spec.topology
    assert (topology.name, list(topology.paths)) == (name, paths)


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("star0", "star needs at least one link"),
        ("star65", "a topology has 0 to 64 links, not 65"),
        ("{name: star, vms: 3}", "`topology.vms` is 3, and star has no VNF"),
    ],
)
def test_a_family_of_links_says_so_where_its_number_does_not_fit(
    tmp_path: Path, written: str, what: str
) -> None:
    text = f"name: mine\ntopology: {written}\ntraffic: {{frame_size: 64}}\n"
    with pytest.raises(SpecError, match=what):
        loaded(tmp_path, text)


@pytest.mark.parametrize("text", ["0000:00:08.0", "52:54:00:12:34:56", "on", "2026-11-20", "1_000"])
def test_what_looks_like_a_value_of_yaml_1_1_stays_text(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, MINIMAL + f"title: {text}\n").cases[0].spec.title == text


def test_a_setting_follows_the_rules_of_yaml(tmp_path: Path) -> None:
    sets = (
        "traffic.frame_size=[64,1518]",
        "traffic.flows=1M",
        "title='010'",
        "search.goals.pdr={loss_ratio: 2%}",
        "vswitch.behaviour={kind: lossy, probability: 0.2}",
        "vswitch.seed=7",
    )
    cases = loaded(tmp_path, MINIMAL, Request(("mine",), testbed="sim", sets=sets)).cases
    assert [case.point for case in cases] == [{"frame_size": "64B"}, {"frame_size": "1518B"}]
    assert cases[0].spec.traffic.flows == Count(1_000_000)
    assert cases[0].spec.title == "010"
    assert cases[0].spec.vswitch.model_dump(mode="json", exclude_none=True) == {
        "kind": "sim",
        "seed": 7,
        "flows": "port",
        "filters": 0,
        "behaviour": {"kind": "lossy", "probability": 0.2},
    }


def test_aliases_share_a_value_within_a_file(tmp_path: Path) -> None:
    text = MINIMAL + "trial: {drain: &wait 3s, pause: *wait}\n"
    trial = loaded(tmp_path, text).cases[0].spec.trial
    assert (str(trial.drain), str(trial.pause)) == ("3s", "3s")


def test_loading_twice_gives_equal_cases_with_equal_ids(tmp_path: Path) -> None:
    first, second = loaded(tmp_path).cases, loaded(tmp_path).cases
    assert first == second
    assert [case.id for case in first] == [case.id for case in second]


# Named files are found in one order; the first wins, and what it hides is known.


def case_file(name: str, tags: str = "[]", title: str = "") -> str:
    return MINIMAL.replace("mine", name) + f"tags: {tags}\ntitle: '{title}'\n"


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    return {
        name: write(tmp_path / name, {"testcases/sub/same.yaml": case_file("same", title=name)})
        for name in ("first", "second", "here", "home/vsperf")
    }


def find(places: dict[str, Path], **environ: str) -> Library:
    return Library.find(environ, places["here"])


def test_the_folders_are_searched_in_the_documented_order(places: dict[str, Path]) -> None:
    listed = os.pathsep.join(str(places[name]) for name in ("first", "second"))
    home = str(places["home/vsperf"].parent)
    found = find(places, VSPERF_PATH=listed, XDG_CONFIG_HOME=home)
    assert [(folder.path, folder.role) for folder in found.folders] == [
        (places["first"], "$VSPERF_PATH"),
        (places["second"], "$VSPERF_PATH"),
        (places["here"], "current directory"),
        (places["home/vsperf"], "user"),
        (CHECKOUT, "built-in"),
    ]


def test_the_first_of_a_name_wins_and_knows_what_it_hides(places: dict[str, Path]) -> None:
    entry = find(places, VSPERF_PATH=str(places["second"])).testcases()["same"]
    assert (entry.title, entry.found.folder.role) == ("second", "$VSPERF_PATH")
    assert entry.found.shadowed == (places["here"] / "testcases/sub/same.yaml",)


def test_a_folder_counts_once_however_it_is_written(places: dict[str, Path]) -> None:
    here = str(places["here"])
    listed = os.pathsep.join([here, f"{here}/../here", "."])
    roles = [folder.role for folder in find(places, VSPERF_PATH=listed).folders]
    assert roles == ["$VSPERF_PATH", "built-in"]


def test_the_users_folder_is_in_the_home_directory_by_default(tmp_path: Path) -> None:
    write(tmp_path, {"home/.config/vsperf/conf/presets/mine.yaml": "preset: {name: mine}\n"})
    (tmp_path / "here").mkdir()
    found = Library.find({"HOME": str(tmp_path / "home")}, tmp_path / "here")
    assert [folder.role for folder in found.folders] == ["user", "built-in"]
    assert list(found.presets()) == ["mine", "quick", "rfc2544-strict", "standard", "tst009"]


def test_folders_without_conf_and_testcases_are_left_out(tmp_path: Path) -> None:
    found = Library.find({"VSPERF_PATH": "/nowhere:\0:" + "x" * 5000}, tmp_path)
    assert [folder.role for folder in found.folders] == ["built-in"]


def test_defaults_are_taken_from_the_first_folder_that_has_them(tmp_path: Path) -> None:
    write(tmp_path, {"conf/defaults.yaml": "title: mine\n"})
    assert library(tmp_path, tmp_path).defaults() == tmp_path / "conf/defaults.yaml"
    assert library(tmp_path).defaults() == CHECKOUT / "conf/defaults.yaml"


def test_a_broken_testcase_is_listed_with_its_problem_beside_the_others(tmp_path: Path) -> None:
    write(tmp_path, {"testcases/bad.yaml": "a: [\n", "testcases/good.yaml": case_file("good")})
    found = library(tmp_path, tmp_path).testcases()
    assert [problem.what for problem in found["bad"].problems] == [
        "not valid YAML: a value is missing or misplaced"
    ]
    assert not found["good"].problems
    assert "phy2phy_tput" in found


def test_the_library_of_the_project_has_a_title_for_everything(tmp_path: Path) -> None:
    here = library(tmp_path)
    for entries in (here.testcases(), here.testbeds(), here.presets(), here.topologies()):
        assert entries
        assert all(entry.title and not entry.problems for entry in entries.values())
    assert all(entry.tags for entry in here.testcases().values())


def names(tmp_path: Path, *words: str, tags: tuple[str, ...] = ()) -> list[str]:
    write(
        tmp_path,
        {
            f"testcases/{name}.yaml": case_file(name, labels)
            for name, labels in (
                ("pvp_tput", "[rfc2544, vm]"),
                ("pvp_cont", "[vm]"),
                ("p2p_tput", "[rfc2544]"),
            )
        },
    )
    here = Library(library(tmp_path, tmp_path).folders[:1], tmp_path)
    return [found.name for found in select(words, here, tags)]


def test_testcases_are_named_by_name_pattern_tag_or_file(tmp_path: Path) -> None:
    assert names(tmp_path, "pvp_tput") == ["pvp_tput"]
    assert names(tmp_path, "pvp_*") == ["pvp_cont", "pvp_tput"]
    assert names(tmp_path, "tag:rfc2544") == ["p2p_tput", "pvp_tput"]
    assert names(tmp_path, "./testcases/pvp_tput.yaml") == ["pvp_tput"]


def test_each_testcase_is_taken_once_in_the_order_asked_for(tmp_path: Path) -> None:
    assert names(tmp_path, "pvp_tput", "*") == ["pvp_tput", "p2p_tput", "pvp_cont"]


def test_tags_narrow_down_to_what_carries_all_of_them(tmp_path: Path) -> None:
    assert names(tmp_path, tags=("vm",)) == ["pvp_cont", "pvp_tput"]
    assert names(tmp_path, tags=("vm", "rfc2544")) == ["pvp_tput"]
    assert names(tmp_path, "p*_tput", tags=("vm",)) == ["pvp_tput"]


@pytest.mark.parametrize(
    ("words", "what", "fix"),
    [
        (("pvp_tptu",), "there is no testcase 'pvp_tptu'", "did you mean `pvp_tput`?"),
        (("tput",), "there is no testcase 'tput'", "did you mean one of p2p_tput, pvp_tput?"),
        (("thruput",), "there is no testcase 'thruput'", "did you mean one of p2p_tput, pvp_tput?"),
        (("cont",), "there is no testcase 'cont'", "did you mean `pvp_cont`?"),
        (("x*",), "no testcase matches 'x*'", "testcases: p2p_tput, pvp_cont, pvp_tput"),
        (("tag:rfc",), "no testcase carries the tag 'rfc'", "did you mean `rfc2544`?"),
        ((), "no testcase was named", "`vsperf list` shows them all: p2p_tput, pvp_cont, pvp_tput"),
    ],
)
def test_what_matches_nothing_is_answered_with_what_there_is(
    tmp_path: Path, words: tuple[str, ...], what: str, fix: str
) -> None:
    with pytest.raises(SpecError) as caught:
        names(tmp_path, *words)
    assert [(problem.what, problem.fix) for problem in caught.value.problems] == [(what, fix)]


def test_a_mistyped_tag_is_answered_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        names(tmp_path, tags=("rfc2455",))
    assert [problem.fix for problem in caught.value.problems] == ["did you mean `rfc2544`?"]


def test_two_files_of_one_name_in_a_folder_are_an_error_once_they_are_used(tmp_path: Path) -> None:
    text = case_file("twin")
    write(tmp_path, {"testcases/a/twin.yaml": text, "testcases/b/twin.yaml": text})
    with pytest.raises(SpecError) as caught:
        load(Request(("twin",), testbed="sim"), library(tmp_path, tmp_path), DRIVERS)
    (problem,) = caught.value.problems
    assert problem.what == "the testcase twin exists twice in one folder"
    assert problem.why == "testcases/a/twin.yaml, testcases/b/twin.yaml"


# Lists make cases: the cross product in the order written, with ids that stay the same.

SWEEP = """\
name: mine
topology: p2p
traffic:
  frame_size: [1518, 64]
  flows: [1, 4k]
expect:
  - {metric: ndr, min: 100kfps}
  - {metric: ndr, min: 5Mfps, frame_size: 64}
"""


def test_lists_make_the_cross_product_in_the_order_written(tmp_path: Path) -> None:
    cases = loaded(tmp_path, SWEEP).cases
    assert [case.point for case in cases] == [
        {"frame_size": "1518B", "flows": "1"},
        {"frame_size": "1518B", "flows": "4k"},
        {"frame_size": "64B", "flows": "1"},
        {"frame_size": "64B", "flows": "4k"},
    ]
    assert cases[1].label == "mine-1518B-4kflows"


def test_how_many_threads_a_switch_has_may_be_a_list(tmp_path: Path) -> None:
    """As `vsperf plot workers` asks for it."""
    text = MINIMAL + "vswitch: {kind: haproxy, workers: [1, 2, 4]}\n"
    cases = loaded(tmp_path, text).cases
    assert [case.point for case in cases] == [{"workers": str(number)} for number in (1, 2, 4)]
    assert [case.label for case in cases][-1] == "mine-64B-4workers"
    assert cases[-1].spec.vswitch == HaproxySpec(kind="haproxy", workers=4)


def test_a_point_holds_only_what_is_a_list(tmp_path: Path) -> None:
    assert loaded(tmp_path).cases[0].point == {}
    text = MINIMAL.replace("64", "[64]")
    assert loaded(tmp_path, text).cases[0].point == {"frame_size": "64B"}
    text = "name: mine\ntopology: p2p\ntraffic: {frame_size: 64, direction: [both, forward]}\n"
    assert [case.point for case in loaded(tmp_path, text).cases] == [
        {"direction": "both"},
        {"direction": "forward"},
    ]


def test_ids_do_not_depend_on_how_a_value_is_written_or_on_its_sisters(tmp_path: Path) -> None:
    all_four = {case.id for case in loaded(tmp_path, SWEEP).cases}
    other = SWEEP.replace("[1518, 64]", "[64B]").replace("[1, 4k]", "[4000]")
    (case,) = loaded(tmp_path, other).cases
    assert case.id in all_four


def test_prose_does_not_change_an_id_but_a_setting_does(tmp_path: Path) -> None:
    plain = loaded(tmp_path).cases[0].id
    assert loaded(tmp_path, MINIMAL + "title: new\ntags: [x]\n").cases[0].id == plain
    assert loaded(tmp_path, MINIMAL + "trial: {drain: 3s}\n").cases[0].id != plain


def test_each_case_knows_the_sizes_of_its_sisters(tmp_path: Path) -> None:
    assert {case.sister_sizes for case in loaded(tmp_path, SWEEP).cases} == {(1518, 64)}
    assert loaded(tmp_path).cases[0].sister_sizes == (64,)


def test_an_expectation_for_a_size_goes_to_the_cases_of_that_size(tmp_path: Path) -> None:
    cases = loaded(tmp_path, SWEEP).cases
    assert [len(case.spec.expect) for case in cases] == [1, 1, 2, 2]
    assert cases[0].origins["expect.0.min"] == "mine.yaml:7"
    assert cases[2].origins["expect.1.min"] == "mine.yaml:8"


def test_narrowing_the_sizes_from_above_leaves_the_other_expectations_out(tmp_path: Path) -> None:
    request = Request(("mine",), testbed="sim", sets=("traffic.frame_size=1518",))
    cases = loaded(tmp_path, SWEEP, request).cases
    assert [len(case.spec.expect) for case in cases] == [1, 1]


def test_repeats_run_the_whole_testcase_once_and_then_again(tmp_path: Path) -> None:
    cases = loaded(tmp_path, SWEEP, Request(("mine",), testbed="sim", repeat=2)).cases
    assert [case.repeat for case in cases] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert cases[4].id == cases[0].id
    assert cases[4].key == f"{cases[0].id}.2"
    assert len({case.key for case in cases}) == 8


def test_repeats_take_all_testcases_in_turns(tmp_path: Path) -> None:
    """A machine that slows down steadily must not make one of them look slow."""
    write(tmp_path, {"testcases/other.yaml": SWEEP.replace("name: mine", "name: other")})
    cases = loaded(tmp_path, SWEEP, Request(("mine", "other"), testbed="sim", repeat=2)).cases
    order = [(case.spec.name, case.repeat) for case in cases[::4]]
    assert order == [("mine", 1), ("other", 1), ("mine", 2), ("other", 2)]
