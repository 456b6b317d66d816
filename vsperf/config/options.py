"""`--set a.b=c` as a layer: the path makes the mappings, the value follows the rules of YAML."""

from __future__ import annotations

from vsperf.config.scalars import is_plain_text
from vsperf.config.tree import Entry, Mark, Node, Scalar, Section, Source
from vsperf.config.yaml import parse
from vsperf.errors import Location, Problem, SpecError

LONGEST_OPTION = 4096
DEEPEST_PATH = 20
HOW = "write it like `--set traffic.frame_size=128B`"


def set_layer(text: str, written: str | None = None) -> Section:
    """Return the layer that one `--set` stands for, or raise `SpecError`.

    `written` is the option as it was typed, if another one than `--set` stands for the setting.
    """
    if len(text) > LONGEST_OPTION or "\n" in text or not is_plain_text(text):
        shown = Location(f"--set {text[:20].encode('ascii', 'replace').decode()!r}…")
        what = f"a setting is one line of at most {LONGEST_OPTION} printable characters"
        raise SpecError([Problem(what, shown, None, HOW)])
    shown_text = text if len(text) <= 80 else text[:79] + "…"
    name = written or f"--set {shown_text}"
    source = Source(name, name, lines=(text,), numbered=False)
    path, equals, value = text.partition("=")
    if not equals:
        raise _wrong(source, 1, "there is no `=` between path and value", HOW)
    keys = path.split(".")
    if len(keys) > DEEPEST_PATH:
        raise _wrong(source, 1, f"the path has more than {DEEPEST_PATH} parts")
    marks = _key_marks(keys, source)
    for key, mark in zip(keys, marks, strict=True):
        if not key or key != key.strip():
            what = "a part of the path is empty" if not key.strip() else "the path holds a blank"
            raise _wrong(source, mark.column, what, HOW)
    node: Node
    if value.strip():
        node = parse(value, source, column=len(path) + 1)
    else:
        node = Scalar(None, Mark(source, 1, len(path) + 2))
    for key, mark in zip(reversed(keys), reversed(marks), strict=True):
        node = Section({key: Entry(mark, node)}, (mark,))
    assert isinstance(node, Section)
    return node


def _wrong(source: Source, column: int, what: str, fix: str | None = None) -> SpecError:
    return SpecError([Problem(what, Mark(source, 1, column).location, None, fix)])


def _key_marks(keys: list[str], source: Source) -> list[Mark]:
    columns = [1]
    for key in keys[:-1]:
        columns.append(columns[-1] + len(key) + 1)
    return [Mark(source, 1, column) for column in columns]
