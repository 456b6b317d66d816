"""Lists make cases: the cross product in the order written, with ids that stay the same."""

from __future__ import annotations

from pathlib import Path

from config_world import MINIMAL, loaded, write

from vsperf.spec.loader import Request

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
