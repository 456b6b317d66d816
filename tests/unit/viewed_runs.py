"""Stored runs whose answers are none of frames: connections, programs and switches in turns.

They are put together from models, as a run would store them, so that each reader can be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from conftest import REPOSITORY
from connection_models import Device
from datagram_floods import lossy
from echoes import Bench, alone, beside, probe
from exchanges import RATE, REVERSE, cpu, device, exchange, instance, use
from paired_models import PairedModel, session
from record_samples import header, plan
from stored_runs import store

from vsperf.config.case import Case
from vsperf.config.loader import Request, load
from vsperf.config.lookup import Library
from vsperf.engine.closing import close_case
from vsperf.engine.judge_exchange import judged
from vsperf.engine.session import announced
from vsperf.methods.base import method_of
from vsperf.plugins import Plugins
from vsperf.records.connections import ConnectionTrial
from vsperf.records.exchange import Exchange
from vsperf.records.host import Conditions
from vsperf.records.result import SearchResult
from vsperf.records.run import CaseStart, ConnectionsLine, ExchangeLine, Line, RoundLine, RunEnd
from vsperf.records.turns import Named, Round

BEGUN, OVER = "2026-11-23T09:00:00.000+00:00", "2026-11-23T09:02:30.000+00:00"
TWO = "vswitch=[{kind: ovs-dpdk, name: old}, {kind: ovs-dpdk, name: new}]"


def store_what_has_no_frames(results: Path) -> None:
    """Store a run of each kind of bench but that of frames."""
    case, taken = case_of("phy2phy_cps"), Device(rate=12_345)
    stored(results, case, "c0nn", method(case).play(taken), taken.made)
    used = use(cpu(0, busy=1), cpu(1, busy=0.7), cpu(2, busy=0.4), clients=1, servers=0.6)
    ends = (instance(1), instance(2, direction=REVERSE))
    counted = tuple(device(place, 10 * RATE) for place in ("phy0", "phy1"))
    streams = [
        judged(exchange(*ends, cpu=used, devices=counted, index=number)) for number in range(1, 4)
    ]
    case = case_of("places_tcp_stream", "search.repeats=3")
    stored(results, case, "str3", method(case).play(Bench(streams)), streams)
    floods = [
        judged(lossy(15_000, cpu=used, index=number), unexplained=Fraction(1, 10_000))
        for number in range(1, 4)
    ]
    case = case_of("places_udp_stream", "search.repeats=3")
    stored(results, case, "d9rm", method(case).play(Bench(floods)), floods)
    packets = [alone(probe(1, 2)), beside(probe(20, 30, None), index=2)]
    case = case_of("places_latency_under_load", "search.repeats=1")
    stored(results, case, "1at3", method(case).play(Bench(packets)), packets)
    turns = session(PairedModel("quiet"), 1, 0.9)
    case = case_of("phy2phy_paired", "search.rounds=6", "search.pairs=20", TWO)
    answer = method(case).play(turns)
    stored(results, case, "tvrn", answer, [_called(one) for one in turns.rounds])


def _called(one: Round) -> Round:
    """Call the sides of a model as the testcase does."""
    names = {"A": "old", "A′": "old", "B": "new"}
    sides = tuple(Named(letter=side.letter, name=names[side.letter]) for side in one.sides)
    return one.model_copy(update={"sides": sides})


def case_of(name: str, *sets: str) -> Case:
    request = Request((name,), testbed="local", sets=sets)
    (case,) = load(request, Library.find({}, REPOSITORY), Plugins.load().specs()).cases
    return case


def method(case: Case) -> Any:
    """Return its method, each kind of which is played on a bench of its own."""
    return method_of(case.spec)


def stored(
    results: Path, case: Case, letters: str, answer: SearchResult, made: Sequence[Any]
) -> None:
    run = f"2026-11-23-{case.spec.name}-{letters}"
    argv = ("run", case.spec.name)
    head = header(run, 1, started_at=BEGUN, simulated=False, testbed="local", argv=argv)
    head = head.model_copy(update={"cases": (announced(case),)})
    around: Any = SimpleNamespace(shared_cpu=False)
    loads = [one.as_load(one.rate) for one in made if isinstance(one, ConnectionTrial)]
    record = close_case(case, around, answer, loads, Conditions(), ())
    took_ns = sum(one.elapsed_ns for one in made)
    known = {"trials": len(made), "measured_ns": took_ns, "finished_at": OVER}
    record = record.model_copy(update=known)
    start = CaseStart(case=case.key, attempt=1, started_at=BEGUN, plan=plan())
    end = RunEnd(finished_at=OVER, exit_code=0)
    store(results, run, [head, start, *_lines(case.key, made), record, end])


def _lines(key: str, made: Sequence[Any]) -> Iterator[Line]:
    for one in made:
        match one:
            case ConnectionTrial():
                yield ConnectionsLine(case=key, trial=one)
            case Exchange():
                yield ExchangeLine(case=key, exchange=one)
            case Round():
                yield RoundLine(case=key, round=one)
