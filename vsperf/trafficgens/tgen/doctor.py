"""What `vsperf doctor` asks about tgen: whether it is built, runs here, and understands us."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Surroundings, failure, ok, warning
from vsperf.trafficgens.tgen.binary import TGEN
from vsperf.trafficgens.tgen.process import PROTOCOL
from vsperf.waits import run

QUESTION = '{"id":1,"verb":"hello"}\n'
ANSWER_S = 5.0
MEMORY = ("--no-huge", "--no-shconf", "--no-telemetry", "-m", "64")
"""Ordinary memory, and no file anywhere: asking leaves no trace."""


def _tgen(here: Surroundings) -> Answer:
    try:
        binary = str(TGEN.find(here.environment))
    except NotReadyError as error:
        return failure(f"{error}: {error.problems[0].why}", error.problems[0].fix)
    cpu = min(here.usable)
    argv = [binary, "--no-pci", *MEMORY, "--vdev=net_ring0", f"--lcores=0@{cpu},1@{cpu}"]
    try:
        done = run([*argv, "--", "--stdin"], ANSWER_S, given=QUESTION)
        hello = _hello(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return failure(f"{binary} does not answer: {error}", TGEN.build_command)
    if hello is None:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        return failure(
            f"{binary} does not work: {said[-1] if said else 'no word'}", TGEN.build_command
        )
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


def _hello(output: str) -> dict[str, Any] | None:
    for line in output.splitlines():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and isinstance(answer.get("result"), dict):
            return dict(answer["result"])
    return None


CHECKS = (Check("tgen", Group.PROGRAMS, _tgen, frozenset({"tgen"})),)
