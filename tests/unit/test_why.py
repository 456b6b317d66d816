"""Why a case came to no more: each attribution by records and series made up to show it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from record_samples import case_record, trial
from series_samples import header
from why_samples import BOUND, SECOND_NS, bound_at, cap, case, lossy, passing, said, switch

from vsperf.analysis.collected import Digest, digest
from vsperf.analysis.why import Measured, Verdict, explain, headline
from vsperf.records.flags import Flag
from vsperf.records.result import Limit
from vsperf.records.series import Nature, Quantity, Sample
from vsperf.records.switch import (
    NicCounters,
    PmdCounters,
    PortCounters,
    SwitchCounters,
    VnfCounters,
)
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import Direction, Trial


class TestGenerator:
    def test_far_below_its_cap_it_was_not_the_reason(self) -> None:
        one = said(explain(case()), "generator")
        assert one.verdict is Verdict.FREE
        assert "1.000 Mfps of the 3.000 Mfps" in one.text

    def test_at_its_cap_it_was_full(self) -> None:
        found = explain(case(conditions=cap(1_040_000)))
        assert said(found, "generator").verdict is Verdict.FULL
        assert "the generator" in headline(case(), found)

    def test_one_that_was_too_slow_below_its_cap_is_said_to_be(self) -> None:
        one = said(explain(case(limit=Limit.GENERATOR)), "generator")
        assert one.verdict is Verdict.FULL
        assert "too slow" in one.text

    def test_without_calibration_nobody_can_tell(self) -> None:
        one = said(explain(case(conditions=None)), "generator")
        assert one.verdict is Verdict.UNKNOWN


class TestPollingThreads:
    def test_busy_all_the_time_is_full(self) -> None:
        one = said(explain(case()), "polling threads")
        assert one.verdict is Verdict.FULL
        assert "trial 2" in one.text and "100%" in one.text

    def test_idle_while_frames_are_lost_is_not_full(self) -> None:
        idle = lossy(switch=switch(1_900_000, 10**8, 9 * 10**8))
        one = said(explain(case(passing(), idle)), "polling threads")
        assert one.verdict is Verdict.FREE

    def two(self, *cycles: tuple[int, int]) -> Trial:
        pmds = tuple(
            PmdCounters(cpu=cpu, frames=1, busy_cycles=busy, idle_cycles=idle)
            for cpu, (busy, idle) in enumerate(cycles, start=1)
        )
        return lossy(switch=SwitchCounters(pmds=pmds))

    def test_one_that_is_full_is_not_hidden_by_one_that_is_idle(self) -> None:
        trial = self.two((10**7, 10**9), (10**9, 0))
        one = said(explain(case(passing(), trial)), "polling threads")
        assert one.verdict is Verdict.FULL
        assert "the busiest of the 2" in one.text and "CPU 2, was busy 100%" in one.text

    def test_one_that_counts_nothing_may_have_been_the_full_one(self) -> None:
        trial = self.two((10**7, 10**9), (0, 0))
        one = said(explain(case(passing(), trial)), "polling threads")
        assert one.verdict is Verdict.UNKNOWN

    def test_counters_that_fell_tell_nothing(self) -> None:
        trial = self.two((10, 10**9), (-5, 10))
        one = said(explain(case(passing(), trial)), "polling threads")
        assert one.verdict is Verdict.UNKNOWN

    def test_a_switch_that_counts_no_cycles_cannot_be_told(self) -> None:
        one = said(explain(case(passing(switch=None), lossy(switch=None))), "polling threads")
        assert one.verdict is Verdict.UNKNOWN

    def test_without_a_loss_nobody_saw_it_full(self) -> None:
        assert said(explain(case(passing())), "polling threads").verdict is Verdict.UNKNOWN


class TestRings:
    def test_a_port_that_did_not_take_frames_was_full(self) -> None:
        way = Direction(
            name="phy0 to phy1",
            intended_frames=1_000_000,
            sent_frames=900_000,
            received_frames=900_000,
            refused_frames=100_000,
        )
        one = said(explain(case(passing(), lossy(directions=(way,)))), "receive ring")
        assert one.verdict is Verdict.FULL
        assert "100,000" in one.text

    def test_drops_have_their_names(self) -> None:
        dropping = lossy(switch=switch(1, 1, 1, **{"tx full": 777}))
        one = said(explain(case(passing(), dropping)), "sends to")
        assert "777 at phy1 (tx full)" in one.text

    @pytest.mark.parametrize(
        "reason",
        [
            "tx dropped",
            "tx tap full",
            "rx socket full",
            "rx missed",
            "tx not taken",
            "tx no_free_slots",
            "tx packet drops (no available descriptors)",
        ],
    )
    def test_what_switches_call_a_full_ring_is_one(self, reason: str) -> None:
        found = explain(case(passing(), lossy(switch=switch(1, 1, 1, **{reason: 777}))))
        assert said(found, "sends to").verdict is Verdict.FULL

    @pytest.mark.parametrize("name", ["drop_action_of_pipeline", "datapath_drop_meter"])
    def test_a_frame_that_a_rule_drops_found_no_ring_full(self, name: str) -> None:
        trial = lossy(switch=SwitchCounters(drops={name: 777}))
        found = explain(case(passing(), trial))
        one = said(found, "what the switch drops")
        assert f"the switch dropped 777 frames: {name}." in one.text
        assert one.verdict is Verdict.UNKNOWN
        assert not [other for other in found if "sends to" in other.resource]

    def test_most_of_what_is_missing_dropped_by_a_rule_is_in_the_way(self) -> None:
        trial = lossy(switch=SwitchCounters(drops={"datapath_drop_meter": 99_000}))
        one = said(explain(case(passing(), trial)), "what the switch drops")
        assert one.verdict is Verdict.FULL

    def test_two_ports_to_one_vnf_are_not_taken_for_one(self) -> None:
        ports = tuple(
            PortCounters(
                name=f"vm1-{number}",
                vnf="vm1",
                received_frames=1,
                sent_frames=1,
                drops={"tx dropped": number},
            )
            for number in (5, 7)
        )
        one = said(explain(case(passing(), lossy(switch=SwitchCounters(ports=ports)))), "sends to")
        assert one.text.count("at vm1 (tx dropped)") == 2

    def test_counters_of_all_rings_that_stood_still_are_free_rings(self) -> None:
        trial = lossy(switch=switch(1, 1, 1, **{"rx missed": 0}))
        one = said(explain(case(passing(), trial)), "rings")
        assert one.verdict is Verdict.FREE

    def test_counters_that_fell_saw_no_ring(self) -> None:
        trial = lossy(switch=switch(1, 1, 1, **{"rx missed": 0, "tx errors": -3}))
        one = said(explain(case(passing(), trial)), "rings")
        assert one.verdict is Verdict.UNKNOWN
        assert "fell" in one.text

    @pytest.mark.parametrize(
        "counted",
        [
            SwitchCounters(),
            SwitchCounters(ports=(PortCounters(name="phy1", received_frames=1, sent_frames=1),)),
            SwitchCounters(drops={"drop_action_of_pipeline": 0}),
            switch(1, 1, 1),
        ],
        ids=["nothing", "frames alone", "rules alone", "no ring before it"],
    )
    def test_a_switch_that_does_not_count_rings_saw_none(self, counted: SwitchCounters) -> None:
        one = said(explain(case(passing(), lossy(switch=counted))), "rings")
        assert one.verdict is Verdict.UNKNOWN

    def test_a_counter_of_rings_and_more_cannot_tell(self) -> None:
        trial = lossy(switch=switch(1, 1, 1, **{"rx dropped": 9}))
        one = said(explain(case(passing(), trial)), "rings")
        assert one.verdict is Verdict.UNKNOWN
        assert "9 at phy1 (rx dropped)" in one.text

    def test_nobody_counts_rings(self) -> None:
        found = explain(case(passing(), lossy(switch=None)))
        assert said(found, "rings").verdict is Verdict.UNKNOWN


class TestVnfs:
    def lost_inside(self, lost: int) -> Trial:
        nics = (NicCounters(received_frames=1_000_000, sent_frames=1_000_000 - lost),)
        return lossy(vnfs=(VnfCounters(name="vm1", nics=nics),))

    def test_most_of_what_is_missing_lost_inside_is_the_guest(self) -> None:
        found = explain(case(passing(), self.lost_inside(90_000)))
        assert said(found, "the VNFs").verdict is Verdict.FULL

    def test_few_are_not(self) -> None:
        found = explain(case(passing(), self.lost_inside(10)))
        assert said(found, "the VNFs").verdict is Verdict.FREE

    def test_counters_that_fell_cannot_be_told(self) -> None:
        nics = (NicCounters(received_frames=-5, sent_frames=3),)
        trial = lossy(vnfs=(VnfCounters(name="vm1", nics=nics),))
        found = explain(case(passing(), trial))
        assert said(found, "the VNFs").verdict is Verdict.UNKNOWN

    def test_one_that_counts_nothing_cannot_be_told(self) -> None:
        found = explain(case(passing(), lossy(vnfs=(VnfCounters(name="vm1"),))))
        assert said(found, "the VNFs").verdict is Verdict.UNKNOWN


class TestCpus:
    def waiting(self, delay_ns: int) -> Trial:
        return lossy(
            threads=(
                ThreadActivity(part="generator", name="tgen", delay_ns=1),
                ThreadActivity(part="switch", name="pmd-c01", delay_ns=delay_ns),
            )
        )

    def test_a_thread_that_alone_explains_the_loss_is_named(self) -> None:
        one = said(explain(case(passing(), self.waiting(SECOND_NS // 2))), "CPUs")
        assert one.verdict is Verdict.FULL
        assert "pmd-c01 (switch) was kept from running for 500.0 ms" in one.text

    def test_one_that_hardly_waited_explains_nothing(self) -> None:
        one = said(explain(case(passing(), self.waiting(1000))), "CPUs")
        assert one.verdict is Verdict.FREE

    @pytest.mark.parametrize("part", ["switch", "generator", "vm1"])
    def test_a_long_stall_that_explains_not_all_may_have_been_in_the_way(self, part: str) -> None:
        threads = (ThreadActivity(part=part, name="polls", delay_ns=SECOND_NS // 50),)
        one = said(explain(case(passing(), lossy(threads=threads))), "CPUs")
        assert one.verdict is Verdict.UNKNOWN
        assert "20.00 ms" in one.text

    def test_threads_of_which_nothing_is_known_did_not_run_undisturbed(self) -> None:
        threads = (ThreadActivity(part="switch", name="pmd-c01"),)
        one = said(explain(case(passing(), lossy(threads=threads))), "CPUs")
        assert one.verdict is Verdict.UNKNOWN

    def test_one_whose_waiting_is_not_known_may_have_waited(self) -> None:
        threads = (
            ThreadActivity(part="switch", name="pmd-c01", steal_ns=0),
            ThreadActivity(part="generator", name="tgen", delay_ns=0, steal_ns=0),
        )
        one = said(explain(case(passing(), lossy(threads=threads))), "CPUs")
        assert one.verdict is Verdict.UNKNOWN
        assert "pmd-c01" in one.text

    def test_stalls_that_the_search_found_are_said_to_be_its_finding(self) -> None:
        found = explain(case(passing(), self.waiting(1000), limit=Limit.HOST))
        assert said(found, "CPUs").verdict is Verdict.FULL
        assert "the search found" in said(found, "CPUs").text

    def test_nobody_looked(self) -> None:
        assert said(explain(case()), "CPUs").verdict is Verdict.UNKNOWN

    def test_interrupts_are_said_where_somebody_collected_them(self) -> None:
        head = header().model_copy(update={"quantities": (Quantity(name="interrupts", unit="1"),)})
        samples = [
            Sample(trial=2, at_ns=at_ns, of="cpu 1", values={"interrupts": count})
            for at_ns, count in ((0, 100), (2 * SECOND_NS, 2100))
        ]
        one = case(passing(), self.waiting(1000))
        seen = Measured(one.label, one.record, one.trials, (digest(head, samples),))
        assert "cpu 1 had 1,000 interrupts a second" in said(explain(seen), "CPUs").text


def test_where_nothing_was_counted_nothing_is_guessed() -> None:
    bare = case(passing(switch=None), lossy(switch=None), conditions=None, limit=Limit.UNKNOWN)
    found = explain(bare)
    assert {one.verdict for one in found} == {Verdict.UNKNOWN}
    assert "cannot be told" in headline(bare, found)


def test_a_counter_that_was_reset_says_nothing() -> None:
    quantity = Quantity(name="queued_ns", unit="ns")
    head = header().model_copy(update={"quantities": (quantity,)})
    samples = [
        Sample(trial=1, at_ns=at_ns, of="switch", values={"queued_ns": value})
        for at_ns, value in ((0, 100), (10, 5))
    ]
    assert digest(head, samples).value(1, "switch", "queued_ns") is None


# What a frame costs, held against the quiet sister: more than chance, or not to be told.


def costing(*cycles: int, bound: int = BOUND) -> Measured:
    """A case whose trials at the bound cost a frame so much, one trial each."""
    one = case(*(passing(each, load_fps=bound) for each in cycles))
    return replace(one, record=case_record("case", result=bound_at(bound)))


class TestCostOfAFrame:
    def test_up_against_the_quiet_sister_in_each_trial(self) -> None:
        one = said(explain(costing(298, 302), costing(198, 202)), "cost of a frame")
        assert one.verdict is Verdict.FULL
        assert "300 (298 to 302 in 2 trials)" in one.text
        assert "200 (198 to 202 in 2 trials)" in one.text and "+50%" in one.text

    def test_the_same_as_the_sisters_is_no_reason(self) -> None:
        one = said(explain(costing(200, 201), costing(198, 199)), "cost of a frame")
        assert one.verdict is Verdict.FREE

    def test_no_more_than_trials_scatter_may_be_chance(self) -> None:
        one = said(explain(costing(205, 220, 225), costing(195, 200, 206)), "cost of a frame")
        assert one.verdict is Verdict.UNKNOWN
        assert "overlap" in one.text and "205 to 225" in one.text and "+10%" in one.text

    @pytest.mark.parametrize(
        ("own", "other"), [((300,), (198, 202)), ((298, 302), (200,))], ids=["own", "sister's"]
    )
    def test_a_single_trial_is_not_enough(
        self, own: tuple[int, ...], other: tuple[int, ...]
    ) -> None:
        one = said(explain(costing(*own), costing(*other)), "cost of a frame")
        assert one.verdict is Verdict.UNKNOWN
        assert "+50%" in one.text and "in a single trial" in one.text

    def test_frames_of_another_load_cost_something_else(self) -> None:
        sister = costing(198, 202, bound=BOUND * 12 // 10)
        one = said(explain(costing(298, 302), sister), "cost of a frame")
        assert one.verdict is Verdict.UNKNOWN
        assert "1.000 Mfps" in one.text and "1.200 Mfps" in one.text and "+50%" in one.text

    def test_trials_whose_counters_fell_are_left_out(self) -> None:
        reset = passing(switch=switch(2_000_000, 10**9, -1))
        one = case(passing(200), reset, passing(202))
        assert "200 to 202 in 2 trials" in said(explain(one), "cost of a frame").text

    def test_without_a_sister_it_is_a_number_without_a_meaning(self) -> None:
        one = said(explain(case()), "cost of a frame")
        assert one.verdict is Verdict.UNKNOWN
        assert "200 (in a single trial)" in one.text


def perf(*misses: int) -> Digest:
    quantity = Quantity(name="llc_misses", unit="1", nature=Nature.TOTAL)
    head = header("perf").model_copy(update={"quantities": (quantity,), "heavy": True})
    samples = [
        Sample(trial=number, at_ns=number, of="switch", values={"llc_misses": count})
        for number, count in enumerate(misses, start=1)
    ]
    return digest(head, samples)


def with_perf(*misses: int, **changes: Any) -> Measured:
    """A case in which perf had a trial of its own for each of these counts."""
    own = tuple(("perf", trial(number, **changes)) for number in range(1, len(misses) + 1))
    return replace(case(), series=(perf(*misses),), own=own)


class TestCache:
    def test_more_misses_than_the_sister_has_in_each_trial_are_a_reason(self) -> None:
        found = explain(with_perf(3_900_000, 4_100_000), with_perf(180_000, 220_000))
        one = said(found, "cache")
        assert one.verdict is Verdict.FULL
        assert "2.00 (1.95 to 2.05 in 2 trials)" in one.text
        assert "0.10 (0.09 to 0.11 in 2 trials)" in one.text

    def test_as_many_are_none(self) -> None:
        found = explain(with_perf(200_000, 200_000), with_perf(200_000, 200_000))
        assert said(found, "cache").verdict is Verdict.FREE

    def test_hardly_any_are_none_however_few_the_sister_has(self) -> None:
        found = explain(with_perf(2_000, 2_000), with_perf(0, 0))
        assert said(found, "cache").verdict is Verdict.FREE

    def test_a_single_trial_is_not_enough(self) -> None:
        one = said(explain(with_perf(4_000_000), with_perf(200_000)), "cache")
        assert one.verdict is Verdict.UNKNOWN
        assert "2.00 (in a single trial)" in one.text and "0.10 (in a single trial)" in one.text

    def test_misses_at_another_load_are_others(self) -> None:
        sister = with_perf(200_000, 200_000, load_fps=2 * BOUND)
        one = said(explain(with_perf(4_000_000, 4_000_000), sister), "cache")
        assert one.verdict is Verdict.UNKNOWN
        assert "2.000 Mfps" in one.text

    def test_an_invalid_trial_counts_nothing(self) -> None:
        spoilt = trial(1, flags=(Flag.GENERATOR_ERROR,))
        assert not spoilt.valid
        twice = replace(with_perf(9_000_000, 200_000), own=(("perf", spoilt), ("perf", trial(2))))
        assert "0.10 (in a single trial)" in said(explain(twice), "cache").text
        alone = replace(with_perf(9_000_000), own=(("perf", spoilt),))
        assert "nobody counted" in said(explain(alone), "cache").text

    def test_two_trials_by_one_number_cannot_be_told_apart(self) -> None:
        mixed = replace(with_perf(9_000_000), own=(("perf", trial(1)), ("perf", trial(1))))
        assert "nobody counted" in said(explain(mixed), "cache").text

    def test_nobody_counted(self) -> None:
        one = said(explain(case()), "cache")
        assert one.verdict is Verdict.UNKNOWN
        assert "perf" in one.text
