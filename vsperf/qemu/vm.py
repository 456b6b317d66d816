"""One VM that runs: plugged in, booted, told to forward, pinned, and told to end."""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vsperf.errors import ComponentError, DiedError
from vsperf.host.process import Managed
from vsperf.host.workspace import Workspace
from vsperf.qemu.agent import Agent, AgentRefused, AgentSilent, last_lines
from vsperf.qemu.answers import Booted, Counted, Message, SeenSystem, understood
from vsperf.qemu.command import AnyVm
from vsperf.qemu.console import Console
from vsperf.records.switch import NicCounters, VnfCounters
from vsperf.waits import sleep

if TYPE_CHECKING:
    from vsperf.qemu.qmp import Monitor

QMP_S = 5.0
COUNTERS_S = 1.0
ENDING_S = 0.5
"""Between a socket that is closed and the end of its process."""
OFF_S = 1.2
"""Until a guest has powered off, from when it was told: guests that hang hang side by side."""
QUIT_S = 0.3
"""Kept of the patience with a power-off, for telling QEMU to quit."""
TAIL_BYTES = 8192
TAIL_LINES = 8
PANIC = "Kernel panic"


@dataclass
class RunningVm:
    """A VM whose QEMU was started."""

    vm: AnyVm
    program: Managed
    workspace: Workspace
    monitor: Monitor | None = None
    agent: Agent | None = None
    console: Console | None = None
    ready: Message | None = None
    """What the agent said when the application forwarded."""
    threads: tuple[int, ...] = ()
    """Of the vCPUs."""
    told_off_s: float | None = None
    """When it was told to power off, on the monotonic clock."""
    _asked: int | None = None

    @property
    def name(self) -> str:
        return self.vm.name

    def follow_console(self) -> None:
        """Keep what the guest's kernel writes; a VM that has just ended wrote nothing."""
        fill = self.workspace.fill
        with suppress(OSError):
            self.console = Console.followed(
                Path(fill(self.vm.console_socket)), Path(fill(self.vm.console))
            )

    def plug_in(self, deadline: float) -> None:
        """Wait until QEMU is through with its devices: whoever plays the switch has called."""
        from vsperf.qemu.qmp import Monitor  # what it rests on is large

        path = Path(self.workspace.fill(self.vm.qmp))
        try:
            self.monitor = Monitor.connect(
                self.name, path, _left(deadline), lambda: self.look("while it was plugged in")
            )
        except DiedError:
            raise
        except ComponentError as error:
            self.require_alive("while it was plugged in", ENDING_S)
            sockets = (wire for wire in self.vm.nics if wire.kind != "tap")
            waited = ", ".join(self.workspace.fill(wire.address) for wire in sockets)
            raise ComponentError(
                f"{self.name} was not plugged in in time",
                why=f"nobody called or answered on {waited}" if waited else str(error),
                fix="see that the switch runs and has opened its side of the ports",
            ) from error

    def boot(self, deadline: float) -> None:
        """Wait until the guest has booted; one without an agent only has to run."""
        if self.monitor is None:
            self.plug_in(deadline)
        if not self.vm.spec.has_agent:
            self._await_running(deadline)
            return
        path = Path(self.workspace.fill(self.vm.control))
        self.hang_up()
        self.agent = Agent.connect(self.name, path)
        patience_s = self.vm.spec.boot_timeout.seconds
        before_s = self.program.kept_s(math.inf)
        try:
            self.agent.await_boot(
                deadline,
                lambda: self.look("while it booted"),
                lambda: self.program.kept_s(patience_s, before_s),
            )
        except AgentSilent as error:
            self.require_alive("while it booted", ENDING_S)
            raise ComponentError(
                f"{self.name} does not {self.vm.does}: the guest did not boot in time",
                why=self.console_words(),
                fix=f"--set {self.vm.settings}.boot_timeout=120s if the VM is only slow; "
                f"--set {self.vm.settings}.accelerator=tcg if it hangs on KVM",
            ) from error

    def tell(self, deadline: float, message: Message) -> None:
        if self.agent is None:
            return
        deadline_ms = max(1, int(_left(deadline) * 1000))
        self._asked = self.agent.request("start", **message, deadline_ms=deadline_ms)

    def await_application(self, deadline: float) -> None:
        if self.agent is None or self._asked is None:
            return
        app = self.vm.spec.app
        try:
            self.ready = self.agent.answer(
                self._asked,
                "start",
                _left(deadline) + COUNTERS_S,
                lambda: self.look(f"while {app} started"),
            )
        except AgentRefused as error:
            words = (
                f"its last words: {last_lines(error.log)}" if error.log else self.console_words()
            )
            raise ComponentError(
                f"{self.name} does not {self.vm.does}: {error.text}",
                why=words,
                fix=f"see the settings of {self.vm.settings}: {self._settings_of_application}",
            ) from error
        except AgentSilent as error:
            self.require_alive(f"while {app} started", ENDING_S)
            raise ComponentError(
                f"{self.name} does not {self.vm.does}: {app} was not ready in time",
                why=self.console_words(),
            ) from error

    @property
    def _settings_of_application(self) -> str:
        forwards = self.vm.does == "forward"
        return "app, queues, memory, testpmd_arguments" if forwards else "memory, arguments"

    def pin(self) -> None:
        """Keep each vCPU to its CPU, and all other threads to theirs."""
        if self.monitor is None:
            return
        self.threads = self.monitor.threads(QMP_S)
        places = dict(zip(self.threads, self.vm.cpus, strict=False))
        for entry in Path(f"/proc/{self.program.pid}/task").iterdir():
            thread = int(entry.name)
            cpus = (places[thread],) if thread in places else self.vm.emulator_cpus
            if cpus and (thread in places or thread not in self.threads):
                with suppress(ProcessLookupError):  # a helper that has just ended
                    os.sched_setaffinity(thread, cpus)

    def failure(self) -> str | None:
        """Return why it no longer works, or None."""
        if (ending := self.program.failure()) is not None:
            if self.program.poll() == 0:  # by itself: QEMU has nothing to say of that
                ending = "; ".join(filter(None, (self.program.ending(), self.console_words())))
            return f"{self.name} {ending}"
        if self.agent is not None:
            try:
                self.agent.notice()
            except ComponentError as error:
                return self._how_it_ended(str(error))
            if self.agent.ended is not None:
                return f"{self.name}: {self.agent.ended}"
        why = None if self.monitor is None else self.monitor.failure()
        return None if why is None else self._how_it_ended(f"{self.name}: {why}")

    def counters(self) -> VnfCounters:
        """Return what the guest counted; nothing where it does not count."""
        answer: Message = {}
        if self.agent is not None:
            with suppress(ComponentError):
                answer = self.agent.ask("counters", COUNTERS_S)
        counted = understood(self.name, answer, Counted)
        return VnfCounters(name=self.name, nics=_nics(counted))

    def inside(self) -> dict[str, dict[str, int]]:
        """Return what the guest's own kernel counts; nothing of a guest without our agent."""
        return {} if self.agent is None else seen_inside(self.name, self.agent)

    def facts(self) -> dict[str, Any]:
        spec = self.vm.spec
        found: dict[str, Any] = {
            "accelerator": self.vm.accelerator,
            "qemu": None if self.monitor is None else self.monitor.version(),
            "vcpu_threads": list(self.threads),
            "argv": list(self.program.argv),
        }
        found["user"] = self.vm.user
        if self.vm.taps:
            found["vhost_net"] = self.vm.vhost
        if tree := spec.tree.facts():
            found["tree"] = tree
        if spec.own_guest:
            found["image"] = self.vm.image.hash
        if self.agent is not None and self.agent.booted is not None:
            found["guest"] = {
                k: v for k, v in self.agent.booted.items() if k not in ("event", "id")
            }
        if self.ready is not None:
            found["application"] = {k: v for k, v in self.ready.items() if k not in ("id", "ready")}
        return found

    def look(self, when: str) -> None:
        """Raise when it has ended, or a part without which it would wait in vain."""
        self.require_alive(when)
        self.workspace.attend(f"while {self.name} was waited for")

    def require_alive(self, when: str, patience_s: float = 0.0) -> None:
        """Raise `ComponentError` with its last words when QEMU has ended, or does so in time."""
        if self.program.await_end(patience_s):
            by_itself = self.program.poll() == 0  # the guest powered off, or gave up
            words = None if by_itself else self.program.last_words()
            raise ComponentError(
                f"{self.name} {self.program.ending()} {when}",
                why=words or self.console_words(),
                fix=f"see the settings of {self.vm.settings}: "
                "image, kernel, append, memory, arguments",
            )

    def console_words(self) -> str | None:
        """Return the last lines that the guest's kernel wrote, for people."""
        if self.console is None:
            return None
        if self.program.poll() is not None:
            self.console.finish()
        text = self.console.end(TAIL_BYTES)
        lines = [line.strip() for line in text.decode(errors="replace").splitlines()]
        said = [line for line in lines if line]
        panics = [line for line in said[:-TAIL_LINES] if PANIC in line]  # above a long trace
        words = " | ".join((*panics[:1], *said[-TAIL_LINES:]))
        return f"its console ends with: {words}" if words else "it wrote nothing to its console"

    def reset(self) -> None:
        """Start the guest anew; it has to be waited for, and told what to start, as at first."""
        assert self.monitor is not None  # it has forwarded before
        self.monitor.reset(QMP_S)

    def has_reset(self) -> None:
        """Let a guest that is up end QEMU again when it reboots; nobody knows of one unheard."""
        if self.monitor is not None and self.agent is not None:
            self.monitor.end_at_reset(QMP_S)

    def hang_up(self) -> None:
        """Leave the agent, if there is one: what a guest said that is gone, nobody reads."""
        if self.agent is not None:
            self.agent.close()
            self.agent = None

    def power_off(self) -> None:
        """Tell the guest to power off, and do not wait for it; never raises."""
        if self.agent is not None and self.agent.booted is not None and self.told_off_s is None:
            with suppress(ComponentError):
                self.agent.request("poweroff")
                self.told_off_s = time.monotonic()

    def stop(self, patience_s: float) -> None:
        """End QEMU politely: by the guest, or else by QEMU itself."""
        if self.monitor is None:
            self.program.process.kill()  # it may be stuck in its devices, and listens to nobody
            return
        self.power_off()
        if self.told_off_s is not None:
            left_s = min(patience_s - QUIT_S, self.told_off_s + OFF_S - time.monotonic())
            if self.program.await_end(max(0.0, left_s)):
                return
        if patience_s > 0:
            with suppress(ComponentError):
                self.monitor.execute("quit", min(QUIT_S, patience_s))

    def close(self) -> None:
        self.hang_up()
        if self.console is not None:
            self.console.close()
        if self.monitor is not None:
            self.monitor.close()

    def _await_running(self, deadline: float) -> None:
        while self.monitor is not None:
            status = self.monitor.execute("query-status", QMP_S)
            if status.get("running"):
                return
            self.look("while it booted")
            if time.monotonic() > deadline:
                raise ComponentError(
                    f"{self.name} does not run: QEMU calls it {status.get('status')}"
                )
            sleep(0.05)  # between two looks at a condition, never instead of one

    def device_macs(self) -> list[str] | None:
        """Return the addresses of devices of the host, which only the guest can see."""
        devices = self.vm.spec.devices
        if not devices or self.agent is None:
            return None
        seen = understood(self.name, self.agent.booted or {}, Booted).nics
        macs = {str(nic.pci): str(nic.mac) for nic in seen}
        places = [self.vm.nic_address(number) for number in range(len(devices))]
        missing = [devices[n] for n, place in enumerate(places) if place not in macs]
        if missing:
            raise ComponentError(
                f"{self.name} does not see the device {missing[0]}",
                why=f"its guest has {', '.join(macs) or 'no NIC'}",
                fix="see that the guest has a driver for it",
            )
        return [macs[place] for place in places]

    def _how_it_ended(self, otherwise: str) -> str:
        """Return how QEMU ended; a socket is closed a moment before that."""
        ending = self.program.obituary()
        return otherwise if self.program.poll() is None else f"{self.name} {ending}"


def _nics(counted: Counted) -> tuple[NicCounters, ...]:
    """Return the counters of all NICs; of none when one of them is not counted."""
    found = []
    for nic in counted.nics or ():
        if nic.received is None or nic.sent is None:
            return ()
        drops = nic.drops or {}
        found.append(NicCounters(received_frames=nic.received, sent_frames=nic.sent, drops=drops))
    return tuple(found)


def _left(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())


def seen_inside(vm: str, agent: Agent) -> dict[str, dict[str, int]]:
    """Return the counters of the guest and of each of its processors, by whom they are about."""
    seen = understood(vm, agent.ask("system", COUNTERS_S), SeenSystem)
    return {
        vm: {"interrupts": seen.interrupts, "context_switches": seen.switches},
        **{f"{vm} cpu {one.number}": one.model_dump(exclude={"number"}) for one in seen.processors},
    }
