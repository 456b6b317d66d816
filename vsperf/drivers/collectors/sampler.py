"""Looks at processes, CPUs and network devices once in a while, in a process of its own.

    python3 -I -S sampler.py SOCKET SOURCE EVERY_S

It listens on SOCKET. First it gets the descriptor of the file that it appends to what it sees, a
line for each thing: by a path it could be led elsewhere. Then each line that it gets is a trial
that begins: JSON with its index, the processes of each role and the CPUs in use; or `{}` when it is
over. It answers each line with one of its own, once it has looked. Between two trials it sleeps. It
imports nothing of vsperf, so it starts at once and stays small.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PIECE = 1 << 16
NAMED = re.compile(r"^(voluntary|nonvoluntary)_ctxt_switches:\s*(\d+)$", re.MULTILINE)
SESSION = 3
"""Column of a process's `stat`, counted from its state."""
STEAL = 7
"""Column of a CPU's line in /proc/stat."""
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
DEVICE = ("rx_bytes", "rx_frames", "rx_errors", "rx_dropped", "rx_fifo")
SENT = ("tx_bytes", "tx_frames", "tx_errors", "tx_dropped", "tx_fifo")

Row = tuple[str, dict[str, int]]


class Kernel:
    """Short files of the kernel, opened once for a trial: reading one again costs microseconds."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def text(self, path: str) -> str:
        """Return a file; nothing of one that is not there, such as of a thread that ended."""
        try:
            if path not in self._open:
                self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            pieces, at = [], 0
            while piece := os.pread(self._open[path], PIECE, at):
                pieces.append(piece)
                at += len(piece)
        except OSError:
            return ""
        return b"".join(pieces).decode(errors="replace")

    def close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open = {}


def processes(kernel: Kernel, asked: dict[str, Any]) -> Iterator[Row]:
    """Yield what each role used and waited for, and what its CPUs were interrupted by."""
    for role, wanted in asked["roles"].items():
        memory = 0
        whole: dict[str, int] = {}
        for pid, names in wanted:
            if names:
                memory += _resident(kernel, pid)
                yield from _threads(kernel, role, pid, names)
                continue
            for one in _session(pid):
                memory += _resident(kernel, one)
                whole = _sum(whole, *_tasks(kernel, one))
        if memory:
            yield role, {**whole, "resident_bytes": memory}
    yield from _cpus(kernel, frozenset(asked["cpus"]))


def _resident(kernel: Kernel, pid: int) -> int:
    statm = kernel.text(f"/proc/{pid}/statm").split()
    return int(statm[1]) * PAGE if len(statm) > 1 else 0


def _session(leader: int) -> Iterator[int]:
    """Yield the processes of a session: a server may start one for each client."""
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                columns = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            if len(columns) > SESSION and int(columns[SESSION]) == leader:
                yield int(name)


def _tasks(kernel: Kernel, pid: int) -> Iterator[dict[str, int]]:
    """Yield the counters of all threads of a process."""
    try:
        numbers = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:
        return
    for number in numbers:
        yield _thread(kernel, f"/proc/{pid}/task/{number}")


def _sum(*found: dict[str, int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in found:
        total = {**total, **{key: total.get(key, 0) + count for key, count in one.items()}}
    return total


def _threads(kernel: Kernel, role: str, pid: int, names: str) -> Iterator[Row]:
    """Yield each thread that polls, and all others of the process together."""
    polling = re.compile(names)
    others: dict[str, int] = {}
    try:
        numbers = sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208
    except OSError:
        return
    for number in numbers:
        folder = f"/proc/{pid}/task/{number}"
        values = _thread(kernel, folder)
        if not values:
            continue
        name = kernel.text(f"{folder}/comm").rstrip("\n")
        if polling.match(name):
            yield f"{role}: {name}", values
        else:
            others = {key: others.get(key, 0) + count for key, count in values.items()}
    if others:
        yield f"{role}: other threads", others


def _thread(kernel: Kernel, folder: str) -> dict[str, int]:
    """Return the counters of a thread; what a kernel does not count is missing."""
    values: dict[str, int] = {}
    columns = kernel.text(f"{folder}/stat").rpartition(")")[2].split()
    if len(columns) > 12:
        values["user_ns"] = int(columns[11]) * TICK_NS
        values["system_ns"] = int(columns[12]) * TICK_NS
    for name, count in NAMED.findall(kernel.text(f"{folder}/status")):
        values["voluntary" if name == "voluntary" else "involuntary"] = int(count)
    schedstat = [int(word) for word in kernel.text(f"{folder}/schedstat").split()]
    if len(schedstat) > 1 and any(schedstat):
        values["running_ns"], values["queued_ns"] = schedstat[0], schedstat[1]
    return values


def _cpus(kernel: Kernel, wanted: frozenset[int]) -> Iterator[Row]:
    """Yield interrupts, softirqs and steal of each CPU that is used."""
    found: dict[int, dict[str, int]] = {cpu: {} for cpu in sorted(wanted)}
    for cpu, steal_ns in _stolen(kernel.text("/proc/stat")):
        if cpu in found:
            found[cpu]["steal_ns"] = steal_ns
    for _, cpu, count in _by_cpu(kernel.text("/proc/interrupts")):
        if cpu in found:
            found[cpu]["interrupts"] = found[cpu].get("interrupts", 0) + count
    for name, cpu, count in _by_cpu(kernel.text("/proc/softirqs")):
        if cpu in found:
            found[cpu][f"softirqs_{name.lower()}"] = count
    for cpu, values in found.items():
        if values:
            yield f"cpu {cpu}", values


def _stolen(text: str) -> Iterator[tuple[int, int]]:
    """Yield the time of each CPU that a hypervisor gave to others."""
    for line in text.splitlines():
        head, *columns = line.split()
        if head.startswith("cpu") and head[3:].isdigit() and len(columns) > STEAL:
            yield int(head[3:]), int(columns[STEAL]) * TICK_NS


def _by_cpu(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the counts of a table, by the names of its rows and by CPU."""
    head, *rows = text.splitlines() or [""]
    cpus = [int(word[3:]) for word in head.split()]
    for line in rows:
        name, *words = line.split()
        counts = words[: len(cpus)]
        if len(counts) == len(cpus) and all(word.isdigit() for word in counts):
            for cpu, count in zip(cpus, counts, strict=True):
                yield name.rstrip(":"), cpu, int(count)


def devices(kernel: Kernel, asked: dict[str, Any]) -> Iterator[Row]:
    """Yield the counters of network devices, in each network that a role is in."""
    networks = {_network("self"): ("host", "self")}
    for role, wanted in asked["roles"].items():
        for pid, _ in wanted:
            networks.setdefault(_network(pid), (role, str(pid)))
    for place, pid in networks.values():
        for line in kernel.text(f"/proc/{pid}/net/dev").splitlines():
            name, colon, rest = line.partition(":")
            counts = rest.split()
            if colon and name.strip() != "lo" and len(counts) >= 16:
                received = zip(DEVICE, map(int, counts[:5]), strict=True)
                sent = zip(SENT, map(int, counts[8:13]), strict=True)
                yield f"{place}: {name.strip()}", {**dict(received), **dict(sent)}


def _network(pid: object) -> str:
    """Return what tells the network of a process from others."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return str(pid)  # it has ended, and so nothing is found in it


SOURCES = {"processes": processes, "devices": devices}


def look(source: str, kernel: Kernel, asked: dict[str, Any], descriptor: int) -> None:
    """Look once, and append what is seen."""
    at_ns = time.time_ns()
    lines = [
        json.dumps(
            {
                "type": "sample",
                "trial": asked["trial"],
                "at_ns": at_ns,
                "of": of,
                "values": values,
            }
        )
        for of, values in SOURCES[source](kernel, asked)
    ]
    content = "".join(f"{line}\n" for line in lines).encode()
    while content:
        content = content[os.write(descriptor, content) :]


def serve(connection: socket.socket, source: str, every_s: float, descriptor: int) -> None:
    """Look at the begin of a trial, then every so often, and at its end; until vsperf hangs up."""
    kernel, buffer, due = Kernel(), b"", 0.0
    asked: dict[str, Any] = {}
    while True:
        left = max(0.0, due - time.monotonic()) if asked else None
        ready, _, _ = select.select([connection], [], [], left)
        if not ready:
            look(source, kernel, asked, descriptor)
            due += every_s
            continue
        piece = connection.recv(PIECE)
        if not piece:
            return
        buffer += piece
        *whole, buffer = buffer.split(b"\n")
        for line in whole:
            told = json.loads(line)
            if told:
                kernel.close()
                asked, due = told, time.monotonic() + every_s
            if asked:
                look(source, kernel, asked, descriptor)
            if not told:
                asked = {}
            connection.sendall(b"\n")


def main(arguments: list[str]) -> int:
    """Listen for vsperf, and serve it."""
    path, source, every_s = arguments
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"{path}.new")
    listener.listen(1)
    Path(f"{path}.new").rename(path)  # who sees it can call
    connection, _ = listener.accept()
    Path(path).unlink()
    try:
        _, given, _, _ = socket.recv_fds(connection, 1, 1)
        for descriptor in given:  # none of who has hung up
            serve(connection, source, float(every_s), descriptor)
    except OSError as error:
        sys.stderr.write(f"cannot go on: {error.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
