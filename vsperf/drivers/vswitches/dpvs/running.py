"""A DPVS that runs: whether it still does, what it counts, and what it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.drivers.vswitches.dpvs.layout import (
    CONFIGURATION,
    DPIP,
    IPVSADM,
    NAME,
    PID_FILE,
    Design,
    Port,
)
from vsperf.drivers.vswitches.dpvs.programs import HOW_TO, Talk
from vsperf.drivers.vswitches.dpvs.reading import (
    blocks_in,
    entries_in,
    entry_bytes_in,
    macs_in,
    missed_in,
    served_in,
)
from vsperf.errors import ComponentError, DiedError, UsageError
from vsperf.host.process import Managed, written
from vsperf.host.workspace import Workspace
from vsperf.records.switch import (
    ConnectionCounters,
    Kept,
    PmdCounters,
    PortCounters,
    SwitchCounters,
)
from vsperf.trust.plain_json import MOST_COUNTED
from vsperf.trust.printable import printable
from vsperf.waits import sleep

POLL_S = 0.02
UP_AGAIN_S = 30.0
"""Patience with one that was started anew; it waits as long for each of its ports."""
GIVEN_UP = "Start {} failed"
"""What it complains of when it leaves a port out and goes on."""
WORDS = 3
"""Lines before that, which say why."""
LINKS = (DPIP, "-s", "link", "show")
THREADS = (*LINKS, "cpu")
SERVED = (IPVSADM, "-ln", "--stats", "--exact")
ADDRESSES = (DPIP, "-s", "addr", "show")
POOLS = (DPIP, "eal-mem", "show", "pool")
TABLE = (IPVSADM, "-ln")
LOST = {
    "imissed": "rx missed",
    "ierrors": "rx errors",
    "rx_nombuf": "rx no buffer",
    "oerrors": "tx errors",
}
"""Its name of a counter of a port → why frames were lost there."""
DROPPED = "worker dropped"
"""Mostly what a port had no room for; which port, it does not say."""
NO_PORT = "no port free"
"""Times that one was looked for in vain, once for each address of its own."""


@dataclass(kw_only=True)
class RunningDpvs:
    """An instance; it answers once somebody was at its ports, and shares out nothing before."""

    design: Design
    talk: Talk
    workspace: Workspace
    daemon: Managed
    start_again: Callable[[Managed, bool], Managed]
    """Ends it, kindly or by SIGKILL, and starts another one."""
    answers: bool = False
    """Whether it has been told what to do."""
    stopped: bool = False
    macs: Mapping[str, str] = field(default_factory=dict)
    """Of its ports, by what it calls them."""

    def failure(self) -> str | None:
        if self.stopped:
            return "the switch was stopped"
        if (reason := self.daemon.failure()) is not None:
            return f"{NAME} {reason}"
        if not self.answers:
            return None
        try:  # its master asks all workers, so one that hangs is missed, too
            self.talk.say(SERVED)
        except ComponentError as error:
            return error.with_why
        return None

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        """Wait until it has taken up both ports, and tell it what to do; once.

        It waits for its ports itself, one after the other, and answers nobody meanwhile.
        """
        if not places or self.answers:
            return
        self._await_start(patience_s)
        self._tell()

    def _await_start(self, patience_s: float) -> None:
        written = Path(self.workspace.fill(PID_FILE))
        began = time.monotonic()
        while not written.exists():
            if (reason := self.failure()) is not None:
                raise DiedError("the switch failed while it took up its ports", why=reason)
            self.workspace.attend("while the switch was waited for", but=NAME)
            if time.monotonic() - began > patience_s + self.daemon.kept_s(patience_s):
                raise ComponentError(
                    f"the ports of {NAME} did not come up within {patience_s:g} s",
                    why=self.daemon.last_words() or "nobody is at their other ends",
                    fix="`vsperf plan` prints the commands of both ends, to be tried by hand",
                )
            sleep(POLL_S)  # between two looks at a condition, never instead of one

    def _tell(self) -> None:
        talk = self.talk
        self.macs = macs_in(talk.say((DPIP, "link", "show")))
        log = written(NAME, self.workspace)
        for port in self.design.ports:
            if (why := not_started(port, log)) is not None or port.name not in self.macs:
                raise ComponentError(
                    f"{NAME} goes on without {port.name}, which is its port of {port.end.link}",
                    why=why or "it does not list that",
                    fix="`vsperf plan` prints its command line and its configuration; "
                    f"{HOW_TO} says which ports which builds take",
                )
        for command in self.design.told():
            talk.say(command)
        self.answers = True

    def next_hops(self) -> Mapping[str, str]:
        """Return the MAC address of each port, by link."""
        return {port.end.link: self.macs[port.name] for port in self.design.ports}

    def counters(self) -> SwitchCounters | None:
        """Return all counters as they stand; its own count of connections among them.

        None before it answers: nothing has passed it then.
        """
        if not self.answers:
            return None
        talk = self.talk
        ports, threads = blocks_in(talk.say(LINKS)), blocks_in(talk.say(THREADS))
        served, missed = served_in(talk.say(SERVED)), missed_in(talk.say(ADDRESSES))
        workers = {cpu: threads.get(f"cpu{n}", {}) for n, cpu in enumerate(self.design.cpus, 1)}
        dropped = [count["dropped"] for count in threads.values() if "dropped" in count]
        return SwitchCounters(
            ports=tuple(port_counters(port, ports.get(port.name)) for port in self.design.ports),
            pmds=tuple(
                PmdCounters(cpu=cpu, frames=count["ipackets"], busy_cycles=None, idle_cycles=None)
                for cpu, count in workers.items()
                if "ipackets" in count
            ),
            drops={DROPPED: sum(dropped)} if dropped else {},
            reasons={
                NO_PORT: missed,
                "service packets in": served.in_packets,
                "service packets out": served.out_packets,
            },
            connections=ConnectionCounters(accepted=served.conns, opened=served.conns),
        )

    def kept(self) -> Kept:
        """Return the entries of its table, and what these take of its pool."""
        if not self.answers:
            return Kept()
        entries, size = entries_in(self.talk.say(TABLE)), entry_bytes_in(self.talk.say(POOLS))
        taken = None if entries is None or size is None else entries * size
        believed = taken is not None and taken <= MOST_COUNTED
        return Kept(entries=entries, memory_bytes=taken if believed else None)

    def facts(self) -> dict[str, Any]:
        fill, design = self.workspace.fill, self.design
        return {
            "dpvs_version": self.talk.programs.version,
            "program": self.talk.programs.daemon,
            "argv": list(self.daemon.argv),
            "mode": design.spec.mode,
            "service": design.service,
            "local_addresses": list(design.local_ips),
            "workers": design.spec.worker_count,
            "worker_cpus": list(design.cpus),
            "main_cpu": design.main_cpu,
            "ports": [
                {
                    "place": port.end.link,
                    "name": port.name,
                    "device": fill(port.device),
                    "mac": self.macs.get(port.name),
                }
                for port in design.ports
            ],
            "configuration": list(design.configuration()),
            "told": [" ".join(command) for command in design.told()],
        }

    def restart(self, *, kill: bool) -> None:
        """End it and start it anew: its table is lost, and it is told everything once more."""
        self.answers = False
        self.daemon = self.start_again(self.daemon, kill)
        self._await_start(UP_AGAIN_S)
        self._tell()

    def forget_flows(self) -> None:
        raise UsageError(
            "DPVS cannot be told to forget its connections",
            why="even those of a service that is taken away stay until their time is over",
            fix="let it forget sooner what has ended: --set vswitch.time_wait=1s",
        )

    def change_rules(self, count: int) -> None:
        raise UsageError(
            "DPVS has no rules that could be changed here",
            why="whoever calls its service is passed on to a server",
            fix="choose a switch with rules: --vswitch nftables",
        )

    def access(self) -> tuple[str, ...]:
        talk = self.talk
        asked = (TABLE, SERVED, LINKS, THREADS)
        return (
            *(talk.shown(command) for command in asked),
            f"cat {self.workspace.fill(CONFIGURATION)}",
        )


def not_started(port: Port, log: str) -> str | None:
    """Return why it has given a port up, in its own words; None where it has not."""
    said = log.splitlines()
    given_up = next(
        (at for at, line in enumerate(said) if GIVEN_UP.format(port.name) in line), None
    )
    if given_up is None:
        return None
    return printable(" | ".join(said[max(0, given_up - WORDS) : given_up + 1]))


def port_counters(port: Port, counted: Mapping[str, int] | None) -> PortCounters:
    """Return what DPVS counts at a port; one that it does not tell of is a `ComponentError`."""
    if counted is None or not {"ipackets", "opackets"} <= counted.keys():
        raise ComponentError(f"DPVS tells of no frames at {port.name}, the port of {port.end.link}")
    return PortCounters(
        name=port.place.name,
        link=port.place.link,
        received_frames=counted["ipackets"],
        sent_frames=counted["opackets"],
        drops={reason: counted[name] for name, reason in LOST.items() if name in counted},
    )
