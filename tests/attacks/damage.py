"""Input that nobody meant: values of any kind, and good files that were damaged."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

WORDS = (
    "64", "64B", "10G", "50%", "1Mfps", "5s", "ndr", "p2p", "pvvp3", "sim", "mlr", "fixed", "tgen",
    "true", "yes", "null", "~", "0x10", "010", "1e9", "-1", "12:30", "[", "]", "{", "}", "- ", ": ",
    "? ", "&a ", "*a", "!!str ", "<<", "|", ">", "'", '"', "#", "%", "@", "`", "\n", "\t", "\u2028",
    "\ufeff", "\x00", "\x1b[2J", "---", "...", "kind", "traffic", "frame_size", "RUN", "NAME",
    "{{", "}}", "%s%n", "\udcff", "é", "9" * 6000, "[" * 3000, "a" * 5000, "vm1", "phy0", "qemu",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 63, 64, 9216, 9217, 65536, 1 << 31, 1 << 53, 1 << 64, -(1 << 63), 10**400)
WILD = (10**18, 1 << 63, (1 << 64) - 1, 10**30, 10**3999, 1e308, -1e308, 5e-324, 1e16, -(10**15))
"""Numbers that a place of a number may well hold, and no machine has counted."""
DEEP = 5000
HOSTILE = (
    "\x1b]0;x\x07", "\x9b31m", "\u202e", "=HYPERLINK(1)", "<script>", "../../x", "a\nb",
    "/dev/full", "{{ 7*7 }}", "%s", "[x](javascript:1)", "$x$", "\ud800", "", "x" * 300, "NaN",
)  # fmt: skip
"""Words of others, which may stand wherever text does."""
MOST_DAMAGES = 5


def any_text(chance: random.Random, most: int = 8) -> str:
    """Return words and letters, of which few belong together."""
    parts = [
        chance.choice(WORDS) if chance.random() < 0.7 else chr(chance.randrange(1, 0x3000))
        for _ in range(chance.randrange(most + 1))
    ]
    return "".join(parts)


def any_value(chance: random.Random, depth: int = 3) -> Any:
    """Return a value as a file can hold it."""
    kind = chance.randrange(9 if depth else 6)
    match kind:
        case 0:
            return chance.choice([None, True, False])
        case 1:
            return chance.choice(NUMBERS)
        case 2:
            return chance.choice([0.1, -1.5, 1e300, float("inf"), float("nan")])
        case 3 | 4:
            return chance.choice(WORDS)
        case 5:
            return any_text(chance, 3)
        case 6:
            return [any_value(chance, depth - 1) for _ in range(chance.randrange(4))]
        case _:
            return {
                chance.choice(WORDS): any_value(chance, depth - 1)
                for _ in range(chance.randrange(4))
            }


def damaged_tree(tree: Any, chance: random.Random, one_in: int = 12) -> Any:
    """Return a tree with a few values, keys and elements changed."""
    if chance.randrange(one_in) == 0:
        return any_value(chance)
    if isinstance(tree, dict):
        items = list(tree.items())
        if items and chance.randrange(one_in) == 0:
            items.pop(chance.randrange(len(items)))
        return {
            chance.choice(WORDS) if chance.randrange(one_in * 3) == 0 else key: damaged_tree(
                value, chance, one_in
            )
            for key, value in items
        }
    if isinstance(tree, list):
        times = chance.choice([0, 2]) if chance.randrange(one_in) == 0 else 1
        return [damaged_tree(item, chance, one_in) for item in tree] * times
    return tree


def damaged_bytes(data: bytes, chance: random.Random) -> bytes:
    """Return a file as broken disks, editors and senders make it."""
    for _ in range(chance.randint(1, MOST_DAMAGES)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice([1, 1, 8, 64, 4096]))
        word = chance.choice(WORDS).encode("utf-8", "surrogateescape")
        match chance.randrange(7):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + data[end:]
            case 2:
                data = data[:end] + data[at:end] + data[end:]
            case 3:
                data = data[:at] + chance.randbytes(end - at) + data[end:]
            case 4:
                data = data[:at] + bytes(end - at) + data[end:]
            case 5:
                data = data[:at] + b"[" * chance.choice([1, DEEP]) + data[at:]
            case _:
                data = data[:at] + word + data[at:]
    return data


def damaged_lines(data: bytes, chance: random.Random) -> bytes:
    """Return a file of JSON lines of which some are damaged, gone, doubled, or elsewhere."""
    lines = data.split(b"\n")
    for _ in range(chance.randint(1, MOST_DAMAGES)):
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.randrange(6):
            case 0:
                lines[at], lines[other] = lines[other], lines[at]
            case 1:
                lines.insert(at, lines[other])
            case 2 if len(lines) > 1:
                lines.pop(at)
            case 3:
                lines[at] = damaged_bytes(lines[at], chance)
            case 4:
                lines[at] = _changed(lines[at], lambda tree: with_wild_numbers(tree, chance))
            case _:
                lines[at] = _changed(lines[at], lambda tree: damaged_somewhat(tree, chance))
    return b"\n".join(lines)


def damaged_somewhat(tree: Any, chance: random.Random) -> Any:
    """Return a tree with many values changed, or with hardly any."""
    return damaged_tree(tree, chance, chance.choice([6, 20, 60]))


def with_wild_numbers(tree: Any, chance: random.Random) -> Any:
    """Return a tree that is as it was but for a number here and there, and words of others."""
    if isinstance(tree, dict):
        return {key: with_wild_numbers(value, chance) for key, value in tree.items()}
    if isinstance(tree, list):
        return [with_wild_numbers(item, chance) for item in tree]
    if isinstance(tree, int | float) and not isinstance(tree, bool) and chance.randrange(20) == 0:
        kinds = [one for one in (*WILD, *NUMBERS) if isinstance(one, type(tree))]
        return chance.choice(kinds)
    if isinstance(tree, str) and chance.randrange(60) == 0:
        return chance.choice(HOSTILE)
    return tree


def _changed(line: bytes, change: Callable[[Any], Any]) -> bytes:
    try:
        return json.dumps(change(json.loads(line))).encode()
    except (ValueError, RecursionError):  # an earlier damage may have made it too deep
        return line
