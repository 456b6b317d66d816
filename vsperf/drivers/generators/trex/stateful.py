"""TRex as client and server: connections by its TCP, begun on its schedule, counted when all ended.

It begins an exact number, one by one, and none when the time for that is over by this machine's
clock. Its own stands still whenever it is late: one that is too slow would begin all of them by it,
and a search would take that for the rate. When the last one has ended, or was cut off, its counters
are those of the trial alone.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import (
    ConnectionEnds,
    ConnectionsRequest,
    OnSample,
    TrialRequest,
    no_frames,
)
from vsperf.drivers.generators.trex.profile import (
    CUT_OFF,
    WANTED,
    Counts,
    client_accounts,
    open_now,
    profile_of,
    segments,
    server_accounts,
)
from vsperf.drivers.generators.trex.server import Server, count_in, mapping, reading, reason_of
from vsperf.errors import ComponentError, NotReadyError
from vsperf.methods.connections import ConnectionsAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import ConnectionCounts
from vsperf.records.trial import TrialCounts
from vsperf.waits import sleep

PROFILE = "_"
"""Of several that a server may have, the one that has no other name."""
LOADED, SENDING = 1, 4
"""States of a profile: it is there and does nothing, as in the one below; and its connections may
begin. What lies between and above takes a moment each."""
CLIENT, SERVER = "client", "server"
PAIR = 2
"""Ports; the first one of each has an even number."""
PPM_OF_PERCENT = 10_000
MOST_PERCENT = 100_000
"""Of one CPU, by a thousand threads."""
LOOK_S = 0.2
FIRST_S, SEEN_S = 0.11, 0.05
"""From when it is said to send to its first connection, and how late that may be seen."""
BUILD_S = 10.0
"""Patience with a profile, before the first connection."""
NO_MORE = 1e-9
"""Share of a rate at which none begins within a trial."""
CLOSING_S = 30.0
"""For which what has begun may go on once no more begin. TRex gives a SYN up after 5 s, data after
some 20 s; an open connection whose other end is silent it would wait for for a minute."""
HALT_S = 10.0
OPENING_TIMES, OPENING_NS = 4, 10 * NANOSECONDS
"""For so many times as long as it should take, and some time more, connections may be opened where
it is about those that are open."""


@dataclass
class StatefulServer(Server):
    """Its profile and the counters of that."""

    api: ClassVar[tuple[str, int, int]] = ("ASTF", 2, 3)
    meant: ClassVar[tuple[str, str]] = (
        "connections are opened in the stateful one",
        "start it with --astf",
    )

    context: str = ""
    """By which the server knows whom it belongs to: all of its ports at once."""
    numbers: dict[str, int] = field(default_factory=dict)
    """By the name of a counter, the number under which its value is told."""

    def acquire(self, *, force: bool) -> None:
        for port in self.ports:
            self._require_free(port, force=force)
        asked = {"user": self.user, "force": force, "session_id": self.session}
        answer = mapping(self.client.ask("acquire", **asked), "acquire")
        self.context = str(answer.get("handler"))
        handlers = mapping(answer.get("ports"), "acquire")
        with reading("acquire"):
            self.handlers = {int(port): str(handler) for port, handler in handlers.items()}
        self.halt()
        for port in self.ports:
            self._promiscuous(port)
        self.events()

    def release(self) -> None:
        if self.context:
            self.stop()
            self._owned("release")
            self.context, self.handlers = "", {}

    def point_at(self, port: int, mac: str) -> None:
        """Send what clients say from a port to a MAC address; servers send to whoever asked."""
        self._own("set_l2", port, dst_mac=mac, block=False)

    def load(self, profile: Mapping[str, Any]) -> None:
        """Take a profile in place of the one before."""
        text = json.dumps(profile)
        self._owned("profile_fragment", fragment=text, frag_first=True, frag_last=True)

    def start(self, port: int, begin_s: float, closing_s: float) -> None:
        """Have clients at one port begin for so long, and let what began go on for so long.

        Both are of its own time, which lasts longer where it is late.
        """
        self.events()
        self._owned(
            "start",
            duration=begin_s,
            t_duration=closing_s,
            e_duration=0.0,
            mult=1.0,
            nc=False,
            latency_pps=0,
            ipv6=False,
            client_mask=1 << port,
            dump_interval=0.0,
        )

    def begin_no_more(self) -> None:
        """Have it begin at most one more connection, and let those that began go on."""
        self._owned("update", mult=NO_MORE)

    def stop(self) -> None:
        """Begin no more, and cut off what goes on."""
        self._owned("stop")

    def halt(self) -> None:
        """The same, and wait until nothing goes on."""
        self.stop()
        until = time.monotonic() + HALT_S
        while not self.is_over():
            if time.monotonic() > until:
                raise ComponentError(
                    "TRex does not come to an end with its connections",
                    why=f"it was told to {HALT_S:g} s ago",
                )
            sleep(LOOK_S)  # between two looks at a condition, never instead of one

    def is_over(self) -> bool:
        """Whether nothing goes on; raises `ComponentError` for what went wrong meanwhile."""
        return self.state() <= LOADED

    def state(self) -> int:
        """Return the state of the profile; raises `ComponentError` for what went wrong before."""
        answer = mapping(self.client.ask("sync", profile_id="sync"), "sync")
        state = count_in(mapping(answer.get("state_profile"), "sync"), PROFILE)
        for event in self.events():  # asked for last: whatever led to this state is told by now
            with reading("get_async_events"):
                error = (event.get("data") or {}).get("error")
            if error:
                raise ComponentError("TRex does not run the profile", why=reason_of(error))
        return state

    def counted(self) -> dict[str, Counts]:
        """Return what each end has counted since the profile was started; it leaves zeros out."""
        if not self.numbers:
            told = mapping(self._of_profile("get_counter_desc"), "get_counter_desc")
            with reading("get_counter_desc"):
                self.numbers = {str(one["name"]): int(one["id"]) for one in told.get("data", ())}
            if missing := sorted(WANTED - self.numbers.keys()):
                raise ComponentError(f"TRex does not tell the counter {', '.join(missing)}")
        told = mapping(self._of_profile("get_counter_values"), "get_counter_values")
        return {end: self._named(mapping(told.get(end), end)) for end in (CLIENT, SERVER)}

    def busy_ppm(self) -> int:
        """Return how busy its threads are, which poll on one CPU."""
        told = mapping(self.client.ask("get_global_stats"), "get_global_stats")
        percent = told.get("m_cpu_util")
        if not isinstance(percent, int | float) or not 0 <= percent <= MOST_PERCENT:
            raise ComponentError("TRex does not tell m_cpu_util, how busy it is")
        return round(percent * PPM_OF_PERCENT)

    def _named(self, values: Mapping[str, Any]) -> Counts:
        numbers = {name: str(self.numbers[name]) for name in WANTED}
        return {
            name: count_in(values, number) if number in values else 0
            for name, number in numbers.items()
        }

    def _of_profile(self, method: str) -> Any:
        return self.client.ask(method, profile_id=PROFILE)

    def _owned(self, method: str, **parameters: Any) -> Any:
        """Ask for what only who has the server may."""
        return self.client.ask(method, handler=self.context, profile_id=PROFILE, **parameters)

    def _look_at(self, known: Mapping[int, Mapping[str, Any]]) -> None:
        """Raise unless the ports are all that it has: a pair, of which the first one is clients.

        It would part addresses, rate and number of connections among several pairs.
        """
        there = tuple(sorted(known))
        if self.ports != there or len(there) != PAIR or there[0] % PAIR:
            raise NotReadyError(
                f"TRex has the ports {_listed(there)}, and {_listed(self.ports)} are to be those "
                "of clients and of servers",
                why="here it has one pair of ports, the first of which is that of the clients",
                fix="start it with two ports, and name the first one at the first link: "
                "testbed.links",
            )


@dataclass
class StatefulSession:
    """A server that is ours, with clients at its first port and servers at its second one."""

    server: StatefulServer
    case: CaseSpec
    next_hop: str = ""
    """Whom clients were told to send to."""
    ended: bool = False

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        raise no_frames(
            "TRex sends no frames here: its server runs in mode ASTF",
            "a testcase whose method opens connections, or --generator tgen",
        )

    def connect(self, request: ConnectionsRequest) -> ConnectionCounts:
        if self.ended:
            raise ComponentError("TRex is no longer connected", why="the session has ended")
        asked, began = request.asked, time.monotonic_ns()
        self._point_at(request.ends)
        self.server.load(profile_of(request))
        missed = self._missed()
        begin_ns = self._begin_ns(asked)
        closing_s = CLOSING_S + asked.hold_ns / NANOSECONDS
        self.server.start(self.server.ports[0], begin_ns / NANOSECONDS, closing_s)
        try:
            most_open, busy_ppm = self._await_end(asked, begin_ns / NANOSECONDS, closing_s)
        except BaseException:
            with suppress(ComponentError):
                self.server.halt()  # it takes no other profile before
            raise
        told, missed = self.server.counted(), self._missed() - missed
        if missed < 0:
            raise ComponentError(
                "counters of TRex fell in the middle of a trial",
                why="somebody else has cleared them, or the server was started anew",
                fix="let nobody else use this server while it measures, and run again",
            )
        sleep(self.case.trial.pause.ns / NANOSECONDS)
        return ConnectionCounts(
            settled=not any(counts[CUT_OFF] for counts in told.values()),
            stopped_early=False,
            elapsed_ns=time.monotonic_ns() - began,
            client=client_accounts(told[CLIENT], asked, most_open),
            client_segments=segments(told[CLIENT]),
            times=None,
            launching_ns=None,
            completing_ns=None,
            server=server_accounts(told[SERVER]),
            server_segments=segments(told[SERVER]),
            slots=None,
            busy_ppm=busy_ppm,
            longest_gap_ns=None,
            paused_ns=None,
            missed_frames=missed,
            begin_port=None,  # each client has another, the same in each trial
        )

    def failure(self) -> str | None:
        return "the session has ended" if self.ended else self.server.client.broken

    def facts(self) -> dict[str, Any]:
        return {
            "version": self.server.version.get("version"),
            "mode": self.server.version.get("mode"),
            "workers": self.server.system.get("dp_core_count"),
            "ports": [
                {"port": port.get("index"), "driver": port.get("driver")}
                for port in self.server.system.get("ports", ())
            ],
        }

    def _point_at(self, ends: ConnectionEnds) -> None:
        """Tell it whom clients send to: a device that routes is known once it is there."""
        if ends.client.next_hop != self.next_hop:
            self.server.point_at(self.server.ports[0], ends.client.next_hop)
            self.next_hop = ends.client.next_hop

    def _begin_ns(self, asked: ConnectionsAsked) -> int:
        allowed_ns = asked.duration_ns + self.case.trial.allowed_late_ns(asked.duration_ns)
        return OPENING_TIMES * allowed_ns + OPENING_NS if asked.is_of_open_ones else allowed_ns

    def _await_end(
        self, asked: ConnectionsAsked, begin_s: float, closing_s: float
    ) -> tuple[int | None, int]:
        """Wait until all have ended; return how many were open at most, and how busy it was.

        Its counters are as of the half second before, so that of those open is true of held ones.
        """
        most_open, busy_ppm = 0, 0
        until = time.monotonic() + BUILD_S + begin_s + closing_s
        no_more: float | None = None  # when none is to begin any more; never, once it was told
        while (state := self.server.state()) > LOADED:
            now = time.monotonic()
            if no_more is None and state >= SENDING:
                no_more = now + FIRST_S + SEEN_S + begin_s
            if no_more is not None and now >= no_more:
                with suppress(ComponentError):  # it may have come to its end just now
                    self.server.begin_no_more()
                no_more = math.inf
            busy_ppm = max(busy_ppm, self.server.busy_ppm())
            if asked.hold_ns:
                most_open = max(most_open, open_now(self.server.counted()[CLIENT]))
            if now > until:
                self.server.halt()
            # Between two looks at a condition, never instead of one.
            sleep(SEEN_S if no_more is None else min(LOOK_S, max(0.0, no_more - now)))
        return (most_open if asked.hold_ns else None), busy_ppm

    def _missed(self) -> int:
        """Return what its ports say that they had no room for."""
        return sum(port["ierrors"] for port in self.server.read_ports().values())


def _listed(ports: tuple[int, ...]) -> str:
    return ", ".join(map(str, ports)) or "none"
