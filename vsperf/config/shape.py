"""What may stand at a place of a document, read off the models' annotations."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel

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
        """Return all known keys."""
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
