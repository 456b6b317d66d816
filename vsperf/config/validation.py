"""A tree against a model: a frozen value, or every problem in words, with where it was written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from vsperf.config.case import MADE, RIVALS, VSWITCH, as_written
from vsperf.config.document import ANY_NAME, BY_KIND, EXTENDS, SELECTION, Shape, kinds, shape
from vsperf.config.suggest import described, did_you_mean, listed, nearest, quoted
from vsperf.config.tree import Entry, Listing, Mark, Node, Scalar, Section, plain
from vsperf.errors import Problem

MOST_PROBLEMS = 50
"""Further ones are counted only: nobody reads more, and each costs a search for near names."""
MOST_OWNERS = 2
"""What more sections know is of no one of them, and one here is meant rather."""

Model = TypeVar("Model", bound=BaseModel)
# Patterns of names → how such a name is written.
_PATTERNS = {
    r"^[A-Za-z][A-Za-z0-9_-]{0,63}$": "a letter, then letters, digits, `_` or `-`, 64 in all",
    r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$": "letters, digits, `_`, `-` or `.`, 64 in all",
    r"^[a-z][a-z0-9_]{0,31}$": "a small letter, then small letters, digits or `_`, 32 in all",
}
_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list, written [a, b]",
    "list_type": "a list, written [a, b]",
    "frozen_set_type": "a list, written [a, b]",
    "dict_type": "a mapping, written {key: value}",
    "model_type": "a mapping, written {key: value}",
    "model_attributes_type": "a mapping, written {key: value}",
    "none_required": "left out",
    "finite_number": "a finite number",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
    "multiple_of": ("multiple_of", "a multiple of"),
}
_LENGTHS = {
    "too_short": ("min_length", "at least"),
    "too_long": ("max_length", "at most"),
    "string_too_short": ("min_length", "at least"),
    "string_too_long": ("max_length", "at most"),
}


def refusal(  # noqa: PLR0911 - one return per family of findings
    kind: str, context: Mapping[str, Any], value: Any, raw: str
) -> tuple[str, str | None]:
    """Return what is wrong with a value, and how to fix it.

    `kind`, `context` and `raw` are the validator's error type, its parameters and its message.
    """
    if kind in ("value_error", "assertion_error"):
        what, _, fix = str(context.get("error", raw)).partition("; ")
        return what, fix or None
    if kind in _TYPES:
        return f"{_must(_TYPES[kind])}, not {described(value)}", _type_fix(kind, value)
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{quoted(value)} is refused: {_must(f'{words} {context[key]}')}", None
    if kind in _LENGTHS:
        key, words = _LENGTHS[kind]
        number = context[key]
        return f"must hold {words} {number} {'item' if number == 1 else 'items'}", None
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern"))
        rule = _PATTERNS.get(pattern, f"text that matches {pattern}")
        return f"{quoted(value)} is not a valid name", f"a name is {rule}"
    if kind in ("literal_error", "enum"):
        choices = [choice.strip("'") for choice in _choices(str(context.get("expected", "")))]
        fix = f"one of: {listed(choices)}" if len(choices) > 1 else f"write {choices[0]}"
        what = f"{quoted(value)} is not a choice here"
        return what, did_you_mean(str(value), choices, fix) if isinstance(value, str) else fix
    return f"{quoted(value)} is not accepted", raw.replace("Input should", "it should")


def _must(rule: str) -> str:
    return f"must be {rule}"


def _choices(expected: str) -> list[str]:
    return [part for piece in expected.split(" or ") for part in piece.split(", ")] or [""]


def _type_fix(kind: str, value: Any) -> str | None:
    words = {"yes": "true", "on": "true", "no": "false", "off": "false"}
    if kind == "bool_type" and isinstance(value, str):
        text = value.lower()
        word = text if text in ("true", "false") else words.get(text)
        return f"write `{word}`" if word else None
    if kind == "string_type" and isinstance(value, (bool, int, float)):
        return f'put it in quotes: "{quoted(value)}"'
    if kind.startswith("int") and isinstance(value, str) and value.strip().isdecimal():
        number = int(value) if len(value) <= 20 else 0
        return f"write `{number}` without quotes or leading zeros"
    if kind in ("tuple_type", "list_type") and isinstance(value, (str, int, float)):
        return f"write `[{value}]`" if len(str(value)) <= 40 else None
    return None


@dataclass(frozen=True, slots=True)
class Context:
    """What messages about one document may refer to."""

    paths: tuple[str, ...] = ()
    """Every path that can be set, for suggestions."""
    layers: tuple[str, ...] = ()
    """The files that the document was merged from, lowest first."""
    incomplete: bool = False
    """True when a layer could not be read, so what is missing may stand in it."""


NOTHING = Shape()
ABOUT_LAYERS = (SELECTION, EXTENDS, *BY_KIND)
"""Sections of a file that a resolved document has no more."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the path of a validator's error leads in the tree."""

    path: tuple[str, ...]
    node: Node
    parent: Shape
    """What may stand beside the node."""
    entry: Entry | None = None
    missing: str | None = None
    """The key that the mapping lacks, if that is where the path ends."""
    union: Shape = NOTHING
    """The parent before its `kind` narrowed it down."""

    @property
    def dotted(self) -> str:
        """The path as the user would write it."""
        return ".".join(self.path)


def validate(
    tree: Section, model: type[Model], context: Context, prefix: str = ""
) -> tuple[Model | None, list[Problem]]:
    """Return the model's value, or None and the problems; `prefix` is the tree's own path."""
    text = json.dumps(plain(drop_removed(tree, model)))
    try:
        return model.model_validate_json(text, strict=True), []
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        return None, _problems(details, tree, model, context, prefix)


def drop_removed(node: Node, annotation: Any) -> Node:
    """Take removed entries out of mappings with free keys; elsewhere they stay as null."""
    here = shape(annotation)
    if isinstance(node, Listing):
        return replace(node, items=tuple(drop_removed(item, here.items) for item in node.items))
    if not isinstance(node, Section):
        return node
    here = here.of_kind(_kind(node))
    entries = {}
    for key, entry in node.entries.items():
        removed = isinstance(entry.node, Scalar) and entry.node.removed
        if not (removed and not here.models and here.values is not None):
            entries[key] = replace(entry, node=drop_removed(entry.node, here.field(key)))
    return replace(node, entries=entries)


def _kind(node: Section) -> object:
    kind = node.get("kind")
    return kind.value if isinstance(kind, Scalar) else None


def locate(steps: Iterable[str | int], tree: Node, model: type[BaseModel]) -> Place:
    """Follow a validator's path through the tree, past the tags that unions put into it."""
    node, parent = tree, Shape()
    entry: Entry | None = None
    path: list[str] = []
    here: Shape = shape(model)
    union = around = here
    for step in steps:
        if len(here.models) > 1:
            union = here
            # The validator names the chosen member of a union; the document does not.
            chosen = [m for m in here.models if step in kinds(m) or step == m.__name__]
            if chosen:
                here = Shape((chosen[0],))
                continue
        if isinstance(node, Section) and str(step) in node.entries:
            entry = node.entries[str(step)]
            around = union if len(union.models) > 1 else here
            node, parent, here = entry.node, here, shape(here.field(str(step)))
            union = here
        elif isinstance(node, Listing) and isinstance(step, int) and step < len(node.items):
            node, parent, here, entry = node.items[step], here, shape(here.items), None
        elif isinstance(node, Section) and step != "[key]":
            return Place(tuple(path), node, here, entry, str(step))
        else:
            break
        path.append(str(step))
    return Place(tuple(path), node, parent, entry, None, around)


def _problems(
    details: Iterable[Any], tree: Section, model: type[BaseModel], context: Context, prefix: str
) -> list[Problem]:
    found: dict[tuple[Mark, str], Problem] = {}
    more = 0
    located = [(detail, locate(detail["loc"], tree, model)) for detail in details]
    wrong_kind = {
        place.path if detail["type"].startswith("union_tag") else place.path[:-1]
        for detail, place in located
        if detail["type"].startswith("union_tag") or place.path[-1:] == ("kind",)
    }
    meant = {
        (place.path[:-1], nearest(place.path[-1], place.parent.keys()))
        for detail, place in located[: MOST_PROBLEMS * 2]
        if detail["type"] == "extra_forbidden" and place.path
    }
    for detail, place in located:
        kind = detail["type"]
        about_kind = kind.startswith("union_tag") or place.path[-1:] == ("kind",)
        if not about_kind and any(place.path[: len(path)] == path for path in wrong_kind):
            continue
        root_rule = kind == "value_error" and not place.path
        if context.incomplete and (kind in ("missing", "union_tag_not_found") or root_rule):
            continue
        if place.missing and (place.path, place.missing) in meant:
            continue  # it is there, mistyped, and that is told already
        if len(found) >= MOST_PROBLEMS:
            more += 1
            continue
        problem, mark = _problem(detail, place, context, prefix)
        # Several members of a union may refuse the same value: the first says enough.
        found.setdefault((mark, "" if kind != "missing" else problem.what), problem)
    counted = [Problem(f"… and {more} more problems", fix="mend the first ones")] if more else []
    return [*found.values(), *counted]


def _problem(detail: Any, place: Place, context: Context, prefix: str) -> tuple[Problem, Mark]:
    kind, ctx = detail["type"], detail.get("ctx", {})
    dotted = ".".join(filter(None, (prefix, *as_written(place.path))))
    mark = place.node.mark
    if place.missing is not None or kind == "union_tag_not_found":
        missing = ".".join(filter(None, (dotted, place.missing or "kind")))
        return _missing(missing, place, mark, context), mark
    if kind == "extra_forbidden":
        mark = place.entry.key if place.entry else mark
        return _unknown(place, mark, context, prefix), mark
    if kind == "union_tag_invalid":
        return _wrong_kind(place, ctx, dotted)
    if kind == "value_error" and isinstance(place.node, Section):
        what, fix = refusal(kind, ctx, None, detail["msg"])
        mark = _named_in(what, place.node)
        subject = f"`{dotted}`: " if dotted else ""
        return Problem(f"{subject}{what}", mark.location, None, fix), mark
    value = plain(place.node)
    if detail["loc"] and detail["loc"][-1] == "[key]":
        value = place.path[-1]
        mark = place.entry.key if place.entry else mark
    what, fix = refusal(kind, ctx, value, detail["msg"])
    return Problem(f"`{dotted}`: {what}" if dotted else what, mark.location, None, fix), mark


def _missing(missing: str, place: Place, mark: Mark, context: Context) -> Problem:
    why = f"none of {listed(context.layers)} gives it" if context.layers else None
    if isinstance(place.node, Section) and place.node.replaced:
        below = place.node.replaced.origin
        why = f"`kind` differs from that in {below}, so nothing of it carries over"
    if missing == "name":
        return Problem("`name` is missing", mark.location, None, "add `name:` and the file's name")
    here = f"add `{missing.rsplit('.', 1)[-1]}:` here" if mark.source.numbered else None
    option = f"give `--set {missing}=…`" if context.paths else None
    fix = ", or ".join(filter(None, (here, option)))
    return Problem(f"`{missing}` is missing", mark.location, why, fix)


def _unknown(place: Place, mark: Mark, context: Context, prefix: str) -> Problem:
    key = place.path[-1]
    inside = ".".join(filter(None, (prefix, *as_written(place.path)[:-1])))
    where = f"in `{inside}`" if inside else "as a section"
    known = [*place.parent.keys(), *(() if inside or not context.paths else ABOUT_LAYERS)]
    known = [one for one in known if inside or one not in MADE]
    others = [model for model in place.union.models if key in model.model_fields]
    why = None
    exact = [path for path in context.paths if path.endswith(f".{key}") and ANY_NAME not in path]
    fix = f"did you mean `{exact[0]}`?" if exact and not inside else None
    beside = any(path == key or path.startswith(f"{key}.") for path in context.paths)
    if beside and place.path[0] in {VSWITCH, RIVALS}:
        why = f"of a list of switches only these differ, and `{key}` is the same for all"
        fix = f"give `{key}` once, beside `{VSWITCH}`"
    elif others:
        owners = listed(kind for model in others for kind in kinds(model))
        why = f"it belongs to kind {owners}; this is another one"
    else:
        fix = fix or _meant(key, inside, known, exact)
        fix = fix or did_you_mean(key, known) or _elsewhere(key, inside, context.paths)
    fix = fix or f"known here: {listed(known, 20)}"
    return Problem(f"{quoted(key)} is not known {where}", mark.location, why, fix)


def _meant(key: str, inside: str, known: Iterable[str], exact: Iterable[str]) -> str | None:
    """Suggest the sections that know a key, before one here that is only spelt like it."""
    paths = [path for path in exact if not path.startswith(f"{inside}.")]
    if not inside or not 0 < len(paths) <= MOST_OWNERS:
        return None
    meant = [f"`{path}`" for path in paths]
    if (near := nearest(key, known)) is not None:
        meant.append(f"`{near}` here")
    return f"did you mean {' or '.join(meant)}?"


def _elsewhere(key: str, inside: str, paths: Iterable[str]) -> str | None:
    """Suggest a path of another section that ends like the unknown one."""
    endings = {path.rsplit(".", 1)[-1]: path for path in paths if ANY_NAME not in path}
    near = nearest(key, endings)
    if near is None or endings[near].startswith(f"{inside}."):
        return None
    return f"did you mean `{endings[near]}`?"


def _wrong_kind(place: Place, ctx: Any, dotted: str) -> tuple[Problem, Mark]:
    node = place.node
    kind = node.get("kind") if isinstance(node, Section) else None
    mark = (kind or node).mark
    known = re.findall(r"'([^']*)'", str(ctx.get("expected_tags", "")))
    shown = ctx.get("tag", "")
    fix = did_you_mean(str(shown), known, f"known kinds: {listed(known)}")
    what = f"`{dotted}`: there is no kind {quoted(shown)}"
    return Problem(what, mark.location, None, fix), mark


def _named_in(message: str, root: Section) -> Mark:
    """Return the place of the setting that a rule's message is about.

    A rule names it in the order of nesting: `goal pdr: width must …` is about the width of that
    goal, or about that of the search where the goal has none of its own.
    """
    mark, node = root.mark, root
    head, _, tail = message.rpartition(": ")
    for word in re.findall(r"[A-Za-z0-9_]+", head or tail):
        key = next((key for key in (word, f"{word}s") if key in node.entries), None)
        if key is None:
            continue
        mark, inner = node.entries[key].key, node.entries[key].node
        if not isinstance(inner, Section):
            return mark
        node = inner
    about = tail.split(" ")[0] if head else ""
    for section in (node, root):
        if about in section.entries:
            return section.entries[about].key
    return mark
