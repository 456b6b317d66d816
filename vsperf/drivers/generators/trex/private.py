"""A TRex server of a deployment's own: found, configured, started, and ended with it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.trex.ports import spec_of
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.process import Managed, managed
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placeholder

NAME = "trex"
PROGRAM = "_t-rex-64"
"""The program itself; the script beside it, without the line below, sets drivers of NICs up."""
LIBRARIES = ("so/x86_64", "so")
CONFIGURATION = f"{Placeholder.RUN}/{NAME}.yaml"
START_S = 60.0
CONNECT_S = 0.2
LOCAL = "127.0.0.1"
OPTIONS = (
    "--stl",
    "--software",  # frames are counted by streams on ports of any kind
    "--hdrh",
    "--no-key",
    "--no-termio",
    "--no-scapy-server",
    "--no-ofed-check",
)


def command(case: CaseSpec) -> tuple[str, ...]:
    """Return how the server is run, not filled in."""
    folder = folder_of(case)
    libraries = ":".join(str(folder / name) for name in LIBRARIES)
    inside = ("env", f"--chdir={folder}", f"LD_LIBRARY_PATH={libraries}")
    run = (f"./{PROGRAM}", "-i", "--cfg", CONFIGURATION, *OPTIONS, "--iom", "0")
    return (*inside, *run)


def folder_of(case: CaseSpec) -> Path:
    """Return where TRex is installed."""
    install = spec_of(case).install
    if install is None:
        raise UsageError(
            "nobody says where TRex is installed",
            why="no package has it, so a server cannot be started without its folder",
            fix="--set generator.install=/usr/local/trex, or the address of a server that runs: "
            "--set generator.server=192.0.2.7; beside other generators by --set "
            "'generator=[tgen, {kind: trex, install: /usr/local/trex}]', or, for --generator "
            "tgen,trex, by `generators: {trex: {install: /usr/local/trex}}` in the testbed",
        )
    return Path(install).absolute()


def require_program(folder: Path) -> None:
    """Raise `NotReadyError` where there is none."""
    if not (folder / PROGRAM).is_file():
        raise NotReadyError(
            f"there is no {PROGRAM} in {folder}",
            why="generator.install has to name the folder of an installed TRex",
            fix="see https://trex-tgn.cisco.com for packed versions",
        )


@contextmanager
def started(case: CaseSpec, lines: tuple[str, ...], workspace: Workspace) -> Iterator[Managed]:
    """Run a server until the context is left."""
    require_program(folder_of(case))
    port = spec_of(case).rpc_port
    if _listens(port):
        raise NotReadyError(
            f"somebody listens at TCP port {port} of this machine already",
            why="a TRex server that is started is asked there",
            fix="choose another: --set generator.rpc_port=14501",
        )
    text = "".join(f"{workspace.fill(line)}\n" for line in lines)
    Path(workspace.fill(CONFIGURATION)).write_text(text)
    with managed(
        [workspace.fill(word) for word in command(case)],
        name=NAME,
        workspace=workspace,
        ready=lambda: _listens(port),
        timeout_s=START_S,
        environment={"RUNTIME_DIRECTORY": str(workspace.folder)},
    ) as program:
        yield program


def _listens(port: int) -> bool:
    try:
        socket.create_connection((LOCAL, port), CONNECT_S).close()
    except OSError:
        return False
    return True
