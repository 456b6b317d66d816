"""The soak in short: some of each attack that `tools/soak` carries out for hours, and the tool."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from attacker import NOBODY
from attacks.arena import Arena
from attacks.campaigns import Fuzz, Kills
from attacks.kills import P2P, PROCESSES, SIMULATED, Pace, Scenario
from attacks.tally import Tally
from conftest import REPOSITORY
from real_runs import PATIENCE_S, Run, wait_until

from vsperf.errors import ExitCode
from vsperf.host.claims import Pool
from vsperf.host.procfs import MARK

pytestmark = pytest.mark.scaffolding(
    "tools/soak", "tests/attacks", "tests/integration/test_soak.py"
)

SEED = 1
SOAK = REPOSITORY / "tools" / "soak"
MOST_ROUNDS = 20
INPUTS = {
    **{"loader": 25, "cli": 25, "records": 12, "index": 12, "journal": 20, "agent": 4},
    "programs": 4,
}


def soak(*arguments: str) -> subprocess.Popen[str]:
    argv = [sys.executable, str(SOAK), *arguments]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def inputs(campaign: Fuzz, count: int) -> list[str]:
    """Return what so many inputs found."""
    try:
        return [problem for number in range(count) for problem in campaign.round(number)]
    finally:
        campaign.end()


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.needs("root", "namespaces")
def test_hostile_input_is_refused_with_a_reason(name: str, tmp_path: Path) -> None:
    assert inputs(Fuzz(name, SEED, tmp_path), INPUTS[name]) == []


@pytest.mark.machine
@pytest.mark.needs("root", "namespaces", "tgen-programs")
def test_tgen_survives_whatever_comes_in_through_its_socket(tmp_path: Path) -> None:
    assert inputs(Fuzz("control", SEED, tmp_path), 4) == []


@pytest.mark.needs("root", "namespaces")
def test_the_otg_server_answers_or_refuses_whatever_comes_in(tmp_path: Path) -> None:
    assert inputs(Fuzz("otg", SEED, tmp_path), 100) == []


def kill_once(scenario: Scenario, evidence: Path, run_s: float) -> None:
    """Carry out rounds until one has killed something, for a run that takes about so long."""
    tally = Tally()
    with TemporaryDirectory(prefix="soak-") as base:  # short, as sockets need
        campaign = Kills(scenario, SEED, tally, Path(base), evidence, pace=Pace(run_s))
        for number in range(MOST_ROUNDS):
            assert campaign.round(number) == []
            if tally.kills:
                break
    assert tally.kills
    assert (tally.lost, tally.left) == (0, 0)


def test_a_simulated_run_that_is_killed_leaves_and_loses_nothing(tmp_path: Path) -> None:
    kill_once(SIMULATED, tmp_path, run_s=1.0)


# No mark `machine`: a campaign takes the machine itself, and would wait for its own test.
@pytest.mark.parametrize("scenario", [P2P, PROCESSES], ids=lambda scenario: scenario.name)
@pytest.mark.needs("ovs-dpdk", "tgen", "hugepages", "dpdk-testpmd")
def test_a_real_run_of_which_parts_are_killed_leaves_and_loses_nothing(
    scenario: Scenario, tmp_path: Path
) -> None:
    kill_once(scenario, tmp_path, run_s=6.0)


@pytest.mark.parametrize(("pages", "leak"), [(8, False), (6, False), (9, True)])
def test_pages_that_were_not_there_before_are_a_leak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int, leak: bool
) -> None:
    for name in ("nr_hugepages", "free_hugepages"):
        (tmp_path / name).write_text(f"{pages}\n")
    pool = Pool(node=0, page_bytes=2 << 20, folder=tmp_path)
    monkeypatch.setattr("attacks.arena.read_pools", lambda: (pool,))
    monkeypatch.setattr("attacks.arena.HostMemory.ledger", lambda *_: tmp_path / "ledger.json")
    arena = Arena(tmp_path, tmp_path / "run", tmp_path / "cache", pages_before={tmp_path: 8})
    assert any("pages in" in trace for trace in arena.traces()) == leak


@pytest.mark.needs("root")
def test_what_is_killed_is_called_where_another_user_has_put_what_nobody_may_take(
    tmp_path: Path,
) -> None:
    arena = Arena(tmp_path, tmp_path / "run", tmp_path / "cache")
    trap = arena.called_in / "json.py"
    assert arena.called_in.stat().st_uid == trap.stat().st_uid == NOBODY
    run = arena("results")  # of its own, wherever it is called
    assert run.code == ExitCode.OK
    assert str(arena.results) in run.out
    assert arena.traces() == []
    subprocess.run([sys.executable, str(trap)], check=False, capture_output=True)
    assert arena.traces() == [f"{trap} of another user was run"]


ASKS = f"""
{MARK}=vsperf-1-abcdef/tgen sleep 60 & part=$!
sleep 61 & wait $!; echo $?
kill $part
"""


def test_what_a_run_asks_is_killed_beside_its_parts(tmp_path: Path) -> None:
    arena = Arena(tmp_path, tmp_path / "run", tmp_path / "cache")
    argv = ["sh", "-c", ASKS]
    with subprocess.Popen(argv, env=arena.environ, stdout=subprocess.PIPE) as process:
        run = Run(process, tmp_path / "out", tmp_path / "err")
        assert wait_until(
            lambda: sorted(arena.beside(run, ()).values()) == ["sleep", "tgen"], PATIENCE_S
        )
        assert arena.kill_beside(run, {"tgen"}) == "sleep"
        assert process.communicate()[0] == b"137\n"


@pytest.mark.needs("root", "namespaces")
def test_the_tool_prints_a_table_of_what_it_did() -> None:
    said, errors = soak("--only=loader", "--rounds=2", "--minutes=1").communicate(timeout=60)
    assert errors == ""
    assert "loader" in said
    assert said.splitlines()[-1].split() == ["findings", "0"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_tool_ends_in_order_when_it_is_asked_to(number: signal.Signals) -> None:
    process = soak("--only=simulated", "--minutes=1")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not children.read_text():  # until its first run has begun
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (128 + number, "")
    assert "kills" in said


def test_a_campaign_that_does_not_exist_is_refused() -> None:
    process = soak("--only=floods")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitCode.BAD_INPUT
    assert "there is no campaign floods" in errors
    assert "simulated" in errors
