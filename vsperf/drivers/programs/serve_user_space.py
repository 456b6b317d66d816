"""A server of HTTP in user space: tgen at the only port of its place, with a stack of its own.

    python3 -I -S serve_user_space.py TGEN DEVICE PORT REQUEST

DEVICE is its port as DPDK is told of it: a packet socket, or a vhost-user port. REQUEST is what
tgen is asked for, in JSON. What it answers is written down. Once it serves, a socket for datagrams
at PORT stands in the kernel's list, where servers are looked for: nobody can reach it, as the
kernel has no address here. It goes on until it is ended, and tgen with it, which ends when nobody
holds its input any more. It imports nothing of vsperf, so it starts at once.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

MEMORY_MB = 60
"""A file to the kernel, which a switch at the other end maps; files of programs of exchanges are
bounded to 64 MiB. Buffers for 4,000 connections fit in."""
SERVING, SERVED = 1, 2
"""Numbers of the question whether it serves, and of the request, answered in the end."""
ENDED = 1
"""How it ends where tgen did so by itself."""


def main(arguments: list[str]) -> int:
    """Start it, have it serve, and hear it to its end."""
    if len(arguments) != 4:
        sys.stderr.write("usage: serve_user_space.py TGEN DEVICE PORT REQUEST\n")
        return 2
    tgen, device, port, request = arguments
    asked = ({**json.loads(request), "id": SERVED}, {"id": SERVING, "verb": "hello"})
    with (
        subprocess.Popen(  # noqa: S603 - what the caller asked for
            command(tgen, device, sorted(os.sched_getaffinity(0))),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "RUNTIME_DIRECTORY": str(Path.cwd())},
        ) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sign,
    ):
        assert server.stdin is not None and server.stdout is not None
        for message in asked:
            server.stdin.write(f"{json.dumps(message)}\n")
        server.stdin.flush()
        for line in server.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            told = json.loads(line)
            if told.get("id") == SERVED:
                break
            if told.get("id") == SERVING and told.get("ok"):
                sign.bind(("", int(port)))
        server.stdin.close()
        server.wait()
        return ENDED


def command(tgen: str, device: str, cpus: list[int]) -> list[str]:
    """Return how tgen is run: its thread that polls has the last of the CPUs."""
    return [
        *(tgen, "--no-pci", "--no-huge", "--no-shconf", "--no-telemetry", "-m", str(MEMORY_MB)),
        *(f"--file-prefix=user-space-{os.getpid()}", f"--lcores=0@{cpus[0]},1@{cpus[-1]}"),
        *(f"--vdev={device}", "--", "--stdin", "--max-frame", "1518"),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
