"""The sampler looks when a trial begins, now and then, and when it ends; at real processes here."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from vsperf.drivers.collectors.beside import SAMPLER
from vsperf.drivers.collectors.sampler import Kernel, devices, processes
from vsperf.records.series import SERIES_LINE, Sample

ME = {"trial": 1, "roles": {"switch": [[os.getpid(), "nobody"]]}, "cpus": [0]}
"""All threads are told as one: those that other tests have left may end at any time."""
SOFTIRQS = Path("/proc/softirqs")


@contextmanager
def sampler(
    folder: Path, source: str = "processes", every_s: str = "60"
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    path, file = folder / "s", folder / "series.jsonl"
    file.touch()
    argv = [sys.executable, "-I", "-S", str(SAMPLER), str(path), source, every_s]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as program:
        deadline = time.monotonic() + 20
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(20)
            connection.connect(str(path))
            with file.open("ab") as series:
                socket.send_fds(connection, [b"\n"], [series.fileno()])
            try:
                yield program, connection
            finally:
                connection.close()
                with suppress(subprocess.TimeoutExpired):
                    program.wait(20)
                program.kill()


def tell(connection: socket.socket, message: dict[str, object]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")
    assert connection.recv(1) == b"\n"


def samples(folder: Path) -> list[Sample]:
    *lines, _ = (folder / "series.jsonl").read_bytes().split(b"\n")  # the last may be under way
    found = [SERIES_LINE.validate_json(line) for line in lines]
    return [one for one in found if isinstance(one, Sample)]


def test_it_has_looked_when_it_answers(tmp_path: Path) -> None:
    with sampler(tmp_path) as (_, connection):
        tell(connection, {**ME, "trial": 4})
        begun = samples(tmp_path)
        tell(connection, {})
        ended = samples(tmp_path)
    assert begun and len(ended) == 2 * len(begun)
    assert {one.trial for one in ended} == {4}


def test_it_looks_again_and_again_while_a_trial_lasts_and_rests_between_two(tmp_path: Path) -> None:
    with sampler(tmp_path, every_s="0.02") as (_, connection):
        tell(connection, ME)
        before = len(samples(tmp_path))
        deadline = time.monotonic() + 20
        while len(samples(tmp_path)) < 3 * before and time.monotonic() < deadline:
            time.sleep(0.01)
        tell(connection, {})
        rested = len(samples(tmp_path))
        assert rested >= 3 * before
        time.sleep(0.1)
        assert len(samples(tmp_path)) == rested


def test_it_ends_when_nobody_listens_any_more(tmp_path: Path) -> None:
    with sampler(tmp_path) as (program, connection):
        tell(connection, ME)
        connection.close()
        assert program.wait(20) == 0


def test_a_process_that_has_ended_is_missing_and_no_mistake(tmp_path: Path) -> None:
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    with sampler(tmp_path) as (_, connection):
        tell(connection, {**ME, "roles": {"switch": [[gone.pid, "x"]]}})
        tell(connection, {})
    assert {one.of for one in samples(tmp_path)} == {"cpu 0"}


def test_threads_that_poll_have_names_and_others_are_one() -> None:
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    names = Path(f"/proc/self/task/{os.getpid()}/comm").read_text().strip()
    try:
        asked = {"roles": {"switch": [[os.getpid(), f"(?={names})(?!)|nobody"]]}, "cpus": []}
        found = dict(processes(Kernel(), asked))
    finally:
        stop.set()
        other.join()
    assert set(found) == {"switch", "switch: other threads"}
    assert found["switch"]["resident_bytes"] > 1 << 20
    assert found["switch: other threads"]["voluntary"] > 0


def test_programs_that_sleep_are_told_as_one_with_their_children() -> None:
    """Two of them, of which nobody tells which of their threads is which."""
    script = "import subprocess as s; p = s.Popen(['sleep', '60']); print(flush=True); p.wait()"
    argv = [sys.executable, "-c", script]
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
            )
            for _ in range(2)
        ]
        for one in running:
            stack.callback(os.killpg, one.pid, signal.SIGKILL)
            assert one.stdout is not None
            one.stdout.readline()
        asked = {"roles": {"clients": [[one.pid, ""] for one in running]}, "cpus": []}
        found = list(processes(Kernel(), asked))
        alone = list(
            processes(Kernel(), {"roles": {"clients": [[running[0].pid, ""]]}, "cpus": []})
        )
    assert [of for of, _ in found] == ["clients"]
    assert {"user_ns", "system_ns", "voluntary", "resident_bytes"} <= set(found[0][1])
    assert found[0][1]["resident_bytes"] > alone[0][1]["resident_bytes"]


def test_each_cpu_in_use_is_looked_at() -> None:
    found = dict(processes(Kernel(), {"roles": {}, "cpus": [0]}))
    assert list(found) == ["cpu 0"]
    assert {"interrupts", "steal_ns"} <= set(found["cpu 0"])
    kinds = [line.split(":")[0].strip().lower() for line in SOFTIRQS.read_text().splitlines()[1:]]
    assert kinds
    assert {f"softirqs_{kind}" for kind in kinds} <= set(found["cpu 0"])


def test_devices_of_the_own_network_are_the_hosts() -> None:
    found = dict(devices(Kernel(), {"roles": {"switch": [[os.getpid(), "x"]]}}))
    assert all(of.startswith("host: ") for of in found)
    assert "host: lo" not in found
