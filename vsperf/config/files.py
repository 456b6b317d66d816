"""Reads one specification file; whatever may be wrong with a file becomes a problem."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from vsperf.config.suggest import described
from vsperf.config.tree import Section, Source, plain
from vsperf.config.yaml import is_plain_text, parse
from vsperf.errors import Location, Problem, SpecError
from vsperf.trust.trusted import DistrustedError, opened_file

LARGEST_FILE = 1_000_000
"""Bytes; a specification of this size is something else by mistake."""


def read_section(path: Path, source: Source) -> Section:
    """Return what the file says, which must be a mapping; `source` says how to name it."""
    text = _decode(_read(path, source), source)
    located = dataclasses.replace(source, lines=tuple(text.splitlines()))
    if not any(line.split("#")[0].strip() for line in located.lines):
        raise _error(source, "the file is empty", fix="write at least one section into it")
    tree = parse(text, located)
    if not isinstance(tree, Section):
        what = f"a file holds sections such as `traffic:`, not {described(plain(tree))}"
        fix = "write each setting as `SECTION:`, with its keys indented below it"
        raise SpecError([Problem(what, tree.mark.location, None, fix)])
    return tree


def _error(source: Source, what: str, why: str | None = None, fix: str | None = None) -> SpecError:
    return SpecError([Problem(what, Location(source.name), why, fix)])


def _read(path: Path, source: Source) -> bytes:
    try:
        with opened_file(path) as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError as error:
        fix = "name one that is there; names without a slash are looked up: `vsperf list`"
        raise _error(source, "there is no such file", fix=fix) from error
    except IsADirectoryError as error:
        fix = "name a file inside it"
        raise _error(source, "this is a folder, not a file", fix=fix) from error
    except DistrustedError as error:
        fix = "save what it says in a file"
        raise _error(source, "this is a device or a pipe, not a file", fix=fix) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(source, "the file cannot be read", why=reason) from error
    if len(data) > LARGEST_FILE:
        fix = "name a specification; frames of a capture are sent by `traffic.replay`"
        raise _error(source, f"the file is larger than {LARGEST_FILE // 1000} kB", fix=fix)
    return data


def _decode(data: bytes, source: Source) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        place = Location(source.name, line)
        fix = "save the file as UTF-8 text"
        raise SpecError([Problem("the file is not UTF-8 text", place, None, fix)]) from error
    for number, content in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not is_plain_text(content):
            column = next(i for i, char in enumerate(content, 1) if not is_plain_text(char))
            place = Location(source.name, number, column)
            what = "the file holds a control character; it may be no text at all"
            fix = "remove it, or name a file of text"
            raise SpecError([Problem(what, place, None, fix)])
    return text
