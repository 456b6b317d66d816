"""Lists of switches: a case for each, or one case for all where a method compares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from config_world import (
    CHECKOUT,
    DRIVERS,
    MINIMAL,
    cases,
    library,
    loaded,
    mistakes,
    problems,
    write,
    wrong,
)

from vsperf.config.alternatives import named_items
from vsperf.config.case import Case
from vsperf.config.loader import Request, Shorthand, load
from vsperf.config.tree import Listing, Source
from vsperf.config.yaml import parse

# A list of switches makes a case for each, and what is said of a kind holds for that kind.

TWO = "vswitch: [sim, {kind: other, cpus: '3'}]\n"


def of_switch(found: Sequence[Case], key: str) -> list[object]:
    return [case.spec.vswitch.model_dump(mode="json").get(key) for case in found]


def names(text: str) -> list[str]:
    """Return what the items of a list are called; each of them is a mapping."""
    node = parse(text, Source("list", "list"))
    assert isinstance(node, Listing)
    return [one.name for one in named_items(node)]


class TestCases:
    def test_each_item_is_a_case_that_is_called_by_its_kind(self, tmp_path: Path) -> None:
        found = cases(tmp_path, TWO)
        assert [case.label for case in found] == ["mine-64B-sim", "mine-64B-other"]
        assert [case.point for case in found] == [{"vswitch": "sim"}, {"vswitch": "other"}]
        assert of_switch(found, "kind") == ["sim", "other"]
        assert of_switch(found, "cpus") == [None, "3"]

    def test_generators_and_vnfs_may_be_lists_as_well(self, tmp_path: Path) -> None:
        text = (
            "topology: pvp\n"
            "generator: [sim, {kind: sim, name: late, seed: 7}]\n"
            "vnf: [sim, {kind: sim, name: slow}]\n"
        )
        found = loaded(tmp_path, MINIMAL.replace("topology: p2p\n", "") + text).cases
        assert [case.point for case in found] == [
            {"generator": "sim", "vnf": "sim"}, {"generator": "sim", "vnf": "slow"},
            {"generator": "late", "vnf": "sim"}, {"generator": "late", "vnf": "slow"},
        ]  # fmt: skip
        seeds = [case.spec.generator.model_dump()["seed"] for case in found]
        assert seeds[2:] == [7, 7] and 7 not in seeds[:2]

    def test_with_other_lists_the_switch_changes_first(self, tmp_path: Path) -> None:
        text = MINIMAL.replace("64", "[64, 128]") + TWO
        assert [case.label for case in loaded(tmp_path, text).cases] == [
            "mine-64B-sim", "mine-64B-other", "mine-128B-sim", "mine-128B-other",
        ]  # fmt: skip

    def test_repeats_take_turns_and_turn_round_so_that_a_drift_favours_none(
        self, tmp_path: Path
    ) -> None:
        found = cases(tmp_path, TWO, repeat=4)
        order = [case.point["vswitch"] for case in found]
        assert order == ["sim", "other", "other", "sim"] * 2
        places = {name: [at for at, one in enumerate(order) if one == name] for name in order}
        assert sum(places["sim"]) == sum(places["other"])  # as early as late, on the whole
        assert len({case.key for case in found}) == 8

    def test_only_the_switches_turn_round(self, tmp_path: Path) -> None:
        text = MINIMAL.replace("64", "[64, 128]") + TWO
        assert [case.label for case in cases(tmp_path, start=text, repeat=2)[4:]] == [
            "mine-64B-other", "mine-64B-sim", "mine-128B-other", "mine-128B-sim",
        ]  # fmt: skip

    def test_a_list_of_one_is_a_list_and_a_word_is_a_kind(self, tmp_path: Path) -> None:
        (one,) = cases(tmp_path, "vswitch: [sim]\n")
        assert (one.label, one.point) == ("mine-64B-sim", {"vswitch": "sim"})
        (word,) = cases(tmp_path, "vswitch: sim\n")
        assert (word.label, word.point) == ("mine-64B", {})

    def test_a_value_says_where_it_was_written(self, tmp_path: Path) -> None:
        first, other = cases(tmp_path, TWO)
        assert other.origins["vswitch.cpus"] == "mine.yaml:4"
        assert first.origins["vswitch.kind"] == "mine.yaml:4"
        (chosen,) = cases(tmp_path, TWO, "vswitch.kind=other")
        assert chosen.origins["vswitch.kind"] == "--set vswitch.kind=other"


class TestLayers:
    def test_what_a_testbed_says_of_a_kind_holds_for_that_kind(self, tmp_path: Path) -> None:
        bed = (CHECKOUT / "conf/testbeds/sim.yaml").read_text()
        bed = bed.replace("name: sim", "name: bench")
        bed = bed.replace("vswitch: {kind: sim}", "vswitch: {kind: sim, seed: 7}")
        files = {"conf/testbeds/bench.yaml": bed, "testcases/mine.yaml": MINIMAL + TWO}
        place = write(tmp_path, files)
        found = load(Request(("mine",), testbed="bench"), library(place, place), DRIVERS).cases
        assert of_switch(found, "seed") == [7, None]

    def test_a_setting_without_a_kind_is_for_all(self, tmp_path: Path) -> None:
        two = "vswitch: [{kind: sim, name: a}, {kind: sim, name: b, seed: 5}]\n"
        found = cases(tmp_path, two, "vswitch.flows=l2")
        assert of_switch(found, "flows") == ["l2", "l2"]
        assert of_switch(found, "seed") == [1, 5]

    def test_a_list_above_takes_what_lies_below_of_its_kinds(self, tmp_path: Path) -> None:
        found = cases(tmp_path, "vswitch: {kind: other, cpus: '2'}\n", "vswitch=[other,sim]")
        assert of_switch(found, "kind") == ["other", "sim"]
        assert of_switch(found, "cpus") == ["2", None]

    def test_a_kind_above_a_list_chooses_from_it(self, tmp_path: Path) -> None:
        (found,) = cases(tmp_path, TWO, "vswitch.kind=other")
        assert (found.label, of_switch([found], "cpus")) == ("mine-64B", ["3"])

    def test_two_of_the_chosen_kind_both_stay(self, tmp_path: Path) -> None:
        three = "vswitch: [{kind: sim, name: a}, {kind: sim, name: b, seed: 2}, {kind: other}]\n"
        found = cases(tmp_path, three, "vswitch.kind=sim")
        assert [case.point["vswitch"] for case in found] == ["a", "b"]

    def test_a_base_may_hold_the_list(self, tmp_path: Path) -> None:
        write(tmp_path, {"testcases/base.yaml": MINIMAL.replace("mine", "base") + TWO})
        found = loaded(tmp_path, "name: mine\nextends: base\n").cases
        assert [case.label for case in found] == ["mine-64B-sim", "mine-64B-other"]

    def test_settings_of_a_base_that_name_no_kind_reach_a_list(self, tmp_path: Path) -> None:
        base = MINIMAL.replace("mine", "base") + "vswitch: {seed: 4}\n"
        write(tmp_path, {"testcases/base.yaml": base})
        text = "name: mine\nextends: base\nvswitch: [sim, {kind: sim, flows: l2}]\n"
        assert of_switch(loaded(tmp_path, text).cases, "seed") == [4, 4]


class TestOption:
    """`--vswitch a,b`, which stands below the testcase and above it."""

    def option(self, setting: str) -> tuple[Shorthand, ...]:
        return (Shorthand("--vswitch …", setting, keeps=True),)

    def test_what_the_testcase_sets_for_whichever_switch_stays(self, tmp_path: Path) -> None:
        option = self.option("vswitch.kind=sim")
        (found,) = cases(tmp_path, "vswitch: {seed: 9}\n", shorthands=option)
        assert of_switch([found], "seed") == [9]

    def test_what_it_sets_for_one_kind_stays_with_that_kind(self, tmp_path: Path) -> None:
        option = self.option("vswitch=[other, sim]")
        found = cases(tmp_path, "vswitch: {kind: other, cpus: '5'}\n", shorthands=option)
        assert of_switch(found, "kind") == ["other", "sim"]
        assert of_switch(found, "cpus") == ["5", None]

    def test_settings_of_a_kind_that_is_not_chosen_are_dropped(self, tmp_path: Path) -> None:
        option = self.option("vswitch.kind=sim")
        (found,) = cases(tmp_path, "vswitch: {kind: other, cpus: '5'}\n", shorthands=option)
        assert (of_switch([found], "kind"), of_switch([found], "cpus")) == (["sim"], [None])

    def test_it_chooses_from_a_list_with_its_settings(self, tmp_path: Path) -> None:
        (found,) = cases(tmp_path, TWO, shorthands=self.option("vswitch.kind=other"))
        assert of_switch([found], "cpus") == ["3"]


class TestByKind:
    """`vswitches:`, which says for each kind what holds wherever it is used."""

    def found(self, folder: Path, own: str, told: str) -> tuple[Case, ...]:
        write(folder, {"bed.yaml": f"vswitches: {told}\n"})
        return cases(folder, own, conf=(Path("bed.yaml"),))

    def test_a_switch_that_is_chosen_finds_what_is_said_of_it(self, tmp_path: Path) -> None:
        told = "{other: {cpus: '6'}, sim: {seed: 3}}"
        assert of_switch(self.found(tmp_path, "vswitch: [sim, other]\n", told), "cpus") == [
            None, "6",
        ]  # fmt: skip
        (alone,) = self.found(tmp_path, "vswitch: {kind: other}\n", told)
        assert of_switch([alone], "cpus") == ["6"]
        assert alone.origins["vswitch.cpus"] == "bed.yaml:1"

    def test_what_the_case_says_itself_wins(self, tmp_path: Path) -> None:
        found = self.found(tmp_path, TWO, "{other: {cpus: '6'}}")
        assert of_switch(found, "cpus") == [None, "3"]

    def test_it_gives_no_item_another_name(self, tmp_path: Path) -> None:
        own = "vswitch: [{kind: sim}, {kind: sim, flows: l2}]\n"
        found = self.found(tmp_path, own, "{sim: {seed: 8}}")
        assert [case.point["vswitch"] for case in found] == ["sim", "sim-flows-l2"]
        assert of_switch(found, "seed") == [8, 8]

    @pytest.mark.parametrize(
        ("told", "what"),
        [
            ("{othr: {}}", "there is no switch 'othr'"),
            ("{sim: {sed: 1}}", "'sed' is not known in `vswitches.sim`"),
            ("{sim: [1]}", "`vswitches.sim` holds settings of the switch, and is a list"),
            ("[sim]", "`vswitches` holds settings by the kind of a switch, and is a list"),
        ],
    )
    def test_a_mistake_in_it_is_named(self, tmp_path: Path, told: str, what: str) -> None:
        assert wrong(tmp_path, f"vswitches: {told}\n") == [what]

    def test_options_cannot_say_it(self, tmp_path: Path) -> None:
        found = wrong(tmp_path, "", "vswitches.sim.seed=2")
        assert found == ["`vswitches` stands in files only, below all that `vswitch` says"]

    def test_of_generators_each_is_told_its_own(self, tmp_path: Path) -> None:
        found = cases(
            tmp_path,
            "generators: {sim: {seed: 7}}\ngenerator: [sim, {kind: sim, name: b, seed: 9}]\n",
        )
        assert [case.spec.generator.model_dump(mode="json")["seed"] for case in found] == [7, 9]

    def test_an_option_that_cannot_say_it_is_told_how_it_can(self, tmp_path: Path) -> None:
        (problem,) = mistakes(tmp_path, "", "generators.sim.seed=2")
        assert "--set 'generator=[OTHER, {kind: sim, seed: …}]'" in (problem.fix or "")


class TestNames:
    def test_items_of_one_kind_are_called_by_what_differs(self) -> None:
        assert names("[{kind: sim}, {kind: sim, seed: 2}]") == ["sim", "sim-seed-2"]
        assert names("[{kind: a, smc: true}, {kind: a, smc: false}, {kind: b, smc: true}]") == [
            "a-smc-true", "a-smc-false", "b",
        ]  # fmt: skip

    def test_a_folder_is_called_by_its_last_part(self) -> None:
        found = names("[{kind: ovs}, {kind: ovs, root: /srv/trees/trixie/}]")
        assert found == ["ovs", "ovs-trixie"]

    def test_what_all_have_in_common_is_in_no_name(self) -> None:
        assert names("[{kind: a, root: /x, n: 1}, {kind: a, root: /x, n: 2}]") == ["a-n-1", "a-n-2"]

    def test_a_name_of_ones_own_wins_and_becomes_part_of_the_label(self, tmp_path: Path) -> None:
        two = "vswitch: [{kind: sim, name: old}, {kind: sim, name: new, seed: 2}]\n"
        assert [case.label for case in cases(tmp_path, two)] == ["mine-64B-old", "mine-64B-new"]

    def test_the_same_switch_under_two_names_shows_how_far_nothing_lies_apart(
        self, tmp_path: Path
    ) -> None:
        found = cases(tmp_path, "vswitch: [{kind: sim, name: a}, {kind: sim, name: b}]\n")
        assert len({case.id for case in found}) == 2
        assert found[0].spec == found[1].spec


class TestMistakes:
    @pytest.mark.parametrize(
        ("vswitch", "what"),
        [
            ("[]", "is an empty list"),
            ("[sim, sim]", "holds 'sim' twice"),
            ("[sim, {kind: sim}]", "holds 'sim' twice"),
            ("[sim, 5]", "is a kind or its settings, and is the number 5"),
            ("[sim, null]", "is a kind or its settings, and is empty"),
            ("[sim, [sim]]", "is a kind or its settings, and is a list"),
            ("[sim, simm]", "there is no vswitch driver 'simm'"),
            ("[sim, {kind: sim, seeed: 1}]", "'seeed' is not known in `vswitch`"),
            ("[sim, {kind: sim, name: 'a b'}]", "an item that is called 'a b'"),
            ("[{kind: sim, name: x}, {kind: sim, name: x, seed: 2}]", "would be called 'x'"),
            ("{kind: sim, name: x}", "'name' is not known in `vswitch`"),
        ],
    )
    def test_a_mistake_is_named(self, tmp_path: Path, vswitch: str, what: str) -> None:
        found = wrong(tmp_path, f"vswitch: {vswitch}\n")
        assert [one for one in found if what in one], found

    def test_an_item_without_a_kind_is_of_the_testbeds(self, tmp_path: Path) -> None:
        two = "vswitch: [{kind: sim, name: a}, {seed: 3}]\n"
        assert of_switch(cases(tmp_path, two), "seed") == [1, 3]

    def test_where_no_layer_names_a_kind_each_item_has_to(self, tmp_path: Path) -> None:
        bed = (CHECKOUT / "conf/testbeds/sim.yaml").read_text()
        bed = bed.replace("name: sim", "name: bench").replace("vswitch: {kind: sim}\n", "")
        two = MINIMAL + "vswitch: [sim, {seed: 3}]\n"
        place = write(tmp_path, {"conf/testbeds/bench.yaml": bed, "testcases/mine.yaml": two})
        found = problems(library(place, place), Request(("mine",), testbed="bench"))
        assert [one.what for one in found] == [
            "an item of `vswitch` does not say of what kind it is"
        ]

    def test_two_folders_of_one_name_need_names(self, tmp_path: Path) -> None:
        two = "vswitch: [{kind: sim, root: /a/x}, {kind: sim, root: /b/x}]\n"
        assert [one for one in wrong(tmp_path, two) if "would be called 'sim-x'" in one]


# Where a method compares, a list of switches is one case: the first, and its rivals.

START_RIVALS = (
    "name: mine\ntopology: p2p\ntraffic: {frame_size: [64, 128]}\nlatency: null\n"
    "search: {kind: paired}\n"
)


cases_of_rivals = partial(cases, start=START_RIVALS)
wrong_of_rivals = partial(wrong, start="")


def sides(case: Case) -> list[tuple[str, str, str]]:
    return [(side.letter, side.name, side.spec.vswitch.kind) for side in case.spec.sides]


class TestOneCase:
    def test_a_list_of_switches_is_one_case_for_each_point(self, tmp_path: Path) -> None:
        found = cases_of_rivals(tmp_path, TWO)
        assert [case.label for case in found] == [
            "mine-64B-sim_against_other",
            "mine-128B-sim_against_other",
        ]
        assert found[0].point == {"frame_size": "64B", "vswitch": "sim against other"}

    def test_the_first_is_its_own_control_and_the_others_are_rivals(self, tmp_path: Path) -> None:
        case = cases_of_rivals(tmp_path, TWO)[0]
        assert sides(case) == [
            ("A", "sim", "sim"),
            ("A′", "sim once more", "sim"),
            ("B", "other", "other"),
        ]
        assert case.spec.sides[2].spec.vswitch.model_dump()["cpus"] is not None
        assert all(not side.spec.rivals for side in case.spec.sides)

    def test_without_a_control_each_takes_part_once(self, tmp_path: Path) -> None:
        case = cases_of_rivals(tmp_path, TWO, "search.control=false")[0]
        assert [letter for letter, *_ in sides(case)] == ["A", "B"]

    def test_a_single_switch_is_held_against_itself(self, tmp_path: Path) -> None:
        case = cases_of_rivals(tmp_path, "vswitch: sim\n", "search.control=false")[0]
        assert sides(case) == [("A", "sim", "sim"), ("A′", "sim once more", "sim")]
        assert case.label == "mine-64B"

    def test_the_same_switch_may_stand_twice(self, tmp_path: Path) -> None:
        case = cases_of_rivals(tmp_path, "vswitch: [sim, sim]\n")[0]
        assert [name for _, name, _ in sides(case)] == ["sim", "sim once more", "sim-2"]

    def test_an_option_with_the_same_switch_twice_has_two(self, tmp_path: Path) -> None:
        option = Shorthand("--vswitch sim,sim", "vswitch=[sim, sim]", keeps=True)
        case = cases_of_rivals(tmp_path, "", shorthands=(option,))[0]
        assert [name for _, name, _ in sides(case)] == ["sim", "sim once more", "sim-2"]

    def test_switches_of_a_kind_are_called_by_what_differs(self, tmp_path: Path) -> None:
        case = cases_of_rivals(
            tmp_path, "vswitch: [{kind: other, cpus: '2'}, {kind: other, cpus: '3'}]\n"
        )[0]
        assert [name for _, name, _ in sides(case)][::2] == ["other-cpus-2", "other-cpus-3"]

    def test_what_a_testbed_says_of_a_kind_holds_for_a_rival_too(self, tmp_path: Path) -> None:
        write(tmp_path, {"more.yaml": "vswitches: {other: {cpus: '5'}}\n"})
        found = cases_of_rivals(tmp_path, "vswitch: [sim, other]\n", conf=(tmp_path / "more.yaml",))
        assert str(found[0].spec.rivals[0].vswitch.model_dump(mode="json")["cpus"]) == "5"

    def test_other_methods_have_a_case_for_each_switch(self, tmp_path: Path) -> None:
        found = cases(tmp_path, TWO, start=START_RIVALS.replace("search: {kind: paired}\n", ""))
        assert len(found) == 4
        assert not any(case.spec.rivals or case.spec.sides for case in found)


class TestIdentity:
    def test_what_switches_are_called_decides_no_number(self, tmp_path: Path) -> None:
        plain = cases_of_rivals(tmp_path, TWO)[0]
        two = "vswitch: [sim, {kind: other, name: new, cpus: '3'}]\n"
        named = cases_of_rivals(tmp_path, two)[0]
        assert named.label == "mine-64B-sim_against_new"
        assert plain.id.rpartition("-")[2] == named.id.rpartition("-")[2]

    def test_what_a_rival_is_does(self, tmp_path: Path) -> None:
        one = cases_of_rivals(tmp_path, TWO)[0]
        other = cases_of_rivals(tmp_path, "vswitch: [sim, {kind: other, cpus: '4'}]\n")[0]
        assert one.id.rpartition("-")[2] != other.id.rpartition("-")[2]

    def test_each_value_of_a_rival_has_its_origin(self, tmp_path: Path) -> None:
        case = cases_of_rivals(tmp_path, TWO)[0]
        assert case.origins["rivals.0.vswitch.cpus"].endswith("mine.yaml:6")


class TestRefused:
    def test_more_switches_than_take_turns_well(self, tmp_path: Path) -> None:
        many = ", ".join(["sim"] * 9)
        assert wrong_of_rivals(tmp_path, f"{START_RIVALS}vswitch: [{many}]\n") == [
            "`vswitch` holds 9 switches, and at most 8 can be compared"
        ]

    def test_two_that_are_given_the_same_name(self, tmp_path: Path) -> None:
        text = "vswitch: [{kind: sim, name: x}, {kind: other, name: x, cpus: '3'}]\n"
        assert wrong_of_rivals(tmp_path, START_RIVALS + text) == [
            "two items of `vswitch` would be called 'x'"
        ]

    def test_rivals_are_written_as_a_list_of_switches(self, tmp_path: Path) -> None:
        text = f"{START_RIVALS}vswitch: sim\nrivals: [{{name: x, vswitch: {{kind: sim}}}}]\n"
        assert wrong_of_rivals(tmp_path, text) == ["`rivals` cannot stand here"]

    def test_a_mistake_in_a_rival_is_told_with_its_place(self, tmp_path: Path) -> None:
        found = wrong_of_rivals(
            tmp_path, f"{START_RIVALS}vswitch: [sim, {{kind: other, cpuz: '3'}}]\n"
        )
        assert len(found) == 1
        assert "cpuz" in found[0]

    def test_only_switches_differ_and_all_else_is_the_same_for_all(self, tmp_path: Path) -> None:
        for section in ("topology: p2p", "traffic: {frame_size: 64}", "generator: sim"):
            for switches in (f"{{kind: sim, {section}}}, sim", f"sim, {{kind: sim, {section}}}"):
                text = f"vswitch: [{switches}]\n"
                (found,) = mistakes(tmp_path, text, start=START_RIVALS)
                key = section.partition(":")[0]
                assert found.what.startswith(f"'{key}' is not known in `vswitch")
                assert found.where is not None
                assert "mine.yaml:6" in str(found.where)
                assert found.why is not None
                assert f"`{key}` is the same for all" in found.why
                assert found.fix == f"give `{key}` once, beside `vswitch`"

    def test_a_rival_is_named_by_its_place_in_the_list(self, tmp_path: Path) -> None:
        found = wrong_of_rivals(
            tmp_path, f"{START_RIVALS}vswitch: [sim, {{kind: other, cpus: '2', more: 3}}]\n"
        )
        assert found == ["'more' is not known in `vswitch.1`"]
