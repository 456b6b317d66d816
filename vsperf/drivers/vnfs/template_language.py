"""The language of templates: a part of Jinja's, without loops, assignments, calls and powers."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import StrictUndefined, nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

LANGUAGE = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.CondExpr),
    *(nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Filter),
    *(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod),
    *(nodes.Pos, nodes.Neg, nodes.Not, nodes.And, nodes.Or, nodes.Concat),
    *(nodes.Compare, nodes.Operand),
)
FILTERS = ("format", "int", "string", "lower", "upper")
WIDE = re.compile(r"\d{4}|\*")
"""What in a format makes an answer long."""


def fill_in(text: str, known: dict[str, Any]) -> str:
    """Return a template filled in; raises whatever Jinja does, and ValueError."""
    environment = _Environment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    _check(environment.parse(text))
    return environment.from_string(text).render(known)


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"*", "%"})

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.globals.clear()
        self.filters = {name: self.filters[name] for name in FILTERS}
        made = self.filters["format"]
        self.filters["format"] = lambda text, *values: made(_narrow(text), *values)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*" and not all(isinstance(one, int | float) for one in (left, right)):
            raise ValueError("only numbers are multiplied")
        if operator == "%":
            left = _narrow(left)
        return super().call_binop(context, operator, left, right)


def _narrow(value: Any) -> Any:
    """Return a format as it is; refuse one that makes long texts of short ones."""
    if isinstance(value, str) and WIDE.search(value):
        raise ValueError("a format is at most 999 characters wide")
    return value


def _check(template: nodes.Node) -> None:
    """Refuse what could take long, or change anything."""
    for node in (template, *template.find_all(nodes.Node)):
        if not isinstance(node, LANGUAGE):
            kind = type(node).__name__.lower()
            raise ValueError(f"it holds a {kind}, and a template here is an expression, no program")
