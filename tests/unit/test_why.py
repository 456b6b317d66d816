"""Why a case came to no more: each attribution by records and series made up to show it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from record_samples import case_record, trial
from series_samples import header
from why_samples import BOUND, SECOND_NS, bound_at, cap, case, lossy, passing, said, switch

from vsperf.analysis.collected import Digest, digest
from vsperf.analysis.why import Measured, Verdict, explain, headline, why_not_sent
from vsperf.output.report.account import account_of
from vsperf.records.flags import Flag
from vsperf.records.result import Limit, SearchResult
from vsperf.records.series import Nature, Quantity, Sample
from vsperf.records.switch import (
    NicCounters,
    PmdCounters,
    PortCounters,
    SwitchCounters,
    VnfCounters,
)
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import Direction, GeneratorActivity

FULL, FREE, UNKNOWN = Verdict.FULL, Verdict.FREE, Verdict.UNKNOWN


def losing(*, result: SearchResult | None = None, **changes: Any) -> Measured:
    """A case that lost frames above its bound, in a trial with these changes."""
    found: dict[str, Any] = {} if result is None else {"result": result}
    return case(passing(), lossy(**changes), **found)


def polled(*cycles: tuple[int, int]) -> Measured:
    pmds = tuple(
        PmdCounters(cpu=cpu, frames=1, busy_cycles=busy, idle_cycles=idle)
        for cpu, (busy, idle) in enumerate(cycles, start=1)
    )
    return losing(switch=SwitchCounters(pmds=pmds))


def dropping(**drops: int) -> Measured:
    return losing(switch=switch(1, 1, 1, **drops))


def by_rules(**drops: int) -> Measured:
    return losing(switch=SwitchCounters(drops=drops))


def in_a_vnf(received: int, sent: int) -> Measured:
    nics = (NicCounters(received_frames=received, sent_frames=sent),)
    return losing(vnfs=(VnfCounters(name="vm1", nics=nics),))


def threads(*those: ThreadActivity, **changes: Any) -> Measured:
    return case(passing(), lossy(threads=those), **changes)


def waiting(delay_ns: int, **changes: Any) -> Measured:
    generator = ThreadActivity(part="generator", name="tgen", delay_ns=1)
    switch = ThreadActivity(part="switch", name="pmd-c01", delay_ns=delay_ns)
    return threads(generator, switch, **changes)


IDLE = (10**7, 10**9)
REFUSED = Direction(
    name="phy0 to phy1",
    intended_frames=1_000_000,
    sent_frames=900_000,
    received_frames=900_000,
    refused_frames=100_000,
)
FRAMES_ALONE = PortCounters(name="phy1", received_frames=1, sent_frames=1)
UNKNOWN_THREAD = ThreadActivity(part="switch", name="pmd-c01")
NEVER_WAITED = ThreadActivity(part="generator", name="tgen", delay_ns=0, steal_ns=0)


def test_a_generator_at_its_cap_was_full_and_is_the_headline() -> None:
    found = explain(case(conditions=cap(1_040_000)))
    assert said(found, "generator").verdict is FULL
    assert "the generator" in headline(case(), found)


def test_a_cap_is_told_with_the_distance_of_cpus_at_which_it_was_found() -> None:
    """Where a hypervisor moved them since, it is not that of the trials."""
    far = said(explain(case(conditions=cap(2_080_000, round_trip_ns=92))), "generator")
    assert "without a switch while the CPUs were 92 ns apart (there and back) (" in far.text


@pytest.mark.parametrize(
    "reason",
    [
        "tx full",
        "tx dropped",
        "tx tap full",
        "rx socket full",
        "rx missed",
        "tx not taken",
        "tx no_free_slots",
        "tx packet drops (no available descriptors)",
    ],
)
def test_what_switches_call_a_full_ring_is_one_and_is_told_by_its_name(reason: str) -> None:
    one = said(explain(dropping(**{reason: 777})), "sends to")
    assert one.verdict is FULL
    assert f"777 at phy1 ({reason})" in one.text


@pytest.mark.parametrize("name", ["drop_action_of_pipeline", "datapath_drop_meter"])
def test_a_frame_that_a_rule_drops_found_no_ring_full(name: str) -> None:
    found = explain(by_rules(**{name: 777}))
    one = said(found, "what the switch drops")
    assert f"the switch dropped 777 frames: {name}." in one.text
    assert one.verdict is UNKNOWN
    assert not [other for other in found if "sends to" in other.resource]


def test_two_ports_to_one_vnf_are_not_taken_for_one() -> None:
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
    one = said(explain(losing(switch=SwitchCounters(ports=ports))), "sends to")
    assert one.text.count("at vm1 (tx dropped)") == 2


def test_interrupts_are_said_where_somebody_collected_them() -> None:
    head = header().model_copy(update={"quantities": (Quantity(name="interrupts", unit="1"),)})
    samples = [
        Sample(trial=2, at_ns=at_ns, of="cpu 1", values={"interrupts": count})
        for at_ns, count in ((0, 100), (2 * SECOND_NS, 2100))
    ]
    one = waiting(1000)
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


def test_trials_whose_counters_fell_are_left_out() -> None:
    reset = passing(switch=switch(2_000_000, 10**9, -1))
    one = case(passing(200), reset, passing(202))
    assert "200 to 202 in 2 trials" in said(explain(one), "cost of a frame").text


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


Told = tuple[Measured, Measured | None, Verdict, tuple[str, ...]]


def told(one: Measured, verdict: Verdict, *words: str, sister: Measured | None = None) -> Told:
    """Return a case, the one it is held against, and what is said of a resource."""
    return one, sister, verdict, words


SAID: dict[str, dict[str, Told]] = {
    "generator": {
        "far below its cap": told(case(), FREE, "1.000 Mfps of the 3.000 Mfps"),
        "too slow below its cap": told(case(limit=Limit.GENERATOR), FULL, "too slow"),
        "without calibration nobody can tell": told(case(conditions=None), UNKNOWN),
    },
    "polling threads": {
        "busy all the time": told(case(), FULL, "trial 2", "100%"),
        "idle while frames are lost": told(
            losing(switch=switch(1_900_000, 10**8, 9 * 10**8)), FREE
        ),
        "a full one that is not hidden by an idle one": told(
            polled(IDLE, (10**9, 0)), FULL, "the busiest of the 2", "CPU 2, was busy 100%"
        ),
        "one that counts nothing may have been the full one": told(polled(IDLE, (0, 0)), UNKNOWN),
        "counters that fell": told(polled((10, 10**9), (-5, 10)), UNKNOWN),
        "no cycles are counted": told(case(passing(switch=None), lossy(switch=None)), UNKNOWN),
        "without a loss nobody saw it full": told(case(passing()), UNKNOWN),
    },
    "receive ring": {
        "a port that did not take frames": told(losing(directions=(REFUSED,)), FULL, "100,000"),
    },
    "what the switch drops": {
        "most of what is missing, by a rule": told(by_rules(datapath_drop_meter=99_000), FULL),
    },
    "rings": {
        "counters of all of them that stood still": told(dropping(**{"rx missed": 0}), FREE),
        "counters that fell": told(dropping(**{"rx missed": 0, "tx errors": -3}), UNKNOWN, "fell"),
        "nothing is counted": told(by_rules(), UNKNOWN),
        "frames alone are": told(losing(switch=SwitchCounters(ports=(FRAMES_ALONE,))), UNKNOWN),
        "rules alone are": told(by_rules(drop_action_of_pipeline=0), UNKNOWN),
        "no ring before it": told(dropping(), UNKNOWN),
        "a counter of rings and more": told(
            dropping(**{"rx dropped": 9}), UNKNOWN, "9 at phy1 (rx dropped)"
        ),
        "nobody counts": told(losing(switch=None), UNKNOWN),
    },
    "the VNFs": {
        "most of what is missing, lost inside": told(in_a_vnf(1_000_000, 910_000), FULL),
        "few of it": told(in_a_vnf(1_000_000, 999_990), FREE),
        "counters that fell": told(in_a_vnf(-5, 3), UNKNOWN),
        "one that counts nothing": told(losing(vnfs=(VnfCounters(name="vm1"),)), UNKNOWN),
    },
    "CPUs": {
        "a thread that alone explains the loss": told(
            waiting(SECOND_NS // 2), FULL, "pmd-c01 (switch) was kept from running for 500.0 ms"
        ),
        "one that hardly waited": told(waiting(1000), FREE),
        **{
            f"a long stall of {part} that explains not all": told(
                threads(ThreadActivity(part=part, name="polls", delay_ns=SECOND_NS // 50)),
                UNKNOWN,
                "20.00 ms",
            )
            for part in ("switch", "generator", "vm1")
        },
        "threads of which nothing is known": told(threads(UNKNOWN_THREAD), UNKNOWN),
        "one whose waiting is not known": told(
            threads(UNKNOWN_THREAD.model_copy(update={"steal_ns": 0}), NEVER_WAITED),
            UNKNOWN,
            "pmd-c01",
        ),
        "stalls that the search found": told(
            waiting(1000, limit=Limit.HOST), FULL, "the search found"
        ),
        "nobody looked": told(case(), UNKNOWN),
    },
    "cost of a frame": {
        "up in each trial": told(
            costing(298, 302),
            FULL,
            "300 (298 to 302 in 2 trials)",
            "200 (198 to 202 in 2 trials)",
            "+50%",
            sister=costing(198, 202),
        ),
        "the same": told(costing(200, 201), FREE, sister=costing(198, 199)),
        "no more than trials scatter may be chance": told(
            costing(205, 220, 225),
            UNKNOWN,
            "overlap",
            "205 to 225",
            "+10%",
            sister=costing(195, 200, 206),
        ),
        "a single trial is not enough": told(
            costing(300), UNKNOWN, "+50%", "in a single trial", sister=costing(198, 202)
        ),
        "a single trial of the sister is not enough": told(
            costing(298, 302), UNKNOWN, "+50%", "in a single trial", sister=costing(200)
        ),
        "frames of another load cost something else": told(
            costing(298, 302),
            UNKNOWN,
            "1.000 Mfps",
            "1.200 Mfps",
            "+50%",
            sister=costing(198, 202, bound=BOUND * 12 // 10),
        ),
        "without a sister": told(case(), UNKNOWN, "200 (in a single trial)"),
    },
    "cache": {
        "more misses in each trial": told(
            with_perf(3_900_000, 4_100_000),
            FULL,
            "2.00 (1.95 to 2.05 in 2 trials)",
            "0.10 (0.09 to 0.11 in 2 trials)",
            sister=with_perf(180_000, 220_000),
        ),
        "as many": told(with_perf(200_000, 200_000), FREE, sister=with_perf(200_000, 200_000)),
        "hardly any": told(with_perf(2_000, 2_000), FREE, sister=with_perf(0, 0)),
        "a single trial is not enough": told(
            with_perf(4_000_000),
            UNKNOWN,
            "2.00 (in a single trial)",
            "0.10 (in a single trial)",
            sister=with_perf(200_000),
        ),
        "misses at another load are others": told(
            with_perf(4_000_000, 4_000_000),
            UNKNOWN,
            "2.000 Mfps",
            sister=with_perf(200_000, 200_000, load_fps=2 * BOUND),
        ),
        "nobody counted": told(case(), UNKNOWN, "perf"),
    },
}


@pytest.mark.parametrize(
    ("resource", "name"), [(resource, name) for resource, rows in SAID.items() for name in rows]
)
def test_each_resource_was_full_or_free_or_nobody_can_tell(resource: str, name: str) -> None:
    one, sister, verdict, words = SAID[resource][name]
    found = said(explain(one, sister), resource)
    assert found.verdict is verdict
    for text in words:
        assert text in found.text


def test_an_invalid_trial_counts_nothing() -> None:
    spoilt = trial(1, flags=(Flag.GENERATOR_ERROR,))
    assert not spoilt.valid
    twice = replace(with_perf(9_000_000, 200_000), own=(("perf", spoilt), ("perf", trial(2))))
    assert "0.10 (in a single trial)" in said(explain(twice), "cache").text
    alone = replace(with_perf(9_000_000), own=(("perf", spoilt),))
    assert "nobody counted" in said(explain(alone), "cache").text


def test_two_trials_by_one_number_cannot_be_told_apart() -> None:
    mixed = replace(with_perf(9_000_000), own=(("perf", trial(1)), ("perf", trial(1))))
    assert "nobody counted" in said(explain(mixed), "cache").text


# Frames that were not sent are lost, and no switch that stood still lost them.

NOT_SENT = Direction(
    name="phy0 to phy1",
    intended_frames=11_880,
    sent_frames=11_848,
    received_frames=11_848,
    refused_frames=0,
    longest_silence_ns=42_000_000,
)
RING = GeneratorActivity(busy_ppm=112_565, longest_gap_ns=42_000_000, ring_frames=1024)
BOTH_WAITED = (
    ThreadActivity(part="switch", name="pmd-c01", delay_ns=856_000_000),
    ThreadActivity(part="generator", name="tgen", delay_ns=804_000_000),
)


def not_sent(way: Direction = NOT_SENT) -> Measured:
    return losing(
        directions=(way,),
        load_fps=11_880,
        generator=RING,
        threads=BOTH_WAITED,
        elapsed_ns=1_630_000_000,
        result=bound_at(11_000),
    )


def test_frames_that_were_not_sent_though_the_port_had_room_are_the_generators() -> None:
    found = explain(not_sent())
    short, host = said(found, "which did not send all"), said(found, "the host")
    assert short.verdict is FULL
    assert (
        "32 of 32 frames that are missing were not sent, and by what was counted the port"
        in short.text
    )
    assert (host.verdict, host.text.partition(" was ")[0]) == (FULL, "In trial 2 tgen (generator)")
    assert not any("alone can explain" in one.text for one in found)


def test_report_and_terminal_say_the_same_of_who_did_not_send() -> None:
    measured = not_sent()
    result = measured.record.result
    assert result is not None
    account = account_of(result, measured.trials)
    assert account is not None
    (branch,) = account.stages[0].lost
    assert branch.why in said(explain(measured), "which did not send all").text


@pytest.mark.parametrize(
    "untold",
    [{"refused_frames": None}, {"longest_silence_ns": None}, {"longest_silence_ns": 10**8}],
)
def test_where_a_port_may_have_been_full_nobody_is_accused(untold: dict[str, int | None]) -> None:
    """In a tenth of a second at this load a ring of 1,024 frames fills."""
    measured = not_sent(NOT_SENT.model_copy(update=untold))
    found = explain(measured)
    assert not [one for one in found if "did not send all" in one.resource]
    assert why_not_sent(measured.trials[1]).endswith("which nobody tells apart")


def test_a_switch_that_stood_still_explains_what_its_full_ring_refused() -> None:
    refused = NOT_SENT.model_copy(update={"refused_frames": 32})
    host = said(explain(not_sent(refused)), "the host")
    assert "pmd-c01 (switch)" in host.text
    assert host.text.endswith("which alone can explain what is missing.")


def test_unexplained_frames_of_another_trial_are_told() -> None:
    strange = lossy(flags=(Flag.UNEXPLAINED,), load_fps=2 * BOUND).model_copy(update={"index": 31})
    found = said(explain(case(passing(), lossy(), strange)), "nobody counted")
    assert found.verdict is UNKNOWN
    assert found.text.startswith("In trial 31 100,000 of 100,000 lost frames are unexplained: ")


def test_more_drops_than_losses_in_one_trial_hide_no_unexplained_frames_of_another() -> None:
    """A switch drops frames that are not of the test, too: nobody misses those."""
    flagged = (Flag.UNEXPLAINED,)
    others = lossy(flags=flagged, switch=switch(1, 1, 1, others=900_000))
    assert others.unexplained_frames == -800_000
    missing = lossy(flags=flagged, load_fps=2 * BOUND).model_copy(update={"index": 5})
    found = said(explain(case(passing(), others, missing)), "nobody counted")
    assert found.text == (
        "In trial 5 100,000 of 100,000 lost frames are unexplained: they were sent, and no "
        "counter has them."
    )
    again = missing.model_copy(update={"index": 6})
    found = said(explain(case(passing(), others, missing, again)), "nobody counted")
    assert found.text.endswith("no counter has them; so are some in 1 more trial.")
