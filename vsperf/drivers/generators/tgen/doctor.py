"""What `vsperf doctor` asks about tgen: whether it is built, runs here, and understands us."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

from vsperf.drivers.generators.tgen.process import PROTOCOL, TGEN
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, failure, ok, warning
from vsperf.waits import KilledError, how_it_ended, run

QUESTION = '{"id":1,"verb":"hello"}\n'
ANSWER_S = 5.0
AGAIN = "try again; where it happens again, see what else goes on here: journalctl --dmesg"
NO_PROGRAM = (errno.ENOENT, errno.EACCES, errno.ENOEXEC)
BROKEN: tuple[int, ...] = (
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGABRT,
    signal.SIGFPE,
)
"""By these a program ends itself; SIGILL where it was built for another processor."""
BY_SIGNAL: dict[int, str] = {
    signal.SIGXFSZ: "ulimit -f unlimited",
    signal.SIGXCPU: "ulimit -t unlimited",
}
MEMORY = ("--no-huge", "--no-shconf", "--no-telemetry", "-m", "64")
"""Ordinary memory, and no file anywhere: asking leaves no trace."""


def _tgen(here: Host) -> Answer:
    try:
        binary = str(TGEN.find(here.environment))
    except NotReadyError as error:
        return failure(f"{error}: {error.problems[0].why}", error.problems[0].fix)
    cpu = min(here.usable)
    argv = [binary, "--no-pci", *MEMORY, "--vdev=net_ring0", f"--lcores=0@{cpu},1@{cpu}"]
    try:
        done = run([*argv, "--", "--stdin"], ANSWER_S, given=QUESTION)
    except KilledError as error:
        done = error.done
    except OSError as error:
        fix = TGEN.build_command if error.errno in NO_PROGRAM else AGAIN
        return failure(f"{binary} cannot be started: {error.strerror or error}", fix)
    except subprocess.TimeoutExpired:
        return failure(f"{binary} does not answer within {ANSWER_S:g} s", AGAIN)
    hello = _hello(done.stdout)
    return _silent(binary, done) if hello is None else _greeted(binary, hello)


def _greeted(binary: str, hello: Mapping[str, Any]) -> Answer:
    """Judge what it says of itself."""
    if hello.get("protocol") != PROTOCOL:
        return failure(
            f"{binary} speaks protocol {hello.get('protocol')}, and this vsperf {PROTOCOL}",
            TGEN.build_command,
        )
    build = hello.get("build") or {}
    evidence = f"{binary}: tgen {hello.get('tgen')}, protocol {PROTOCOL}, {hello.get('dpdk')}, " + (
        f"{build.get('type')} build for {build.get('march')} by {build.get('compiler')}"
    )
    if build.get("type") not in ("release", "debugoptimized"):
        return warning(f"{evidence}: slower than it could be", TGEN.build_command)
    return ok(evidence)


def _silent(binary: str, done: subprocess.CompletedProcess[str]) -> Answer:
    """Say how a tgen ended that gave no answer; whoever ended it is not mended by building it."""
    said = [line for line in done.stderr.splitlines() if line.strip()]
    words = f"; its last words: {said[-1]}" if said else ""
    how = f"{binary} {how_it_ended(done.returncode)}"
    if done.returncode < 0:
        number = -done.returncode
        fix = BY_SIGNAL.get(number, TGEN.build_command if number in BROKEN else AGAIN)
        return failure(f"{how}{words}", fix)
    return failure(f"{how} and gave no answer{words}", TGEN.build_command)


def _hello(output: str) -> dict[str, Any] | None:
    for line in output.splitlines():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and isinstance(answer.get("result"), dict):
            return dict(answer["result"])
    return None


CHECKS = (Check("tgen", Group.PROGRAMS, _tgen, before_runs=True),)
