"""A trial is judged by its counters and its distances, and a run by how clean its time was."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import REPOSITORY
from exchanges import cpu, exchange, use
from export_samples import case as planned_case
from export_samples import exported, run_of
from record_samples import SECOND_NS, case_record, case_start, goal, goal_result
from record_samples import trial as trial_of_distances
from report_pages import markdown_of, overview_of
from search_models import trial
from search_models import way as lane
from simulated_cases import behaving, simulated_case
from slot_samples import AWAY, CALM, GAP_NS, LOSSY, Story, in_slots, told, trial_of
from test_regimes import found_near

from vsperf.analysis.summary import TOO_BUSY, CaseRow, too_busy
from vsperf.cli.commands.show import print_run
from vsperf.cli.main import run_cli
from vsperf.cli.progress import case_line
from vsperf.config.case import Case
from vsperf.config.expect import Expectation
from vsperf.config.loader import Request, load
from vsperf.config.lookup import Library
from vsperf.config.traffic import TrialPolicy
from vsperf.engine.closing import close_case
from vsperf.engine.conditions import distances, flags_around
from vsperf.engine.exchanges import with_exchanges
from vsperf.engine.judge import Asked, judge, judge_with_context
from vsperf.engine.run import code_of_host
from vsperf.errors import ExitCode
from vsperf.plugins import Plugins
from vsperf.progress import CaseFinished
from vsperf.records.files.view import open_run
from vsperf.records.flags import Flag, Severity
from vsperf.records.host import Calibration, Conditions
from vsperf.records.result import Limit, SearchResult
from vsperf.records.run import CaseRecord, Outcome
from vsperf.records.switch import (
    NicCounters,
    PmdCounters,
    PortCounters,
    SwitchCounters,
    VnfCounters,
)
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import Direction, GeneratorActivity, Trial, TrialCounts

# A trial is judged by its counters alone, and every doubt has its own flag.

SECOND = 1_000_000_000

POLICY = TrialPolicy.model_validate(
    {
        "warm_up": "0s",
        "learning": False,
        "settle": "0s",
        "drain": "0s",
        "pause": "0s",
        "retries": 2,
        "offered_tolerance": "0.1%",
        "stretch_tolerance": "1%",
    }
)


def way(name: str = "phy0>phy1", **counters: Any) -> Direction:
    fine = {"intended_frames": 10_000, "sent_frames": 10_000, "received_frames": 10_000}
    return Direction(name=name, **{**fine, **counters})


def flags(
    *ways: Direction,
    sending_ns: int | None = SECOND,
    settled: bool = True,
    directions: int | None = None,
    duration_ns: int = SECOND,
) -> set[Flag]:
    """Judge what a generator reports that was asked for 10,000 frames in a second, each way."""
    counts = TrialCounts(
        directions=ways, sending_ns=sending_ns, elapsed_ns=duration_ns, settled=settled
    )
    directions = len(ways) if directions is None else directions
    return set(judge(counts, Asked(10_000, duration_ns, directions), POLICY))


BACK = "phy1>phy0"
LOST: dict[str, Any] = {"received_frames": 4_000}


def meant(frames: int) -> Direction:
    return way(intended_frames=frames, sent_frames=frames, received_frames=frames)


@pytest.mark.parametrize(
    ("ways", "more", "found"),
    [
        # Neither no loss nor loss alone is a reason for doubt, but in one direction only it is.
        ((way(), way(BACK)), {}, set()),
        ((way(**LOST), way(BACK, **LOST)), {}, set()),
        ((way(received_frames=9_900), way(BACK)), {}, {Flag.ONE_SIDED}),
        ((way(),), {"settled": False}, {Flag.COUNTERS_MOVING}),
        ((), {}, {Flag.COUNTERS_IMPOSSIBLE}),
        # Sending takes no longer than is tolerated, and two milliseconds always are.
        ((way(),), {"sending_ns": SECOND * 1010 // 1000}, set()),
        ((way(),), {"sending_ns": SECOND * 1011 // 1000}, {Flag.STRETCHED}),
        ((meant(100),), {"sending_ns": 11_999_999, "duration_ns": SECOND // 100}, set()),
        ((meant(100),), {"sending_ns": 12_000_001, "duration_ns": SECOND // 100}, {Flag.STRETCHED}),
        ((way(),), {"sending_ns": None}, {Flag.UNTIMED}),
        # What was meant to be sent is held against the load, and so is each direction.
        ((way(), meant(9_900)), {}, {Flag.WRONG_LOAD}),
        ((meant(10_001),), {}, {Flag.WRONG_LOAD}),
        ((way(),), {"directions": 2}, {Flag.WRONG_LOAD}),
        ((way(), way(BACK)), {"directions": 1}, {Flag.WRONG_LOAD}),
        # Frames that come long after the last one was sent had been waiting.
        ((way(), way(BACK, receiving_ns=SECOND + 2_000_000)), {}, set()),
        ((way(), way(BACK, receiving_ns=SECOND + 2_000_001)), {}, {Flag.BUFFERED}),
    ],
)
def test_a_trial_earns_the_flags_that_it_should_and_no_others(
    ways: tuple[Direction, ...], more: dict[str, Any], found: set[Flag]
) -> None:
    assert flags(*ways, **more) == found


@pytest.mark.parametrize(
    ("counters", "flag"),
    [
        ({"sent_frames": 0, "received_frames": 0}, Flag.NOTHING_SENT),
        ({"received_frames": 0}, Flag.NOTHING_RECEIVED),
        ({"sent_frames": 10_001}, Flag.OVERSENT),
        ({"received_frames": 10_001}, Flag.RX_EXCEEDS_TX),
        ({"sent_frames": 9_000, "received_frames": 9_001}, Flag.RX_EXCEEDS_TX),
        ({"received_frames": -1}, Flag.COUNTERS_IMPOSSIBLE),
        ({"received_frames": 5, "duplicate_frames": 6}, Flag.COUNTERS_IMPOSSIBLE),
        ({"sent_frames": 9_989, "received_frames": 9_989}, Flag.SHORT_OFFER),
        ({"received_frames": 10_003, "duplicate_frames": 3}, Flag.DUPLICATES),
        ({"corrupted_frames": 1}, Flag.CORRUPTED),
        ({"reordered_frames": 1}, Flag.REORDERED),
        ({"foreign_frames": 1}, Flag.FOREIGN),
        ({"unmarked_frames": 1}, Flag.UNCHECKED),
    ],
)
def test_each_doubt_has_its_flag_in_either_direction(counters: dict[str, Any], flag: Flag) -> None:
    assert flag in flags(way(**counters), way("phy1>phy0"))
    assert flag in flags(way(), way("phy1>phy0", **counters))


def test_sending_in_less_time_is_a_higher_load_than_the_one_asked_for() -> None:
    due = SECOND * 9_999 // 10_000  # from the first frame to the last
    assert flags(way(), sending_ns=due * 991 // 1000) == set()
    assert flags(way(), sending_ns=due * 989 // 1000) == {Flag.RUSHED}
    half = way(sent_frames=5_000, received_frames=5_000)
    assert Flag.RUSHED in flags(half, sending_ns=due * 4 // 10), "whatever stayed unsent"
    assert Flag.RUSHED not in flags(half, sending_ns=due // 2), "it ended early, at the right rate"


def test_a_pause_of_the_generator_is_no_slower_pace() -> None:
    for paused_ns, stretched in ((SECOND // 2, False), (SECOND // 3, True)):
        activity = GeneratorActivity(
            busy_ppm=1, longest_gap_ns=paused_ns, gaps_over_10us=1, paused_ns=paused_ns
        )
        counts = TrialCounts(
            directions=(way(),),
            sending_ns=SECOND * 3 // 2,
            elapsed_ns=2 * SECOND,
            settled=True,
            generator=activity,
        )
        assert (Flag.STRETCHED in judge(counts, Asked(10_000, SECOND, 1), POLICY)) is stretched


def test_pauses_of_more_than_a_tenth_are_rests_of_the_switch_that_a_reader_must_know_of() -> None:
    for paused_ns, found in ((SECOND // 9, set()), (SECOND // 9 + 1, {Flag.GENERATOR_PAUSED})):
        counts = TrialCounts(
            directions=(way(),),
            sending_ns=SECOND + SECOND // 9,
            elapsed_ns=2 * SECOND,
            settled=True,
            generator=GeneratorActivity(paused_ns=paused_ns),
        )
        assert set(judge(counts, Asked(10_000, SECOND, 1), POLICY)) == found


def test_each_direction_is_held_against_its_own_share_of_the_load() -> None:
    half = way(intended_frames=5_000, sent_frames=5_000, received_frames=5_000)
    uneven = Asked(10_000, SECOND, 2, shares=(Fraction(1), Fraction(1, 2)))
    for ways, found in (((way(), half), set()), ((half, way()), {Flag.WRONG_LOAD}),
                        ((way(), way()), {Flag.WRONG_LOAD})):  # fmt: skip
        counts = TrialCounts(directions=ways, sending_ns=SECOND, elapsed_ns=SECOND, settled=True)
        assert set(judge(counts, uneven, POLICY)) == found


def test_by_the_times_of_a_file_the_number_of_frames_is_the_files() -> None:
    ways = (way(intended_frames=9_000, sent_frames=9_000, received_frames=9_000),)
    counts = TrialCounts(directions=ways, sending_ns=SECOND // 2, elapsed_ns=SECOND, settled=True)
    assert judge(counts, Asked(10_000, SECOND, 1, even=False), POLICY) == ()
    assert judge(counts, Asked(10_000, SECOND, 2, even=False), POLICY) == (Flag.WRONG_LOAD,)


def test_a_shortfall_within_the_tolerance_is_no_flag_but_still_loss() -> None:
    short = way(sent_frames=9_990, received_frames=9_990)
    assert flags(short) == set()
    assert short.lost_frames == 10


def test_duplicates_that_the_generator_sees_do_not_hide_loss() -> None:
    masked = way(received_frames=10_000, duplicate_frames=40)
    assert flags(masked) == {Flag.DUPLICATES}
    assert masked.lost_frames == 40


def test_a_loss_while_the_generator_was_behind_is_said_to_be_doubtful() -> None:
    behind = GeneratorActivity(busy_ppm=1, longest_gap_ns=0, gaps_over_10us=0, behind_ns=1_000)
    calm = behind.model_copy(update={"behind_ns": 0})
    missed = calm.model_copy(update={"missed_frames": 1})
    lost, whole = (trial(10**6, SECOND, [lane(10**6, lost=lost)]) for lost in (1, 0))
    for counts, activity, doubted in (
        (lost, behind, True),
        (lost, missed, True),
        (lost, calm, False),
        (whole, behind, False),
    ):
        seen = counts.model_copy(update={"generator": activity})
        assert (Flag.GENERATOR_BEHIND in judge_with_context(seen, POLICY)) is doubted


def test_what_the_switch_lost_on_its_way_no_ring_of_the_generator_explains() -> None:
    """Its own queue was full, long before a frame could have come to the generator."""
    behind = GeneratorActivity(busy_ppm=1, longest_gap_ns=0, gaps_over_10us=0, behind_ns=SECOND)
    counted = trial(10**6, SECOND, [lane(10**6, lost=50)])
    for reason, explained in (("rx dropped", 0), ("tx tap full", 50)):
        port = PortCounters(
            name="phy0", link="phy0", received_frames=0, sent_frames=0, drops={reason: 50}
        )
        switch = SwitchCounters(ports=(port,))
        seen = counted.model_copy(update={"generator": behind, "switch": switch})
        assert seen.behind_frames == explained


def polling(part: str, **known: int) -> ThreadActivity:
    return ThreadActivity(part=part, name=f"{part}-poll", **known)


RING_OF_1000 = GeneratorActivity(
    busy_ppm=1, longest_gap_ns=0, gaps_over_10us=0, paused_ns=0, ring_frames=1_000
)


@pytest.mark.parametrize(
    ("thread", "doubted"),
    [
        (polling("switch", delay_ns=1_500_000), True),  # 1500 frames: 1000 in a ring, 500 lost
        (polling("switch", delay_ns=1_499_999), False),
        (polling("switch", steal_ns=1_500_000), True),
        (polling("switch", delay_ns=1_000_000, steal_ns=500_000), True),
        (polling("vm1", delay_ns=1_500_000), True),
        (polling("generator", delay_ns=SECOND), False),  # it says itself how long it stood still
        (polling("switch"), False),  # nobody knows
    ],
)
def test_a_thread_is_doubted_that_waited_for_longer_than_a_ring_and_the_loss_explain(
    thread: ThreadActivity, doubted: bool
) -> None:
    lossy, whole = (trial(10**6, SECOND, [lane(10**6, lost=lost)]) for lost in (500, 0))
    conditions = {"generator": RING_OF_1000, "threads": (polling("switch"), thread)}
    seen = lossy.model_copy(update=conditions)
    assert (Flag.KEPT_FROM_RUNNING in judge_with_context(seen, POLICY)) is doubted
    assert seen.held_up == ((thread,) if doubted else ())
    calm = whole.model_copy(update=conditions)
    assert Flag.KEPT_FROM_RUNNING not in judge_with_context(calm, POLICY), "nothing was lost"


def test_the_thread_that_waited_longest_is_named_first() -> None:
    threads = (polling("vm1", delay_ns=SECOND // 2), polling("switch", delay_ns=SECOND))
    seen = trial(10**6, SECOND, [lane(10**6, lost=500)]).model_copy(update={"threads": threads})
    assert [thread.part for thread in seen.held_up] == ["switch", "vm1"]


def _counted(frames: int, drops: int, busy: int | None = 1) -> SwitchCounters:
    port = PortCounters(
        name="phy1", received_frames=0, sent_frames=frames, drops={"tx dropped": drops}
    )
    return SwitchCounters(
        ports=(port,), pmds=(PmdCounters(cpu=1, frames=1, busy_cycles=busy, idle_cycles=1),)
    )


def test_a_counter_that_fell_is_pointed_out_and_explains_nothing() -> None:
    before, seen = _counted(500, 500, 500), trial(1000, SECOND, [lane(1000, lost=10)])
    for after, fell in (
        (_counted(1490, 510, 501), False),
        (_counted(490, 510, 501), True),
        (_counted(1490, 10, 501), True),
    ):
        found = seen.model_copy(update={"switch": after.since(before)})
        assert (Flag.COUNTERS_RESET in judge_with_context(found, POLICY)) is fell
        assert found.unexplained_frames == (None if fell else 0)


@pytest.mark.parametrize("busy", [None, 1])
def test_cycles_that_fell_are_unknown_and_say_nothing_of_frames(busy: int | None) -> None:
    before, after = _counted(500, 500, 500), _counted(1490, 510, busy)
    grown = after.since(before)
    assert [(pmd.busy_cycles, pmd.idle_cycles) for pmd in grown.pmds] == [(None, 0)]
    assert grown.cycles_per_frame is None
    seen = trial(1000, SECOND, [lane(1000, lost=10)]).model_copy(update={"switch": grown})
    assert Flag.COUNTERS_RESET not in judge_with_context(seen, POLICY)
    assert seen.switch_busy is None


def test_a_counter_of_a_vnf_that_fell_is_pointed_out_too() -> None:
    now, then = (NicCounters(received_frames=frames, sent_frames=0) for frames in (1, 2))
    vnf = VnfCounters(name="vm1", nics=(now,)).since(VnfCounters(name="vm1", nics=(then,)))
    found = trial(1000, SECOND, [lane(1000)]).model_copy(update={"vnfs": (vnf,)})
    assert Flag.COUNTERS_RESET in judge_with_context(found, POLICY)


def test_every_flag_says_what_it_means_and_what_it_weighs() -> None:
    for flag in Flag:
        assert flag.meaning.endswith(".")
        assert flag.severity in Severity


@pytest.mark.parametrize(
    ("story", "stalled"),
    [
        ([(GAP_NS, 0, 40), *[CALM] * 5], True),
        ([*[CALM] * 5, LOSSY, (GAP_NS, 0, 40), CALM], True),
        ([LOSSY, *[CALM] * 5, (GAP_NS, 0, 40), CALM], False),
        ([CALM, LOSSY, CALM], False),
        ([CALM, AWAY, *[CALM] * 5], False),
        ([CALM, (GAP_NS, 0, 40), CALM, CALM], False),  # too little is left to tell
    ],
)
def test_a_stall_made_a_loss_only_where_all_of_it_is_in_slots_beside_it(
    story: Story, stalled: bool
) -> None:
    flags = judge_with_context(trial_of(told(story)), POLICY)
    assert (Flag.HOST_STALLED in flags) is stalled


# CPUs that a hypervisor moved: the result says between which distances.


def looked(*round_trips_ns: tuple[int, ...]) -> list[Trial]:
    return [
        trial_of_distances().model_copy(update={"round_trips_ns": trips, "index": index})
        for index, trips in enumerate(round_trips_ns)
    ]


def test_near_and_far_trials_are_told_apart() -> None:
    (said,) = distances(looked((94, 91), (91, 102), (102, 435), (435, 448), ()), SearchResult())
    assert "94 to 102 ns apart (there and back) in 2 trials and 435 to 448 ns in 2" in said


def test_they_are_those_of_the_regimes_where_there_are_two() -> None:
    """Within one of them a way may take nearly twice as long as another."""
    seen = looked((70, 72), (119, 125), (380, 391), (500, 402), (120, 430))
    (said,) = distances(seen, SearchResult())
    assert "72 to 125 ns apart (there and back) in 2 trials and 391 to 500 ns in 3" in said


def test_of_one_distance_nothing_is_said_nor_where_nobody_looked() -> None:
    for seen in (looked((94, 91), (91, 120)), looked((), ())):
        assert distances(seen, SearchResult()) == ()


def test_where_the_result_says_how_far_they_were_the_warning_has_no_figures_of_its_own() -> None:
    """It is of all trials, and the result of those that count."""
    seen = looked((94, 91), (88, 102), (435, 448), (310, 435), (320, 330))
    (said,) = distances(seen, SearchResult(round_trips_ns=(310, 448)))
    assert "switch were nearer to each other in 2 trials than in 3, and rates follow that" in said
    (said,) = distances(seen, found_near(9_000_000, None))
    assert "were near each other in 2 trials, far from each other in 3, and rates" in said
    (said,) = distances([*seen, *looked((102, 435))], found_near(9_000_000, None))
    assert "near each other in 2 trials, far from each other in 3, and moved in 1, and" in said
    (said,) = distances(seen, found_near(None, None))
    assert "94 to 102 ns apart (there and back) in 2 trials and 330 to 448 ns in 3" in said


# A run in most of whose time the machine stood still is no PASS without a word.

BUSY = case_record("a", flags=(Flag.TOO_BUSY,))
QUIET = case_record("b")


def made(gaps: int) -> Trial:
    """Return a trial of 100 slots, in so many of which the generator was away."""
    return in_slots(100_000, SECOND_NS, 10**7, gaps, 0, 0)


def stored(tmp_path: Path, *records: CaseRecord) -> Path:
    cases = [planned_case(one.case, label=one.case) for one in records]
    lines = [line for one in records for line in (case_start(one.case), one)]
    return run_of(tmp_path, cases, *lines).folder


@pytest.mark.parametrize(("gaps", "busy"), [(0, False), (10, False), (30, True)])
def test_a_case_is_marked_where_less_than_half_of_its_time_was_clean(gaps: int, busy: bool) -> None:
    flags = flags_around([made(gaps)], Conditions(), shared_cpu=False)
    assert (Flag.TOO_BUSY in flags) is busy


def test_where_nobody_knows_what_time_was_clean_nothing_is_said() -> None:
    unknown = made(30).model_copy(update={"slots": None})
    assert Flag.TOO_BUSY not in flags_around([unknown], Conditions(), shared_cpu=False)


@pytest.mark.parametrize(("gaps", "share"), [(0, "1"), (10, "7/10"), (None, None)])
def test_what_of_its_time_was_clean_stands_in_the_record_of_a_case(
    gaps: int | None, share: str | None
) -> None:
    """A gap takes its slot and both neighbours; where there are no slots, nobody knows."""
    asked = Request(("phy2phy_tput",), testbed="local", sets=("traffic.frame_size=64B",))
    (case,) = load(asked, Library.find({}, REPOSITORY), Plugins.load().specs()).cases
    around: Any = SimpleNamespace(shared_cpu=False)
    one = made(0).model_copy(update={"slots": None}) if gaps is None else made(gaps)
    result = SearchResult(goals=(goal_result(),))
    assert close_case(case, around, result, [one], Conditions(), ()).clean_share == share


def test_the_cap_of_the_generator_is_held_against_the_load_at_which_the_time_ended() -> None:
    asked = Request(("phy2phy_tput",), testbed="local", sets=("traffic.frame_size=64B",))
    (case,) = load(asked, Library.find({}, REPOSITORY), Plugins.load().specs()).cases
    wanted = Expectation.model_validate({"metric": "ndr", "min": "9.9Mfps"})
    case = replace(case, spec=case.spec.model_copy(update={"expect": (wanted,)}))
    around: Any = SimpleNamespace(shared_cpu=False)
    failed, flags = trial(9_850_000, SECOND_NS, [lane(9_850_000, lost=7)]), (Flag.OUT_OF_BUDGET,)
    answer = goal(9_000_000, 9_850_000, limit=Limit.BUDGET, flags=flags)
    for cap_fps, outcome in ((10_000_000, Outcome.INVALID), (14_000_000, Outcome.FAIL)):
        cap = Calibration(frame_size=64, cap_fps=cap_fps, method="", measured_at="", cpus=(1, 2))
        found = Conditions(calibration=cap)
        record = close_case(case, around, SearchResult(goals=(answer,)), [failed], found, ())
        assert record.outcome is outcome


@pytest.mark.parametrize(("clients", "share"), [(0.8, "4/5"), (0.5, "1/2"), (0.19, "19/100")])
def test_of_programs_it_is_what_others_left_of_a_cpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], clients: float, share: str
) -> None:
    """A rate on a CPU that others had says as little of the switch as one of frames."""
    one = exchange(cpu=use(cpu(0, busy=1), clients=clients))
    broken = one.model_copy(update={"flags": (Flag.PROGRAM_FAILED,), "cpu": None})
    found = with_exchanges(case_record("a"), (broken, one))
    assert (found.clean_share, found.trials) == (share, 2)
    busy = clients < 0.5
    assert (Flag.TOO_BUSY in found.flags) is busy
    assert code_of_host([found], anyway=False) is (ExitCode.INVALID_RESULT if busy else ExitCode.OK)
    print_run(open_run(stored(tmp_path, found)))
    assert (TOO_BUSY in capsys.readouterr().out) is busy


def test_the_run_goes_by_the_time_of_its_cases() -> None:
    assert too_busy([]) is None
    assert too_busy([QUIET]) is None
    assert too_busy([BUSY, QUIET]) is None, "half is not most"
    long = BUSY.model_copy(update={"measured_ns": 9 * SECOND_NS})
    assert (too_busy([long, QUIET]) or "").startswith(f"{TOO_BUSY}: in 1 of 2 cases")


def test_it_goes_by_what_was_not_clean_of_all_of_it_where_few_cases_had_less_than_half() -> None:
    dirty = BUSY.model_copy(update={"clean_share": "1/10", "measured_ns": 3 * SECOND_NS})
    clean = QUIET.model_copy(update={"clean_share": "3/5", "measured_ns": 4 * SECOND_NS})
    told = too_busy([dirty, clean])
    assert told is not None
    assert told.startswith(f"{TOO_BUSY}: over all cases only 38.6% of the time was clean, as")
    most = clean.model_copy(update={"clean_share": "9/10"})
    assert too_busy([dirty, most]) is None
    unknown = QUIET.model_copy(update={"measured_ns": 9 * SECOND_NS})
    assert too_busy([dirty, clean, unknown]) is None, "of most of it nobody knows"


def test_beside_noise_that_was_asked_for_a_busy_machine_is_part_of_the_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No output says otherwise, the exit code does not, and its rate stands."""
    beside = Conditions(noise={"settled": {}, "least": 0.8})
    loud = BUSY.model_copy(update={"conditions": beside, "clean_share": "1/10"})
    assert too_busy([loud]) is None
    long = loud.model_copy(update={"measured_ns": 9 * SECOND_NS})
    assert too_busy([QUIET, long]) is None
    assert (too_busy([BUSY, long]) or "").startswith(f"{TOO_BUSY}: in each case")
    assert code_of_host([loud], anyway=False) is ExitCode.OK
    folder = stored(tmp_path, loud)
    where = ["--results", str(folder.parent)]
    for asked in (["results"], ["results", "--cases"], ["show", folder.name]):
        run_cli([*asked, *where])
        said = capsys.readouterr().out
        assert "PASS" in said
        assert TOO_BUSY not in said
        assert "host too busy" not in said
    assert overview_of([folder]).verdict.word != TOO_BUSY
    (case,) = open_run(folder).cases()
    assert (CaseRow.of(case).too_busy, bool(CaseRow.of(case).rates_fps)) == (False, True)


def test_of_programs_it_is_others_and_not_the_noise_who_took_the_time() -> None:
    around = Conditions(noise={"settled": {}}, switch={"places": {}})
    assert too_busy([BUSY.model_copy(update={"conditions": around})]) is not None


def test_lists_and_the_page_of_a_case_say_so_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = BUSY.model_copy(update={"measured_ns": 9 * SECOND_NS})
    folder = stored(tmp_path, long, QUIET)
    where = ["--results", str(folder.parent)]

    def said(*asked: str) -> str:
        run_cli([*asked, *where])
        return capsys.readouterr().out

    assert "2 PASS, host too busy" in said("results")
    for cases in (said("results", folder.name), said("results", "--cases")):
        assert [line.split("PASS")[1].strip() for line in cases.splitlines() if "PASS" in line] == [
            ", host too busy",
            "",
        ]
    first = said("show", folder.name, "a").splitlines()[0]
    assert first == (
        f"{TOO_BUSY}: less than half of the time was clean, as the machine kept a part of the "
        "testbed from running"
    )
    assert TOO_BUSY not in said("show", folder.name, "b")
    assert said("show", folder.name).count("PASS, host too busy") == 1
    assert "PASS, host too busy" in said("show", folder.name, "a")
    assert "host too busy" not in said("show", folder.name, "b")


def test_the_line_with_which_a_case_ends_says_so() -> None:
    case = Case(simulated_case(behaving("never-lossy")))
    assert case_line(CaseFinished(case, BUSY)).startswith("PASS, host too busy  ndr ")
    assert case_line(CaseFinished(case, QUIET)).startswith("PASS  ndr ")


def test_what_stands_of_its_numbers_is_said_and_what_nobody_can_tell() -> None:
    """Where nobody could tell anything no number would stand, and the flag would be graver."""
    assert Flag.TOO_BUSY.severity is Severity.SUSPECT
    said = next(one for one in Flag.TOO_BUSY.meaning.split(". ") if "nobody can tell" in one)
    assert said.startswith("The numbers stand for what came through")


def test_the_exit_code_says_so_unless_it_was_to_go_on_anyway() -> None:
    assert code_of_host([BUSY], anyway=False) is ExitCode.INVALID_RESULT
    assert code_of_host([BUSY], anyway=True) is ExitCode.OK
    assert code_of_host([QUIET], anyway=False) is ExitCode.OK


def test_it_stands_above_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_run(open_run(stored(tmp_path, BUSY)))
    lines = capsys.readouterr().out.splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith(TOO_BUSY))
    assert place < next(number for number, line in enumerate(lines) if "PASS" in line)


def test_it_is_the_first_line_of_a_report(tmp_path: Path) -> None:
    folder = stored(tmp_path, BUSY)
    assert overview_of([folder]).verdict.word == TOO_BUSY
    assert markdown_of(folder).splitlines()[0].startswith(f"## {TOO_BUSY}: ")


def test_junit_has_a_test_of_the_machine_that_did_not_succeed(tmp_path: Path) -> None:
    folder = stored(tmp_path, BUSY)
    from vsperf.records.files.view import open_run

    text = exported("junit", open_run(folder))["report"].decode()
    assert 'type="TOO-BUSY"' in text
    assert TOO_BUSY in text
