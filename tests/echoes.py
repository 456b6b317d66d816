"""Exchanges with packets by a clock as they would be recorded, alone and beside streams."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from exchanges import REVERSE, SECOND, device, exchange, instance

from vsperf.engine.judge_exchange import judged
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import ECHO, Beside, Exchange, Instance, Interval, window_of
from vsperf.records.packets import Packets
from vsperf.search.base import Budget

MS = 1_000_000
STEP = 10 * MS
PACKETS = 500
"""In five seconds, of which one is the warm-up."""


def probe(*took_ms: int | None, unsent: int = 0, began_ns: int = 0, **changed: Any) -> Instance:
    """One that sent a packet each 10 ms, whose times repeat; so many in the midst were not sent."""
    took = [None if one is None else one * MS for one in took_ms]
    times = [took[number % len(took)] for number in range(PACKETS)]
    late: list[int | None] = [0] * PACKETS
    for number in range(PACKETS // 2, PACKETS // 2 + unsent):
        late[number] = times[number] = None
    back = sum(one is not None for one in times)
    known = {
        "name": "probe",
        "began_ns": began_ns,
        "sent_bytes": None,
        "received_bytes": None,
        "repeated_segments": None,
        "transactions": back,
        "intervals": tuple(
            Interval(began_ns=second * SECOND, ended_ns=(second + 1) * SECOND, amount=back // 5)
            for second in range(5)
        ),
        "packets": Packets(
            interval_ns=STEP,
            late_ns=tuple(late),
            took_ns=tuple(times),
            lost_there=0,
            lost_back=0,
            duplicates=0,
            out_of_order=0,
        ),
    }
    return instance(1, **{**known, **changed})


def alone(one: Instance | None = None, **changed: Any) -> Exchange:
    one = one or probe(1)
    known = {
        "traffic": ECHO,
        "program": "irtt",
        "version": "0.9.0",
        "devices": tuple(device(place, 100_000, PACKETS) for place in ("phy0", "phy1")),
    }
    return judged(exchange(one, **{**known, **changed}))


def beside(one: Instance | None = None, **changed: Any) -> Exchange:
    """Two streams, one each way, and a probe beside."""
    one = one or probe(20)
    streams = (instance(1), instance(2, direction=REVERSE))
    known = {
        "beside": Beside(traffic=ECHO, program="irtt", version="0.9.0", instances=(one,)),
        "window": window_of((*streams, one), SECOND),
        "devices": tuple(device(place, 10**10, 10**7) for place in ("phy0", "phy1")),
    }
    return judged(exchange(*streams, **{**known, **changed}))


@dataclass
class Bench:
    """Answers each exchange with the next one."""

    made: list[Exchange]
    budget: Budget = field(default_factory=Budget)
    asked: list[ExchangeAsked] = field(default_factory=list)

    def exchange(self, asked: ExchangeAsked) -> Exchange:
        self.asked.append(asked)
        self.budget.spend(asked.sending_ns)
        return self.made[len(self.asked) - 1]
