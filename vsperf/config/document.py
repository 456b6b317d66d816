"""The document that all files are parts of, as a model that knows the installed drivers.

The drivers are handed in as data: a specification must be readable without loading any of them.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Union

from pydantic import BaseModel, Field, create_model

from vsperf.attribute_docs import DescribedSchema
from vsperf.config.base import DriverSpec, Spec
from vsperf.config.case import MADE, RIVALS, CaseSpec, Name, Rival
from vsperf.config.collect import COLLECT, NONE
from vsperf.config.noise import NOISE, QUIET
from vsperf.quantities.quantity import Quantity

Drivers = Mapping[str, Mapping[str, type[DriverSpec]]]
"""Section → kind → the settings of that driver."""

DRIVER_SECTIONS = ("vswitch", "generator", "vnf", "program", "probe", "search", NOISE)
NARROWED = (*DRIVER_SECTIONS, COLLECT)
"""What is written for the driver that is chosen, and not for any other."""
ALTERNATIVES = ("vswitch", "generator", "vnf", "program", NOISE)
"""Sections that may be lists of drivers, each by its kind alone or with its settings."""
LISTED = (*ALTERNATIVES, "search")
"""The same with the methods: each of a list asks another question, and none is compared."""
COMPARABLE = (*ALTERNATIVES, COLLECT)
"""What a testcase can be measured with and without in turns, and then be compared by."""
SWEPT_OF_METHODS = ("search.instances", "search.offloads", "search.pinning", "search.workers")
"""Settings of those methods that have them."""
SWEPT_OF_SWITCHES = ("vswitch.pmds", "vswitch.workers")
"""How many threads a switch has, as drivers call them."""
SWEEPABLE = (
    "traffic.frame_size",
    "traffic.flows",
    "traffic.direction",
    *SWEPT_OF_METHODS,
    "search",
    *SWEPT_OF_SWITCHES,
    *COMPARABLE,
)
"""What may be a list; a testcase then has a case for each combination, the last changing first, so
that what is compared is measured in turns."""
SELECTION = "use"
PRESET_HEADER = "preset"
EXTENDS = "extends"
TESTCASES = "testcases"
BY_KIND = {"methods": "search", "vswitches": "vswitch", "generators": "generator"}
"""Sections of settings by kind → the section of a case that they are for."""
ANY_NAME = "NAME"
"""Stands in a path for a key that the user invents, such as the name of a goal."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The alternatives that an annotation admits."""

    models: tuple[type[BaseModel], ...] = ()
    """Mappings with known keys; several where `kind` decides."""
    values: Any = None
    """Annotation of the values of a mapping with free keys."""
    items: Any = None
    """Annotation of the items of a list."""
    scalar: bool = False
    """Whether a single value may stand here."""

    def field(self, key: str) -> Any:
        """Return the annotation of what lies under `key`, or None where there is no such key."""
        for model in self.models:
            if key in model.model_fields:
                return model.model_fields[key].annotation
        return self.values

    def keys(self) -> list[str]:
        return list(dict.fromkeys(key for model in self.models for key in model.model_fields))

    def of_kind(self, kind: object) -> Shape:
        """Return the shape narrowed to the models of a kind; unchanged if there is none."""
        models = tuple(model for model in self.models if kind in kinds(model))
        return Shape(models, self.values, self.items) if models else self


def shape(annotation: Any) -> Shape:
    """Read an annotation."""
    while typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        parts = [shape(part) for part in arguments if part is not type(None)]
        return Shape(
            tuple(model for part in parts for model in part.models),
            next((part.values for part in parts if part.values is not None), None),
            next((part.items for part in parts if part.items is not None), None),
            any(part.scalar for part in parts),
        )
    if origin is dict:
        return Shape(values=arguments[1])
    if origin in (tuple, list, frozenset, set):
        return Shape(items=arguments[0] if arguments else Any)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape(models=(annotation,))
    return Shape(scalar=True)


def kinds(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the values of `kind` that choose a model; none for a model without kinds."""
    field = model.model_fields.get("kind")
    return typing.get_args(field.annotation) if field else ()


def paths(annotation: Any, prefix: str = "", levels: int = 12) -> Iterator[str]:
    """Yield the dotted path of every setting below an annotation."""
    here = shape(annotation)
    if prefix and (here.scalar or here.items is not None):
        yield prefix
    if not levels:
        return
    dot = f"{prefix}." if prefix else ""
    for model in here.models:
        for key, field in model.model_fields.items():
            yield from paths(field.annotation, f"{dot}{key}", levels - 1)
    if here.values is not None:
        yield from paths(here.values, f"{dot}{ANY_NAME}", levels - 1)


class _QuantitiesAsText(DescribedSchema):
    """Writes the default of a quantity as people write it, and not as it is held in memory."""

    def encode_default(self, dft: Any) -> Any:
        return str(dft) if isinstance(dft, Quantity) else super().encode_default(dft)


class PresetHeader(Spec):
    """Names a preset and what it builds upon."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    """What `--preset` calls it; its file is called the same."""
    title: str = ""
    """One line for lists."""
    extends: str | None = None
    """Another preset, whose values this one overrides."""


class Selection(Spec):
    """Which preset and which testbed are meant when the command line does not say."""

    preset: str | None = None
    """As `--preset` says it."""
    testbed: str | None = None
    """As `--testbed` says it."""


def document_model(drivers: Drivers) -> type[CaseSpec]:
    """Return `CaseSpec` with the driver sections narrowed to the drivers that exist."""
    return _document_model(*(tuple(drivers.get(one, {}).values()) for one in NARROWED))


@cache
def _document_model(*narrowed: tuple[type[DriverSpec], ...]) -> type[CaseSpec]:
    """Return the same model for the same drivers: to make one takes as long as to plan a case."""
    fields: dict[str, Any] = {}
    *of_sections, collectors = narrowed
    for section, settings in zip(DRIVER_SECTIONS, of_sections, strict=True):
        if not settings:
            continue
        annotation: Any = settings[0]
        if len(settings) > 1:
            annotation = Annotated[Union[settings], Field(discriminator="kind")]  # noqa: UP007
        optional = not CaseSpec.model_fields[section].is_required()
        fields[section] = (annotation | None, None) if optional else (annotation, ...)
    if "vswitch" in fields:
        rival = create_model("Rival", __base__=Rival, vswitch=fields["vswitch"])
        fields[RIVALS] = (tuple[rival, ...], ())
    if collectors:
        settings_of: Any = collectors[0]
        if len(collectors) > 1:
            settings_of = Annotated[Union[collectors], Field(discriminator="kind")]  # noqa: UP007
        fields[COLLECT] = (dict[Name, settings_of], Field({}))
    return create_model("Document", __base__=CaseSpec, **fields)


def _file_model(drivers: Drivers) -> type[CaseSpec]:
    """Return the model of a document with what only its files have."""
    base = Field(None, description="Another testcase, whose values this one overrides.")
    own: dict[str, Any] = {EXTENDS: (str | None, base)}
    for name, section in BY_KIND.items():
        by_kind: dict[str, Any] = {
            kind.replace("-", "_"): (settings | None, Field(None, alias=kind))
            for kind, settings in drivers.get(section, {}).items()
        }
        model = create_model(name.capitalize(), __base__=Spec, **by_kind)
        about = f"What a kind is told where `{section}` says no more."
        own[name] = (model | None, Field(None, description=about))
    return create_model("File", __base__=document_model(drivers), **own)


def settable_paths(drivers: Drivers) -> tuple[str, ...]:
    """Return every path that `--set` may name; NAME stands for a name of the user's choice."""
    return paths_of(document_model(drivers))


@cache
def paths_of(model: type[CaseSpec]) -> tuple[str, ...]:
    """Return the paths of a model that `document_model` made."""
    unwritten = ("topology", *MADE)
    found = [path for path in paths(model) if not path.startswith(unwritten)]
    chosen = [f"{SELECTION}.{key}" for key in Selection.model_fields]
    topology = ["topology", "topology.name", "topology.vms", "topology.paths"]
    return tuple(sorted({*found, *chosen, *topology} - {"name"}))


def document_schema(drivers: Drivers) -> dict[str, Any]:
    """Return the JSON Schema of a testcase file.

    A file is one layer of several, so no section and no key of a section is required in it.
    """
    model = _file_model(drivers)
    schema = _partial(model.model_json_schema(schema_generator=_QuantitiesAsText))
    properties = schema["properties"]
    for made in MADE:
        del properties[made]
    for path in SWEEPABLE:
        section, _, key = path.partition(".")
        if path == COLLECT:
            properties[path] = _words_or_list(properties[path], tuple(drivers.get(COLLECT, {})))
            continue
        if path == NOISE:
            properties[path] = _levels_or_drivers(properties[path], tuple(drivers.get(NOISE, {})))
            continue
        if not key:
            properties[path] = _driver_or_list(properties[path], schema["$defs"])
            continue
        for inner in _parts(properties[section], schema["$defs"]):
            if key in inner:
                inner[key] = _value_or_list(inner[key])
    places = schema["$defs"]["AskedPlace"]["properties"]
    places["kind"] = _value_or_list(places["kind"])
    family = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "A family of paths, such as `pvvp`."},
            "vms": {
                "type": "integer",
                "minimum": 0,
                "maximum": 64,
                "description": "How many VNFs, of a family that takes any number.",
            },
        },
        "additionalProperties": False,
    }
    named = {
        "type": "string",
        "examples": ["p2p", "pvp", "pvvp3"],
        "description": "A family of paths; a number says how many VNFs: `pvvp3`.",
    }
    properties["topology"] = {"anyOf": [named, family, properties["topology"]]}
    properties[SELECTION] = _partial(Selection.model_json_schema(schema_generator=DescribedSchema))
    schema["$defs"]["TestcaseOfSuite"] = {
        "type": "object",
        "properties": {key: value for key, value in properties.items() if key != "name"},
        "additionalProperties": False,
    }
    properties[TESTCASES] = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"$ref": "#/$defs/TestcaseOfSuite"},
        "description": "In a NAME.suite.yaml: its testcases by name, and what differs in each.",
    }
    properties[PRESET_HEADER] = PresetHeader.model_json_schema(schema_generator=DescribedSchema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "vsperf testcase",
        "description": "A testcase or a suite of them; presets, testbeds and --conf files have the "
        "same sections",
        **{key: value for key, value in schema.items() if key not in ("title", "description")},
    }


def _parts(section: dict[str, Any], definitions: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the properties of a section, of each of its kinds where it has several."""
    for one in section.get("anyOf", [section]):
        if "$ref" in one:
            yield definitions[one["$ref"].rsplit("/", 1)[1]]["properties"]


def _value_or_list(single: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value, or of several that are told apart."""
    several = {"type": "array", "items": single, "minItems": 1, "uniqueItems": True}
    return {"anyOf": [single, several], "description": single.get("description", "")}


def _driver_or_list(single: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a driver, or of several: of each its kind, or its settings."""
    refs = [one["$ref"] for one in single.get("anyOf", [single]) if "$ref" in one]
    drivers = [definitions[ref.rsplit("/", 1)[1]] for ref in refs]
    kinds = [one for driver in drivers if (one := driver["properties"]["kind"].get("const"))]
    if not kinds:  # nobody offers one
        return single
    kind = {"enum": kinds}
    name = {"type": "string", "description": "What its cases are called by."}
    named = [{**driver, "properties": {**driver["properties"], "name": name}} for driver in drivers]
    several = {"type": "array", "items": {"anyOf": [kind, *named]}, "minItems": 1}
    return {"anyOf": [kind, single, several]}


def _levels_or_drivers(single: dict[str, Any], kinds: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of noise: a level or a kind by its name, each with settings, or several."""
    word = {"type": "string", "examples": [QUIET, "level_1", *kinds]}
    level = {
        "type": "object",
        "properties": {"kind": {"type": "string", "not": {"enum": [*kinds]}}},
        "required": ["kind"],
        "description": "A level of conf/noise, with settings that lie above those of its file.",
    }
    several = {"type": "array", "items": {"anyOf": [word, level, single]}, "minItems": 1}
    return {"anyOf": [word, level, single, several]}


def _words_or_list(named: dict[str, Any], kinds: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of collectors by their names, as a word or as alternatives of both."""
    word = {"type": "string", "examples": [NONE, *kinds, "+".join(kinds[:2])]}
    several = {"type": "array", "items": {"anyOf": [word, named]}, "minItems": 1}
    return {"anyOf": [word, named, several]}


def _partial(schema: Any) -> Any:
    """Drop what only a complete document can satisfy."""
    if isinstance(schema, list):
        return [_partial(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == "required" and isinstance(value, list):
            continue
        if key in ("discriminator", "minProperties") and not _is_property_named(value):
            continue
        kept["anyOf" if key == "oneOf" else key] = _partial(value)
        if key == "additionalProperties" and isinstance(value, dict):
            kept[key] = _or_null(kept[key])
        elif key == "patternProperties":
            kept[key] = {pattern: _or_null(inner) for pattern, inner in kept[key].items()}
    return kept


def _or_null(schema: Any) -> dict[str, Any]:
    """Allow null, which takes out an entry of a lower layer."""
    return {"anyOf": [schema, {"type": "null"}]}


def _is_property_named(value: Any) -> bool:
    """Whether this is a setting that happens to have the name of a keyword."""
    return isinstance(value, dict) and ("type" in value or "anyOf" in value or "$ref" in value)
