"""What limited an exchange: by whose CPU was full, by what was dropped, or nobody can tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import pytest
from exchanges import RATE, cpu, device, exchange, instance, program, use

from vsperf.analysis.why import Verdict
from vsperf.analysis.why_programs import why_programs
from vsperf.records.exchange import CLIENTS, SERVERS, Exchange, Failures
from vsperf.records.result import Limit
from vsperf.records.switch import PmdCounters, PortCounters, SwitchCounters
from vsperf.records.threads import SWITCH
from vsperf.search.exchange_verdict import clean_share, limited, limited_in_repeats

QUIET = (cpu(0, busy=0.3), cpu(1, busy=0.4), cpu(2, busy=0.5))
LOAD = {"clients": 0.3, "servers": 0.4, "switch": 0.5}


def dropping(frames: int) -> SwitchCounters:
    port = PortCounters(name="1", received_frames=10**6, sent_frames=10**6, drops={"rx": frames})
    return SwitchCounters(ports=(port,))


def polling(busy: int) -> SwitchCounters:
    """A switch with a polling thread, of whose cycles so many in a hundred were busy ones."""
    pmd = PmdCounters(cpu=2, frames=1, busy_cycles=busy, idle_cycles=100 - busy)
    return SwitchCounters(pmds=(pmd,))


def datagrams(lost: int, came: int) -> Exchange:
    """A stream of a hundred thousand datagrams, so many of which came to the last device."""
    sent = instance(sent_packets=100_000, lost_packets=lost, write_bytes=1400)
    devices = (device("phy0", 0), device("phy1", 10 * RATE, frames=came))
    return exchange(sent, traffic="udp-stream", devices=devices, cpu=use(*QUIET, **LOAD))


@dataclass
class Case:
    one: Exchange
    limit: Limit
    words: tuple[str, ...] = field(default_factory=tuple)


def looked(*cpus: object, **used: object) -> Exchange:
    return exchange(cpu=use(*cpus, **used))  # type: ignore[arg-type]


CASES = {
    "nobody is at an end": Case(
        looked(*QUIET, **LOAD), Limit.UNKNOWN, ("the busiest CPU was 2, for 50%", "waited")
    ),
    "nobody looked": Case(exchange(), Limit.UNKNOWN, ("nobody could look",)),
    "clients": Case(
        looked(cpu(0, busy=0.97), *QUIET[1:], **{**LOAD, "clients": 0.96}),
        Limit.GENERATOR,
        ("CPU 0 was busy for 97% of the time (clients 96%)",),
    ),
    "servers": Case(
        looked(QUIET[0], cpu(1, busy=1), QUIET[2], **{**LOAD, "servers": 0.99}),
        Limit.SERVER,
        ("CPU 1", "servers 99%"),
    ),
    "servers that poll, of which a full CPU says nothing": Case(
        exchange(
            cpu=use(QUIET[0], cpu(1, busy=1), QUIET[2], **{**LOAD, "servers": 0.99}),
            server_cpus=(1,),
            polling_servers=True,
        ),
        Limit.UNKNOWN,
        ("servers poll",),
    ),
    "clients of servers that poll": Case(
        exchange(
            cpu=use(cpu(0, busy=1), cpu(1, busy=1), QUIET[2], clients=0.97, servers=0.99),
            server_cpus=(1,),
            polling_servers=True,
        ),
        Limit.GENERATOR,
        ("CPU 0", "clients 97%"),
    ),
    "the switch": Case(
        looked(*QUIET[:2], cpu(2, busy=0.96), **{**LOAD, "switch": 0.95}),
        Limit.DUT,
        ("CPU 2", "switch 95%"),
    ),
    "both ends on one CPU": Case(
        exchange(
            cpu=use(
                cpu(0, busy=1),
                cpu(2, busy=0.5),
                programs=(
                    program(CLIENTS, 0.5, 0),
                    program(SERVERS, 0.48, 0),
                    program(SWITCH, 0.5, 2),
                ),
            )
        ),
        Limit.GENERATOR,
        ("clients 50%, servers 48%",),
    ),
    "switch and clients on one CPU": Case(
        exchange(
            cpu=use(cpu(0, busy=1), programs=(program(CLIENTS, 0.5, 0), program(SWITCH, 0.5, 0)))
        ),
        Limit.UNKNOWN,
        ("clients 50%, switch 50%",),
    ),
    "two at their ends": Case(
        looked(*(cpu(0, busy=1), QUIET[1], cpu(2, busy=1)), **{**LOAD, "clients": 1, "switch": 1}),
        Limit.UNKNOWN,
        ("CPU 0", "CPU 2", "nobody can tell which"),
    ),
    "a kernel that forwards": Case(
        looked(*QUIET[:2], cpu(2, soft=0.97), **{**LOAD, "switch": None}),
        Limit.DUT,
        ("switch 97%",),
    ),
    "a kernel whose interrupts of an idle CPU nobody counts": Case(
        looked(*QUIET[:2], cpu(2, soft=0.4, idle=0.02), **{**LOAD, "switch": None}),
        Limit.DUT,
        ("switch 98%",),
    ),
    "others on a full CPU": Case(
        looked(cpu(0, busy=1), *QUIET[1:], **{**LOAD, "clients": 0.6}),
        Limit.HOST,
        ("of CPU 0 programs of others used 40%",),
    ),
    "a hypervisor": Case(
        looked(cpu(0, busy=0.8, steal=0.2), *QUIET[1:], **{**LOAD, "clients": 0.8}),
        Limit.HOST,
        ("a hypervisor 20%",),
    ),
    "others on a CPU that is not full": Case(
        looked(QUIET[0], cpu(1, busy=0.8), QUIET[2], **LOAD), Limit.HOST, ("of CPU 1", "40%")
    ),
    "noise beside the case": Case(
        exchange(
            cpu=use(cpu(2, busy=1), programs=(program(SWITCH, 0.5, 2), program("noise", 0.5, 2)))
        ),
        Limit.HOST,
        ("of CPU 2", "the noise beside the case had 50%"),
    ),
    "work of the kernel for nobody is not that of others": Case(
        looked(cpu(0, busy=0.3, soft=0.4), *QUIET[1:], **LOAD), Limit.UNKNOWN
    ),
    "a switch that is full while others are on another CPU": Case(
        looked(
            *(cpu(0, busy=1), QUIET[1], cpu(2, busy=1)), **{**LOAD, "clients": 0.6, "switch": 1}
        ),
        Limit.DUT,
    ),
    "polling threads with work": Case(
        looked(*QUIET[:2], cpu(2, busy=1), **{**LOAD, "switch": 1}).model_copy(
            update={"switch": polling(90)}
        ),
        Limit.DUT,
        ("polling threads of the switch had work",),
    ),
    "polling threads without": Case(
        looked(*QUIET[:2], cpu(2, busy=1), **{**LOAD, "switch": 1}).model_copy(
            update={"switch": polling(20)}
        ),
        Limit.UNKNOWN,
    ),
    "clients, on whose CPU the kernel forwards, too": Case(
        looked(
            *(cpu(0, busy=0.97), *QUIET[1:]),
            **{**LOAD, "clients": 0.96, "switch": None, "forwarding_cpus": ()},
        ),
        Limit.UNKNOWN,
        ("clients 96%", "the kernel may have forwarded there"),
    ),
    "frames that were dropped": Case(
        looked(*QUIET, **LOAD).model_copy(update={"switch": dropping(1000)}),
        Limit.DUT,
        ("dropped 1,000 frames",),
    ),
    "a frame that was dropped": Case(
        looked(*QUIET, **LOAD).model_copy(update={"switch": dropping(1)}), Limit.UNKNOWN
    ),
    "a reader of datagrams": Case(datagrams(50_000, 95_000), Limit.SERVER, ("too slow",)),
    "a switch that drops datagrams": Case(
        datagrams(50_000, 50_000).model_copy(update={"switch": dropping(49_000)}),
        Limit.DUT,
        ("49,000 of 50,000 datagrams",),
    ),
    "datagrams that nobody counted": Case(datagrams(50_000, 50_000), Limit.UNCOUNTED),
    "few datagrams": Case(datagrams(500, 99_500), Limit.UNKNOWN),
    "a clock that was followed": Case(
        exchange(
            instance(
                transactions=1000,
                failures=Failures(statuses=0, sockets=0, timeouts=0, unanswered=2),
            ),
            traffic="http-open",
        ),
        Limit.SETTING,
        ("no more was asked",),
    ),
    "a clock whose requests failed": Case(
        exchange(
            instance(
                transactions=1000,
                failures=Failures(statuses=400, sockets=0, timeouts=0, unanswered=2),
            ),
            traffic="http-open",
        ),
        Limit.UNKNOWN,
        ("nobody could look",),
    ),
    "drops of datagrams, which slow nobody down": Case(
        datagrams(500, 99_500).model_copy(update={"switch": dropping(500)}),
        Limit.UNKNOWN,
        ("waited",),
    ),
    "two looks within a few ticks": Case(
        exchange(cpu=use(cpu(0, busy=1), clients=1, began_ns=0, ended_ns=90_000_000)),
        Limit.UNKNOWN,
        ("both looks at the CPUs were 90.00 ms apart",),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_limit_goes_by_what_was_counted_and_says_so(name: str) -> None:
    case = CASES[name]
    limit, reason = limited(case.one)
    assert limit is case.limit, reason
    for words in case.words:
        assert words in reason


def test_repeats_that_differ_have_the_limit_of_most_and_say_of_how_many() -> None:
    full, quiet = CASES["the switch"].one, CASES["nobody is at an end"].one
    assert limited_in_repeats((full,) * 3, full) == limited(full)
    limit, reason = limited_in_repeats((full, quiet, full), full)
    assert limit is Limit.DUT
    assert "in 2 of 3 repeats" in reason
    assert limited_in_repeats((full, quiet, full), quiet) == (limit, reason)
    assert why_programs((full, full, quiet))[0].startswith("The exchanges were limited by the sw")
    limit, reason = limited_in_repeats((full, quiet), full)
    assert limit is Limit.UNKNOWN
    assert "dut in #1, unknown in #1" in reason


BUSY = cpu(0, busy=1)
"""A CPU of the clients, of which somebody else had what they did not use."""


@pytest.mark.parametrize(
    ("made", "share"),
    [
        ([looked(*QUIET, **LOAD)], "1"),
        ([looked(BUSY, *QUIET[1:], **{**LOAD, "clients": 0.19})], "19/100"),
        ([looked(cpu(0, busy=0.3, steal=0.6), *QUIET[1:], **LOAD)], "2/5"),
        ([looked(*QUIET, **LOAD), looked(BUSY, *QUIET[1:], **{**LOAD, "clients": 0.4})], "7/10"),
        ([exchange()], None),
        ([exchange(cpu=use(BUSY, clients=0.1, began_ns=0, ended_ns=90_000_000))], None),
    ],
    ids=["quiet", "others", "a hypervisor", "one of two", "nobody looked", "a few ticks"],
)
def test_what_others_left_of_a_cpu_is_its_clean_time(
    made: list[Exchange], share: str | None
) -> None:
    assert clean_share(made) == (None if share is None else Fraction(share))


def test_a_part_with_a_full_cpu_to_itself_says_what_it_can_do_whatever_others_had() -> None:
    own = looked(BUSY, QUIET[1], cpu(2, busy=1), **{**LOAD, "clients": 0.2, "switch": 1})
    assert limited(own)[0] is Limit.DUT
    assert clean_share([own]) == 1


def test_noise_that_was_asked_for_is_nobody_elses() -> None:
    programs = (program(CLIENTS, 0.2, 0), program("noise", 0.8, 0))
    assert clean_share([exchange(cpu=use(BUSY, programs=programs))]) == 1


def test_why_programs_came_to_no_more_is_told_by_cpu_with_those_that_were_full() -> None:
    first, sentences = why_programs((CASES["the switch"].one,))
    assert first.startswith("The exchanges were limited by the switch: CPU 2 was busy")
    told = {one.resource: one for one in sentences}
    assert [one.verdict for one in told.values()] == [
        *(Verdict.FREE, Verdict.FREE, Verdict.FULL, Verdict.UNKNOWN),
    ]
    assert told["CPU 2"].text == "CPU 2 (switch) was busy for 96% of the time, others had 1% of it."
    first, sentences = why_programs((CASES["polling threads without"].one,))
    assert first.startswith("What limited the exchanges cannot be told: ")
    assert "had work for 24% of the time" in sentences[2].text
    assert sentences[2].verdict is Verdict.FREE
    _, (unknown, dropped) = why_programs((exchange(switch=dropping(7)),))
    assert unknown.verdict is Verdict.UNKNOWN
    assert dropped.text == "The switch dropped 7 frames."


def test_what_is_unknown_of_a_program_blames_nobody_else() -> None:
    """A CPU that is full, and on which a program has run whose time nobody knows."""
    lost = program(CLIENTS, 0.9, 0, user_ns=None)
    found = limited(exchange(cpu=use(cpu(0, busy=1), programs=(lost,))))
    assert found[0] is Limit.UNKNOWN
