"""The attacks of the soak see what is wrong, follow from their seed, and are counted."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
from attacks.announced import lost, wrongly_named
from attacks.apart import apart
from attacks.damage import damaged_bytes, damaged_lines
from attacks.stop import Stop, Stopped
from attacks.tally import Tally
from conftest import REPOSITORY
from record_samples import header, run_lines

from vsperf.records.files.folders import RECORDS
from vsperf.records.files.view import open_run
from vsperf.records.run import LINE

pytestmark = pytest.mark.scaffolding("tools/soak", "tests/attacks", "tests/unit/test_attacks.py")

LINES = [LINE.dump_json(line) for line in (header(), *run_lines(header()))]


@dataclass
class Pretence:
    """A campaign that finds what it was told to find."""

    finds: list[str]
    name: str = "pretence"
    group: str = "fuzz"
    slice_s: float = 60.0
    numbers: list[int] = field(default_factory=list)

    def round(self, number: int) -> list[str]:
        self.numbers.append(number)
        return self.finds

    def end(self) -> None:
        """Nothing runs."""


def test_an_announced_trial_that_is_not_in_the_records_is_lost(tmp_path: Path) -> None:
    trials = [json.loads(line) for line in LINES if json.loads(line)["type"] == "trial"]
    said = [{"event": "TrialFinished", "case": t["case"], **t["trial"]} for t in trials]
    for event in said:
        event["disturbance"] = None
        for way in event["directions"]:
            way.pop("latency_histogram", None)
    (tmp_path / RECORDS).write_bytes(b"\n".join(LINES) + b"\n")
    assert lost(said, open_run(tmp_path)) == []
    gone = next(n for n, line in enumerate(LINES) if json.loads(line)["type"] == "trial")
    (tmp_path / RECORDS).write_bytes(b"\n".join(LINES[:gone] + LINES[gone + 1 :]) + b"\n")
    assert [trial["index"] for trial in lost(said, open_run(tmp_path))] == [said[0]["index"]]


def raises() -> int:
    raise ValueError("nobody meant this")


def says(text: str) -> int:
    sys.stdout.write(text)
    return 0


def crashes() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def hangs() -> int:
    time.sleep(60)
    return 0


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        (lambda: 0, None),
        (lambda: 2, None),
        (lambda: 70, "ended with 70"),
        (lambda: 7, "ended with 7"),
        (raises, "Traceback"),
        (lambda: says("\x1b[2J"), "control a terminal"),
        (crashes, "ended with -9"),
        (hangs, "took longer"),
    ],
    ids=["fine", "refused", "bug", "undocumented", "traceback", "escapes", "crash", "hangs"],
)
def test_what_no_command_may_do_is_seen(action: Callable[[], int], problem: str | None) -> None:
    found = apart(action, patience_s=1 if action is hangs else 60).problems()
    assert any(problem in text for text in found) if problem else found == []


def test_damage_follows_from_the_seed_and_is_damage() -> None:
    content = b"\n".join(LINES)
    for damage in (damaged_bytes, damaged_lines):
        found = [damage(content, random.Random(seed)) for seed in range(20)]
        assert found == [damage(content, random.Random(seed)) for seed in range(20)]
        assert len(set(found)) > 15


def load_tool(name: str) -> ModuleType:
    """Return a program of `tools`, which have no ending, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(REPOSITORY / "tools" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module  # where its dataclasses look for their annotations
    loader.exec_module(module)
    return module


def attack(campaign: Pretence, *arguments: str) -> Tally:
    soak, tally = load_tool("soak"), Tally()
    soak.attack(soak.parse(arguments), [campaign], tally)
    return tally


def test_a_finding_is_told_with_how_to_see_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    tally = attack(Pretence(["it fell over"]), "--seed=7", "--first=5", "--rounds=1")
    assert [str(finding) for finding in tally.findings] == ["pretence 5: it fell over"]
    told = capsys.readouterr().out
    assert "tools/soak --seed 7 --only pretence --first 5 --rounds 1" in told


def test_a_signal_is_heeded_where_it_may_be_and_only_once() -> None:
    stop = Stop()
    with stop.waiting():
        pass
    stop(signal.SIGTERM, None)  # in the middle of a step: nothing is raised
    for _ in range(2):
        with pytest.raises(Stopped) as stopped, stop.waiting():
            pytest.fail("it waited")
        assert stopped.value.number == signal.SIGTERM
    stop(signal.SIGINT, None)
    waiting = Stop()
    with pytest.raises(Stopped), waiting.waiting():
        waiting(signal.SIGINT, None)


@pytest.mark.parametrize(
    ("said", "hit", "wrong"),
    [
        ("error: tgen was killed by SIGKILL while it sent", {"ovs-vswitchd"}, "tgen"),
        ("error: tgen was killed by SIGKILL while it sent", {"tgen"}, ""),
        ("error: tgen was killed by SIGKILL; error: vm1 ended with exit code 1", {"vm1"}, ""),
        ('"reason": "vm1 was lost while tgen started"', {"ovs-vswitchd"}, "vm1"),
        ('"reason": "the switch failed during trial 3: it is silent"', {"tgen"}, "the switch"),
        ('"reason": "the generator failed in trial 3: nobody knows"', {"otg-server"}, ""),
        ("error: the case is INVALID", set(), ""),
        ("error: vm1 ended with exit code 1", set(), "vm1"),
        ("error: /x/tgen was killed by SIGKILL\n  fix: make setup", {"tgen"}, "make setup"),
    ],
)
def test_a_part_that_is_blamed_and_was_not_hit_is_a_finding(
    said: str, hit: set[str], wrong: str
) -> None:
    assert wrongly_named(said, hit) == wrong
