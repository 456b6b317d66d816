"""Processes of dperf: found, shown their file, started, and read while they run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vsperf.drivers.generators.dperf.answer import Block, blocks_in, totals_of
from vsperf.drivers.generators.dperf.plan import WHO, Process
from vsperf.drivers.generators.dperf.spec import DperfSpec
from vsperf.drivers.programs.base import InstalledProgram
from vsperf.drivers.programs.find import PackagedProgram, said_by
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.process import Managed, log_of, managed, written_since
from vsperf.host.workspace import Workspace
from vsperf.waits import ended

SETTING = "generator.path"
HOW_TO = "docs/how-to/measure-with-dperf.md"
DPERF = PackagedProgram(
    WHO, f"build it from its sources ({HOW_TO})", "-v", r"(\d+(?:\.\d+)+)\s*$", SETTING
)
LEAST = (1, 9)
"""Version from which on it knows all words of our files, and says what is read here."""
TEST = "-t"
FINE = "Config file OK"
REFUSED = re.compile(r"^line (\d+): ", re.MULTILINE)
START_S = 60.0
"""Of which it takes four to measure its clock."""
LOOK_S = 0.5
MOST_SAID = 64 << 20
"""Bytes of the blocks of a trial."""
PCI_VARIABLE = "SYSFS_PCI_DEVICES"
"""Where DPDK looks for NICs: it would take all that no program of the kernel has."""


def find(spec: DperfSpec | None, search: str | None = None) -> InstalledProgram:
    """Return where it is; raise `NotReadyError` where there is none, or one that is too old."""
    program = DPERF.find(None if spec is None else spec.path, search)
    if tuple(map(int, program.version.split(".")))[: len(LEAST)] < LEAST:
        raise NotReadyError(
            f"{program.path} is dperf {program.version}",
            why=f"its files have other words; {_least()} or a newer one knows those of vsperf",
            fix=f"build a newer one, and name it: --set {SETTING}=PATH",
        )
    return program


def _ask(here: Host) -> Answer:
    wanted = here.settings(DperfSpec)
    try:
        program = find(wanted, here.environment.get("PATH"))
    except NotReadyError as error:
        return missing(error.problems[0], wanted=wanted is not None)
    return ok(f"{program.path}, version {program.version} ({_least()} or newer is right)")


def _least() -> str:
    return ".".join(map(str, LEAST))


CHECK = Check(WHO, Group.PROGRAMS, _ask)


def write(process: Process, lines: Sequence[str], workspace: Workspace) -> None:
    """Write what a process is to read."""
    text = "".join(f"{workspace.fill(line)}\n" for line in lines)
    Path(workspace.fill(process.file)).write_text(text)


def require_taken(program: str, process: Process, workspace: Workspace) -> None:
    """Raise `NotReadyError` where dperf does not take its file; it starts nothing for that."""
    file = workspace.fill(process.file)
    said = said_by((program, TEST, "-c", file), SETTING)
    if FINE in said:
        return
    refused = REFUSED.search(said)
    lines = Path(file).read_text().splitlines()
    line = lines[int(refused[1]) - 1] if refused and int(refused[1]) <= len(lines) else ""
    if line.startswith("port ") and not process.port.pci:
        raise NotReadyError(
            f"{program} does not take the port {process.port.name}",
            why="as it is published, dperf takes devices on the PCI bus only, by addresses of 12 "
            "letters",
            fix=f"links on NICs, or a dperf that takes other devices of DPDK; see {HOW_TO}",
        )
    why = " | ".join(filter(None, said.splitlines()[-3:]))
    raise NotReadyError(
        f"{program} does not take {file}",
        why=f"{why}{f': {line}' if line else ''}",
        fix=f"a dperf as it is published, {_least()} or newer: --set {SETTING}=PATH",
    )


@dataclass
class Running:
    """A process that runs, and what it has said since it was started."""

    process: Process
    program: Managed
    begins: int
    """In its log: those of trials before stand before it."""
    workspace: Workspace

    def said(self, since: int | None = None) -> tuple[Block, ...]:
        """Return what it said since it was started, or since a place of its log."""
        begin = self.begins if since is None else since
        _, text = written_since(self.program.log, begin, MOST_SAID)
        return blocks_in(text.decode(errors="replace"))

    def place(self) -> int:
        """Return where its log ends now."""
        return self.program.log.stat().st_size

    def await_end(self, patience_s: float, look: Callable[[], None]) -> tuple[Block, ...]:
        """Wait until it has ended by itself, and return what it said; totals are among it."""
        left_s = patience_s
        while not ended(self.program.pid, LOOK_S):
            look()
            self.workspace.attend(f"while {self.program.name} ran", but=self.program.name)
            left_s -= LOOK_S
            if left_s + self.program.kept_s(patience_s) < 0:
                raise ComponentError(
                    f"{self.program.name} did not end within {patience_s:g} s",
                    why=f"its last words: {self.program.last_words()}",
                )
        said = self.said()
        if totals_of(said) is None:
            how = self.program.ending()
            words = self.program.last_words()
            raise ComponentError(f"{self.program.name} {how} without totals", why=words)
        return said


@contextmanager
def running(
    program: str, process: Process, workspace: Workspace, *, awaited: bool = True
) -> Iterator[Running]:
    """Run a process by the file that was written for it; `awaited`: until it counts."""
    log = log_of(process.name, workspace)
    begins = log.stat().st_size if log.exists() else 0
    environment = {"RUNTIME_DIRECTORY": str(workspace.folder)}
    if process.listens_at is not None:  # nobody else does, and DPDK takes no socket that is there
        Path(workspace.fill(process.listens_at)).unlink(missing_ok=True)
    if not process.port.pci:
        nowhere = workspace.folder / "no-nics"
        nowhere.mkdir(exist_ok=True)
        environment[PCI_VARIABLE] = str(nowhere)

    def counts() -> bool:
        return bool(blocks_in(written_since(log, begins, MOST_SAID)[1].decode(errors="replace")))

    with managed(
        [workspace.fill(word) for word in process.command(program)],
        name=process.name,
        workspace=workspace,
        ready=counts if awaited else None,
        timeout_s=START_S,
        environment=environment,
    ) as started:
        yield Running(process, started, begins, workspace)
