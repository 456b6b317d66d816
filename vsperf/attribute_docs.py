"""Descriptions of fields for published schemas, taken from the strings below them in the source.

The validator's library could do it while classes are made; but that reads the sources of all of
them each time that vsperf starts, for a schema that it hardly ever prints.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic.json_schema import GenerateJsonSchema


class DescribedSchema(GenerateJsonSchema):
    """A schema that says of each field what its class says of it."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        made = super().model_schema(schema)
        cls, properties = schema["cls"], made.get("properties", {})
        for name, said in field_docs(cls).items():
            if name in properties and cls.model_fields[name].description is None:
                properties[name]["description"] = said
        return made

    def enum_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of words to choose from, with what their class says of each.

        Editors show `enumDescriptions`, a name of theirs; for all others it is an annotation.
        """
        made, cls = super().enum_schema(schema), schema["cls"]
        said = _of_module(cls.__module__).get(cls.__qualname__, {})
        if said:
            made["enumDescriptions"] = [said.get(member.name, "") for member in cls]
        return made


def field_docs(cls: type) -> dict[str, str]:
    """Return what a class says of its fields, those that it inherits included."""
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        said = _of_module(one.__module__).get(one.__qualname__, {})
        for name in vars(one).get("__annotations__", {}):
            found.pop(name, None)  # declared anew: what was said of it need not hold any more
            if name in said:
                found[name] = said[name]
    return found


@cache
def _of_module(name: str) -> Mapping[str, Mapping[str, str]]:
    try:
        tree = ast.parse(inspect.getsource(sys.modules[name]))
    except (KeyError, OSError, TypeError):
        return {}
    return dict(_classes(tree.body, ""))


def _classes(body: Sequence[ast.stmt], above: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield above + node.name, dict(_fields(node.body))
            yield from _classes(node.body, f"{above}{node.name}.")


def _fields(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(said))),
            ):
                yield name, inspect.cleandoc(said)
