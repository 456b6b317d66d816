"""Text to located tree: the subset of YAML that a specification needs, and nothing that surprises.

Works on the event stream of the parser and not by recursion, so depth and size are limits that
give an error and not a crash. Refused are duplicate keys, keys that are no text, tags, merge keys,
several documents, and aliases that contain themselves or multiply.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from vsperf.config.suggest import quoted
from vsperf.config.tree import Entry, Listing, Mark, Node, Scalar, Section, Source
from vsperf.errors import Problem, SpecError

# Only true, false, null, decimal integers and decimal fractions are anything but text. So a PCI
# address, a MAC address, `12:30`, `010`, a date and `on` stay the text that was written.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})", re.ASCII)
_FLOAT = re.compile(
    r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII
)
_WORDS: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "true": True, "false": False,
}  # fmt: skip
LONGEST_NUMBER = 40


def resolve(text: str) -> str | int | float | bool | None:
    """Return what the unquoted `text` means."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > LONGEST_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and not text.lstrip("+-").isdigit():
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def is_plain_text(text: str) -> bool:
    """Whether `text` is free of control characters and of halves of characters.

    An escape puts them into a file, and an error would put them on a terminal.
    """
    return not any(
        (code < 32 and code not in (9, 10)) or 127 <= code < 160 or 0xD800 <= code < 0xE000
        for code in map(ord, text)
    )


MOST_LEVELS = 50
MOST_VALUES = 10_000
QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml, which is ten times faster, where it is there."""
REFUSALS = (yaml.YAMLError, ValueError, OverflowError)
"""What a parser raises at text that it does not like."""


def parse(text: str, source: Source, column: int = 0) -> Node:
    """Return the tree of `text`; raise `SpecError` with all that is wrong.

    `column` is where the text begins in its source, for options that hold a value behind a path.
    """
    builder = _Builder(source, column)
    try:
        _read(text, QUICK, builder)
    except REFUSALS:
        # The slow one knows better what is wrong, and where.
        builder = _Builder(source, column)
        _read_all_that_is_wrong(text, builder)
    except _TooMuch as error:
        builder.problems.append(error.problem)
    if builder.problems:
        raise SpecError(builder.problems)
    if builder.root is None:
        fix = "write at least one section into it"
        raise SpecError([Problem("the file is empty", builder.last.location, None, fix)])
    return builder.root


def _read(text: str, loader: type[yaml.SafeLoader | yaml.CSafeLoader], builder: _Builder) -> None:
    for event in yaml.parse(text, Loader=loader):
        builder.take(event)


def _read_all_that_is_wrong(text: str, builder: _Builder) -> None:
    try:
        _read(text, yaml.SafeLoader, builder)
    except yaml.MarkedYAMLError as error:
        builder.problems.append(explain(error, builder.mark(error.problem_mark)))
    except REFUSALS:
        place = builder.last.location
        fix = "remove the character or escape that is no printable text"
        builder.problems.append(Problem("this is not text that YAML allows", place, None, fix))
    except _TooMuch as error:
        builder.problems.append(error.problem)


class _TooMuch(Exception):
    """Reading on is pointless or dangerous."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.what)
        self.problem = problem


@dataclass
class _Open:
    """A list or mapping whose end has not come yet."""

    mark: Mark
    is_mapping: bool
    anchor: str | None
    values_before: int
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    key: tuple[str, Mark] | None = None
    """The key whose value comes next."""
    key_refused: bool = False


class _Builder:
    def __init__(self, source: Source, column: int) -> None:
        self.source = source
        self.column = column
        self.problems: list[Problem] = []
        self.root: Node | None = None
        self.last = Mark(source, 1, column + 1)
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._values = 0
        self._documents = 0

    def mark(self, mark: Any) -> Mark:
        if mark is None:
            return self.last
        first = self.column if mark.line == 0 else 0
        return Mark(self.source, mark.line + 1, mark.column + 1 + first)

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.NodeEvent):
            self.last = self.mark(event.start_mark)
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1 or (event.explicit and not self.source.numbered):
                    self.last = self.mark(event.start_mark)
                    self._stop("there is one document, and `---` begins another", "drop `---`")
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.ScalarEvent():
                self._tag(event)
                self._scalar(event)
            case yaml.CollectionStartEvent():
                self._tag(event)
                self._start(event)
            case yaml.CollectionEndEvent():
                self._end()

    def _stop(self, what: str, fix: str | None = None, why: str | None = None) -> None:
        raise _TooMuch(Problem(what, self.last.location, why, fix))

    def _problem(self, what: str, fix: str | None = None, why: str | None = None) -> None:
        self.problems.append(Problem(what, self.last.location, why, fix))

    def _count(self, values: int) -> None:
        self._values += values
        if self._values > MOST_VALUES:
            self._stop(f"the file holds more than {MOST_VALUES} values, its aliases counted")

    def _tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag is not None:
            shown = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._problem(
                f"the tag {quoted(shown)} is not allowed",
                "write the plain value; quotes make a number or a word a text",
            )

    def _alias(self, event: yaml.AliasEvent) -> None:
        if any(frame.anchor == event.anchor for frame in self._open):
            self._stop(f"*{event.anchor} stands inside what it refers to")
        if event.anchor not in self._anchors:
            self._stop(
                f"there is no anchor &{event.anchor} above this alias",
                f"define it, or quote the text: '*{event.anchor}'",
            )
        node, size = self._anchors[str(event.anchor)]
        self._count(size)
        self._add(node)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._count(1)
        is_plain = not event.style
        value = resolve(event.value) if is_plain else event.value
        if isinstance(value, str) and not is_plain_text(value):
            self._problem("the text holds a control character", "remove its escape")
            value = ""
        node = Scalar(value, self.last, removed=value is None and event.value != "")
        if event.anchor:
            self._anchors[event.anchor] = node, 1
        self._add(node)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        self._count(1)
        if len(self._open) >= MOST_LEVELS:
            self._stop(f"lists and mappings are nested deeper than {MOST_LEVELS} levels")
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if not self.source.numbered and not event.flow_style:
            self._stop(
                "an option's value is one word, a [list] or a {key: value}",
                "write `{key: value}`, set each path by an option of its own, or quote the text",
            )
        self._open.append(_Open(self.last, is_mapping, event.anchor, self._values))

    def _end(self) -> None:
        frame = self._open.pop()
        node: Node
        if frame.is_mapping:
            node = Section(frame.entries, (frame.mark,))
        else:
            node = Listing(tuple(frame.items), frame.mark)
        if frame.anchor:
            self._anchors[frame.anchor] = node, self._values - frame.values_before + 1
        self._add(node)

    def _add(self, node: Node) -> None:
        if not self._open:
            self.root = node
            return
        frame = self._open[-1]
        if not frame.is_mapping:
            frame.items.append(node)
        elif frame.key is not None:
            name, mark = frame.key
            frame.entries[name] = Entry(mark, node)
            frame.key = None
        elif frame.key_refused:
            frame.key_refused = False
        else:
            self._key(frame, node)

    def _key(self, frame: _Open, node: Node) -> None:
        """Take `node` for the next key, or say why it cannot be one and skip its value."""
        frame.key_refused = True
        if not isinstance(node, Scalar):
            self._refuse_key(node, "a list or mapping cannot be a key")
        elif node.value == "<<":
            shared = "let a preset or a --conf file carry what is shared"
            self._refuse_key(node, "merge keys (`<<`) are not supported", shared)
        elif not isinstance(node.value, str):
            shown = "empty" if node.value is None else quoted(node.value)
            fix = None if node.value is None else f'write it in quotes: "{node.value}"'
            self._refuse_key(node, f"a key must be text, this one is {shown}", fix)
        elif node.value in frame.entries:
            first = frame.entries[node.value].key
            self._refuse_key(
                node,
                f"the key {quoted(node.value)} stands here a second time",
                f"keep one of the two; the first is at {first.words}",
            )
        else:
            frame.key, frame.key_refused = (node.value, node.mark), False

    def _refuse_key(self, node: Node, what: str, fix: str | None = None) -> None:
        self.problems.append(Problem(what, node.mark.location, None, fix))


# A piece of the parser's message → what is wrong, and how to mend it.
_EXPLAINED = (
    ("'\\t'", "a tab stands where only spaces may", "indent with spaces"),
    (
        "mapping values are not allowed",
        "a `:` stands where no key can be",
        "put the value in quotes if it holds `: `, or mend the indentation",
    ),
    (
        "could not find expected ':'",
        "a key has no `:` behind it",
        "write `key: value`, and check the indentation of the lines above",
    ),
    ("found unexpected end of stream", "a quote is not closed", "add the closing quote"),
    ("expected ',' or ']'", "a list that began with `[` is not closed", "add `,` or `]`"),
    ("expected ',' or '}'", "a mapping that began with `{` is not closed", "add `,` or `}`"),
    (
        "expected <block end>",
        "this line does not fit the lines above it",
        "give keys of one mapping, and items of one list, the same indentation",
    ),
    ("expected the node content", "a value is missing or misplaced", "write a value here"),
    (
        "cannot start any token",
        "a value cannot begin with this character",
        "put the value in quotes",
    ),
    ("unknown escape character", "there is no such escape", "write `\\\\` or use single quotes"),
    ("expected escape sequence", "the escape is not complete", "use single quotes"),
    ("undefined tag handle", "tags are not allowed", "write the plain value"),
    ("found duplicate anchor", "the anchor is defined twice", "rename one of the two"),
    (
        "but found '<document start>'",
        "there is one document, and `---` begins another",
        "drop `---`",
    ),
    ("sequence entries are not allowed", "a list item cannot begin here", "begin a new line"),
    ("directive", "the line that begins with `%` is not understood", "remove it or quote the text"),
)


def explain(error: yaml.MarkedYAMLError, mark: Mark) -> Problem:
    """Turn a parser's error into a problem at `mark`."""
    message = " ".join(filter(None, (error.problem, error.context)))
    why = None
    if error.context_mark is not None and error.context_mark.line + 1 != mark.line:
        why = f"the part that goes wrong begins in line {error.context_mark.line + 1}"
    for piece, what, fix in _EXPLAINED:
        if piece in message:
            return Problem(f"not valid YAML: {what}", mark.location, why, fix)
    what = f"not valid YAML: {error.problem or 'it cannot be read'}"
    fix = "put texts with special characters in quotes, and check brackets and indentation"
    return Problem(what, mark.location, why, fix)
