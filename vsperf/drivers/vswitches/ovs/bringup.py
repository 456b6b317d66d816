"""Bringing an instance up, in the only order that works, and taking it down again.

Settings come before the daemon, which reads some of them once; ports come when DPDK is there; rules
come when the ports have their numbers. Each step is looked at before the next one is made.

DPDK calls a socket when it is given the path, and from then on once a second. A program with
several ports opens one socket after the other, each when the one before was called, so that every
one of them would cost a second. Therefore a port is given its path when somebody listens there.
"""

from __future__ import annotations

import platform
import subprocess
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from vsperf.config.case import CaseSpec
from vsperf.drivers.ending import until_left
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch, require_root
from vsperf.drivers.vswitches.kernel_ports import await_held
from vsperf.drivers.vswitches.ovs import layout
from vsperf.drivers.vswitches.ovs.database import Database, Interface, connected
from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.drivers.vswitches.ovs.parse import Matched, matched, thread_statistics
from vsperf.drivers.vswitches.ovs.plan import Design, switch_plan
from vsperf.drivers.vswitches.ovs.programs import Programs, find_programs, planned_programs
from vsperf.drivers.vswitches.ovs.rules import idle_rules, rules
from vsperf.drivers.vswitches.ovs.running import (
    DATABASE,
    SWITCH,
    RunningOvs,
    Unseen,
    ask,
    not_started,
    port_problems,
)
from vsperf.drivers.vswitches.ports import far_end
from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.host import taps
from vsperf.host.devices import Devices
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.files import Roots
from vsperf.host.netns import within
from vsperf.host.networks import private_network
from vsperf.host.packet_sockets import Rings, drops_of
from vsperf.host.process import Managed, end, managed, written
from vsperf.host.tree import Tree
from vsperf.host.tuntap import is_there, refused_frames
from vsperf.host.undo import BRIDGE_DEVICES, RemoveTap
from vsperf.host.veths import handed, joined
from vsperf.host.workspace import Workspace, require_fitting
from vsperf.records.run import Placeholder, Placement
from vsperf.waits import how_it_ended, run

DAEMON_S = 10.0
"""Patience with a daemon that starts."""
PORTS_S = 30.0
LAST_LINES = 3
"""Of its log, where nothing else says why it did not come up."""
RULES_S = 300.0
"""Patience with the rules; a million of them take a while."""
PATH = "vhost-server-path"
Give = Callable[[Mapping[str, Mapping[str, str]]], None]
"""Gives interfaces of the switch, by their names, all of their options."""


@dataclass
class Calls:
    """The calls that were not made yet."""

    give: Give
    _ahead: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """By interface, the options of the ports whose path is held back."""

    def hold_back(self, ports: Collection[SwitchPort]) -> tuple[SwitchPort, ...]:
        """Return the ports as they are made: without a path where nobody listens."""
        self._ahead = {
            port.interface: port.options
            for port in ports
            if PATH in port.options and not _is_listened_at(port.options)
        }
        return tuple(_silent(port) if port.interface in self._ahead else port for port in ports)

    def make(self) -> None:
        """Call where somebody listens by now."""
        self._make([name for name, told in self._ahead.items() if _is_listened_at(told)])

    def make_all(self) -> None:
        """Call everywhere: DPDK goes on until there is an answer."""
        self._make(tuple(self._ahead))

    def _make(self, names: Collection[str]) -> None:
        if names:
            self.give({name: self._ahead.pop(name) for name in names})


def _is_listened_at(options: Mapping[str, str]) -> bool:
    return Path(options[PATH]).is_socket()


def _silent(port: SwitchPort) -> SwitchPort:
    return replace(port, options={n: text for n, text in port.options.items() if n != PATH})


@dataclass
class Instance:
    """One instance while it comes up."""

    design: Design
    programs: Programs
    workspace: Workspace
    daemons: dict[str, Managed] = field(default_factory=dict)
    network: str | None = None
    """The name of its network, if that has one."""
    rings: Rings = field(default_factory=Rings)

    def path(self, text: str) -> Path:
        return Path(self.workspace.fill(text))

    @property
    def environment(self) -> dict[str, str]:
        """Where the programs look for what belongs to this instance."""
        return {name: self.workspace.fill(text) for name, text in layout.ENVIRONMENT.items()}

    @property
    def controls(self) -> Mapping[str, Path]:
        return {
            SWITCH: self.path(layout.SWITCH_CONTROL),
            DATABASE: self.path(layout.DATABASE_CONTROL),
        }

    def look(self) -> None:
        """Raise when a daemon no longer lives, or another part."""
        self.look_at_daemons()
        self.workspace.attend("while the switch was waited for")

    def look_at_daemons(self) -> None:
        """Raise when a daemon no longer lives."""
        for name, daemon in self.daemons.items():
            if daemon.poll() is not None:
                obituary = daemon.obituary()
                if name == SWITCH:
                    raise not_started(self.log, obituary)
                raise ComponentError(f"{name} ended", why=obituary)

    @property
    def log(self) -> str:
        """What the switch has written so far."""
        return written(SWITCH, self.workspace)

    def start(
        self, name: str, argv: tuple[str, ...], ready: Path, *leave: str
    ) -> AbstractContextManager[Managed]:
        """Start a daemon, which is there when its socket is; `leave` is how it is asked to end."""
        control = self.controls[name]

        def stop(patience_s: float) -> None:
            ask(control, *leave, patience_s=patience_s)

        return managed(
            self._filled(argv),
            name=name,
            workspace=self.workspace,
            ready=ready.is_socket,
            timeout_s=DAEMON_S,
            environment=self.environment,
            stop=stop,
            polling=self.design.polling if name == SWITCH else None,
        )

    def run(self, argv: tuple[str, ...], patience_s: float) -> str:
        """Run one of OVS's commands to its end and return what it said.

        One that speaks OpenFlow waits for as long as the switch does, which answers nobody once
        its database is gone.
        """
        name = self.programs.tree.program_of(argv)
        filled = self._filled(argv)
        return command(name, filled, self.environment, patience_s, self.look_at_daemons)

    def database(self, look: Callable[[], None] | None = None) -> AbstractContextManager[Database]:
        """Connect to the database; `look` is done while it is waited for."""
        socket = self.path(layout.DATABASE_SOCKET)
        return connected(socket, self.programs.schema_file, look or self.look, DAEMON_S)

    @cached_property
    def calls(self) -> Calls:
        """When those who listen at its ports are called; an errand while others come up."""
        return Calls(self._give_options)

    def _give_options(self, options: Mapping[str, Mapping[str, str]]) -> None:
        with self.database(self.look_at_daemons) as database:
            database.give_options(options, PORTS_S)

    @cached_property
    def ports(self) -> tuple[layout.SwitchPort, ...]:
        return tuple(layout.filled(port, self.workspace.fill) for port in self.design.ports)

    def wait_until_up(self, database: Database) -> None:
        """Wait until the daemon takes ports."""
        dpdk, what = self.design.dpdk, "DPDK" if self.design.dpdk else "the switch"
        patience_s = self.design.patience_s
        database.wait_until(
            lambda: database.is_up(dpdk=dpdk), patience_s, f"{what} did not come up"
        )

    def interfaces(self) -> tuple[Interface, ...]:
        with self.database() as database:
            return database.interfaces()

    def without_link(self) -> frozenset[str]:
        """Return those at whose other end nobody is now."""
        with self.database() as database:
            return database.without_link()

    def _filled(self, argv: tuple[str, ...]) -> list[str]:
        return [self.workspace.fill(word) for word in argv]


@contextmanager
def told_by_log(log: Callable[[], str]) -> Iterator[None]:
    """Add what the switch said last where it was waited for in vain, and nobody knows why."""
    try:
        yield
    except ComponentError as error:
        last = log().splitlines()[-LAST_LINES:]
        if type(error) is not ComponentError or error.problems[0].why is not None or not last:
            raise
        raise ComponentError(str(error), why=f"its log ends: {'; '.join(last)}") from error


@contextmanager
def instance(design: Design, programs: Programs, workspace: Workspace) -> Iterator[RunningOvs]:
    """Bring the switch up with its ports and rules; leaving the context takes it down."""
    made = Instance(design, programs, workspace)
    with ExitStack() as stack:
        made.network = make_taps(design, workspace, stack)
        _promise_bridge_devices(made, stack)
        made.run(design.create_database(programs), DAEMON_S)
        _start_database(made, stack)
        with made.database() as database:
            settings = {n: workspace.fill(v) for n, v in design.other_config.items()}
            database.set_up(settings, DAEMON_S)
            _start_switch(made, stack)
            with told_by_log(lambda: made.log):
                made.wait_until_up(database)
                ports = made.calls.hold_back(made.ports)
                database.add_bridge(ports, design.datapath, PORTS_S)
            problem = port_problems(made.ports, database.interfaces(), made.log)
            if problem is not None:
                raise problem
            _give_to_places(made)
            facts = database.facts(workspace.name)
        _check_polling(made)
        _install_rules(made)
        stack.enter_context(workspace.errand(made.calls.make))
        yield RunningOvs(
            start_again=lambda kill: _start_again(made, stack, kill=kill),
            folder=workspace.folder,
            programs=programs,
            ports=made.ports,
            daemons=made.daemons,
            controls=made.controls,
            read_interfaces=made.interfaces,
            read_without_link=made.without_link,
            read_custom=lambda: made.run(design.port_statistics(programs), DAEMON_S),
            read_unseen=lambda: _unseen(made),
            read_filters=lambda: _filters(made),
            write_rules=lambda count: _change_rules(made, count),
            look=made.look,
            call_all=made.calls.make_all,
            learns=design.spec.flows == "learn",
            userspace=design.userspace,
            settings=facts,
        )


def _give_to_places(made: Instance) -> None:
    """Give places the devices that the switch made for them, now that it holds the other ends.

    It makes and finds them in its own network alone, so they can leave no earlier.
    """
    for port in made.ports:
        if port.handed and made.network is not None:
            far = far_end(made.design.case, port.place, made.workspace)
            within(made.network, partial(handed, port.interface, far=far))


def _promise_bridge_devices(made: Instance, stack: ExitStack) -> None:
    """Promise to remove the devices of the bridge, which stay behind when the daemon is killed.

    In a network of its own they go with it. Those of another OVS are left alone.
    """
    if made.design.own_network:
        return
    for name in BRIDGE_DEVICES:
        if not is_there(name):
            stack.enter_context(made.workspace.undoing(RemoveTap(name=name)))


def _start_again(made: Instance, stack: ExitStack, *, kill: bool) -> None:
    """Restart the daemon; ports come back from the database, rules have to be put in anew."""
    old = made.daemons[SWITCH]
    if kill:
        old.process.kill()
    else:
        end(old, made.workspace, lambda patience_s: _ask_to_exit(made, patience_s))
    old.await_end(DAEMON_S)
    for control in (layout.SWITCH_CONTROL, layout.OPENFLOW_SOCKET):
        made.path(control).unlink(missing_ok=True)
    _start_switch(made, stack)
    bridge = made.path(layout.OPENFLOW_SOCKET)
    with made.database() as database:
        made.wait_until_up(database)
        database.wait_until(bridge.is_socket, PORTS_S, "the bridge did not come up again")
    _install_rules(made)


def _ask_to_exit(made: Instance, patience_s: float) -> None:
    ask(made.controls[SWITCH], "exit", patience_s=patience_s)


def _start_database(made: Instance, stack: ExitStack) -> None:
    argv = made.design.serve_database(made.programs)
    socket = made.path(layout.DATABASE_SOCKET)
    made.daemons[DATABASE] = stack.enter_context(made.start(DATABASE, argv, socket, "exit"))


def _start_switch(made: Instance, stack: ExitStack) -> None:
    argv = made.design.switch(made.programs)
    starting = made.start(SWITCH, argv, made.path(layout.SWITCH_CONTROL), "exit", "--cleanup")
    try:
        made.daemons[SWITCH] = stack.enter_context(starting)
    except DiedError:
        raise
    except ComponentError as error:
        raise not_started(made.log, error.problems[0].why or str(error)) from error


def _check_polling(made: Instance) -> None:
    """See that a thread polls on each CPU that was asked for; OVS leaves out those it has not."""
    if not made.design.polling_cpus:
        return
    statistics = ask(made.controls[SWITCH], "dpif-netdev/pmd-stats-show", patience_s=DAEMON_S)
    found = {thread.cpu for thread in thread_statistics(statistics)}
    missing = [cpu for cpu in made.design.polling_cpus if cpu not in found]
    if missing:
        names = ", ".join(str(cpu) for cpu in missing)
        raise NotReadyError(
            f"no thread of the switch polls on CPU {names}",
            why="OVS does not know this CPU, or no port is on its memory node",
            fix="see `vsperf plan`, and choose other CPUs: vswitch.pmd_cpus",
        )


def _unseen(made: Instance) -> Unseen:
    """Return what the kernel dropped and OVS does not count; what is gone says nothing."""
    taps = {port.name: port.tap for port in made.ports if port.tap and port.vnf}
    refused = {name: refused_frames(tap) for name, tap in taps.items()}
    missed: dict[str, int] = {}
    ways: tuple[tuple[dict[str, str], Callable[[int], dict[str, int]]], ...] = (
        (layout.opened(made.ports), drops_of),
        (layout.opened_with_rings(made.ports), made.rings.drops_of),
    )
    for devices, drops in ways:
        ask_kernel = partial(drops, made.daemons[SWITCH].pid)
        if devices:
            told = within(made.network, ask_kernel) if made.network else ask_kernel()
            missed |= {devices[name]: count for name, count in told.items() if name in devices}
    return Unseen({name: count for name, count in refused.items() if count is not None}, missed)


def _filters(made: Instance) -> Matched | None:
    """Return how many filters there are and what they dropped, if any were asked for."""
    if not made.design.spec.filters:
        return None
    return matched(made.run(made.design.count_filters(made.programs), RULES_S))


def _install_rules(made: Instance) -> None:
    """Put the rules in and count them, and whatever else a restart forgets."""
    count = 0
    with made.path(layout.RULES_FILE).open("w") as file:
        file.write("delete\n")
        for count, rule in enumerate(  # noqa: B007
            rules(made.design.case, made.design.spec, made.ports), start=1
        ):
            file.write(f"{rule}\n")
    made.run(made.design.install_rules(made.programs), RULES_S)
    found = matched(made.run(made.design.count_rules(made.programs), RULES_S)).rules
    if found != count:
        raise ComponentError(f"the switch has {found} rules, and {count} were put in")
    if made.design.spec.flows == "learn":
        made.run(made.design.flood_to_links_only(made.programs), DAEMON_S)


def _change_rules(made: Instance, count: int) -> None:
    """Add rules that nothing matches, or take out all of those."""
    if count < 0:
        made.run(made.design.remove_idle_rules(made.programs), RULES_S)
        return
    with made.path(layout.IDLE_RULES_FILE).open("w") as file:
        file.writelines(f"{rule}\n" for rule in idle_rules(count))
    made.run(made.design.add_idle_rules(made.programs), RULES_S)


def command(
    name: str,
    argv: list[str],
    environment: Mapping[str, str],
    patience_s: float,
    look: Callable[[], None] | None = None,
) -> str:
    """Run a command, for as long as `look` has nothing to raise; its complaints are the error."""
    try:
        done = run(argv, patience_s, environment=environment, look=look)
    except subprocess.TimeoutExpired as error:
        raise ComponentError(f"{name} did not end within {patience_s:.0f} s") from error
    except OSError as error:
        raise ComponentError(f"{name} cannot be run", why=error.strerror or str(error)) from error
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip()
        raise ComponentError(f"{name} failed", why=said or f"it {how_it_ended(done.returncode)}")
    return done.stdout


def make_taps(design: Design, workspace: Workspace, stack: ExitStack) -> str | None:
    """Make the devices, each with a promise to remove it; those in a network apart go with that.

    Returns the name of that network, if there is one.
    """
    names = [workspace.fill(name) for name in design.taps]
    if not design.apart:
        for name in names:
            stack.enter_context(taps.tap(name, workspace, mtu=design.mtu, several_queues=False))
        return None
    network = stack.enter_context(private_network(workspace))
    if design.case.has_places:
        for port in design.ports:
            if port.tap is None:  # a guest is plugged in there, or the switch makes the device
                continue
            far = far_end(design.case, port.place, workspace)
            name = workspace.fill(port.tap)
            within(network, partial(joined, name, workspace, mtu=design.mtu, far=far))
        for port in design.taken:
            _take(workspace.fill(str(port.device)), network, workspace)
        return network
    for name in names:
        made = partial(taps.make, name, workspace, mtu=design.mtu, several_queues=True)
        within(network, made)
    return network


def _take(name: str, network: str, workspace: Workspace) -> None:
    """Take a tap into the switch's network, as soon as its guest holds it; it comes there down."""
    await_held(name, 1, workspace)
    with Devices.connected() as host:
        host.move(name, network)
    with Devices.connected(network) as there:
        there.bring_up(name)


class OvsSwitch(VSwitch):
    """Deploys Open vSwitch as a case makes it."""

    sockets = layout.SOCKETS
    wants = POLLING_SWITCH | {Want.TAPS}

    @abstractmethod
    def design(self, case: CaseSpec, placement: Placement) -> Design:
        """Return what the case makes of it."""

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        design = self.design(case, placement)
        tree = Tree.of(design.spec)
        return switch_plan(design, planned_programs(design.spec.install, tree, dpdk=design.dpdk))

    def require(self, case: CaseSpec) -> None:
        design = self.design(case, Placement())
        _programs(design)
        require_network(design)

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningOvs]:
        design = self.design(case, placement)
        programs = _programs(design)
        check(design, workspace)
        with instance(design, programs, workspace) as running, until_left(running):
            yield running


def _programs(design: Design) -> Programs:
    """Return the programs; raise `NotReadyError` for what lacks of them, and of the kernel."""
    if not design.userspace:
        require_datapath()
    return find_programs(design.spec.install, Tree.of(design.spec), dpdk=design.dpdk)


MODULE = "openvswitch"


def require_datapath(roots: Roots | None = None) -> None:
    """Raise `NotReadyError` where the kernel has no datapath of Open vSwitch in it."""
    roots = roots or Roots()
    if (roots.sys / "module" / MODULE).is_dir():
        return
    release = platform.release()
    modules = roots.root / "lib" / "modules" / release
    for table in ("modules.dep", "modules.builtin"):
        with suppress(OSError):
            if f"/{MODULE}.ko" in (modules / table).read_text():
                raise NotReadyError(
                    "the kernel's datapath of Open vSwitch is not loaded",
                    why=f"there is no {roots.sys}/module/{MODULE}",
                    fix=f"modprobe {MODULE}",
                )
    raise NotReadyError(
        "this kernel has no datapath of Open vSwitch",
        why=f"the module {MODULE} is neither loaded nor in {modules}",
        fix="use a kernel that has it, or let the daemon forward: --set vswitch.datapath=userspace",
    )


def check(design: Design, workspace: Workspace, user: int | None = None) -> None:
    """Raise `NotReadyError` for the first thing that cannot work; `user` stands in for the own."""
    why = "it locks hugepages, pins threads, and makes network devices"
    require_root(design.title, why, user)
    require_fitting(sockets(design.ports), workspace)


def require_network(design: Design) -> None:
    """Raise `NotReadyError` where the host's network is needed, and another OVS is in it.

    Every instance makes devices of the same names there, and cannot open a port without them.
    """
    if design.own_network:
        return
    for name in BRIDGE_DEVICES:
        if is_there(name):
            devices = ", ".join(port.name for port in design.host_ports)
            raise NotReadyError(
                f"another Open vSwitch has the network device {name}",
                why=f"the ports {devices} are devices of the host's network, so the switch has to "
                "run in it, and make a device of this name there as every OVS does",
                fix="stop the other one for the time of the run (systemctl stop "
                "openvswitch-switch), or do without such ports: for VNFs of OVS-DPDK, "
                "--set vswitch.vnf_ports=vhost-user",
            )


def sockets(ports: tuple[SwitchPort, ...]) -> tuple[str, ...]:
    """Return every socket of an instance."""
    servers = [f"{Placeholder.RUN}/{port.name}" for port in ports if port.type == "dpdkvhostuser"]
    clients = [port.options.get("vhost-server-path") for port in ports]
    return (
        layout.DATABASE_SOCKET,
        layout.DATABASE_CONTROL,
        layout.SWITCH_CONTROL,
        layout.OPENFLOW_SOCKET,
        *servers,
        *(path for path in clients if path is not None),
    )
