"""A tgen that gives no answer: it is said how it ended, and building it is no advice for a kill."""

from pathlib import Path

import pytest

from vsperf.host.doctor.finding import Answer, Status, Surroundings
from vsperf.trafficgens.tgen.doctor import CHECKS


def found_of(folder: Path, script: str) -> Answer:
    (program := folder / "tgen").write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    (check,) = CHECKS
    answer = check.ask(Surroundings(environment={"VSPERF_TGEN": str(program), "PATH": "/bin"}))
    assert answer.status is Status.FAILURE
    return answer


@pytest.mark.parametrize(
    ("signal", "advice"),
    [("KILL", "try again"), ("TERM", "try again"), ("XFSZ", "ulimit -f"), ("ILL", "meson setup")],
)
def test_who_killed_it_is_said_and_what_helps(tmp_path: Path, signal: str, advice: str) -> None:
    answer = found_of(tmp_path, f"kill -{signal} $$")
    assert f"was killed by SIG{signal}" in answer.evidence
    assert advice in str(answer.fix)


def test_one_that_ends_without_an_answer_is_quoted(tmp_path: Path) -> None:
    answer = found_of(tmp_path, "echo 'libdpdk.so.99: not found' >&2; exit 127")
    assert "ended with exit code 127" in answer.evidence
    assert "its last words: libdpdk.so.99: not found" in answer.evidence
    assert "meson setup" in str(answer.fix)


def test_what_is_no_program_for_this_machine_is_to_be_built(tmp_path: Path) -> None:
    (program := tmp_path / "tgen").write_bytes(b"\x7fELF\0")
    program.chmod(0o755)
    (check,) = CHECKS
    answer = check.ask(Surroundings(environment={"VSPERF_TGEN": str(program)}))
    assert "cannot be started" in answer.evidence
    assert "meson setup" in str(answer.fix)
