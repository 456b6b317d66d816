"""DPVS and its tools: found in one folder, asked for their version, and asked what it counts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vsperf.drivers.programs.find import PackagedProgram
from vsperf.drivers.vswitches.dpvs.layout import DPIP, IPC_VARIABLE, IPVSADM, NAME
from vsperf.drivers.vswitches.dpvs.spec import DpvsSpec
from vsperf.errors import ComponentError, NotReadyError
from vsperf.trust.printable import printable
from vsperf.waits import run

SETTING = "vswitch.install"
HOW_TO = "docs/how-to/measure-dpvs.md"
INSTALL = f"build it from its sources ({HOW_TO})"
BIN = "bin"
DPVS = PackagedProgram(NAME, INSTALL, "-v", r"dpvs version: (\d+(?:[.-]\d+)+)", SETTING)
LEAST = (1, 10)
"""Version from which on it does without a kernel module for each of its ports, if it is told to."""
ANSWER_S = 10.0
"""Patience with an answer: it waits for all workers, which may share a CPU with it."""


@dataclass(frozen=True, slots=True)
class Programs:
    """One DPVS, by whole paths."""

    daemon: str
    version: str

    def tool(self, name: str) -> str:
        """Return one of its tools; a kernel's ipvsadm is another program of that name."""
        return str(Path(self.daemon).with_name(name))


def planned_program(install: str | None) -> str:
    """Return what a plan calls the program, which need not be there yet."""
    return NAME if install is None else str(_folder(install) / NAME)


def find_programs(spec: DpvsSpec | None, search: str | None = None) -> Programs:
    """Return the DPVS to use; raise `NotReadyError` for what is missing or too old."""
    install = None if spec is None else spec.install
    found = DPVS.find(None if install is None else str(_folder(install) / NAME), search)
    programs = Programs(found.path, found.version)
    least = ".".join(map(str, LEAST))
    if tuple(map(int, found.version.partition("-")[0].split(".")[: len(LEAST)])) < LEAST:
        raise NotReadyError(
            f"{found.path} is DPVS {found.version}",
            why="it wants a module of the kernel for each of its ports; newer ones can do without",
            fix=f"build {least} or newer: --set {SETTING}=FOLDER",
        )
    for name in (DPIP, IPVSADM):
        if not os.access(tool := programs.tool(name), os.X_OK):
            raise NotReadyError(
                f"{tool} cannot be run",
                why=f"{found.path} is told by its own tools, {DPIP} and {IPVSADM}, what to do",
                fix=f"have all three in one folder, as its `install` target does: --set "
                f"{SETTING}=FOLDER",
            )
    return programs


def _folder(install: str) -> Path:
    """Return where its programs are below an install; reads names only."""
    here = Path(install).absolute()
    return here / BIN if (here / BIN / NAME).exists() else here


@dataclass(frozen=True, slots=True)
class Talk:
    """How one that runs is told and asked."""

    programs: Programs
    socket: str

    def shown(self, command: Sequence[str]) -> str:
        """Return the words by which a person says the same."""
        tool, *words = command
        return " ".join((f"{IPC_VARIABLE}={self.socket}", self.programs.tool(tool), *words))

    def say(self, command: Sequence[str]) -> str:
        """Run one of its tools, and return what it writes; a refusal is a `ComponentError`.

        Some say that they were refused and end with 0 all the same.
        """
        tool, *words = command
        what = " ".join(command)
        environment = {**os.environ, IPC_VARIABLE: self.socket}
        try:
            done = run((self.programs.tool(tool), *words), ANSWER_S, environment=environment)
        except subprocess.TimeoutExpired as error:
            raise ComponentError(f"{NAME} does not answer `{what}`", why=str(error)) from error
        except OSError as error:
            raise ComponentError(f"`{what}` cannot be run", why=str(error)) from error
        said = done.stderr.strip()
        if done.returncode != 0 or said:
            why = printable(" | ".join(said.splitlines())) or f"exit code {done.returncode}"
            raise ComponentError(
                f"{NAME} refused `{what}`", why=why, fix="`vsperf plan` shows all that it is told"
            )
        return done.stdout
