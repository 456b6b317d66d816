"""Headings of the tables that people are shown, found in the code that makes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).parents[2] / "vsperf"
PLACES = (
    *(HOUSE / "cli").rglob("*.py"),
    *(HOUSE / "analysis").glob("*.py"),
    *(HOUSE / "output").glob("*.py"),
    *(HOUSE / "output" / "report").glob("*.py"),
)
MAKERS = ("add_column", "Column", "_table")
"""Calls of which a text is a heading: the first one, or all of them."""
LISTS = ("NAMES", "COLUMNS", "columns", "shown", "BESIDE", "COSTS", "GOAL_COLUMNS")
"""Tuples of headings."""


def headings() -> dict[str, str]:
    """Return each heading with the place where it was found first."""
    found: dict[str, str] = {}
    for path in sorted(PLACES):
        for text, line in _in(ast.parse(path.read_text())):
            found.setdefault(text, f"{path.relative_to(HOUSE.parent)}:{line}")
    return {text: place for text, place in found.items() if any(map(str.isalpha, text))}


def _in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in MAKERS:
            yield from _texts(node.args if _name(node.func) == "_table" else node.args[:1])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_name(one) in LISTS for one in targets) and isinstance(node.value, ast.Tuple):
                yield from _texts(node.value.elts)
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
            if any(_name(one.func) == "add_column" for one in _calls(node.body)):
                yield from _texts(node.iter.elts)
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and _shows(node.elts[1]):
            yield from _texts(node.elts[:1])


def _calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    return (one for part in body for one in ast.walk(part) if isinstance(one, ast.Call))


def _shows(node: ast.expr) -> bool:
    """Whether it is what fills the cells of a column."""
    return isinstance(node, ast.Lambda) or _name(node) in ("cell", "_away", "_limited_by", "clean")


def _texts(nodes: list[ast.expr]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        inner = node.elts[0] if isinstance(node, ast.Tuple) and node.elts else node
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value, inner.lineno


def _name(node: ast.AST) -> str:
    return getattr(node, "id", getattr(node, "attr", ""))
