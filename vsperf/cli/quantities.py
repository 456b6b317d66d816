"""Quantities with units as values of options."""

from __future__ import annotations

from typing import Any, TypeVar

import click

from vsperf.quantities.quantity import Quantity, UnitError

Q = TypeVar("Q", bound=Quantity)


class QuantityType(click.ParamType[Q]):
    """A quantity of `vsperf.quantities.units`, such as 64B, 1Mpps or 10s."""

    def __init__(self, kind: type[Q]) -> None:
        self.kind = kind
        self.name = kind.__name__.lower()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Q:
        try:
            return self.kind.parse(value)
        except UnitError as error:
            self.fail(str(error), param, ctx)
