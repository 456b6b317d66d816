"""Which programs of OVS are used: those of one install, found by path. Facts on the binary."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import NotReadyError

DISTRIBUTION = Path("/usr")
DAEMONS = (
    "lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk",
    "sbin/ovs-vswitchd-dpdk",
    "sbin/ovs-vswitchd",
    "local/sbin/ovs-vswitchd",
)
"""Where the daemon may be below an install; a plain one counts when it says it has DPDK."""
PACKAGES = "apt-get install openvswitch-switch-dpdk, or name another install: vswitch.install=PATH"
ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of one install."""

    daemon: Path
    database_server: Path
    database_tool: Path
    openflow: Path
    appctl: Path
    schema: Path


def planned_programs(install: str | None) -> Programs:
    """Return what a plan calls the programs, which need not be there yet. Reads names only."""
    root = DISTRIBUTION if install is None else Path(install)
    return Programs(
        daemon=_existing(root, DAEMONS),
        database_server=_existing(root, ("sbin/ovsdb-server", "local/sbin/ovsdb-server")),
        database_tool=_existing(root, ("bin/ovsdb-tool", "local/bin/ovsdb-tool")),
        openflow=_existing(root, ("bin/ovs-ofctl", "local/bin/ovs-ofctl")),
        appctl=_existing(root, ("bin/ovs-appctl", "local/bin/ovs-appctl")),
        schema=_existing(
            root,
            (
                "share/openvswitch/vswitch.ovsschema",
                "local/share/openvswitch/vswitch.ovsschema",
            ),
        ),
    )


def find_programs(install: str | None) -> Programs:
    """Return the programs; raise `NotReadyError` for the first that is missing."""
    programs = planned_programs(install)
    wanted = (programs.daemon, programs.database_server, programs.database_tool, programs.openflow)
    for program in wanted:
        if not (program.is_file() and os.access(program, os.X_OK)):
            raise NotReadyError(
                f"{program} is not there, or is no program that can be run",
                why="OVS with DPDK is not installed"
                if install is None
                else f"vswitch.install names {install}",
                fix=PACKAGES,
            )
    if not programs.schema.is_file():
        raise NotReadyError(f"the schema of the database, {programs.schema}, is not there")
    if "DPDK" not in version_text(programs.daemon):
        raise NotReadyError(
            f"{programs.daemon} was built without DPDK",
            why="it does not name DPDK when asked for its version",
            fix=PACKAGES,
        )
    return programs


def version_text(program: Path) -> str:
    """Return what a program says of its version."""
    try:
        done = subprocess.run(  # noqa: S603 - a program that the user chose
            [str(program), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotReadyError(f"{program} does not tell its version", why=str(error)) from error
    return done.stdout.strip()


def digest(program: Path) -> str:
    """Return the SHA-256 of a program, which tells builds of one version apart."""
    return hashlib.sha256(program.read_bytes()).hexdigest()


def _existing(root: Path, names: Iterable[str]) -> Path:
    """Return the first that exists, or the first at all."""
    candidates = [root / name for name in names]
    return next((path for path in candidates if path.exists()), candidates[0])
