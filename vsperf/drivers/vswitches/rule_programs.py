"""Programs that tell the kernel what becomes of frames, by rules, in a network of their own."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from vsperf.drivers.vswitches.base import require_root
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.doctor.finding import AS_ROOT, Answer, Host, absent, missing, ok
from vsperf.host.netns import entering
from vsperf.host.software import version_text
from vsperf.trust.programs import FOLDERS_OF_ROOT, program_path
from vsperf.waits import how_it_ended, run

ALONE = ("unshare", "--net", "--")
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class RuleProgram:
    """Such a program, by its whole path; each has a class that says what is to be known of it."""

    NAME: ClassVar[str]
    READING: ClassVar[tuple[str, ...]]
    """How it is called to read rules."""
    TRIED: ClassVar[str]
    """Rules that have all that any rules of ours take of a kernel."""
    DRIVER: ClassVar[str]
    """By which setting it is wanted."""
    PURPOSE: ClassVar[str]
    PACKAGE: ClassVar[str]
    RULES: ClassVar[str]
    """What it is told, for people; and `DO`, what a kernel does by it."""
    DO: ClassVar[str]
    KERNEL: ClassVar[str]
    """How to come to a kernel that takes them."""

    path: str

    @classmethod
    def find(cls) -> Self:
        """Return where it is; raise `NotReadyError` where it is not installed."""
        found = program_path(cls.NAME) or program_path(cls.NAME, {"PATH": FOLDERS_OF_ROOT})
        if found is None:
            raise NotReadyError(
                f"the program {cls.NAME} is not installed",
                why=cls.PURPOSE,
                fix=f"apt-get install {cls.PACKAGE}",
            )
        return cls(found)

    @classmethod
    def require(cls) -> None:
        """Raise `NotReadyError` for anybody but root, and where program or kernel cannot do it."""
        require_root("a router of the kernel", "it makes a network apart, and taps and rules in it")
        cls.find().require_kernel()

    @classmethod
    def doctor(cls, here: Host) -> Answer:
        """Tell the kernel rules where nobody sees them, and which end at once."""
        try:
            program = cls.find()
            if os.geteuid() != 0:
                return absent(f"only root can try; for {cls.DRIVER}", AS_ROOT)
            program.require_kernel()
        except NotReadyError as error:
            return missing(error.problems[0], wanted=False)
        return ok(f"{program.path} {program.version()}; kernel {platform.release()} {cls.DO}")

    def version(self) -> str:
        return version_text((self.path, "--version"), self.path)

    def require_kernel(self) -> None:
        """Raise `NotReadyError` where the kernel does not take such rules; nobody else sees it."""
        try:
            self._read(ALONE, self.TRIED)
        except ComponentError as error:
            raise NotReadyError(
                f"this kernel does not take {self.RULES}",
                why=error.problems[0].why,
                fix=self.KERNEL,
            ) from error

    def read(self, network: str, rules: str) -> None:
        """Tell the kernel rules for a network."""
        self._read(entering(network), rules)

    def _read(self, before: Sequence[str], rules: str) -> None:
        try:
            done = run((*before, self.path, *self.READING[1:]), PATIENCE_S, given=rules)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ComponentError(
                f"{self.path} cannot be run",
                why=str(error),
                fix=f"see `vsperf doctor`, line `{self.NAME}`",
            ) from error
        if done.returncode != 0:
            words = done.stderr.strip().splitlines() or [f"it {how_it_ended(done.returncode)}"]
            raise ComponentError(
                f"{self.NAME} was told rules, and refused them",
                why=words[0],
                fix="`vsperf plan` prints them; the kernel may lack what they take, which `vsperf "
                f"doctor` tries (`{self.NAME}`)",
            )
