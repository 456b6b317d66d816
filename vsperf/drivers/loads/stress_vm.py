"""The driver `stress-vm`: stress-ng in guests of their own, one for each instance.

A guest is our own image with stress-ng and its libraries unpacked over it: one processor, no
network, no disk. Its agent starts stress-ng and says what the guest's own kernel counts.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from vsperf.config.case import CaseSpec
from vsperf.config.noise import NOISE
from vsperf.drivers.loads.base import LoadGenerator, RunningLoad, cpu_of, names_of, settings_of
from vsperf.drivers.loads.cpu_time import cpu_time
from vsperf.drivers.loads.strain import StrainSpec, find_stress, strain_words, stress_version
from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.host.workspace import Workspace
from vsperf.qemu.checks import check_accelerator, check_program
from vsperf.qemu.command import Vm, command_line
from vsperf.qemu.host import ON, PROGRAM, QemuHost, probe, qemu_host
from vsperf.qemu.image import find_image
from vsperf.qemu.initrd import carried, joined, libraries_of
from vsperf.qemu.launch import started
from vsperf.qemu.settings import OwnGuest
from vsperf.qemu.vm import RunningVm
from vsperf.quantities.units import Duration
from vsperf.records.run import Placeholder, Placement, Step
from vsperf.records.switch import NoiseActivity

DISK = "noise.initrd"
TEMPORARY = "/tmp"  # noqa: S108 - the guest's own, in its memory
SYSTEM_MB = 256
"""What a guest has beside the memory that it strains: its kernel, and its disk, packed and not."""
MIB = 1 << 20
FIRST_INDEX = 1000
"""Far from the numbers of VNFs that forward, so that their users differ."""
WORKING = ("user_ns", "system_ns", "interrupts_ns")
"""What the guest's kernel calls time of work."""


class GuestStressSpec(StrainSpec):
    """Settings of stress-ng in guests; each has one processor, `memory` to map, and no network."""

    kind: Literal["stress-vm"]
    accelerator: Literal["auto", "kvm", "tcg"] = "auto"
    """`kvm`, or `tcg` for emulation, which is many times slower; `auto` takes KVM where a guest
    boots on it."""
    boot_timeout: Duration = Duration(60_000_000_000)
    """How long it may take until stress-ng has been started in every guest."""
    settle_timeout: Duration = Duration(60_000_000_000)
    """How long it may take until their rate is steady, once they have booted."""

    @property
    def memory_mb(self) -> int:
        return SYSTEM_MB + math.ceil(self.memory.bytes / MIB)


class GuestStressLoad(LoadGenerator):
    """Runs stress-ng in guests."""

    kind = "stress-vm"
    summary = "stress-ng as `stress` runs it, in guests of their own"
    Spec = GuestStressSpec

    def plan(self, case: CaseSpec, placement: Placement) -> tuple[Step, ...]:
        spec, here = settings_of(case, GuestStressSpec), qemu_host()
        steps = []
        for name, guest in zip(names_of(spec), _guests(spec, placement, here), strict=True):
            known = here.accelerator_of(guest.spec)
            start = f"start a guest for {name} on CPU {guest.cpus[0]}, {ON[known]}"
            tell = f"tell the guest of {name} to start stress-ng: {spec.load} load"
            told = (json.dumps({"verb": "start", **_message(spec)}),)
            steps.append(Step(component="noise", action=start, argv=command_line(PROGRAM, guest)))
            steps.append(Step(component="noise", action=tell, lines=told))
        return tuple(steps)

    def require(self, case: CaseSpec) -> None:
        spec = settings_of(case, GuestStressSpec)
        if not libraries_of(Path(find_stress())):
            raise NotReadyError(
                "what stress-ng needs cannot be told",
                why="ldd said nothing of it",
                fix="install the stress-ng of the distribution, which has shared objects",
            )
        check_program(PROGRAM)
        find_image()
        check_accelerator({spec.accelerator}, probe(), NOISE)

    def judged(self, case: CaseSpec) -> bool:
        return settings_of(case, GuestStressSpec).judged

    @contextmanager
    def start(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningLoad]:
        spec = settings_of(case, GuestStressSpec)
        if spec.accelerator == "auto":
            probe().outcome()
        write_disk(find_image().initrd, Path(find_stress()), workspace.folder / DISK)
        guests = _guests(spec, placement, qemu_host())
        with _started(guests, workspace) as running:
            load = GuestStress(tuple(zip(names_of(spec), running, strict=True)))
            load.begin(_message(spec), time.monotonic() + spec.boot_timeout.seconds)
            yield load


@dataclass
class GuestStress:
    """Guests that run."""

    guests: tuple[tuple[str, RunningVm], ...]

    def begin(self, message: dict[str, Any], deadline: float) -> None:
        """Wait until all have booted, side by side, and have them start stress-ng."""
        try:
            for _, guest in self.guests:
                guest.boot(deadline)
                guest.pin()
                guest.tell(deadline, message)
            for _, guest in self.guests:
                guest.await_application(deadline)
        except DiedError:
            raise
        except ComponentError as error:
            (first, *_) = error.problems
            why = f"{first.what}: {first.why}" if first.why else first.what
            raise ComponentError(
                "the noise did not start", why=self._by_instance(why), fix=first.fix
            ) from error

    def failure(self) -> str | None:
        found = (guest.failure() for _, guest in self.guests)
        return next((self._by_instance(why) for why in found if why is not None), None)

    def counts(self) -> tuple[NoiseActivity, ...]:
        """Return what the kernel of each guest says of its time; nothing of one that hangs."""
        return tuple(activity_of(name, guest) for name, guest in self.guests)

    def last_words(self, instance: str) -> str | None:
        return dict(self.guests)[instance].console_words()

    def facts(self) -> dict[str, Any]:
        return {"package": stress_version(), "guests": [one.facts() for _, one in self.guests]}

    def _by_instance(self, why: str) -> str:
        for name, guest in self.guests:
            why = why.replace(guest.name, name)
        return why


def activity_of(instance: str, guest: RunningVm) -> NoiseActivity:
    """Return the CPU time that a guest got, and how much of it was work by its own count.

    Of a guest that does not answer nothing is known: it may spin in vain.
    """
    inside: dict[str, dict[str, int]] = {}
    with suppress(ComponentError):
        inside = guest.inside()
    times = [values[name] for values in inside.values() for name in WORKING if name in values]
    if not times:
        return NoiseActivity(instance=instance)
    return cpu_time(guest.program, instance).model_copy(update={"worked_ns": sum(times)})


def write_disk(image: Path, program: Path, disk: Path) -> None:
    """Write the disk that all guests boot from: our image's, and a program over it."""
    disk.write_bytes(joined(image.read_bytes(), carried(program)))


def _message(spec: GuestStressSpec) -> dict[str, Any]:
    return {"app": "stress", "arguments": list(strain_words(spec, TEMPORARY))}


def _guests(
    spec: GuestStressSpec, placement: Placement, here: QemuHost
) -> tuple[Vm[OwnGuest], ...]:
    own = OwnGuest(
        app="stress",
        memory=spec.memory_mb,
        accelerator=spec.accelerator,
        boot_timeout=spec.boot_timeout,
    )
    image = replace(here.image, disk=Path(str(Placeholder.RUN)) / DISK)
    return tuple(
        Vm(
            name=name.replace(" ", "-"),
            index=FIRST_INDEX + number,
            spec=own,
            wires=(),
            accelerator=here.accelerator_of(own) or "tcg",
            image=image,
            frame_bytes=0,
            cpus=(cpu_of(number, placement),),
            emulator_cpus=(cpu_of(number, placement),),
            root=here.root,
            run_with=here.run_with,
            settings=NOISE,
            does="work",
        )
        for number, name in enumerate(names_of(spec))
    )


@contextmanager
def _started(guests: Sequence[Vm[OwnGuest]], workspace: Workspace) -> Iterator[list[RunningVm]]:
    """Start every guest; leaving the context ends all of them at once."""
    with ExitStack() as stack:
        running = [
            stack.enter_context(started(guest, PROGRAM, workspace, polls=False)) for guest in guests
        ]
        try:
            yield running
        finally:
            for one in running:
                one.power_off()  # all of them now; each is waited for when it is its turn
