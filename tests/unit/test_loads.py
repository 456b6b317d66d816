"""Programs that load: stress-ng, the one for memory, guests, and programs of the user."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Require
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.config.noise import NoiseSpec
from vsperf.drivers.loads import memory_vm
from vsperf.drivers.loads.base import LoadGenerator, settings_of
from vsperf.drivers.loads.command import CommandLoad, CommandSpec
from vsperf.drivers.loads.cpu_time import session_ticks
from vsperf.drivers.loads.memory import MemorySpec
from vsperf.drivers.loads.memory_vm import GuestMemoryLoad, GuestMemorySpec
from vsperf.drivers.loads.patterns import MEMORY_LOAD, last_report, words_of
from vsperf.drivers.loads.stress import StressLoad, StressSpec
from vsperf.drivers.loads.stress_vm import GuestStress, GuestStressLoad, GuestStressSpec
from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.qemu.host import probe
from vsperf.qemu.initrd import carried, initrd_of, joined, libraries_of
from vsperf.qemu.kvm import Probe
from vsperf.records.run import Placement
from vsperf.records.switch import NoiseActivity

# Loads by stress-ng, in guests and by programs of the user: what a plan shows, what is refused.

PLACED = Placement(cpus={"noise": (6, 7)})


def case(spec: type[NoiseSpec], **settings: Any) -> CaseSpec:
    return simulated_case().model_copy(update={"noise": spec.model_validate(settings)})


def stress(**settings: Any) -> CaseSpec:
    return case(StressSpec, kind="stress", **settings)


def planned(driver: LoadGenerator, asked: CaseSpec) -> list[str]:
    return [" ".join(step.argv or ()) for step in driver.plan(asked, PLACED)]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"load": "cpu", "cpu_share": 30}, "--cpu 1 --cpu-load 30"),
        ({"load": "cache"}, "--cache 1"),
        ({"load": "memory", "memory": "1MiB"}, "--vm 1 --vm-keep --vm-bytes 1048576"),
        ({"load": "io"}, "--io 1"),
        ({"load": "irq", "timer_frequency": 500}, "--timer 1 --timer-freq 500"),
        ({"arguments": ["--cache-level", "2"]}, "--cache-level 2"),
    ],
)
def test_each_kind_of_strain_has_its_words(settings: dict[str, Any], words: str) -> None:
    (line,) = planned(StressLoad(), stress(**settings))
    assert f" {words} " in line
    assert line.endswith("--taskset 6")
    assert " --timeout 0 " in line, "it ends when it is told to, and never by itself"


def test_instances_take_their_cpus_in_turn() -> None:
    lines = planned(StressLoad(), stress(instances=3))
    assert [line.rpartition(" ")[2] for line in lines] == ["6", "7", "6"]


def test_a_program_of_the_user_is_put_on_its_cpu_and_read_by_no_shell() -> None:
    own = case(CommandSpec, kind="command", argv=["./load", "a b", "$HOME"], instances=2)
    steps = CommandLoad().plan(own, PLACED)
    assert [step.argv for step in steps] == [
        ("taskset", "-c", str(cpu), "./load", "a b", "$HOME") for cpu in (6, 7)
    ]
    assert "noise 2 on CPU 7" in steps[1].action


@pytest.mark.parametrize(
    ("driver", "asked", "said"),
    [
        (StressLoad(), stress(), "stress-ng is not installed"),
        (CommandLoad(), case(CommandSpec, kind="command", argv=["load"]), "cannot be run"),
        (GuestStressLoad(), case(GuestStressSpec, kind="stress-vm"), "stress-ng is not installed"),
    ],
)
def test_a_program_that_is_missing_is_refused_with_the_way_to_get_it(
    driver: LoadGenerator, asked: CaseSpec, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NotReadyError, match=said) as caught:
        driver.require(asked)
    assert caught.value.problems[0].fix


@pytest.mark.parametrize(("accelerator", "refused"), [("kvm", True), ("tcg", False)])
def test_guests_on_a_kvm_that_is_not_there_are_refused_before_anything_is_started(
    accelerator: str,
    refused: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    require: Require,
) -> None:
    require("memory-load")
    require("guests")

    def without_kvm() -> Probe:
        return replace(probe(), device=tmp_path / "kvm")

    monkeypatch.setattr(memory_vm, "probe", without_kvm)
    asked = case(GuestMemorySpec, kind="memory-vm", accelerator=accelerator)
    with (
        pytest.raises(NotReadyError, match="do not boot on KVM") if refused else nullcontext()
    ) as caught:
        GuestMemoryLoad().require(asked)
    if caught is not None:
        (problem,) = caught.value.problems
        assert problem.why == f"{tmp_path / 'kvm'} is absent"
        assert "noise.accelerator=auto" in str(problem.fix)


def test_a_guest_boots_a_kernel_with_the_load_in_place_of_an_init(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VSPERF_GUEST", str(tmp_path))
    asked = case(GuestMemorySpec, kind="memory-vm", buffer="33MiB", accelerator="tcg", instances=2)
    (first, second) = GuestMemoryLoad().plan(asked, PLACED)
    assert first.argv is not None and second.argv is not None
    assert (first.argv[:4], second.argv[2]) == (("taskset", "-c", "6", "qemu-system-x86_64"), "7")
    words = dict(zip(first.argv, first.argv[1:], strict=False))
    assert words["-m"] == "161M", "the buffer, and what a kernel needs"
    assert words["-kernel"] == str(tmp_path / "vmlinuz")
    kernel, _, program = words["-append"].partition(" -- ")
    assert "console=ttyS0" in kernel
    assert program.split() == list(words_of(settings_of(asked, GuestMemorySpec)))
    assert "-netdev" not in words
    assert "emulated" in first.action


def test_words_that_a_kernel_may_not_know_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would hand them to the program, which refuses what it does not know."""
    for name in ("vmlinuz", "initrd"):
        (tmp_path / name).touch()
    told = {"append": "console=ttyS0 quiet nokaslr cryptomgr.notests panic=-1"}
    (tmp_path / "manifest.json").write_text(json.dumps(told))
    monkeypatch.setenv("VSPERF_GUEST", str(tmp_path))
    (step,) = GuestMemoryLoad().plan(
        case(GuestMemorySpec, kind="memory-vm", accelerator="kvm"), PLACED
    )
    assert step.argv is not None
    kernel = step.argv[-1].partition(" -- ")[0]
    assert kernel == "console=ttyS0 quiet cryptomgr.notests panic=-1"


@pytest.mark.needs("cpio")
def test_the_disk_of_a_guest_is_read_by_others(tmp_path: Path) -> None:
    for program in (b"odd", b"even", b"x" * 4097):
        archive = initrd_of({"init": program})
        subprocess.run(
            ["cpio", "--extract", "--quiet", "--unconditional"],
            input=archive, cwd=tmp_path, check=True,
        )  # fmt: skip
        assert (tmp_path / "init").read_bytes() == program
        assert os.access(tmp_path / "init", os.X_OK)


@pytest.mark.needs("cpio")
def test_a_program_comes_to_a_guest_with_all_that_it_is_loaded_with(tmp_path: Path) -> None:
    """Where its loader finds it, and unpacked over a disk that is there before."""
    program = Path("/bin/ls").resolve()
    needed = libraries_of(program)
    assert any(path.name.startswith("libc.so") for path in needed)
    disk = joined(initrd_of({"init": b"odd"}), carried(program))
    assert disk.startswith(initrd_of({"init": b"odd"}))
    subprocess.run(
        ["cpio", "--extract", "--quiet", "--make-directories"],
        input=carried(program), cwd=tmp_path, check=True,
    )  # fmt: skip
    found = {path.name: path for path in tmp_path.rglob("*") if path.is_file()}
    assert set(found) == {program.name, *(path.name for path in needed)}
    assert found[program.name] == tmp_path / "usr/bin" / program.name
    for path in needed:
        assert found[path.name].read_bytes() == path.read_bytes()
    loader = next(path for path in needed if path.name.startswith("ld-linux"))
    assert found[loader.name] == tmp_path / str(loader).strip("/"), "where programs name it"
    others = {found[path.name].parent for path in needed if path != loader}
    assert len(others) == 1, "in one folder, the one of libc"


def test_stress_in_a_guest_boots_our_image_with_more_over_it_and_tells_its_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VSPERF_GUEST", str(tmp_path))
    asked = case(
        GuestStressSpec, kind="stress-vm", load="memory", memory="32MiB", accelerator="tcg",
        instances=2,
    )  # fmt: skip
    first, told, second, _ = GuestStressLoad().plan(asked, PLACED)
    assert first.argv is not None and second.argv is not None
    words = dict(zip(first.argv, first.argv[1:], strict=False))
    assert words["-m"] == "288M", "what it maps, and what its system needs"
    assert words["-kernel"] == str(tmp_path / "vmlinuz")
    assert words["-initrd"] == "RUN/noise.initrd"
    assert not {"-netdev", "-drive"} & set(words)
    assert "CPU 6, emulated" in first.action and "CPU 7" in second.action
    (line,) = told.lines
    message = json.loads(line)
    assert (message["verb"], message["app"]) == ("start", "stress")
    on_the_host = planned(StressLoad(), stress(load="memory", memory="32MiB"))[0].split()
    strained = message["arguments"]
    assert (
        strained[: strained.index("--timeout")] == on_the_host[1 : on_the_host.index("--timeout")]
    )


def test_what_waits_most_of_the_time_has_no_rate_to_keep() -> None:
    judged = {
        load: StressLoad().judged(stress(load=load)) for load in ("cpu", "cache", "io", "irq")
    }
    assert judged == {"cpu": True, "cache": True, "io": False, "irq": False}
    for steady in (True, False):
        own = case(CommandSpec, kind="command", argv=["load"], steady=steady)
        assert CommandLoad().judged(own) is steady


def test_the_time_of_a_program_and_of_its_children_is_counted_once() -> None:
    """A child that works while its parent waits: the time is the session's."""
    works = "import os\nif os.fork(): os.wait()\nelse:\n while True: pass"
    program = subprocess.Popen([sys.executable, "-c", works], start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not session_ticks(Path("/proc"), program.pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        os.killpg(program.pid, 9)
        program.wait()
        with suppress(ChildProcessError):  # its child is an orphan, and may have become ours
            os.waitpid(-program.pid, 0)
    while session_ticks(Path("/proc"), program.pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


# The program that loads memory: what it counts, what it refuses, and how its words are read.

PATTERNS = (
    {"buffer": "64KiB", "read_size": "32KiB", "write_size": "32KiB", "read_rate": "50MB/s"},
    {"buffer": "1MiB", "read_size": "1000B", "write_size": "64B", "random": True},
    {"buffer": "8MiB", "read_size": "8MiB", "write_size": "4MiB", "write_rate": "0"},
)
REPORTS = 4
LINE = 64


def spoken(words: tuple[str, ...], count: int = REPORTS) -> list[dict[str, int]]:
    """Return the first reports of the program, and see that it ends when it is told to."""
    return heard(words, count)[0]


def heard(words: tuple[str, ...], count: int) -> tuple[list[dict[str, int]], int]:
    """Return the same, and how often it gave its CPU away from the first of them to the last."""
    argv = [str(MEMORY_LOAD.find()), *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        lines = [program.stdout.readline()]
        before = times_given_away(program.pid)
        lines += [program.stdout.readline() for _ in range(1, count)]
        given = times_given_away(program.pid) - before
        program.send_signal(signal.SIGTERM)
        program.stdout.read()
        assert program.wait(60) == 0
    return [json.loads(line) for line in lines], given


def times_given_away(pid: int) -> int:
    """Return how often a process has waited by its own wish, as the kernel counts."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switch"))


@pytest.mark.parametrize("settings", PATTERNS)
@pytest.mark.needs("memory-load")
def test_its_bytes_are_those_of_its_accesses(settings: dict[str, object]) -> None:
    """Blocks, bytes and accesses are counted apart: all three have to say the same."""
    spec = MemorySpec.model_validate({"kind": "memory", **settings})
    for said in spoken((*words_of(spec), "--report-ms=20")):
        for kind, blocks, size in (("read", "reads", spec.read_size), ("written", "writes",
                                   spec.write_size)):  # fmt: skip
            rest = said[f"{kind}_bytes"] - said[blocks] * size.bytes
            assert 0 <= rest < size.bytes
            lines = said[blocks] * -(-size.bytes // LINE) + rest // LINE
            assert said[f"{blocks[:-1]}_accesses"] == lines, "one access to each line, no other"


@pytest.mark.needs("memory-load")
def test_it_leaves_its_cpu_to_others_when_it_is_to_sleep() -> None:
    """Both keep to the same rates; who sleeps gives it away again and again, and nobody else does.

    How much of it each of them gets is the machine's affair.
    """
    slow = {"buffer": "1MiB", "read_size": "64KiB", "write_size": "64KiB",
            "read_rate": "400MB/s", "write_rate": "200MB/s"}  # fmt: skip

    def ran(*, sleep: bool) -> tuple[list[dict[str, int]], int]:
        spec = MemorySpec.model_validate({"kind": "memory", "sleep": sleep, **slow})
        return heard((*words_of(spec), "--report-ms=50"), REPORTS)

    (busy, seldom), (rested, often) = ran(sleep=False), ran(sleep=True)
    assert seldom < 10 <= often, f"given away {seldom} times and {often} times"
    for said in (busy[-1], rested[-1]):
        assert 0 < said["read_bytes"] <= 400e6 * said["elapsed_ns"] / 1e9 + 4 * 65536


@pytest.mark.needs("memory-load")
def test_it_does_no_more_than_it_is_asked_to() -> None:
    spec = MemorySpec.model_validate(
        {"kind": "memory", "buffer": "1MiB", "read_size": "64KiB", "write_size": "64KiB",
         "read_rate": "20MB/s", "write_rate": "10MB/s"}
    )  # fmt: skip
    last = spoken((*words_of(spec), "--report-ms=100"))[-1]
    seconds = last["elapsed_ns"] / 1e9
    slack = 4 * spec.read_size.bytes
    assert 0 < last["read_bytes"] <= 20e6 * seconds + slack
    assert 0 < last["written_bytes"] <= 10e6 * seconds + slack
    assert 0 < last["cpu_ns"] < last["elapsed_ns"]


@pytest.mark.needs("memory-load")
def test_what_is_not_asked_for_is_not_done() -> None:
    spec = MemorySpec.model_validate({"kind": "memory", "write_rate": "0", "buffer": "4MiB"})
    assert {said["written_bytes"] for said in spoken(words_of(spec), 2)} == {0}


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--buffer=10", "--read-size=64", "--write-size=64", "--read-rate=1"),
        ("--buffer=4096", "--read-size=8192", "--write-size=64", "--read-rate=1"),
        ("--buffer=4096", "--read-size=64", "--write-size=64"),
        ("--buffer=-1", "--read-size=64", "--write-size=64", "--read-rate=1"),
        ("--loud=1",),
        ("--buffer=4096", "--read-size=65", "--write-size=64", "--read-rate=1"),
        ("--buffer=4096", "--read-size=64", "--write-size=64", "--read-rate=1", "--report-ms=1"),
        ("--buffer=99999999999999999999", "--read-size=64", "--write-size=64", "--read-rate=1"),
    ],
)
@pytest.mark.needs("memory-load")
def test_what_makes_no_sense_is_refused_with_its_usage(words: tuple[str, ...]) -> None:
    argv = [str(MEMORY_LOAD.find()), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: memory-load" in done.stderr


@pytest.mark.needs("memory-load")
def test_a_cpu_that_there_is_not_is_refused() -> None:
    words = words_of(MemorySpec(kind="memory"))
    argv = [str(MEMORY_LOAD.find()), *words, "--cpu=4095"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "memory-load: CPU 4095 cannot be used\n")


def test_the_last_whole_line_counts(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = '{"elapsed_ns": 5, "cpu_ns": 4, "read_bytes": 3, "written_bytes": 2, "reads": 1}'
    log.write_text(f'{first}\nmemory-load: a remark\n{{"elapsed_ns": 9, "cpu_')
    assert last_report(log, "noise 1") == NoiseActivity(
        instance="noise 1", elapsed_ns=5, cpu_ns=4, read_bytes=3, written_bytes=2
    )


LIES = ("Infinity", "1e300", "-1", str(1 << 61), "true", '"7"', "9" * 4000)
"""What no counter says; a guest may say it."""


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "{", "[]\n", "no words\n", '{"elapsed_ns": 1}\n', "[" * 4000 + "\n"),
        *(
            f'{{"elapsed_ns": 5, "cpu_ns": {lie}, "read_bytes": 3, "written_bytes": 2}}\n'[:4095]
            for lie in LIES
        ),
    ],
)
def test_who_has_said_nothing_has_done_nothing_that_is_known(
    text: str | None, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    if text is not None:
        log.write_text(text)
    assert last_report(log, "noise 1") == NoiseActivity(instance="noise 1")


# Guests of stress-ng that run: what is said of each, and of one that hangs or could not start.

SEEN = {
    "noise-1": {"interrupts": 100, "context_switches": 20},
    "noise-1 cpu 0": {
        "user_ns": 600, "system_ns": 300, "interrupts_ns": 10, "idle_ns": 5000, "steal_ns": 70,
    },
}  # fmt: skip


class Guest:
    """A guest that says what it is told to say."""

    def __init__(self, name: str = "noise-1") -> None:
        self.name = name
        self.program: Any = SimpleNamespace(pid=os.getsid(0))
        self.seen: dict[str, dict[str, int]] = SEEN
        self.error: ComponentError | None = None
        self.why: str | None = None

    def inside(self) -> dict[str, dict[str, int]]:
        if self.error is not None:
            raise self.error
        return self.seen

    def failure(self) -> str | None:
        return self.why

    def boot(self, deadline: float) -> None:
        if self.error is not None:
            raise self.error

    def pin(self) -> None: ...

    def tell(self, deadline: float, message: dict[str, Any]) -> None: ...

    def await_application(self, deadline: float) -> None: ...


def load(*guests: Guest) -> GuestStress:
    named: Any = tuple((f"noise {number}", one) for number, one in enumerate(guests, 1))
    return GuestStress(named)


def test_work_is_what_the_guests_kernel_calls_so_and_no_time_of_others() -> None:
    (one,) = load(Guest()).counts()
    assert one.worked_ns == 910
    assert one.cpu_ns is not None, "beside what this machine gave its session"
    assert one.elapsed_ns and one.read_bytes is None
    later = one.model_copy(update={"worked_ns": 1910})
    assert later.since(one).worked_ns == 1000


def test_of_a_guest_that_hangs_nothing_is_known_though_it_may_spin() -> None:
    guest = Guest()
    guest.error = ComponentError("noise-1: the agent did not answer `system` within 1 s")
    assert load(guest).counts() == (NoiseActivity(instance="noise 1"),)


def test_the_first_that_ended_is_told_by_the_name_that_people_know() -> None:
    first, second = Guest(), Guest("noise-2")
    assert load(first, second).failure() is None
    second.why = "noise-2: stress ended: signal 9"
    assert load(first, second).failure() == "noise 2: stress ended: signal 9"


def test_one_that_does_not_boot_did_not_start_and_the_reason_is_told() -> None:
    guest = Guest()
    guest.error = ComponentError(
        "noise-1 does not work: the guest did not boot in time", why="its console ends with: panic"
    )
    with pytest.raises(ComponentError, match="the noise did not start") as caught:
        load(guest).begin({}, time.monotonic() + 1)
    (problem,) = caught.value.problems
    assert problem.why == (
        "noise 1 does not work: the guest did not boot in time: its console ends with: panic"
    )


def test_another_part_that_died_meanwhile_is_not_blamed_on_the_noise() -> None:
    guest = Guest()
    guest.error = DiedError("ovs-vswitchd was lost while noise-1 was waited for")
    with pytest.raises(DiedError, match="ovs-vswitchd was lost"):
        load(guest).begin({}, time.monotonic() + 1)
