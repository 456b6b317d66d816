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
MAKERS = ("Column", "_number", "number")
"""Calls of which the first text is a heading."""
LISTERS = ("columns", "_columns", "_table")
"""Calls of which every text is one."""
LISTS = ("NAMES", "COLUMNS", "HEADINGS", "BESIDE", "COSTS", "columns", "names", "head", "spread")
"""Tuples of headings."""
MOST_WORDS = 5


def headings() -> dict[str, str]:
    """Return each heading with the place where it was found first."""
    found: dict[str, str] = {}
    for path in sorted(PLACES):
        for text, line in _in(ast.parse(path.read_text())):
            found.setdefault(text, f"{path.relative_to(HOUSE.parent)}:{line}")
    return {text: place for text, place in found.items() if _is_word(text)}


def _is_word(text: str) -> bool:
    """Whether it can be asked for; a heading that is a sentence says itself what it means."""
    return any(map(str.isalpha, text)) and len(text.split()) <= MOST_WORDS


def _in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in (*MAKERS, *LISTERS):
            yield from _texts(node.args if _name(node.func) in LISTERS else node.args[:1])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_name(one) in LISTS for one in targets):
                yield from _texts(_listed(node.value))


def _listed(node: ast.expr | None) -> list[ast.expr]:
    """Return what a tuple, a list, or the values of a dictionary are, under a condition, too."""
    if isinstance(node, ast.IfExp):
        return [*_listed(node.body), *_listed(node.orelse)]
    if isinstance(node, ast.Dict):
        return node.values
    return node.elts if isinstance(node, ast.Tuple | ast.List) else []


def _texts(nodes: list[ast.expr]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        inner = node.elts if isinstance(node, ast.Tuple) else [node]
        for one in inner:
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield one.value, one.lineno


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return getattr(node, "id", getattr(node, "attr", ""))
