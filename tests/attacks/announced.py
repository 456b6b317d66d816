"""What a run said that it recorded, held against what is in its records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from vsperf.records.files import lines
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.reader import parse_lines
from vsperf.records.files.view import RunView
from vsperf.records.run import RoundLine, TrialLine

Event = dict[str, Any]
ENDED = (
    r"(?<![\w-]){}:? (was killed by|was lost|ended with exit code|ended while|is stopped|"
    r"has written more|still runs, but)"
)
"""What is said of a part that has ended, and which: in an error, or in the reason of a record."""
FAILED = r"{} failed (in|during) "
ROLES = {
    "the switch": {"ovs-vswitchd", "ovsdb-server", "testpmd"},
    "the generator": {"tgen", "otg-server"},
    "a VNF": {"vm1"},
}
"""What is said of parts without their names, and which it can mean."""
BUILD = "make setup"
"""Is told to who lacks a program; none does here."""
TIMES = ("started_at", "finished_at")


def lost(said: list[Event], run: RunView) -> list[Event]:
    """Return what was called recorded and is not in the file as it was told: trials and rounds."""
    on_disk = [*map(_told, _trials(run)), *_rounds(run)]
    told = ({key: value for key, value in event.items() if key != "event"} for event in said)
    return [trial for trial in told if trial not in on_disk]


def assert_recorded(said: list[Event], run: RunView) -> None:
    """Every trial that was called recorded is in the file as it was told."""
    assert all(event["event"] == "TrialFinished" for event in said)
    assert lost(said, run) == []


def found(run: RunView) -> Any:
    """Return all that a run found, times left out."""
    return [
        {
            "record": case.record and _without_times(case.record.model_dump(mode="json")),
            "trials": _without_times([trial.model_dump(mode="json") for trial in case.trials]),
        }
        for case in run.cases()
    ]


def wrongly_named(said: str, hit: set[str]) -> str:
    """Return the parts that are said to have ended, where none of them is one that was hit."""
    names = {*hit}.union(*ROLES.values())
    told = {name for name in names if re.search(ENDED.format(re.escape(name)), said)}
    roles = {role for role in ROLES if re.search(FAILED.format(role), said)}
    right = told & hit or any(ROLES[role] & hit for role in roles)
    wrong = set() if right else told | roles
    return ", ".join(sorted(wrong | ({BUILD} if BUILD in said else set())))


def _trials(run: RunView) -> list[Event]:
    return [
        {"case": line.case, **line.trial.model_dump(mode="json")}
        for line in every_trial(run.folder)
    ]


def _rounds(run: RunView) -> list[Event]:
    """Return the rounds of turns of all attempts as events tell them."""
    with lines.opened(run.folder / RECORDS) as found:
        return [
            {"case": one.case, **one.round.model_dump(mode="json", exclude={"turns"})}
            | one.round.said
            for one in parse_lines(found.path, found)
            if isinstance(one, RoundLine)
        ]


def every_trial(folder: Path) -> list[TrialLine]:
    """Return the trials of all attempts, also of those that another one replaced."""
    with lines.opened(folder / RECORDS) as found:
        return [one for one in parse_lines(found.path, found) if isinstance(one, TrialLine)]


def _told(trial: Event) -> Event:
    """Return a trial as events tell it."""
    for direction in trial["directions"]:
        direction.pop("latency_histogram")
    trial["disturbance"] = trial.pop("event")
    return trial


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k not in TIMES}
    if isinstance(value, list):
        return [_without_times(item) for item in value]
    return value
