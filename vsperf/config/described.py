"""Each setting as people read it: what may be written, what counts else, and what it means.

It is told of the schema of documents, and so of the drivers that are installed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from vsperf.config.cache import CacheShare
from vsperf.config.collect import COLLECT
from vsperf.config.document import ALTERNATIVES
from vsperf.config.imix import Imix
from vsperf.config.noise import NOISE
from vsperf.quantities.byte_units import ByteRate, ByteSize
from vsperf.quantities.unit import Factor
from vsperf.quantities.units import (
    Count,
    CpuSet,
    Duration,
    FrameSize,
    LinkSpeed,
    MeasuredTime,
    Rate,
    Ratio,
)

QUANTITIES = (
    FrameSize,
    Imix,
    Duration,
    MeasuredTime,
    Count,
    LinkSpeed,
    Ratio,
    Factor,
    Rate,
    CpuSet,
    ByteSize,
    ByteRate,
    CacheShare,
)
ABOUT = {
    "name": "The testcase's name; its file is called the same.",
    "title": "One line for lists.",
    "description": "What it measures and why, for people.",
    "tags": "Words that testcases can be selected by.",
}
MEANINGS = {
    "topology": "A family of paths, such as `pvp`; a number says how many VNFs: `pvvp3`.",
    "traffic.imix[].size": "With FCS.",
    "expect": "Each item is one criterion: a metric, and a bound.",
}
"""Of what has no words of its own in the schema."""
WHOLE = {
    "methods": "settings of `search`, by the kind that has them",
    "vswitches": "settings of `vswitch`, by the kind that has them",
    "testcases": "testcases by name",
}
"""Sections that hold what others hold as well."""
SEVERAL = {
    **dict.fromkeys(
        ALTERNATIVES,
        (
            "a kind, or a list of kinds and of mappings",
            "Several make [a case each](configuration.md#lists-make-cases), and are measured in "
            "turns.",
        ),
    ),
    "search": (
        "a kind, or a list of kinds and of mappings",
        "Several make [a case each](configuration.md#lists-make-cases), one for each question.",
    ),
    NOISE: (
        "`none`, a level of `conf/noise`, a kind, or a list of these, each alone or with settings",
        "A list makes [a case each](configuration.md#lists-make-cases), measured in turns.",
    ),
    COLLECT: (
        "words such as `proc+ovs`, settings by name, or a list of both",
        "A list makes [a case each](configuration.md#lists-make-cases), measured in turns; `none` "
        "collects nothing.",
    ),
}
"""Sections that may be lists: what can be written in their place, and what it means."""
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One setting."""

    path: str
    kind: str
    """The kind of a section that has it; empty where all have it."""
    value: str
    default: str
    meaning: str


def described(schema: Schema, section: str) -> tuple[Row, ...]:
    """Return all settings of a section; one that several kinds have in common is told once."""
    return tuple(_merged(list(_rows(schema, section, schema["properties"][section]))))


@dataclass(frozen=True, slots=True)
class Choice:
    """A word that a setting can be."""

    word: str
    path: str
    kind: str
    """The kind of a section that has the setting; empty where there are no kinds."""
    meaning: str
    """What it means, or what the setting does where nobody says that of the word."""


def choices_of(schema: Schema, section: str) -> tuple[Choice, ...]:
    """Return all words that settings of a section can be chosen by."""
    return tuple(dict.fromkeys(_words(schema, section, schema["properties"][section])))


def _words(schema: Schema, path: str, part: Schema, kind: str = "") -> Iterator[Choice]:
    part = resolved(schema, part)
    if path in WHOLE:
        return
    for choice in _choices(schema, part):
        words = choice.get("enum", [])
        said = choice.get("enumDescriptions") or [part.get("description", "")] * len(words)
        for word, meaning in zip(words, said, strict=True):
            if isinstance(word, str):
                yield Choice(word, path, kind, meaning)
        own = _kind_of(choice)
        if own:
            yield Choice(own, f"{path}.kind", kind, choice.get("description", ""))
        for name, inner in choice.get("properties", {}).items():
            yield from _words(schema, f"{path}.{name}", inner, own or kind)
        for inner in _named_by_user(choice):
            yield from _words(schema, f"{path}.NAME", inner, kind)
        if choice.get("items"):
            yield from _words(schema, path, {**choice["items"], **_described(part)}, kind)


def _described(part: Schema) -> Schema:
    return {"description": part["description"]} if "description" in part else {}


def _merged(rows: list[Row]) -> Iterator[Row]:
    merged: dict[Row, list[str]] = {}
    values: dict[str, list[str]] = {}
    for row in rows:
        is_kind = row.path.endswith(".kind")
        if is_kind:
            values.setdefault(row.path, []).append(row.value)
        common = replace(row, kind="", value="" if is_kind else row.value)
        merged.setdefault(common, []).append(row.kind)
    for row, kinds in merged.items():
        if row.path in values:
            yield replace(row, value=", ".join(values[row.path]))
            continue
        above = [path for path in values if row.path.startswith(path.removesuffix("kind"))]
        choices = values[max(above, key=len)] if above else kinds
        everywhere = len(kinds) == len(choices)
        yield row if everywhere else replace(row, kind=", ".join(kinds))


def quantity_words(name: str) -> str:
    """Write a class name as words: Frame size, CPU set."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return spaced.strip().capitalize().replace("Cpu", "CPU")


BY_EXAMPLES = {quantity.EXAMPLES: quantity for quantity in QUANTITIES}
QUANTITY_SUMMARIES = {(quantity.__doc__ or "").splitlines()[0] for quantity in QUANTITIES}


def resolved(schema: Schema, part: Schema) -> Schema:
    """Follow references; what is said beside a reference wins."""
    while "$ref" in part:
        beside = {key: value for key, value in part.items() if key != "$ref"}
        part = schema["$defs"][part["$ref"].rpartition("/")[2]] | beside
    return part


def _choices(schema: Schema, part: Schema) -> list[Schema]:
    """Return the alternatives of a part, "nothing" left out."""
    found = part.get("oneOf") or part.get("anyOf")
    if found is None:
        return [part] if part.get("type") != "null" else []
    return [inner for choice in found for inner in _choices(schema, resolved(schema, choice))]


def _rows(schema: Schema, path: str, part: Schema, kind: str = "") -> Iterator[Row]:
    """Yield all settings at and below a path."""
    part = resolved(schema, part)
    if path in WHOLE:
        yield Row(path, kind, WHOLE[path], "", part.get("description", ""))
        return
    choices = _choices(schema, part)
    objects = [choice for choice in choices if choice.get("type") == "object"]
    plain = [choice for choice in choices if choice not in objects]
    if path in SEVERAL:
        value, meaning = SEVERAL[path]
        yield Row(path, kind, value, "", meaning)
        plain = []
    if plain:
        built_in = part.get("default")
        default = f"*{built_in if isinstance(built_in, str) else json.dumps(built_in)}*"
        value = " or ".join(dict.fromkeys(_value(schema, choice) for choice in plain))
        meaning = ABOUT.get(path) or part.get("description", "")
        default = default if built_in else ""
        meaning = "" if meaning in QUANTITY_SUMMARIES else meaning
        yield Row(path, kind, value, default, meaning or MEANINGS.get(path, ""))
    for choice in objects:
        own = _kind_of(choice) if len(objects) > 1 else kind
        below, named = choice.get("properties", {}), _named_by_user(choice)
        if not below and not named:
            yield Row(path, kind, _value(schema, choice), "", part.get("description", ""))
        for name, inner in below.items():
            yield from _rows(schema, f"{path}.{name}", inner, own)
        for inner in named:
            yield from _rows(schema, f"{path}.NAME", _described(part) | inner, own)
    for choice in plain:
        items = resolved(schema, choice.get("items") or {})
        if items.get("type") == "object":
            yield from _rows(schema, f"{path}[]", items, kind)


def _named_by_user(choice: Schema) -> list[Schema]:
    """Return what stands behind keys of the user's choice."""
    others = choice.get("additionalProperties")
    found = [others] if isinstance(others, dict) else []
    return found + list(choice.get("patternProperties", {}).values())


def _kind_of(choice: Schema) -> str:
    kind = choice.get("properties", {}).get("kind", {})
    return str(kind.get("const") or "")


def _value(schema: Schema, part: Schema) -> str:
    """Say in a few words what may be written."""
    part = resolved(schema, part)
    if quantity := BY_EXAMPLES.get(tuple(part.get("examples", ()))):
        name = quantity_words(quantity.__name__)
        told = f"[{name}](units.md#{name.replace(' ', '-').lower()})"
        own = "maximum" in quantity.OTHERS  # bounds of its own are told in units.md
        return told if own else _bounded(told, part)
    if part.get("examples") and "pattern" in part:
        return f"such as {', '.join(f'`{example}`' for example in part['examples'])}"
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return ", ".join(f"`{choice}`" for choice in part["enum"])
    if part.get("type") == "array":
        items = _choices(schema, part.get("items") or {})
        return f"list of {' or '.join(dict.fromkeys(_value(schema, item) for item in items))}"
    names = {"string": "text", "integer": "whole number", "boolean": "`true` or `false`"}
    names["object"] = "mapping"
    return _bounded(names.get(part.get("type", ""), str(part.get("type", "any"))), part)


def _bounded(text: str, part: Schema) -> str:
    """Add between which numbers it lies, where both are known."""
    bounds = [str(part[key]) for key in ("minimum", "maximum") if key in part]
    return f"{text}, {' to '.join(bounds)}" if len(bounds) == 2 else text
