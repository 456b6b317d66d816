"""The reference DUT of tgen as a switch that benchmarks can make slower by a known amount of work.

The folder of this file has the description of a package. Where it is on Python's path, vsperf knows
a switch of the kind `reference`, as if that package was installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.method import GIVEN_OTHER_RULES, MADE_TO_FORGET, RESTARTED
from vsperf.dpdk.command import MEGABYTE
from vsperf.drivers.generators.tgen.process import TGEN
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import NothingRuns, SwitchPlan
from vsperf.drivers.vswitches.ports import Place, vhost_endpoint, vhost_socket
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.process import Managed, managed
from vsperf.host.threads import Polling
from vsperf.host.workspace import Workspace
from vsperf.records import threads
from vsperf.records.run import Placeholder, Placement, Step

NAME = "tgen-dut"
ROLE = "pmd"
MEMORY_MB = 192
"""For the 32,768 buffers that it makes, and what else DPDK takes."""
LONGEST_BYTES = 2048
"""That one of them holds."""


class ReferenceSpec(DriverSpec):
    """Settings of the reference DUT."""

    CAPPED: ClassVar[bool] = False
    HELD_STILL: ClassVar[bool] = True

    kind: Literal["reference"]
    work: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Multiplications that it makes more for each eight frames, one after the other."""


@dataclass
class RunningReference(NothingRuns):
    """A reference DUT that forwards, as soon as somebody is at a port; it counts till it ends."""

    program: Managed

    def failure(self) -> str | None:
        return self.program.failure()

    def facts(self) -> dict[str, Any]:
        return {"argv": list(self.program.argv)}

    def restart(self, *, kill: bool) -> None:
        raise cannot_be(RESTARTED)

    def forget_flows(self) -> None:
        raise cannot_be(MADE_TO_FORGET)

    def change_rules(self, count: int) -> None:
        raise cannot_be(GIVEN_OTHER_RULES)

    def processes(self) -> tuple[int, ...]:
        return (self.program.pid,)


class ReferenceDevice:
    """Deploys the reference DUT between two vhost-user ports, at which it listens."""

    kind: ClassVar[str] = "reference"
    summary: ClassVar[str] = "the reference DUT of tgen, which can be told to work more per frame"
    Spec: ClassVar[type[DriverSpec]] = ReferenceSpec

    def needs(self, case: CaseSpec) -> Needs:
        return Needs((CpuNeed(ROLE, 1),), hugepage_bytes=MEMORY_MB * MEGABYTE)

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        if case.search.done_to_switch is not None:
            raise cannot_be(case.search.done_to_switch)
        if case.topology.vnfs or len(case.topology.links) != 2:
            raise cannot_be(f"had in topology {case.topology.name}: it has two ports, and no rules")
        if case.longest_bytes > LONGEST_BYTES:
            raise cannot_be(f"sent frames of more than {LONGEST_BYTES} bytes")
        argv = command_line(case, placement, NAME)
        step = Step(component="vswitch", action="start the reference DUT of tgen", argv=argv)
        ends = (vhost_endpoint(Place(link), "vhost-user") for link in case.topology.links)
        return SwitchPlan((step,), tuple(ends))

    def require(self, case: CaseSpec) -> None:
        if not program().is_file():
            raise NotReadyError(
                "the reference DUT of tgen is not built",
                why=f"there is no {program()}",
                fix="make setup-dev",
            )

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningReference]:
        sockets = [Path(workspace.fill(end.address)) for end in plan.endpoints]
        with managed(
            [workspace.fill(word) for word in command_line(case, placement, str(program()))],
            name=NAME,
            workspace=workspace,
            ready=lambda: all(socket.is_socket() for socket in sockets),
            environment={"RUNTIME_DIRECTORY": str(workspace.folder)},
            polling=Polling(threads.SWITCH, NAME),
        ) as running:
            yield RunningReference(running)


def program() -> Path:
    """Return where it is: it is built beside tgen."""
    return TGEN.find().parent / "dut" / NAME


def command_line(case: CaseSpec, placement: Placement, path: str) -> tuple[str, ...]:
    """Return what is run, with the folder of the deployment not filled in."""
    spec = own_settings(case.vswitch, ReferenceSpec, "the reference DUT", "vswitch.kind=reference")
    sockets = [vhost_socket(Place(link)) for link in case.topology.links]
    return (
        path,
        *("--no-pci", "--in-memory", "--no-telemetry"),
        *("-m", str(MEMORY_MB), f"--file-prefix={Placeholder.NAME}-{NAME}"),
        *(f"--lcores=0@{cpu}" for cpu in placement.of(ROLE)),
        *(f"--vdev=net_vhost{number},iface={path}" for number, path in enumerate(sockets)),
        *("--", f"--report={Placeholder.RUN}/{NAME}.json", f"--work={spec.work}"),
    )


def cannot_be(what: str) -> UsageError:
    """Return that it cannot be done to the reference DUT."""
    return UsageError(f"the reference DUT cannot be {what}", fix="choose another testcase")
