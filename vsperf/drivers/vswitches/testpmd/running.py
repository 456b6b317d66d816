"""A testpmd that forwards as a switch: whether it still does, what it counts, and what it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vsperf.dpdk.running import Look, Patience, RunningTestpmd
from vsperf.drivers.vswitches.ports import Place
from vsperf.drivers.vswitches.testpmd.plan import check_restart
from vsperf.drivers.vswitches.testpmd.spec import TestpmdSpec
from vsperf.errors import ComponentError, DiedError, UsageError
from vsperf.host.tree import Tree
from vsperf.records.switch import PmdCounters, PortCounters, SwitchCounters

START_S = 20.0
LOST = {"imissed": "rx missed", "ierrors": "rx errors"}
"""DPDK's name of a counter → why frames were lost before testpmd had them."""
NOT_TAKEN = "tx not taken"
"""What came in by the partner of a port and did not leave by this one: its other end had no room.
testpmd throws such frames away and counts them nowhere that can be asked; but it holds none back,
so the difference is exact while no frame is on its way."""


@dataclass
class RunningSwitch:
    """A testpmd with its ports, whoever is at their other ends."""

    spec: TestpmdSpec
    places: tuple[Place, ...]
    """By number of the port."""
    testpmd: RunningTestpmd
    start_again: Callable[[bool], RunningTestpmd]
    """Ends it, kindly or by SIGKILL, and starts another one."""
    cpus: tuple[int, ...]
    """Of its forwarding threads."""
    look: Look = lambda: None
    """Raises when another part of the deployment has ended."""
    stopped: bool = False

    def failure(self) -> str | None:
        if self.stopped:
            return "the switch was stopped"
        return self.testpmd.failure() or self.testpmd.silence()

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        patience = Patience(
            patience_s,
            time.monotonic() + patience_s,
            "see that whoever is at the other end of the port runs, and speaks vhost-user",
        )
        try:
            self.testpmd.await_forwarding(patience, self.look, places)
        except DiedError:
            raise
        except ComponentError as error:
            if (reason := self.failure()) is not None:
                raise DiedError(
                    "the switch failed while it took up its ports", why=reason
                ) from error
            raise

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand."""
        counted = self.testpmd.statistics()
        ports = tuple(
            _port(place, counted[number], counted[number ^ 1])
            for number, place in enumerate(self.places)
        )
        return SwitchCounters(ports=ports, pmds=self._pmds(ports))

    def _pmds(self, ports: tuple[PortCounters, ...]) -> tuple[PmdCounters, ...]:
        """Return how busy its thread was; which of several had which frames, nobody tells."""
        if not self.spec.cycles or len(self.cpus) > 1:
            return ()
        cycles = self.testpmd.busy_cycles(1)
        if cycles is None:
            return ()
        frames = sum(port.received_frames for port in ports)
        busy, idle = cycles
        return (PmdCounters(cpu=self.cpus[0], frames=frames, busy_cycles=busy, idle_cycles=idle),)

    def facts(self) -> dict[str, Any]:
        self.testpmd.waiting_for(())  # what was negotiated is known now
        names = [place.name for place in self.places]
        return {
            "dpdk_version": self.testpmd.dpdk,
            "argv": list(self.testpmd.program.argv),
            **({"tree": tree} if (tree := Tree.of(self.spec).facts()) else {}),
            "forward": self.spec.forward,
            "ports": [
                {"place": name, **port}
                for name, port in zip(names, self.testpmd.ports, strict=False)
            ],
        }

    def restart(self, *, kill: bool) -> None:
        check_restart(self.spec)
        self.testpmd = self.start_again(kill)

    def forget_flows(self) -> None:
        """Do nothing: it knows no flow, and no address."""

    def change_rules(self, count: int) -> None:
        raise UsageError(
            "testpmd has no rules that could be changed",
            why="frames of a port go to another one, whatever is in them",
            fix="choose a switch with rules: --vswitch ovs-dpdk",
        )

    def processes(self) -> tuple[int, ...]:
        return (self.testpmd.program.pid,)

    def access(self) -> tuple[str, ...]:
        return self.testpmd.access()


def _port(place: Place, counted: dict[str, int], other: dict[str, int]) -> PortCounters:
    """Return what a port counts; `other` is what its partner does."""
    sent = int(counted["opackets"])
    before = {reason: int(counted[name]) for name, reason in LOST.items() if name in counted}
    return PortCounters(
        name=place.name,
        link=place.link,
        vnf=place.vnf,
        received_frames=int(counted["ipackets"]),
        sent_frames=sent,
        drops={**before, NOT_TAKEN: max(0, int(other["ipackets"]) - sent)},
    )
