"""The driver: an instance of VPP of its own for each case, up in the only order that works."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vsperf.config.case import CaseSpec
from vsperf.drivers.ending import until_left
from vsperf.drivers.settings import reading
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch
from vsperf.drivers.vswitches.vpp import layout
from vsperf.drivers.vswitches.vpp.api import DEFINITIONS, Api, Messages, call_many, connect
from vsperf.drivers.vswitches.vpp.calls import Call
from vsperf.drivers.vswitches.vpp.layout import ports_of
from vsperf.drivers.vswitches.vpp.plan import (
    MAIN_ROLE,
    WORKER_ROLE,
    Design,
    hugepage_bytes,
    switch_plan,
)
from vsperf.drivers.vswitches.vpp.programs import (
    Programs,
    definition_files,
    find_programs,
    planned_programs,
)
from vsperf.drivers.vswitches.vpp.running import SWITCH, Meter, RunningVpp
from vsperf.drivers.vswitches.vpp.segment import Segment, mapped
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import ComponentError, DiedError, NotReadyError, VsperfError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.doctor.wants import POLLING_SWITCH
from vsperf.host.eventfds import ring
from vsperf.host.hugepages import read_pools
from vsperf.host.process import Managed, end, managed, written
from vsperf.host.procfs import all_listened_at
from vsperf.host.threads import Polling
from vsperf.host.tree import HERE, Tree
from vsperf.host.tuntap import refused_frames
from vsperf.host.undo import SHARED_MEMORY, SweepSharedMemory
from vsperf.host.workspace import Workspace, require_fitting
from vsperf.records import threads
from vsperf.records.run import Placement

_spec_of = reading("vswitch.kind=vpp", VppSpec, "VPP")
DAEMON_S = 30.0
"""Patience with the start: it takes its memory, which is long for many gigabytes."""
ANSWER_S = 5.0
"""Patience with a daemon that is up; one that needs longer is taken for dead."""
POLLING = Polling(threads.SWITCH, "vpp_wk_")
PRIVATE = 0o600
WAKING_SOCKET = "wake.sock"


@dataclass
class Instance:
    """One instance while it comes up, and again when it is started anew."""

    design: Design
    programs: Programs
    workspace: Workspace
    messages: Messages
    stack: ExitStack
    interfaces: dict[str, int] = field(default_factory=dict)

    def path(self, text: str) -> Path:
        return Path(self.workspace.fill(text))

    @property
    def log(self) -> str:
        """What the switch has written so far."""
        return written(SWITCH, self.workspace)

    def started(self) -> tuple[Managed, Api, Segment]:
        sockets = [self.path(text) for text in layout.SOCKETS]
        starting = managed(
            [self.workspace.fill(word) for word in self.design.switch(self.programs)],
            name=SWITCH,
            workspace=self.workspace,
            ready=lambda: all_listened_at(sockets),
            timeout_s=DAEMON_S,
            environment=self.programs.environment,
            polling=POLLING,
        )
        try:
            daemon = self.stack.enter_context(starting)
        except DiedError:
            raise
        except ComponentError as error:
            raise not_started(self.log, error.problems[0].why or str(error)) from error
        shared = SHARED_MEMORY.glob(f"{self.workspace.name}-*")
        for path in (*sockets, *shared):
            path.chmod(PRIVATE)
        api = connect(self.path(layout.API_SOCKET), self.messages, ANSWER_S)
        self.stack.callback(api.close)
        segment = mapped(self.path(layout.STATS_SOCKET))
        self.stack.callback(segment.close)
        return daemon, api, segment

    def set_up(self, api: Api) -> None:
        """Make the ports and tell VPP where frames go."""
        self.interfaces.clear()
        self.make(api, self.design.making)
        for port in self.design.ports:
            if port.listens:
                self.path(port.endpoint).chmod(PRIVATE)
        self.make(api, self.design.forwarding)
        self.make(api, self.design.idle(self.design.standing, add=True), many=True)

    def make(self, api: Api, calls: Iterable[Call], *, many: bool = False) -> None:
        """Make calls in their order; of many, none may need what another one brings."""
        fill = self.workspace.fill
        if many:
            filled = ((call.message, call.filled(fill, self.interfaces)) for call in calls)
            call_many(self.path(layout.API_SOCKET), api, self.messages, filled)
            return
        for call in calls:
            fields = call.filled(fill, self.interfaces)
            if call.message.endswith("_dump"):
                self._find(api, call, fields)
                continue
            reply = api.call(call.message, fields)
            if call.makes is not None:
                self.interfaces[call.makes] = reply.sw_if_index

    def _find(self, api: Api, call: Call, fields: dict[str, object]) -> None:
        """Find an interface that is there since the start."""
        for entry in api.dump(call.message, fields):
            if entry.interface_name == call.makes:
                self.interfaces[str(call.makes)] = entry.sw_if_index
                return
        raise ComponentError(
            f"VPP did not take up the NIC of {call.makes}", why="its log says more: vpp.log"
        )

    def wake(self, api: Api) -> None:
        """Have VPP call at once those whom it could not reach.

        It does so whenever a vhost-user port is made; so one is made, and taken away again.
        """
        socket = str(self.workspace.folder / WAKING_SOCKET)
        made = api.call("create_vhost_user_if_v2", {"is_server": True, "sock_filename": socket})
        api.call("delete_vhost_user_if", {"sw_if_index": made.sw_if_index})

    def refused(self) -> dict[str, int]:
        """Return the frames that each tap had no room for, by port; one that is gone has none."""
        ports = [port for port in self.design.ports if port.kind == "packet" and port.place.nic]
        found = {port.name: refused_frames(self.workspace.fill(port.device)) for port in ports}
        return {name: count for name, count in found.items() if count is not None}

    def look(self) -> None:
        """Raise when a part of the deployment no longer lives."""
        self.workspace.attend("while the switch was waited for")


@contextmanager
def instance(design: Design, programs: Programs, workspace: Workspace) -> Iterator[RunningVpp]:
    """Bring the switch up with its ports and ways; leaving the context takes it down."""
    messages = Messages(definition_files(programs, DEFINITIONS))
    with ExitStack() as stack:
        stack.enter_context(workspace.undoing(SweepSharedMemory(prefix=workspace.name)))
        made = Instance(design, programs, workspace, messages, stack)
        lines = (workspace.fill(line) for line in design.configuration(programs))
        made.path(layout.CONFIGURATION).write_text("".join(f"{line}\n" for line in lines))
        daemon, api, segment = made.started()
        made.set_up(api)
        running = RunningVpp(
            folder=workspace.folder,
            programs=programs,
            design=design,
            daemon=daemon,
            api=api,
            segment=segment,
            interfaces=made.interfaces,
            meter=_meter(made),
            start_again=lambda running, kill: _start_again(made, running, kill=kill),
            write_routes=lambda numbers, add: made.make(
                running.api, design.idle(numbers, add=add), many=True
            ),
            wake=lambda: made.wake(running.api),
            kick=lambda: ring(running.daemon.pid),
            read_refused=made.refused,
            look=made.look,
        )
        with workspace.errand(running.call_who_listens):
            yield running


def _start_again(made: Instance, running: RunningVpp, *, kill: bool) -> None:
    """Restart the daemon, and tell it everything anew."""
    if kill:
        running.daemon.process.kill()
    else:
        end(running.daemon, made.workspace)
    running.daemon.await_end(DAEMON_S)
    running.api.close()
    running.segment.close()
    for text in layout.SOCKETS:
        made.path(text).unlink(missing_ok=True)
    running.daemon, running.api, running.segment = made.started()
    made.set_up(running.api)
    running.meter = _meter(made)


def _meter(made: Instance) -> Meter:
    cpus = tuple(sorted(made.design.placement.of(WORKER_ROLE)))
    indices = tuple(made.interfaces[port.name] for port in made.design.ports)
    return Meter(cpus, indices)


MEMORY_FIX = "reserve hugepages (sysctl vm.nr_hugepages=512), or do with fewer: vswitch.buffers"
CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"failed to allocate buffer pool|falling back to non-hugepage|Cannot allocate memory",
        "there are too few free hugepages for its buffers",
        MEMORY_FIX,
    ),
    (
        r"main heap allocation failure",
        "there is too little memory for its heap",
        "do with less: vswitch.heap",
    ),
    (
        r"cpu \d+ is not available|CPU \d+ is not available|affinity",
        "it cannot run on the CPUs that it was given",
        "see `vsperf plan`, and choose others: vswitch.main_cpu, vswitch.worker_cpus",
    ),
    (
        r"error while loading shared libraries",
        "its libraries are not where it looks for them",
        "name the folder that VPP was installed under as a whole: vswitch.install",
    ),
    (
        r"unknown input|unknown config|parse error",
        "this version does not know a line of the start-up configuration",
        "see `vsperf plan` for the lines, and docs/how-to/measure-vpp.md for versions",
    ),
)
"""What a line of the log looks like, what it means, and what helps."""
COMPLAINT = re.compile(r"error|fail|unknown|cannot|refus|warn|abort|not available", re.IGNORECASE)


def complaints(log: str) -> tuple[str, ...]:
    """Return the lines of a log that complain of something, each once."""
    lines = (line.strip() for line in log.splitlines())
    return tuple(dict.fromkeys(line for line in lines if COMPLAINT.search(line)))


def not_started(log: str, obituary: str) -> VsperfError:
    """Return the error for a daemon that ended while it started."""
    said = complaints(log)
    for text in said:
        for pattern, why, fix in CAUSES:
            if re.search(pattern, text):
                return NotReadyError("VPP did not start", why=f"{why}: {text}", fix=fix)
    why = "; ".join((obituary, *said[:3]))
    return ComponentError("VPP did not start", why=why)


def _programs(here: Host) -> Answer:
    """Look for the install that was chosen, or that is used where a case names no other."""
    chosen = here.settings(VppSpec)
    tree = HERE if chosen is None else Tree.of(chosen)
    try:
        programs = find_programs(None if chosen is None else chosen.install, tree)
        version = programs.version().partition("\n")[0]
    except NotReadyError as error:
        return missing(error.problems[0], wanted=chosen is not None)
    return ok(f"{programs.daemon}{tree.within}: {version}")


CHECKS = (Check("vpp", Group.PROGRAMS, _programs),)
"""Not among the checks of a run: a case may name another install, and the driver looks at that."""


class Vpp(VSwitch):
    """Deploys VPP."""

    kind = "vpp"
    summary = "VPP of FD.io, a private instance beside any other"
    Spec = VppSpec
    sockets = layout.SOCKETS
    wants = POLLING_SWITCH
    checks = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        main = None if spec.main_cpu is None else (spec.main_cpu,)
        return Needs(
            cpus=(
                CpuNeed.of(WORKER_ROLE, spec.worker_cpus, spec.worker_count),
                CpuNeed(MAIN_ROLE, 1, busy=False, pinned=main),
            ),
            hugepage_bytes=hugepage_bytes(spec, ports_of(case, spec)),
        )

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        spec = _spec_of(case)
        return switch_plan(
            Design(case, spec, placement), planned_programs(spec.install, Tree.of(spec))
        )

    def require(self, case: CaseSpec) -> None:
        spec = _spec_of(case)
        find_programs(spec.install, Tree.of(spec))

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningVpp]:
        design = Design(case, _spec_of(case), placement)
        programs = find_programs(design.spec.install, Tree.of(design.spec))
        check(design, workspace)
        check_hugepages(design)
        with instance(design, programs, workspace) as running, until_left(running):
            yield running


def check(design: Design, workspace: Workspace, user: int | None = None) -> None:
    """Raise `NotReadyError` for the first thing that cannot work; `user` stands in for the own."""
    if (os.geteuid() if user is None else user) != 0:
        raise NotReadyError(
            "VPP needs root",
            why="it takes hugepages, pins threads, and reads where memory is",
            fix="run vsperf with sudo",
        )
    own = [port.endpoint for port in design.ports if port.kind in ("vhost", "memif")]
    require_fitting((*layout.SOCKETS, *own), workspace)


def check_hugepages(design: Design) -> None:
    """Refuse too few: VPP would take more from the machine itself, and never give them back."""
    roles = (WORKER_ROLE, MAIN_ROLE)
    nodes = {node for role in roles for node in design.placement.nodes.get(role, (0,))}
    needed = hugepage_bytes(design.spec, design.ports)
    for node in sorted(nodes):
        pools = [pool for pool in read_pools() if pool.node == node]
        most = max((pool.free * pool.page_bytes for pool in pools), default=0)
        if most < needed:
            raise NotReadyError(
                f"there are too few free hugepages on node {node} for the buffers of VPP",
                why=f"{needed >> 20} MB are needed, and {most >> 20} MB are free",
                fix=MEMORY_FIX,
            )
