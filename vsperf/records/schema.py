"""The published schema of a record file: JSON Schema 2020-12 of one line, made from the models."""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from vsperf.attribute_docs import DescribedSchema
from vsperf.records.base import SCHEMA_VERSION
from vsperf.records.run import LINE

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = f"vsperf record, version {SCHEMA_VERSION}"


def record_schema(generator: type[GenerateJsonSchema] = DescribedSchema) -> dict[str, Any]:
    """Return the schema of one line of a record file, as `generator` writes it.

    Every field is required, the empty ones too: a writer that forgets a counter is caught, and
    nobody has to guess what a missing field means. A schema of one version never changes once it
    is released.
    """
    schema = LINE.json_schema(mode="serialization", schema_generator=generator)
    definitions = schema.pop("$defs")
    for definition in definitions.values():
        _tidy(definition)
    definitions["RunHeader"]["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    return {
        "$schema": DIALECT,
        "$id": f"urn:vsperf:records:{SCHEMA_VERSION}",
        "title": TITLE,
        "description": "One line of the file records.jsonl in a run folder. The first line is a "
        "RunHeader, and only the first. Missing is null and never 0; numbers without another unit "
        "in their name are counts.",
        **schema,
        "$defs": definitions,
    }


def line_schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of each type of line, with references replaced by what they mean.

    The same constraints as `record_schema`, only quicker to check: the type of a line picks its
    schema, nothing has to be looked up, and no field is described.
    """
    schema = record_schema(GenerateJsonSchema)
    definitions = schema["$defs"]
    mapping: dict[str, str] = schema["discriminator"]["mapping"]
    return {
        kind: {"$schema": DIALECT, **_inlined({"$ref": reference}, definitions)}
        for kind, reference in mapping.items()
    }


def schema_text() -> str:
    """Return the schema as the published file holds it."""
    return json.dumps(record_schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(definition: dict[str, Any]) -> None:
    """Require all fields, and write the rest as briefly as a person would."""
    properties = definition.get("properties", {})
    if properties:
        definition["required"] = list(properties)
    for field in properties.values():
        field.pop("title", None)
        field.pop("default", None)
        choices = field.get("anyOf", [{}])
        if all(list(choice) == ["type"] for choice in choices):
            field["type"] = [choice["type"] for choice in field.pop("anyOf")]


def _inlined(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].removeprefix("#/$defs/")
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _inlined({**definitions[name], **rest}, definitions)
    return {key: _inlined(value, definitions) for key, value in node.items()}
