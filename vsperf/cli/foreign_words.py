"""What a VNF writes, on its way to where a person or a program reads it.

A terminal obeys what it is shown: it can be asked for its title or its state, and types the answer
as if a person had. So it gets text, and where somebody works in the VNF's shell also what a
shell needs to edit a line and to colour its output. All else is written out. A file and a pipe get
the bytes as they are, since they may be no text at all.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from vsperf.trust.printable import printable

HARMLESS = re.compile(r"\x1b\[[0-9;]{0,16}[ABCDGHJKm]|[\r\b\a]")
"""Moving the cursor, clearing and colours; nothing that a terminal answers, keeps or plays back."""
ASKED = "\x1b[6n"
"""A line editor asks where the cursor is, and does without an answer."""
BEGUN = re.compile(r"\x1b(\[[0-9;]{0,16})?\Z")
"""What may become harmless with what comes next."""
PLAIN = "\x1b[0m"
"""Ends colours that were left on."""


@contextmanager
def shown(*, editing: bool = False) -> Iterator[Callable[[bytes], None]]:
    """Give what writes a VNF's words to the standard output, whatever that is."""
    words = Words(sys.stdout.buffer, sys.stdout.isatty(), editing)
    try:
        yield words.write
    finally:
        words.end()


@dataclass
class Words:
    """Writes what a VNF says to `output`, at once."""

    output: BinaryIO
    terminal: bool
    """Whether a terminal reads it."""
    editing: bool = False
    """Whether somebody works at it: then lines may be edited, and coloured."""
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("backslashreplace")
    )
    _rest: str = ""

    def write(self, said: bytes) -> None:
        """Pass on what was said."""
        self._out(self._shown(self._decoder.decode(said)).encode() if self.terminal else said)

    def end(self) -> None:
        """Pass on what was held back, as nothing more comes."""
        if self.terminal:
            rest = printable(self._rest + self._decoder.decode(b"", final=True))
            self._rest = ""
            self._out((rest + (PLAIN if self.editing else "")).encode())

    def _shown(self, text: str) -> str:
        if not self.editing:
            return printable(text)
        text, self._rest = self._rest + text, ""
        if (begun := BEGUN.search(text)) is not None:
            text, self._rest = text[: begun.start()], begun[0]
        text = text.replace(ASKED, "")
        parts: list[str] = []
        at = 0
        for found in HARMLESS.finditer(text):
            parts += [printable(text[at : found.start()]), found[0]]
            at = found.end()
        return "".join([*parts, printable(text[at:])])

    def _out(self, text: bytes) -> None:
        self.output.write(text)
        self.output.flush()
