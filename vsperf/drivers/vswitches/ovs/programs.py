"""Which programs of OVS are used: those of one install, found by path. Facts on the binary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vsperf.drivers.vswitches.ovs.layout import OvsSettings
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.doctor.others import programs_of_others
from vsperf.host.software import version_text
from vsperf.host.tree import HERE, Tree
from vsperf.records.run import Placeholder
from vsperf.trust.programs import whole

DISTRIBUTION = Path("/usr")
WITH_DPDK = ("lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk", "sbin/ovs-vswitchd-dpdk")
EITHER = ("sbin/ovs-vswitchd", "local/sbin/ovs-vswitchd")
WITHOUT_DPDK = ("lib/openvswitch-switch/ovs-vswitchd",)
"""Where a daemon may be below an install; the one that may be either has to say that it has DPDK,
where that is wanted."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of one install, by their paths in the tree that they are run in."""

    daemon: Path
    database_server: Path
    database_tool: Path
    openflow: Path
    appctl: Path
    schema: Path
    tree: Tree = HERE
    dpdk: bool = True
    """Whether the daemon has to have DPDK."""

    @property
    def paths(self) -> tuple[Path, ...]:
        daemons = (self.daemon, self.database_server, self.database_tool)
        return (*daemons, self.openflow, self.appctl, self.schema)

    @property
    def schema_file(self) -> Path:
        """Where the schema can be read from outside of the tree."""
        return self.tree.path(self.schema)

    def command(
        self,
        program: Path,
        *arguments: str,
        folder: str = str(Placeholder.RUN),
        devices: Sequence[str] = (),
    ) -> tuple[str, ...]:
        """Return how one of them is run, with the deployment's folder; `devices` are of /dev."""
        argv = (str(program), *arguments)
        return self.tree.command(argv, folders=(folder,), devices=devices)

    def version(self, program: Path) -> str:
        command = self.tree.command((str(program), "--version"))
        return version_text(command, f"{program}{self.tree.within}")


def planned_programs(install: str | None, tree: Tree = HERE, *, dpdk: bool = True) -> Programs:
    """Return what a plan calls the programs, which need not be there yet. Reads names only."""
    here = install if install is None or tree.root is not None else whole(install)
    root = DISTRIBUTION if here is None else Path(here)

    def found(*names: str) -> Path:
        return tree.first_of(root, names)

    daemon = found(*(WITH_DPDK if dpdk else WITHOUT_DPDK), *EITHER)
    if install is not None and not tree.path(daemon).exists():
        daemon = root / EITHER[0]  # where a build of OVS puts it
    return Programs(
        daemon=daemon,
        database_server=found("sbin/ovsdb-server", "local/sbin/ovsdb-server"),
        database_tool=found("bin/ovsdb-tool", "local/bin/ovsdb-tool"),
        openflow=found("bin/ovs-ofctl", "local/bin/ovs-ofctl"),
        appctl=found("bin/ovs-appctl", "local/bin/ovs-appctl"),
        schema=found(
            "share/openvswitch/vswitch.ovsschema", "local/share/openvswitch/vswitch.ovsschema"
        ),
        tree=tree,
        dpdk=dpdk,
    )


def find_programs(install: str | None, tree: Tree = HERE, *, dpdk: bool = True) -> Programs:
    """Return the programs; raise `NotReadyError` for the first that cannot be used."""
    programs = planned_programs(install, tree, dpdk=dpdk)
    tree.require()
    wanted = (programs.daemon, programs.database_server, programs.database_tool, programs.openflow)
    for program in wanted:
        if not tree.runs(program):
            raise NotReadyError(
                f"{program}{tree.within} is not there, or is no program that can be run",
                why=f"OVS{' with DPDK' if dpdk else ''} is not installed"
                if install is None
                else f"vswitch.install names {install}",
                fix=_packages(programs) if install is None else _installs(programs),
            )
        tree.require_program(program)
    if not programs.schema_file.is_file():
        raise NotReadyError(
            f"the schema of the database, {programs.schema}{tree.within}, is not there",
            why="ovsdb-server makes the database of the switch from it",
            fix=_packages(programs),
        )
    if "DPDK" not in programs.version(programs.daemon) and dpdk:
        raise NotReadyError(
            f"{programs.daemon}{tree.within} was built without DPDK",
            why="it does not name DPDK when asked for its version",
            fix=_packages(programs),
        )
    return programs


def _installs(programs: Programs) -> str:
    return (
        "name the prefix that a build of OVS was installed under, the folder above `sbin`: "
        f"{_option(programs)}; without it what the distribution has is measured"
    )


def _option(programs: Programs) -> str:
    return f"--vswitch {'ovs-dpdk' if programs.dpdk else 'ovs'} --set vswitch.install=PATH"


def _packages(programs: Programs) -> str:
    package = "openvswitch-switch-dpdk" if programs.dpdk else "openvswitch-switch"
    command = programs.tree.to_install(package)
    within = "" if programs.tree.root is None else " in it"
    return f"{command}, or name another install{within}: {_option(programs)}"


def check_of(kind: str, settings: type[OvsSettings], *, dpdk: bool) -> Check:
    """Return the check of a driver's programs.

    It is not among those of a run: a case may name another install, and the driver looks at that.
    """
    return Check(kind, Group.PROGRAMS, partial(_programs, settings, dpdk))


def _of_the_system(here: Host) -> Answer:
    """Name daemons that are not of a run; a run starts its own beside them."""
    running = [
        f"{name} ({pid})"
        for pid, name in programs_of_others(here.roots)
        if name.startswith(Path(EITHER[0]).name)
    ]
    if running:
        return ok(f"{', '.join(running)}: left alone; a run has a private one beside it")
    return ok("none runs")


SYSTEM_SWITCH = Check("system switch", Group.OTHERS, _of_the_system, before_runs=True)


def _programs(settings: type[OvsSettings], dpdk: bool, here: Host) -> Answer:
    """Look for the install that was chosen, or that is used where a case names no other."""
    chosen = here.settings(settings)
    tree = HERE if chosen is None else Tree.of(chosen)
    try:
        programs = find_programs(None if chosen is None else chosen.install, tree, dpdk=dpdk)
        daemon = ", ".join(programs.version(programs.daemon).splitlines())
        database = programs.version(programs.database_server).partition("\n")[0]
    except NotReadyError as error:
        return missing(error.problems[0], wanted=True)
    return ok(f"{programs.daemon}{tree.within}: {daemon}; {database}")
