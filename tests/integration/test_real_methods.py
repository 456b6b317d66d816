"""Every method once on the real OVS-DPDK, some on VPP, too: what was found is accounted for.

Parameters are short. No test asks how fast the switch is: each asks whether the answer follows
from the trials.
"""

from __future__ import annotations

import statistics
from fractions import Fraction

import pytest
from real_runs import TIMES, Place, fixture_calibrations, fixture_place, fixture_switch

from vsperf.errors import ExitCode
from vsperf.records.files.view import CaseView, open_run
from vsperf.records.histogram import summary
from vsperf.records.result import Figure, Limit
from vsperf.records.run import Outcome
from vsperf.records.switch import AddressCounts
from vsperf.records.trial import Purpose, Trial
from vsperf.search.highest import HighestPassing

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place", "fixture_switch"]

SHORT = (
    "--set=trial.warm_up=0s",
    "--set=trial.drain=100ms",
    "--set=trial.linger=50ms",
    "--set=trial.retries=5",
    "--set=traffic.frame_size=64",
)
Settings = tuple[str, ...]
THROUGHPUT = (
    "--set=search.throughput_duration=200ms",
    "--set=search.throughput_sum=200ms",
    "--set=search.throughput_width=25%",
)


def measured(place: Place, testcase: str, *settings: str) -> CaseView:
    """Run a testcase and return its only case, which came to a result."""
    ended = place.until_decided("run", testcase, *SHORT, *settings)
    assert ended.code == 0, ended.err
    return only(place)


def only(place: Place) -> CaseView:
    """Return the only case of the run last worked on, and see that it has a result."""
    (case,) = place.records().cases()
    assert case.record is not None and case.record.result is not None
    return case


def answered(place: Place, *words: str) -> tuple[int, CaseView]:
    """Run a testcase until its trials could be believed, also where its answer is that it has none.

    Return the exit code and the only case.
    """
    for _ in range(TIMES):
        ended = place("run", *words, *SHORT)
        assert ended.code in (ExitCode.OK, ExitCode.INVALID_RESULT), ended.err
        (case,) = place.records().cases()
        result = case.record.result if case.record is not None else None
        if result is not None and result.whole:
            break
    return ended.code, only(place)


def figures(case: CaseView) -> dict[str, Figure]:
    assert case.record is not None and case.record.result is not None
    return {figure.name: figure for figure in case.record.result.figures}


def searched(case: CaseView) -> list[Trial]:
    return [trial for trial in case.trials if trial.purpose is Purpose.SEARCH and trial.valid]


def addresses(trial: Trial) -> AddressCounts:
    """Return what the switch said of the addresses that it knew after a trial."""
    assert trial.switch is not None and trial.switch.addresses is not None
    return trial.switch.addresses


def lost(trial: Trial) -> int:
    return max(way.lost_frames for way in trial.directions)


@pytest.mark.parametrize(
    "search",
    [
        "{kind: rfc2544, duration: 200ms, resolution: 25%}",
        "{kind: tst009, duration: 200ms, step: 25%, max_repeats: 2, loss_threshold: 100}",
    ],
)
def test_other_searches_for_the_throughput_end_at_the_highest_load_allowed(
    place: Place, search: str
) -> None:
    """Its frames fit into a ring, and are waited for: no busy machine can cost the answer."""
    words = (f"--set=search={search}", "--set=search.goals={ndr: {loss_ratio: 0}, pdr: null}")
    limits = ("--set=search.min_load=1kfps", "--set=search.max_load=2kfps", "--set=latency=null")
    case = measured(place, "phy2phy_tput", *words, *limits, "--set=trial.drain=2s")
    assert case.record is not None and case.record.result is not None
    (goal,) = case.record.result.goals
    assert (goal.lower_fps, goal.limit) == (2_000, Limit.SETTING)
    assert all(lost(trial) == 0 for trial in searched(case) if trial.load_fps == 2_000)


def test_loss_is_offered_from_the_top_and_ends_with_two_loads_without_any(place: Place) -> None:
    case = measured(place, "phy2phy_loss", "--set=search={kind: loss, duration: 200ms, step: 25%}")
    assert case.record is not None and case.record.result is not None
    loads = case.record.result.loads
    assert [one.load_fps for one in loads] == sorted(
        (t.load_fps for t in searched(case)), reverse=True
    )
    for load, trial in zip(loads, searched(case), strict=True):
        assert Fraction(load.worst_loss_ratio) == trial.loss_ratio
    if figures(case)["lossless_load"].value is not None:
        assert [lost(trial) for trial in searched(case)[-2:]] == [0, 0]


def test_forwarding_rates_are_those_of_the_trials(place: Place) -> None:
    case = measured(
        place, "phy2phy_forwarding", "--set=search={kind: forwarding, duration: 200ms, step: 25%}"
    )
    rates = [int(trial.forwarding_fps) for trial in searched(case)]
    found = figures(case)
    assert found["mfr"].value == max(rates)
    assert found["frmol"].value == rates[0]


BURSTS = ("phy2phy_back2back", "--set=search.repeats=2", "--set=search.step=100")


def test_the_longest_burst_is_the_one_that_the_bursts_tried_lead_to(place: Place) -> None:
    """Made from the trials anew, the search must end where it did; a machine decides which end."""
    words = ("--set=search.throughput=500kfps", "--set=search.max_burst=100ms")
    code, case = answered(place, *BURSTS, *words)
    burst, tried = figures(case)["burst"], iter(searched(case))
    assert "the cap of the generator" in burst.at or "the nominal rate of the link" in burst.at
    if "not meaningful" in burst.reason:
        assert burst.value is None and not list(tried), "a cap that is no more than the throughput"
        return
    (rate,) = {trial.load_fps for trial in searched(case)}

    def again(frames: int) -> int:
        trial = next(tried)
        assert {way.intended_frames for way in trial.directions} == {frames}
        return lost(trial)

    found = [HighestPassing(100, rate // 10).run(again) for _ in range(2)]
    assert not list(tried), "all bursts are of these two searches"
    lengths = [passed for passed, _ in found]
    endless = sum(failed is None for _, failed in found)
    if endless:  # the switch forwards all that the generator can send
        assert burst.value is None and code == ExitCode.INVALID_RESULT
        assert f"passed in {endless} of 2 searches" in burst.reason
    elif not any(lengths):
        assert burst.value is None and "even 100 frames lose some" in burst.reason
    else:
        assert burst.value == statistics.mean(lengths)
        assert burst.spread is not None and burst.spread.maximum == max(lengths)
        buffered = figures(case)["buffered"].value
        assert buffered == pytest.approx(burst.value * (1 - 500_000 / rate))


def test_bursts_that_every_ring_holds_say_nothing_of_a_buffer(place: Place) -> None:
    """500 frames are fewer than the ring before the switch holds, whoever is kept from running."""
    words = ("--set=search.throughput=400kfps", "--set=search.max_load=500kfps")
    code, case = answered(place, *BURSTS, *words, "--set=search.max_burst=1ms")
    assert code == ExitCode.INVALID_RESULT
    burst = figures(case)["burst"]
    assert (burst.value, burst.limit) == (None, Limit.UNKNOWN)
    assert burst.at == "bursts at 500.0 kfps, the highest load allowed"
    assert "500 frames in 1ms, passed in 2 of 2 searches" in burst.reason


def test_a_killed_switch_stays_away_for_as_long_as_both_methods_say(
    place: Place, switch: Settings
) -> None:
    case = measured(
        place,
        "phy2phy_reset",
        *switch,
        "--set=search.throughput=20kfps",
        "--set=search.duration=6s",
        "--set=search.repeats=1",
        "--set=search.events=[restart-switch, kill-switch]",
        "--set=trial.stretch_tolerance=10%",
    )
    found = figures(case)
    for word in ("restart", "kill"):
        by_stamps, by_loss = found[f"{word}_time"].value, found[f"{word}_lost_time"].value
        assert by_stamps is not None and by_loss is not None
        assert by_stamps > 0
        assert found[f"{word}_difference"].value == pytest.approx(by_loss - by_stamps)
    events = [trial.event for trial in searched(case)]
    assert [event and event.name for event in events] == ["restart-switch", "kill-switch"]


def test_changes_of_rules_are_counted_and_leave_no_rule_behind(place: Place) -> None:
    ended = place(
        "run",
        "phy2phy_churn",
        *SHORT,
        *THROUGHPUT,
        "--set=search.rules_per_second=[200]",
        "--set=search.throughput=300kfps",
        "--set=search.max_load=400kfps",
        "--set=search.throughput_duration=400ms",
        "--set=search.throughput_sum=400ms",
    )
    # A search beside changes may not settle on a busy machine.
    assert ended.code in (ExitCode.OK, ExitCode.INVALID_RESULT), ended.err
    case = only(place)
    assert case.record is not None and case.record.result is not None
    beside = [trial for trial in searched(case) if trial.rules_changed is not None]
    assert beside and all(trial.reference == "beside 200 rules/s" for trial in beside)
    assert sum(trial.rules_changed or 0 for trial in beside) > 0
    assert all((trial.rules_changed or 0) % 2 == 0 for trial in beside), "some rules stayed"
    (curve,) = case.record.result.curves
    settled = figures(case)["kept"].value is not None
    assert [point[0] for point in curve.points] == ([0, 200] if settled else [0])


def test_each_frame_of_flow_set_up_is_looked_up_in_the_rules(place: Place) -> None:
    case = measured(
        place,
        "phy2phy_flow_setup",
        "--set=traffic.flows=4096",
        "--set=search.repeats=1",
        "--set=search.width=25%",
    )
    assert case.record is not None and case.record.outcome is Outcome.PASS
    for trial in searched(case):
        assert trial.switch is not None
        upcalls = sum(pmd.hits["upcall"] for pmd in trial.switch.pmds)
        if not lost(trial):
            assert upcalls >= trial.sent_frames * 9 // 10, "flows were known, or had no room"
    found = figures(case)
    assert found["flow_setup_rate"].value
    first, later = found["first_frame_latency"].value, found["later_frame_latency"].value
    assert first is not None and later is not None


def test_a_bridge_knows_as_many_addresses_as_its_table_holds(place: Place) -> None:
    case = measured(
        place,
        "phy2phy_caching",
        "--set=search.repeats=1",
        "--set=search.rate=20kfps",
        "--set=search.step=256",
        "--set=traffic.flows=9216",
    )
    (found,) = figures(case).values()
    trials = searched(case)
    assert found.value is not None and found.value % 256 == 0
    for trial in trials:
        said = addresses(trial)
        assert said.known <= min(said.most, trial.intended_frames), "it forgot before each trial"
        assert said.known <= said.learned - said.evicted - said.expired, "who is known came once"
        if said.known == trial.intended_frames:
            assert found.value >= said.known
    assert any(trial.intended_frames > found.value for trial in trials)


def test_addresses_are_learned_at_a_rate_that_the_trials_show(
    place: Place, switch: Settings
) -> None:
    case = measured(
        place,
        "phy2phy_learning",
        *switch,
        "--set=search.repeats=1",
        "--set=search.width=25%",
        "--set=traffic.flows=2000",
    )
    found = figures(case)["learning_rate"]
    known = {trial.load_fps for trial in searched(case) if addresses(trial).known == 2000}
    assert found.value == max(known)
    assert {trial.intended_frames for trial in searched(case)} == {2000}


def test_frames_for_everybody_come_through_a_bridge(place: Place, switch: Settings) -> None:
    case = measured(
        place,
        "phy2phy_broadcast",
        *switch,
        "--set=search.throughput=20kfps",
        "--set=search.duration=400ms",
        "--set=search.repeats=2",
        "--set=trial.stretch_tolerance=10%",
    )
    found = figures(case)
    typical, worst = found["typical_latency"].value, found["worst_case_latency"].value
    assert typical is not None and worst is not None and 0 < typical <= worst
    trials = [t for t in case.trials if t.purpose is Purpose.LATENCY and t.valid]
    assert [trial.load_fps for trial in trials] == [20_000, 20_000]
    for trial in trials:
        assert addresses(trial).known == 1, "a bridge learns from whom frames for all are"


def test_a_recovery_is_the_time_to_the_last_loss_or_says_why_there_is_none(place: Place) -> None:
    """The overload is all that the generator can send; a machine decides which end it has."""
    case = measured(
        place,
        "phy2phy_recovery",
        "--set=search.throughput=3Mfps",
        "--set=search.overload=100%",
        "--set=search.after=5%",
        "--set=search.repeats=2",
        "--set=search.duration=300ms",
        "--set=trial.stretch_tolerance=10%",
    )
    figure, stepped = figures(case)["recovery_time"], searched(case)
    if "not meaningful" in figure.reason:
        assert figure.value is None and not stepped, "a cap that is no more than the throughput"
        return
    assert len(stepped) == 2 and all(trial.directions[0].steps for trial in stepped)
    for way in (way for trial in stepped for way in trial.directions):
        high, low = way.steps
        assert low.intended_frames == pytest.approx(high.intended_frames / 20, abs=1)
        assert low.began_ns is not None and low.began_ns > 250_000_000
    calm = [
        t for t in stepped if all(way.offered_frames <= way.good_frames for way in t.directions)
    ]
    times = [way.recovery_ns() for trial in stepped for way in trial.directions]
    known = [time for time in times if time is not None]
    if calm:  # the switch can do all that the generator can
        assert figure.value is None
        assert f"in {len(calm)} of 2 trials nothing was lost above" in figure.reason
    elif len(known) < len(times):
        assert figure.value is None and "nobody can tell" in figure.reason
    elif max(known) > 270_000_000:  # the last tenth: whoever stalled then may have lost more
        assert figure.value is None and "to the end of the lower load" in figure.reason
    else:
        assert figure.value is not None and figure.spread is not None
        assert figure.spread.runs == 2 and figure.spread.maximum == max(known)


def test_the_first_frame_after_a_silence_is_told_apart(place: Place) -> None:
    case = measured(
        place,
        "phy2phy_wake_up",
        "--set=search.throughput=20kfps",
        "--set=search.repeats=2",
        "--set=search.frames=1000",  # which the ring before the switch holds, should it stall
        "--set=search.silence=250ms",
        "--set=trial.stretch_tolerance=10%",
    )
    found = figures(case)
    woken, awake = found["wake_up_latency"].value, found["awake_latency"].value
    assert woken is not None and awake is not None and min(woken, awake) > 0
    paused = [t for t in case.trials if t.valid and t.directions[0].steps]
    assert len(paused) == 2
    for way in (way for trial in paused for way in trial.directions):
        before, silent, after = way.steps
        counted = (before.intended_frames, silent.intended_frames, after.intended_frames)
        assert counted == (1000, 1, 1000)
        assert silent.began_ns is not None and after.began_ns is not None
        assert after.began_ns - silent.began_ns >= 240_000_000
        assert [summary(one).count for one in way.range_histograms if one] == [100, 1]


def test_tagged_frames_come_back(place: Place) -> None:
    case = measured(
        place,
        "phy2phy_latency",
        "--set=search.throughput=200kfps",
        "--set=search.repeats=2",
        "--set=search.duration=400ms",
        "--set=search.tag_after=200ms",
    )
    found = figures(case)
    tagged = found["tagged_latency"]
    assert tagged.value is not None and tagged.value > 0
    trials = [t for t in case.trials if t.purpose is Purpose.LATENCY and t.valid]
    for trial in trials:
        for way in trial.directions:
            assert way.first_sent_ns is not None and way.first_sent_ns >= 200_000_000
    typical, worst = found["typical_latency"].value, found["worst_case_latency"].value
    assert typical is not None and worst is not None and typical <= worst


def test_a_soak_records_its_seconds_and_what_the_switch_did_in_each(place: Place) -> None:
    case = measured(
        place,
        "phy2phy_soak",
        "--set=search.throughput=200kfps",
        "--set=search.duration=10s",
        "--set=trial.stretch_tolerance=10%",
    )
    stored = place.records()
    seconds = list(open_run(stored.folder).case(case.planned).seconds)
    assert len(seconds) >= 8  # more where the machine kept the generator from sending in time
    counts = [second.sample.directions[0].sent_frames for second in seconds]
    assert counts == sorted(counts)
    for second in seconds:
        assert second.switch is not None and sum(pmd.frames for pmd in second.switch.pmds) > 0
        assert {thread.part for thread in second.threads} == {"switch", "generator"}
    assert figures(case)["loss_ratio"].value is not None
    assert "over_time" in {curve.name for curve in case.record.result.curves}  # type: ignore[union-attr]
