"""Where a method compares, a list of switches is one case: the first, and its rivals."""

from __future__ import annotations

from pathlib import Path

from config_world import library, loaded, problems, write

from vsperf.spec.case import Case
from vsperf.spec.loader import Request, Shorthand

START = (
    "name: mine\ntopology: p2p\ntraffic: {frame_size: [64, 128]}\nlatency: null\n"
    "search: {kind: paired}\n"
)
TWO = "vswitch: [sim, {kind: other, cpus: '3'}]\n"


def cases(folder: Path, vswitch: str, *sets: str, **more: object) -> tuple[Case, ...]:
    request = Request(("mine",), testbed="sim", sets=sets, **more)  # type: ignore[arg-type]
    return loaded(folder, START + vswitch, request).cases


def sides(case: Case) -> list[tuple[str, str, str]]:
    return [(side.letter, side.name, side.spec.vswitch.kind) for side in case.spec.sides]


def wrong(folder: Path, text: str, *sets: str) -> list[str]:
    write(folder, {"testcases/mine.yaml": text})
    request = Request(("mine",), testbed="sim", sets=sets)
    return [problem.what for problem in problems(library(folder, folder), request)]


class TestOneCase:
    def test_a_list_of_switches_is_one_case_for_each_point(self, tmp_path: Path) -> None:
        found = cases(tmp_path, TWO)
        assert [case.label for case in found] == [
            "mine-64B-sim_against_other",
            "mine-128B-sim_against_other",
        ]
        assert found[0].point == {"frame_size": "64B", "vswitch": "sim against other"}

    def test_the_first_is_its_own_control_and_the_others_are_rivals(self, tmp_path: Path) -> None:
        case = cases(tmp_path, TWO)[0]
        assert sides(case) == [
            ("A", "sim", "sim"),
            ("A′", "sim once more", "sim"),
            ("B", "other", "other"),
        ]
        assert case.spec.sides[2].spec.vswitch.model_dump()["cpus"] is not None
        assert all(not side.spec.rivals for side in case.spec.sides)

    def test_without_a_control_each_takes_part_once(self, tmp_path: Path) -> None:
        case = cases(tmp_path, TWO, "search.control=false")[0]
        assert [letter for letter, *_ in sides(case)] == ["A", "B"]

    def test_a_single_switch_is_held_against_itself(self, tmp_path: Path) -> None:
        case = cases(tmp_path, "vswitch: sim\n", "search.control=false")[0]
        assert sides(case) == [("A", "sim", "sim"), ("A′", "sim once more", "sim")]
        assert case.label == "mine-64B"

    def test_the_same_switch_may_stand_twice(self, tmp_path: Path) -> None:
        case = cases(tmp_path, "vswitch: [sim, sim]\n")[0]
        assert [name for _, name, _ in sides(case)] == ["sim", "sim once more", "sim-2"]

    def test_an_option_with_the_same_switch_twice_has_two(self, tmp_path: Path) -> None:
        option = Shorthand("--vswitch sim,sim", "vswitch=[sim, sim]", keeps=True)
        case = cases(tmp_path, "", shorthands=(option,))[0]
        assert [name for _, name, _ in sides(case)] == ["sim", "sim once more", "sim-2"]

    def test_switches_of_a_kind_are_called_by_what_differs(self, tmp_path: Path) -> None:
        case = cases(tmp_path, "vswitch: [{kind: other, cpus: '2'}, {kind: other, cpus: '3'}]\n")[0]
        assert [name for _, name, _ in sides(case)][::2] == ["other-cpus-2", "other-cpus-3"]

    def test_what_a_testbed_says_of_a_kind_holds_for_a_rival_too(self, tmp_path: Path) -> None:
        write(tmp_path, {"more.yaml": "vswitches: {other: {cpus: '5'}}\n"})
        found = cases(tmp_path, "vswitch: [sim, other]\n", conf=(tmp_path / "more.yaml",))
        assert str(found[0].spec.rivals[0].vswitch.model_dump(mode="json")["cpus"]) == "5"

    def test_other_methods_have_a_case_for_each_switch(self, tmp_path: Path) -> None:
        text = START.replace("search: {kind: paired}\n", "")
        request = Request(("mine",), testbed="sim")
        found = loaded(tmp_path, text + TWO, request).cases
        assert len(found) == 4
        assert not any(case.spec.rivals or case.spec.sides for case in found)


class TestIdentity:
    def test_what_switches_are_called_decides_no_number(self, tmp_path: Path) -> None:
        plain = cases(tmp_path, TWO)[0]
        named = cases(tmp_path, "vswitch: [sim, {kind: other, name: new, cpus: '3'}]\n")[0]
        assert named.label == "mine-64B-sim_against_new"
        assert plain.id.rpartition("-")[2] == named.id.rpartition("-")[2]

    def test_what_a_rival_is_does(self, tmp_path: Path) -> None:
        one = cases(tmp_path, TWO)[0]
        other = cases(tmp_path, "vswitch: [sim, {kind: other, cpus: '4'}]\n")[0]
        assert one.id.rpartition("-")[2] != other.id.rpartition("-")[2]

    def test_each_value_of_a_rival_has_its_origin(self, tmp_path: Path) -> None:
        case = cases(tmp_path, TWO)[0]
        assert case.origins["rivals.0.vswitch.cpus"].endswith("mine.yaml:6")


class TestRefused:
    def test_more_switches_than_take_turns_well(self, tmp_path: Path) -> None:
        many = ", ".join(["sim"] * 9)
        assert wrong(tmp_path, f"{START}vswitch: [{many}]\n") == [
            "`vswitch` holds 9 switches, and at most 8 can be compared"
        ]

    def test_two_that_are_given_the_same_name(self, tmp_path: Path) -> None:
        text = "vswitch: [{kind: sim, name: x}, {kind: other, name: x, cpus: '3'}]\n"
        assert wrong(tmp_path, START + text) == ["two items of `vswitch` would be called 'x'"]

    def test_rivals_are_written_as_a_list_of_switches(self, tmp_path: Path) -> None:
        text = f"{START}vswitch: sim\nrivals: [{{name: x, vswitch: {{kind: sim}}}}]\n"
        assert wrong(tmp_path, text) == ["`rivals` cannot stand here"]

    def test_a_mistake_in_a_rival_is_told_with_its_place(self, tmp_path: Path) -> None:
        found = wrong(tmp_path, f"{START}vswitch: [sim, {{kind: other, cpuz: '3'}}]\n")
        assert len(found) == 1
        assert "cpuz" in found[0]

    def test_only_switches_differ_and_all_else_is_the_same_for_all(self, tmp_path: Path) -> None:
        for section in ("topology: p2p", "traffic: {frame_size: 64}", "generator: sim"):
            for switches in (f"{{kind: sim, {section}}}, sim", f"sim, {{kind: sim, {section}}}"):
                write(tmp_path, {"testcases/mine.yaml": f"{START}vswitch: [{switches}]\n"})
                request = Request(("mine",), testbed="sim")
                (found,) = problems(library(tmp_path, tmp_path), request)
                key = section.partition(":")[0]
                assert found.what.startswith(f"'{key}' is not known in `vswitch")
                assert found.where is not None
                assert "mine.yaml:6" in str(found.where)
                assert found.why is not None
                assert f"`{key}` is the same for all" in found.why
                assert found.fix == f"give `{key}` once, beside `vswitch`"

    def test_a_rival_is_named_by_its_place_in_the_list(self, tmp_path: Path) -> None:
        found = wrong(tmp_path, f"{START}vswitch: [sim, {{kind: other, cpus: '2', more: 3}}]\n")
        assert found == ["'more' is not known in `vswitch.1`"]

    def test_machines_cannot_be_held_still(self, tmp_path: Path) -> None:
        text = START.replace("p2p", "pvp")
        (found,) = wrong(
            tmp_path,
            f"{text}traffic: {{frame_size: 64}}\n".replace("traffic: {frame_size: [64, 128]}\n", "")
            + "vswitch: [sim, sim]\nvnf: loop\n",
        )
        assert "topology pvp has vm1" in found
