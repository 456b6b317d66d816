"""Stacks of a profile: folded, and drawn as a flame graph. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

FRAME = re.compile(
    r"^\s+[0-9a-f]+\s+(?P<name>.+?)(?:\+0x[0-9a-f]+)?\s+\((?P<where>[^()]*|\[.*\])\)$"
)
WIDTH, HEIGHT, MARGIN = 1200.0, 17, 30
LEAST = 0.3
"""Points of width below which nothing can be seen."""
LETTER = 6.6
"""About the width of one."""
MOST_DEPTH = 128


def folded(lines: Iterable[str]) -> Counter[str]:
    """Return how often each stack was seen, outermost first: the lines of `perf script`."""
    found: Counter[str] = Counter()
    thread, stack = "", list[str]()
    for line in lines:
        text = line.rstrip("\n")
        frame = FRAME.match(text)
        if frame is not None:
            if len(stack) < MOST_DEPTH:
                stack.append(_named(frame["name"], frame["where"]))
        elif not text.strip():
            _close(found, thread, stack)
            thread, stack = "", []
        elif not text.startswith((" ", "\t")):
            _close(found, thread, stack)
            thread, stack = _clean(re.split(r"\s+\d+(?:/\d+)?(?:\s|$)", text, maxsplit=1)[0]), []
    _close(found, thread, stack)
    return found


def _close(found: Counter[str], thread: str, stack: list[str]) -> None:
    if thread and stack:
        found[";".join((thread, *reversed(stack)))] += 1


def _named(name: str, where: str) -> str:
    if name == "[unknown]":
        return f"[{_clean(where.rpartition('/')[2].strip('[]')) or 'unknown'}]"
    return _clean(name)


def _clean(text: str) -> str:
    return "".join(one if one.isprintable() and one != ";" else "_" for one in text).strip()


def folded_text(stacks: Mapping[str, int]) -> str:
    """Return the stacks as other programs read them: a line each, with its count."""
    return "".join(f"{stack} {count}\n" for stack, count in sorted(stacks.items()))


@dataclass(slots=True)
class _Node:
    count: int = 0
    children: dict[str, _Node] = field(default_factory=dict)


def flame_graph(stacks: Mapping[str, int], title: str) -> str:
    """Return an SVG: who called whom goes upwards, and width is time."""
    root = _Node()
    for stack, count in stacks.items():
        node = root
        node.count += count
        for name in stack.split(";"):
            node = node.children.setdefault(name, _Node())
            node.count += count
    boxes = list(_boxes(root, 0.0, 0, WIDTH / root.count)) if root.count else []
    deepest = max((depth for _, _, depth, _, _ in boxes), default=0)
    height = MARGIN + (deepest + 1) * HEIGHT + MARGIN
    said = f"{title}: {root.count} samples"
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height}" '
        'font-family="monospace" font-size="11">',
        f"<title>{escape(said)}</title>",
        f'<text x="4" y="18" font-size="14">{escape(said)}</text>',
    ]
    for name, left, depth, width, count in boxes:
        top = height - MARGIN - (depth + 1) * HEIGHT
        share = 100 * count / root.count
        about = quoteattr(f"{name}: {count} samples, {share:.1f} %")
        rows.append(
            f"<g aria-label={about}><title>{escape(name)}: {count} samples, {share:.1f} %</title>"
            f'<rect x="{left:.2f}" y="{top}" width="{width:.2f}" height="{HEIGHT - 1}" '
            f'fill="{_colour(name)}"/>{_label(name, left, top, width)}</g>'
        )
    return "\n".join((*rows, "</svg>\n"))


def _boxes(
    node: _Node, left: float, depth: int, scale: float
) -> Iterator[tuple[str, float, int, float, int]]:
    for name, child in sorted(node.children.items()):
        width = child.count * scale
        if width >= LEAST:
            yield name, left, depth, width, child.count
            yield from _boxes(child, left, depth + 1, scale)
        left += width


def _label(name: str, left: float, top: int, width: float) -> str:
    room = int((width - 4) / LETTER)
    if room < 3:
        return ""
    text = name if len(name) <= room else f"{name[: room - 1]}…"
    return f'<text x="{left + 2:.2f}" y="{top + 12}">{escape(text)}</text>'


def _colour(name: str) -> str:
    """Return a warm colour that is the same for the same name wherever it stands."""
    number = sum((at + 1) * ord(letter) for at, letter in enumerate(name))
    return f"rgb({205 + number % 50},{90 + number % 110},{number % 55})"
