"""The base of everything a user can write: frozen, nothing unknown accepted."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationInfo


class Spec(BaseModel):
    """A frozen part of a specification; an unknown key is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


RECORDED = {"recorded": True}
"""The context in which a record is validated."""


def is_written(spec: Spec, name: str, info: ValidationInfo) -> bool:
    """Whether somebody wrote a setting; in a record those that nobody wrote stand as well."""
    return name in spec.model_fields_set and info.context != RECORDED


class DriverSpec(Spec):
    """The settings of one driver; `kind` names the driver and so decides which settings exist."""

    BESIDE: ClassVar[frozenset[str]] = frozenset()
    """Settings that change no number: they decide what else is told of the machine."""
    MODEL: ClassVar[bool] = False
    """Whether it is computed what generator or VNFs do; simulated testbeds have such ones, and
    no others."""
    WORDS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Words that may be written and stand for settings, and for which ones each of them does."""

    kind: str
