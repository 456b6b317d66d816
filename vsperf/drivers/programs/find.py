"""Where a program is that somebody else installed, and which version it says it is."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vsperf.drivers.programs.base import InstalledProgram, KnownFault, ProgramSpec, S, quotable
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, absent, ok
from vsperf.host.software import ANSWER_S
from vsperf.trust.programs import FOLDERS_OF_ROOT, whole
from vsperf.waits import run

LONGEST_VERSION = 40
"""Letters: a number of thousands of digits is none, and stood in the head of all that is shown."""


@dataclass(frozen=True, slots=True)
class PackagedProgram:
    """A program as distributions have it."""

    name: str
    install: str
    """The command by which it is had."""
    asked: str
    """The word to which it tells its version."""
    version: str
    """How that begins, as a pattern with a group for the number."""
    setting: str = "program.path"
    """By which another one is named."""

    def of(self, spec: ProgramSpec | None, search: str | None = None) -> InstalledProgram:
        """Return the one that settings name, or the one in $PATH."""
        return self.find(None if spec is None else spec.path, search)

    def find(self, path: str | None, search: str | None = None) -> InstalledProgram:
        """Return where it is; raise `NotReadyError` with how to install it where it is not."""
        place = shutil.which(path or self.name, path=search)
        if path is None:
            place = place or shutil.which(self.name, path=FOLDERS_OF_ROOT)
        if place is None:
            raise NotReadyError(
                f"the program {path or self.name} cannot be run",
                why="it is not installed" if path is None else f"{self.setting} names no program",
                fix=f"{self.install}, or name one: --set {self.setting}=PATH",
            )
        program = whole(place)
        return InstalledProgram(
            program, self.version_of(said_by((program, self.asked), self.setting), program)
        )

    def version_of(self, text: str, path: str) -> str:
        """Return the version in what it says of itself; `NotReadyError` where there is none."""
        found = re.match(self.version, text)
        if found is None or len(found[1]) > LONGEST_VERSION:
            first = quotable(text.partition("\n")[0])
            raise NotReadyError(
                f"{path} is no {self.name}",
                why=f"asked for its version it says {first!r}",
                fix=f"name another one: --set {self.setting}=PATH",
            )
        return found[1]

    def check(
        self,
        kind: type[S],
        find: Callable[[S | None, str | None], InstalledProgram],
        use: str,
        faults: Sequence[KnownFault],
    ) -> Check:
        """Return what doctor asks: whether it is there for its use, and what is known of it."""

        def ask(here: Host) -> Answer:
            try:
                found = find(here.settings(kind), here.environment.get("PATH"))
            except NotReadyError as error:
                # A run would be told the same: what is missing is what is to be installed.
                lacking = [f"{one.what}: {one.why}" for one in error.problems]
                fixes = dict.fromkeys(one.fix for one in error.problems if one.fix)
                return absent("; ".join((*lacking, use)), "; ".join(fixes) or None)
            server = f" ({found.server})" if found.server else ""
            known = "; ".join(one.what for one in faults if one.is_in(found.version))
            said = f"{found.path}, version {found.version}{server}"
            return ok(f"{said}: {known}" if known else said)

        return Check(self.name, Group.PROGRAMS, ask)


def said_by(command: Sequence[str], setting: str) -> str:
    """Return what a program says when it is asked, whatever its exit code and wherever to.

    `setting` is the one by which another program is named.
    """
    try:
        done = run(command, ANSWER_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotReadyError(
            f"{command[0]} does not tell its version",
            why=str(error),
            fix=f"see what `{' '.join(command)}` says, or name another program: {setting}",
        ) from error
    return f"{done.stdout}{done.stderr}".strip()
