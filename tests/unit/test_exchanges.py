"""Exchanges of programs: the window in which all ran, rates of it, and what is not believed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from all_methods import method_of
from echoes import Bench
from exchanges import (
    DURATION_NS,
    FORWARD,
    RATE,
    REVERSE,
    SECOND,
    cpu,
    device,
    exchange,
    instance,
    program,
    use,
)
from simulated_cases import simulated_case

from vsperf.analysis.answers import more_is_better
from vsperf.analysis.sides import Side
from vsperf.config.case import Case as PlannedCase
from vsperf.config.expect import Expectation
from vsperf.config.noise import NOISE
from vsperf.deploy.exchanging import believed, told_by, whose_fault
from vsperf.deploy.running import LONGEST_ANSWER, LONGEST_TOGETHER, answer_of, room_of
from vsperf.drivers.programs.base import NOT_ENDED, Said, Told
from vsperf.engine import baselines
from vsperf.engine.baselines import with_baselines
from vsperf.engine.criteria import check_all
from vsperf.engine.judge_exchange import judged
from vsperf.errors import SpecError
from vsperf.host import enter_network
from vsperf.methods.base import Repeats
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.methods.http import Http
from vsperf.methods.stream import Stream, Streams
from vsperf.methods.transactions import Connections, Transactions
from vsperf.output.case_tables import curve_table
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import MeasuredTime
from vsperf.records.cpu_time import OWN
from vsperf.records.exchange import (
    CLIENTS,
    SERVERS,
    Exchange,
    Failures,
    Instance,
    Interval,
    RoundTrips,
    window_of,
)
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, SearchResult
from vsperf.records.run import Check
from vsperf.records.switch import PortCounters, SwitchCounters
from vsperf.records.threads import SWITCH
from vsperf.search.base import Budget
from vsperf.trust import own_python

# The window, and what arrived in it.


def test_the_window_is_the_time_in_which_all_ran_and_were_warm() -> None:
    window = window_of((instance(1), instance(2, 300_000_000)), SECOND)
    assert window is not None
    assert (window.began_ns, window.ended_ns) == (1_300_000_000, 5 * SECOND)


@pytest.mark.parametrize(
    "instances",
    [
        (),
        (instance(1, began_ns=None), instance(2)),
        (instance(1, elapsed_ns=None),),
        (instance(1), instance(2, 6 * SECOND)),
    ],
    ids=["none", "untold begin", "untold length", "one after the other"],
)
def test_there_is_no_window_where_not_all_ran_together(instances: tuple[Any, ...]) -> None:
    assert window_of(instances, SECOND) is None
    one = exchange(*instances) if instances else exchange(window=None)
    assert one.rate(FORWARD) is None
    assert one.worst_rate is None


def test_a_rate_is_what_arrived_in_the_window_and_no_sum_of_what_each_one_says() -> None:
    """Alone in the path, the first was twice as fast: that is no answer for both."""
    alone = (
        Interval(began_ns=0, ended_ns=2 * SECOND, amount=4 * RATE),
        Interval(began_ns=2 * SECOND, ended_ns=5 * SECOND, amount=3 * RATE),
    )
    late = instance(2, 1 * SECOND)
    one = exchange(instance(1, intervals=alone), late)
    assert one.window is not None
    assert one.window.length_ns == 3 * SECOND
    assert one.rate(FORWARD) == 2 * 8 * RATE


def test_an_interval_on_the_edge_of_the_window_counts_in_proportion() -> None:
    one = exchange(instance(1), instance(2, 250_000_000))
    assert one.instance_rate(one.instances[0]) == 8 * RATE
    assert one.rate(FORWARD) == 16 * RATE


def test_directions_have_rates_of_their_own_and_the_slower_one_is_the_answer() -> None:
    slow = tuple(one.model_copy(update={"amount": RATE // 4}) for one in instance(2).intervals)
    one = exchange(instance(1), instance(2, direction=REVERSE, intervals=slow))
    assert one.directions == (FORWARD, REVERSE)
    assert [one.rate(way) for way in one.directions] == [8 * RATE, 2 * RATE]
    assert one.worst_rate == 2 * RATE


def test_the_rate_over_time_has_a_row_for_each_whole_step() -> None:
    one = exchange()
    assert one.rates_over_time(SECOND) == tuple((n * SECOND, (8 * RATE,)) for n in (1, 2, 3, 4))
    assert one.rates_over_time(3 * SECOND) == ((3 * SECOND, (8 * RATE,)),)
    assert exchange(window=None).rates_over_time(SECOND) == ()


# Judgement: each doubt has a sentence that says who, and by how much.


@dataclass
class Case:
    one: Exchange
    flag: Flag | None
    reason: str = ""


CASES = {
    "nothing": Case(exchange(), None),
    "failed": Case(
        exchange(instance(1), instance(2, problem="its client was killed by SIGKILL")),
        Flag.PROGRAM_FAILED,
        "instance 2, phy0 to phy1: its client was killed by SIGKILL",
    ),
    "tells nothing": Case(
        exchange(instance(1, received_bytes=None)),
        Flag.PROGRAM_FAILED,
        "instance 1, phy0 to phy1: it does not tell what was exchanged",
    ),
    "nothing arrived": Case(
        exchange(instance(1, received_bytes=0)),
        Flag.PROGRAM_FAILED,
        "instance 1, phy0 to phy1: it does not tell what was exchanged",
    ),
    "late by a tenth": Case(exchange(instance(1), instance(2, DURATION_NS // 10)), None),
    "late by more": Case(
        exchange(
            instance(1, elapsed_ns=6 * SECOND),
            instance(2, DURATION_NS // 8, elapsed_ns=6 * SECOND),
        ),
        Flag.PROGRAM_LATE,
        "instance 2, phy0 to phy1 began 500.0 ms after the first",
    ),
    "short": Case(
        exchange(instance(1, elapsed_ns=4 * SECOND)),
        Flag.SHORT_WINDOW,
        "all instances ran together for 3.000 s, and 4.000 s were asked for",
    ),
    "one still": Case(
        exchange(
            instance(1),
            instance(
                2,
                intervals=(Interval(began_ns=0, ended_ns=SECOND // 2, amount=5 * RATE),),
            ),
        ),
        Flag.SHORT_WINDOW,
        "of one instance nothing arrived while all of them ran",
    ),
    "under way": Case(exchange(instance(1, sent_bytes=5 * RATE + 900_000)), None),
    "lost by TCP": Case(
        exchange(instance(1, sent_bytes=6 * RATE)),
        Flag.ENDS_DISAGREE,
        "instance 1, phy0 to phy1 sent 715.3 MiB, and 596.0 MiB arrived",
    ),
    "more than sent": Case(
        exchange(instance(1, sent_bytes=5 * RATE - 1)),
        Flag.ENDS_DISAGREE,
        "instance 1, phy0 to phy1 sent 596.0 MiB, and 596.0 MiB arrived",
    ),
    "lost by UDP": Case(exchange(instance(1, sent_bytes=9 * RATE), traffic="udp-stream"), None),
    "not by the device": Case(
        exchange(devices=(device("phy0", 0), device("phy1", RATE))),
        Flag.DEVICES_DISAGREE,
        "at phy1 programs received 596.0 MiB, and the device 119.2 MiB",
    ),
}

LONG = (device("phy0", 0), device("phy1", 10 * RATE, frames=10 * RATE // 21_800))


def test_frames_that_no_device_makes_without_offloads_prove_that_they_were_on() -> None:
    found = judged(exchange(devices=LONG))
    assert found.flags == (Flag.DEVICES_DISAGREE,)
    (reason,) = found.reasons
    assert reason.startswith("frames that came to phy1 had 21,8")
    assert reason.endswith("1,518 are the most where offloads are off")
    assert judged(exchange(devices=LONG, offloads=True)).valid
    full = (device("phy0", 0), device("phy1", 1_518 * 10**6, frames=10**6))
    assert judged(exchange(devices=full)).valid


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_believed_is_said_with_who_and_by_how_much(name: str) -> None:
    case = CASES[name]
    found = judged(case.one)
    assert found.flags == (() if case.flag is None else (case.flag,))
    assert found.reasons == ((case.reason,) if case.flag is not None else ())
    assert found.valid is (case.flag is None)


def test_a_program_that_could_run_where_it_was_not_put_is_named_and_its_number_is_in_doubt() -> (
    None
):
    def told(role: str, *cpus: int, placed: tuple[int, ...]) -> Exchange:
        return judged(exchange(cpu=use(programs=(program(role, 0.5, *cpus, placed=placed),))))

    for cpus, listed in (((0, 1), "0, 1"), ((1,), "1")):
        found = told(CLIENTS, *cpus, placed=(0,))
        assert found.flags == (Flag.PROGRAM_MISPINNED,)
        said = f"clients 1 was put on CPU 0, and could run on CPU {listed}"
        assert found.reasons == (said,)
        assert found.valid
    for role, cpus, placed in (
        (SERVERS, (1,), (0, 1)),  # one that keeps to some of its CPUs, as a process of nginx does
        (SWITCH, (0, 1), ()),
        (OWN, (0, 1), (0,)),
        (NOISE, (0, 1), (0,)),
    ):
        assert told(role, *cpus, placed=placed).flags == (), role


# The method: what it asks, and what it answers.


def test_those_that_were_ended_for_another_are_not_to_blame() -> None:
    """As soon as one fails the others are ended: that they had not is no fault of theirs."""
    killed, ended = Told(problem="its server was killed"), Told(problem="its client had not ended")
    found = whose_fault([ended, killed, ended], [False, True, False])
    assert [one.problem for one in found] == ["", "its server was killed", ""]
    made = [instance(n, problem=one.problem, intervals=()) for n, one in enumerate(found, start=1)]
    one = judged(exchange(*made))
    assert one.flags == (Flag.PROGRAM_FAILED,)
    assert one.reasons == ("instance 2, phy0 to phy1: its server was killed",)
    hung = [ended, Told()]
    assert whose_fault(hung, [False, False]) == hung, "nobody began it: who hangs is to blame"


def test_who_ended_early_is_to_blame_also_where_it_tells_of_no_failure() -> None:
    """A client of HTTP may end as its connections do, with exit code 0 and sums of half the time.

    The others were ended for it: that they had not ended by themselves is its doing.
    """
    others = Told(problem="its client had not ended")
    quick = Told(elapsed_ns=SECOND, transactions=1_000, intervals=instance().intervals)
    first, second = whose_fault([others, quick], [False, True])
    assert first.problem == ""
    assert "ended long before its time" in second.problem
    assert (second.transactions, second.intervals) == (None, ())


def test_who_says_to_have_sent_for_longer_than_it_ran_is_not_believed() -> None:
    """netperf lays its intervals by the clock of the wall; one that was set makes them longer."""
    one = Told(elapsed_ns=5 * SECOND, transactions=1_000)
    for ran_ns in (None, 4_800_000_000, 9 * SECOND):
        assert believed(one, ran_ns) == one
    found = believed(one, 4 * SECOND)
    assert found.problem.startswith("its client says that it sent for 5.000 s, and ran for 4.000 s")
    assert (found.elapsed_ns, found.transactions) == (None, None)
    killed = Told(problem="its client was killed by SIGKILL")
    assert believed(killed, 4 * SECOND) == killed


def test_of_a_program_that_writes_too_much_it_is_known_that_not_all_was_read(
    tmp_path: Path,
) -> None:
    log = tmp_path / "client.log"
    log.write_text("1234")
    assert answer_of(log, 4) == ("1234", True)
    log.write_text("12345")
    assert answer_of(log, 4) == ("1234", False)
    assert answer_of(tmp_path / "none", 4) == ("", True)


def test_all_programs_of_an_exchange_together_write_no_more_than_there_is_room_for() -> None:
    """The kernel ends one of them a byte behind what is read of it."""
    for pairs in (1, 2, 8):
        assert LONGEST_ANSWER - 1 <= room_of(pairs) <= LONGEST_ANSWER
    for pairs in (*range(1, 200), 10_000):
        assert room_of(pairs) > 0
        assert 2 * pairs * (room_of(pairs) + 1) <= LONGEST_TOGETHER


def test_what_was_not_read_to_its_end_is_no_answer_whatever_it_says() -> None:
    """Sums at the beginning of what a program writes may be followed by others."""
    ended, many = Said(0, "ended with exit code 0", "sums"), "ended, and wrote more than is read"
    program: Any = SimpleNamespace(told=lambda *_: Told(transactions=1_000), SERVER_ENDS=True)
    asked = ExchangeAsked("tcp-rr", 1, SECOND)
    assert told_by(program, asked, ended, ended) == Told(transactions=1_000)
    too_long = Said(0, many, "sums", whole=False)
    assert told_by(program, asked, too_long, ended) == Told(problem=f"its client {many}")
    assert told_by(program, asked, ended, too_long) == Told(problem=f"its server {many}")


def test_a_client_that_writes_without_end_since_its_server_is_dead_is_not_the_one_to_blame() -> (
    None
):
    program: Any = SimpleNamespace(SERVER_ENDS=False)
    asked: Any = None
    endless = Said(None, f"{NOT_ENDED}, and wrote more than is read", "refused", whole=False)
    dead, serves = Said(-9, "was killed by SIGKILL", ""), Said(None, NOT_ENDED, "")
    assert told_by(program, asked, endless, dead).problem == "its server was killed by SIGKILL"
    assert told_by(program, asked, endless, serves).problem == f"its client {endless.ending}"
    by_itself = replace(endless, exit_code=1, ending="ended with exit code 1")
    assert told_by(program, asked, by_itself, dead).problem == (
        "its client ended with exit code 1; its server was killed by SIGKILL"
    )


@pytest.mark.needs("root")
def test_the_kernel_ends_a_program_that_writes_without_end(tmp_path: Path) -> None:
    head = shutil.which("head")
    assert head is not None
    cpu, longest = min(os.sched_getaffinity(0)), 10_000
    much = (head, "-c", str(100 * longest), "/dev/zero")
    how = ("/proc/self/ns/net", str(cpu), "0", str(longest), *much)
    log = tmp_path / "client.log"
    with log.open("ab") as file:
        argv = own_python.script(Path(enter_network.__file__), *how)
        done = subprocess.run(argv, stdout=file, stderr=file, check=False, timeout=60)
    assert done.returncode == -signal.SIGXFSZ
    assert log.stat().st_size == longest


def stream(**settings: Any) -> Stream:
    found = method_of({"kind": "stream", "duration": "4s", **settings})
    assert isinstance(found, Stream)
    return found


def at_rate(bps: int, **changed: Any) -> Exchange:
    """An exchange in which so much arrived."""
    intervals = tuple(one.model_copy(update={"amount": bps // 8}) for one in instance().intervals)
    return judged(exchange(instance(1, intervals=intervals, **changed)))


def test_it_asks_for_the_warm_up_beside_the_window_as_often_as_repeats_say() -> None:
    bench = Bench([at_rate(8 * RATE)] * 3)
    stream(repeats=3, instances=4, warm_up="500ms", write="64KiB").play(bench)
    assert bench.asked == [ExchangeAsked("tcp-stream", 4, 4 * SECOND, SECOND // 2, 65_536)] * 3
    assert bench.asked[0].sending_ns == 4_500_000_000


def test_the_answer_is_the_median_of_repeats_with_how_far_they_lie_apart() -> None:
    rates = (4 * RATE, 8 * RATE, 6 * RATE)
    result = stream(repeats=3).play(Bench([at_rate(rate) for rate in rates]))
    rate, again, *_ = result.figures
    assert (rate.name, rate.unit, rate.value) == ("rate", Unit.BPS, 6 * RATE)
    assert rate.spread is not None
    assert (rate.spread.minimum, rate.spread.maximum, rate.spread.runs) == (4 * RATE, 8 * RATE, 3)
    assert rate.at == "tcp stream by iperf3 3.12, both ends on CPU 0, offloads off"
    assert (again.name, again.value) == ("repeated_segments", 3)
    assert [curve.name for curve in result.curves] == ["over_time", "by_instance"]
    assert result.curves[0].points[0] == (SECOND, 6 * RATE)


def test_curves_say_of_which_repeat_they_are_where_there_are_several() -> None:
    rates = (4 * RATE, 8 * RATE, 6 * RATE)
    each = [
        at_rate(rate).model_copy(update={"index": number}) for number, rate in enumerate(rates, 1)
    ]
    result = stream(repeats=3).play(Bench(each))
    assert {one.at for one in result.curves} == {"exchange #3, the middle one of 3 repeats"}
    assert curve_table(result.curves[1]).title == (
        "by instance, exchange #3, the middle one of 3 repeats"
    )
    alone = stream(repeats=1).play(Bench([at_rate(RATE)]))
    assert {one.at for one in alone.curves} == {""}


def test_of_datagrams_it_tells_what_was_sent_what_was_lost_and_whose_reader_was_too_slow() -> None:
    sent, received = 1_000_000, 600_000
    lossy = instance(
        1,
        write_bytes=1400,
        sent_packets=sent,
        lost_packets=sent - received,
        repeated_segments=None,
        sent_bytes=10 * RATE,
    )
    one = judged(
        exchange(
            lossy,
            traffic="udp-stream",
            devices=(device("phy0", 0), device("phy1", 10 * RATE, frames=900_000)),
        )
    )
    assert one.loss_ratio == Fraction(2, 5)
    assert one.unread_packets == 300_000
    result = stream(protocol="udp").play(Bench([one]))
    found = {figure.name: figure for figure in result.figures}
    assert list(found)[:4] == ["rate", "datagrams", "sent", "lost"]
    assert found["sent"].value == 16 * RATE
    assert found["lost"].value == 0.4
    assert "75% of them came to the device of the place" in found["lost"].reason


def test_of_datagrams_in_several_frames_nobody_knows_whose_reader_was_too_slow() -> None:
    fragmented = instance(1, write_bytes=8000, sent_packets=10, lost_packets=5)
    assert exchange(fragmented, traffic="udp-stream").unread_packets is None
    assert exchange(instance(1), traffic="udp-stream").unread_packets is None


def test_where_the_time_ends_first_what_was_measured_by_then_is_the_answer() -> None:
    bench = Bench([at_rate(8 * RATE)] * 3, Budget(limit_ns=11 * SECOND))
    result = stream(repeats=3).play(bench)
    assert len(bench.asked) == 2
    assert not result.complete
    assert result.figures[0].value == 8 * RATE


def test_without_an_exchange_there_is_no_answer() -> None:
    assert stream().answered(Repeats(())).empty


def test_a_criterion_can_be_about_whatever_it_answers_with() -> None:
    both = judged(exchange(instance(1), instance(2, direction=REVERSE)))
    for protocol in ("tcp", "udp"):
        method = stream(protocol=protocol)
        one, all_of_them = (method.answered(Repeats((each,))) for each in (at_rate(8), both))
        told = {figure.name: figure.unit for figure in all_of_them.figures}
        assert told == method.metrics()
        assert {*told} - {figure.name for figure in one.figures} <= {"total", "total_datagrams"}


def test_of_several_directions_it_tells_the_slowest_and_all_of_them_together() -> None:
    half = tuple(
        part.model_copy(update={"amount": part.amount // 2}) for part in instance().intervals
    )
    ways = (FORWARD, REVERSE, "phy0 to phy2")
    made = [instance(n, direction=way, write_bytes=1000) for n, way in enumerate(ways, start=1)]
    made[1] = made[1].model_copy(update={"intervals": half})
    one = exchange(*made, traffic="udp-stream")
    found = {each.name: each for each in stream(protocol="udp").answered(Repeats((one,))).figures}
    assert (found["rate"].value, found["total"].value) == (4 * RATE, 20 * RATE)
    assert "in the slowest of 3 directions" in found["rate"].reason
    assert "in all 3 directions together" in found["total"].reason
    assert found["datagrams"].value == 4 * RATE // 8_000
    assert found["total_datagrams"].value == 20 * RATE // 8_000
    assert found["total"].limit is found["rate"].limit


def test_datagrams_of_several_sizes_are_not_counted_by_one_of_them() -> None:
    one = exchange(instance(1, write_bytes=16), instance(2, write_bytes=1400), traffic="udp-stream")
    found = {each.name: each for each in stream(protocol="udp").answered(Repeats((one,))).figures}
    assert found["datagrams"].value is None


@pytest.mark.parametrize(("least", "met"), [("900Mbit/s", True), ("1.1Gbit/s", False)])
def test_a_rate_of_bits_is_held_against_one(least: str, met: bool) -> None:
    wanted = Expectation.model_validate({"metric": "rate", "min": least})
    method = stream()
    asked = simulated_case().model_copy(update={"search": method, "expect": (wanted,)})
    (check,) = check_all(asked, method.answered(Repeats((at_rate(8 * RATE),))), ())
    assert check.met is met
    assert check.criterion == f"rate ≥ {least}"
    assert check.found == "1.000 Gbit/s"


def held(method: Streams | Http, one: Exchange, **asked: str) -> Check:
    """Return whether an exchange meets a criterion."""
    wanted = Expectation.model_validate(asked)
    spec = simulated_case().model_copy(update={"search": method, "expect": (wanted,)})
    (check,) = check_all(spec, method.answered(Repeats((one,))), ())
    return check


@pytest.mark.parametrize(("most", "met"), [("0.6ns", True), ("0.4ns", False)])
def test_a_bit_may_cost_a_part_of_a_nanosecond(most: str, met: bool) -> None:
    looked = exchange(cpu=use(cpu(0, busy=0.5), clients=0.25, servers=0.25, switch=0))
    check = held(stream(), looked, metric="cpu_per_bit", max=most)
    assert check.met is met
    assert (check.criterion, check.found) == (f"cpu_per_bit ≤ {most}", "0.5 ns")


@pytest.mark.parametrize(("came", "met"), [(90_000, None), (10_000, False)])
def test_a_switch_is_not_blamed_for_datagrams_that_were_not_read(
    came: int, met: bool | None
) -> None:
    """Of ninety thousand that are lost, most came to the device of the place, or were dropped."""
    sent = instance(sent_packets=100_000, lost_packets=90_000, write_bytes=1400)
    dropped = PortCounters(
        name="1", received_frames=10**5, sent_frames=10**4, drops={"rx": 100_000 - came}
    )
    one = exchange(
        sent,
        traffic="udp-stream",
        devices=(device("phy0", 0), device("phy1", 10 * RATE, frames=came)),
        cpu=use(cpu(0, busy=0.3), clients=0.3, switch=0),
        switch=SwitchCounters(ports=(dropped,)),
    )
    assert held(stream(protocol="udp"), one, metric="lost", max="1%").met is met


def test_a_rate_that_a_clock_set_says_nothing_of_a_higher_one() -> None:
    fine = Failures(statuses=0, sockets=0, timeouts=0, unanswered=0)
    one = exchange(turns(failures=fine), traffic="http-open")
    method = method_of({"kind": "http", "rate": 1000, "duration": "4s"})
    assert isinstance(method, Http)
    assert held(method, one, metric="rate", min="1000").met is True
    more = held(method, one, metric="rate", min="2000")
    assert more.met is None
    assert "limited by setting" in more.found


def bound(
    monkeypatch: pytest.MonkeyPatch,
    metric: str,
    found: float,
    method: Streams | None = None,
    **by: str,
) -> str:
    """Return what a criterion on a baseline comes to that found so much."""
    method = method or stream(protocol="udp")
    wanted = Expectation.model_validate({"metric": metric, "baseline": "main", **by})
    case = PlannedCase(simulated_case().model_copy(update={"search": method, "expect": (wanted,)}))
    figure = Figure(name=metric, unit=method.metrics()[metric], value=found)
    view: Any = SimpleNamespace(
        label=case.label,
        simulated=True,
        planned=SimpleNamespace(id=case.id),
        result=SearchResult(figures=(figure,)),
        standing_trials=(),
        record=None,
    )
    monkeypatch.setattr(baselines, "baseline_side", lambda *_: Side("main", (), (view,)))
    (held_to,) = (one.spec.expect[0].held_to for one in with_baselines((case,), Path()))
    return str(held_to)


def test_a_baseline_of_a_part_of_a_nanosecond_is_held_to_its_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for change, ns in ({"rise": "5%"}, 0.84), ({"drop": "5%"}, 0.76):
        found = MeasuredTime.parse(bound(monkeypatch, "cpu_per_bit", 0.8, None, **change))
        assert float(found) == pytest.approx(ns, rel=1e-5)
    assert bound(monkeypatch, "cpu_per_bit", 20_001.0, rise="5%") == "21002ns"


def test_a_baseline_may_lie_below_zero_and_may_rise_from_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    method = method_of({"kind": "latency_under_load", "duration": "4s"})
    assert isinstance(method, Streams)
    assert bound(monkeypatch, "p50_difference", -2e6, method, rise="10%") == "-1800000ns"


def test_a_baseline_that_leaves_nothing_to_miss_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SpecError, match="says nothing that lost of") as caught:
        bound(monkeypatch, "lost", 0.98, rise="5%")
    assert "102.9" in str(caught.value.problems[0].why)


def test_segments_that_were_sent_again_are_better_where_they_are_fewer() -> None:
    assert not more_is_better("repeated_segments", Unit.COUNT)
    assert more_is_better("rate", Unit.BPS)


# Transactions: what is counted is what was answered.


def turns(number: int = 1, **changed: Any) -> Instance:
    """One that was answered a thousand times in each of five seconds."""
    seconds = 5
    parts = tuple(
        Interval(began_ns=second * SECOND, ended_ns=(second + 1) * SECOND, amount=1_000)
        for second in range(seconds)
    )
    known = {
        "sent_bytes": None,
        "received_bytes": None,
        "transactions": 1_000 * seconds,
        "intervals": parts,
    }
    return instance(number, **{**known, **changed})


def test_a_rate_of_transactions_is_one_of_the_window_and_no_bits() -> None:
    one = exchange(turns(1), turns(2), traffic="tcp-rr")
    assert (one.unit, one.rate(FORWARD)) == (Unit.PER_SECOND, 2_000)
    assert judged(one).valid


@pytest.mark.parametrize(("traffic", "least"), [("tcp-rr", 5_000), ("tcp-crr", 10_000)])
def test_each_transaction_takes_frames_that_both_devices_have_seen(
    traffic: str, least: int
) -> None:
    enough = tuple(device(place, 0, least) for place in ("phy0", "phy1"))
    assert judged(exchange(turns(), traffic=traffic, devices=enough)).valid
    few = (enough[0], device("phy1", 0, least - 1))
    one = judged(exchange(turns(), traffic=traffic, devices=few))
    assert one.flags == (Flag.DEVICES_DISAGREE,)
    assert "transactions of phy1" in one.reasons[0]


@pytest.mark.parametrize(
    "changed", [{"transactions": None}, {"transactions": 0}, {"intervals": ()}]
)
def test_who_does_not_tell_of_transactions_has_no_rate(changed: dict[str, Any]) -> None:
    one = judged(exchange(turns(**changed), traffic="udp-rr"))
    assert one.flags == (Flag.PROGRAM_FAILED,)


class TestMethodsOfTransactions:
    def test_a_request_waits_for_each_response_by_the_protocol_that_is_asked_for(self) -> None:
        kept = Transactions.model_validate({"kind": "rr", "request": 10, "response": 20})
        assert (kept.each.traffic, kept.each.request_bytes, kept.each.response_bytes) == (
            "tcp-rr",
            10,
            20,
        )
        datagrams = Transactions.model_validate({"kind": "rr", "protocol": "udp"})
        assert datagrams.each.traffic == "udp-rr"
        assert Connections.model_validate({"kind": "crr"}).each.traffic == "tcp-crr"

    def test_a_mean_is_one_of_all_transactions_and_a_tail_that_of_the_slowest_instance(
        self,
    ) -> None:
        def took(mean_us: int, p99_us: int) -> RoundTrips:
            ns = 1_000
            return RoundTrips(
                mean_ns=mean_us * ns, least_ns=ns, p50_ns=ns, p90_ns=ns, p99_ns=p99_us * ns,
                most_ns=10**9,
            )  # fmt: skip

        often = turns(1, transactions=9_000, round_trips=took(100, 300))
        seldom = turns(2, transactions=1_000, round_trips=took(1_000, 200))
        one = exchange(often, seldom, traffic="tcp-rr")
        result = Transactions.model_validate({"kind": "rr"}).answered(Repeats((one,), True))
        found = {figure.name: figure.value for figure in result.figures[:3]}
        assert found == {"rate": 2_000, "mean_round_trip": 190_000, "p99_round_trip": 300_000}

    def test_where_an_instance_does_not_tell_there_is_no_mean(self) -> None:
        one = exchange(turns(1), traffic="tcp-rr")
        result = Transactions.model_validate({"kind": "rr"}).answered(Repeats((one,), True))
        assert [figure.value for figure in result.figures[:3]] == [1_000, None, None]
