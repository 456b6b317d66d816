"""How records of older versions are read: one small step from each version to the next.

A record file says in its header which version it is written in, and keeps that version for ever.
Any change of a record's fields, an added one included, raises `SCHEMA_VERSION` and adds the step
that lifts lines of the version before. Steps work on plain data, so they stay true when the
models move on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from vsperf.errors import Location, StoreError
from vsperf.record.base import SCHEMA_VERSION

Step = Callable[[dict[str, Any]], dict[str, Any]]
"""One line of version n → the same line of version n + 1."""


def _without_surroundings(line: dict[str, Any]) -> dict[str, Any]:
    """Lift version 1, in which nobody looked at the switch's counters or at the machine."""
    match line.get("type"):
        case "case-start":
            placement: dict[str, Any] = {"cpus": {}, "nodes": {}, "notes": []}
            plan = {**line["plan"], "placement": placement, "hugepage_bytes": {}}
            plan["steps"] = [{**step, "lines": []} for step in plan["steps"]]
            return {**line, "plan": plan}
        case "trial":
            trial = {**line["trial"], "generator": None, "switch": None, "round_trips_ns": []}
            trial["directions"] = [{**way, "refused_frames": None} for way in trial["directions"]]
            return {**line, "trial": trial}
        case "case":
            return {**line, "surroundings": None}
    return line


def _without_machines(line: dict[str, Any]) -> dict[str, Any]:
    """Lift version 2, in which there were no virtual machines."""
    match line.get("type"):
        case "case-start":
            return {**line, "plan": {**line["plan"], "wires": []}}
        case "trial":
            trial = {**line["trial"], "machines": [], "event": None}
            ways = line["trial"]["directions"]
            trial["directions"] = [{**way, "longest_silence_ns": None} for way in ways]
            if (switch := trial.get("switch")) is not None:
                ports = [{**port, "machine": None} for port in switch["ports"]]
                trial["switch"] = {**switch, "ports": ports}
            return {**line, "trial": trial}
        case "case":
            surroundings, result = line["surroundings"], line["result"]
            if surroundings is not None:
                surroundings = {**surroundings, "machines": {}}
            if result is not None:
                loads = [{**load, "outages_ns": []} for load in result["loads"]]
                result = {**result, "loads": loads}
            return {**line, "surroundings": surroundings, "result": result}
    return line


def _without_backlog(line: dict[str, Any]) -> dict[str, Any]:
    """Lift version 3, in which no generator said whether it was behind with receiving."""
    if line.get("type") != "trial" or line["trial"]["generator"] is None:
        return line
    generator = {**line["trial"]["generator"], "behind_ns": 0, "missed_frames": 0}
    return {**line, "trial": {**line["trial"], "generator": generator}}


def _without_replays(line: dict[str, Any]) -> dict[str, Any]:
    """Lift version 4, in which every frame sent had a mark."""
    if line.get("type") != "trial":
        return line
    ways = [{**way, "unmarked_frames": None} for way in line["trial"]["directions"]]
    return {**line, "trial": {**line["trial"], "directions": ways}}


NEW_IN_DIRECTIONS: Mapping[str, Any] = MappingProxyType(
    {
        "first_latency_ns": None,
        "first_sent_ns": None,
        "range_histograms": [],
        "last_loss_ns": None,
        "steps": [],
        "first_headers": [],
    }
)


def _without_methods(line: dict[str, Any]) -> dict[str, Any]:
    """Lift version 5, in which methods answered in goals and loads only."""
    match line.get("type"):
        case "trial":
            ways = [{**way, **NEW_IN_DIRECTIONS} for way in line["trial"]["directions"]]
            trial = {**line["trial"], "directions": ways, "rules_changed": None}
            return {**line, "trial": trial}
        case "case":
            result = line["result"]
            if result is not None:
                result = {**result, "figures": [], "curves": []}
            return {**line, "result": result}
    return line


def _without_labels(line: dict[str, Any]) -> dict[str, Any]:
    """Lift version 6, in which runs had no labels."""
    return {**line, "labels": {}} if line.get("type") == "run" else line


def _without_stages(line: dict[str, Any]) -> dict[str, Any]:
    """Lift version 7, in which no switch said what its threads did stage by stage."""
    kind = line.get("type")
    if kind not in ("trial", "second"):
        return line
    part = line[kind]
    if (switch := part.get("switch")) is None:
        return line
    pmds = [{**pmd, "stages": []} for pmd in switch["pmds"]]
    return {**line, kind: {**part, "switch": {**switch, "pmds": pmds, "reasons": {}}}}


def _with_slots_in_rows(line: dict[str, Any]) -> dict[str, Any]:
    """Lift version 8, in which each slot of a trial had its numbers by name."""
    if line.get("type") != "trial" or (slots := line["trial"].get("slots")) is None:
        return line
    kept = dict(slots)
    noted = kept.pop("noted")
    columns: dict[str, Any] = {
        name: [slot[name] for slot in noted] for name in ("index", "away_ns", "silent_ns")
    }
    for name in ("sent_frames", "received_frames", "refused_frames"):
        ways = range(len(slots[name]))
        columns[name] = [[slot[name][way] for slot in noted] for way in ways]
    return {**line, "trial": {**line["trial"], "slots": {**kept, "columns": columns}}}


def _without_noise(line: dict[str, Any]) -> dict[str, Any]:
    """Lift version 9, in which nothing ran beside a case, and nobody had a part of the cache."""
    match line.get("type"):
        case "trial":
            return {**line, "trial": {**line["trial"], "noise": [], "cache": []}}
        case "case":
            around = line["surroundings"]
            return {**line, "surroundings": None if around is None else {**around, "noise": {}}}
    return line


MIGRATIONS: Mapping[int, Step] = MappingProxyType(
    {
        1: _without_surroundings,
        2: _without_machines,
        3: _without_backlog,
        4: _without_replays,
        5: _without_methods,
        6: _without_labels,
        7: _without_stages,
        8: _with_slots_in_rows,
        9: _without_noise,
    }
)
"""Version → the step that leaves it."""


def version_of(
    header: object,
    where: Location,
    *,
    migrations: Mapping[int, Step] = MIGRATIONS,
    current: int = SCHEMA_VERSION,
) -> int:
    """Return the version that a header line names, or refuse one that cannot be read."""
    if not isinstance(header, dict) or header.get("type") != "run":
        raise StoreError(
            "the record file does not begin with the header of a run",
            where=where,
            why="its first line was damaged, or the file is something else",
        )
    version = header.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise StoreError("the header does not say which version it is written in", where=where)
    if version > current:
        raise StoreError(
            f"the run was recorded by a newer vsperf (records version {version})",
            where=where,
            why=f"this vsperf reads versions up to {current} and would misread it",
            fix="upgrade: pip install --upgrade vsperf",
        )
    if any(step not in migrations for step in range(version, current)):
        raise StoreError(f"records version {version} never existed", where=where)
    return version


def migrate(
    line: object,
    version: int,
    *,
    migrations: Mapping[int, Step] = MIGRATIONS,
    current: int = SCHEMA_VERSION,
) -> dict[str, Any]:
    """Return `line`, written in `version`, as it would be written today.

    Steps count on the fields of their version. A line without them is damaged: a ValueError.
    """
    if not isinstance(line, dict):
        raise ValueError("the line should be an object")
    lifted: dict[str, Any] = line
    for step in range(version, current):
        try:
            lifted = migrations[step](lifted)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise ValueError(f"the line lacks what lines of version {step} have") from error
    if lifted.get("type") == "run":
        lifted = {**lifted, "schema_version": current}
    return lifted
