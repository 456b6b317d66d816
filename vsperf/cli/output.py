"""What goes to a terminal: text, never what would steer it; and what is done when nothing can.

Records, guests, other programs and files of others put words into what vsperf prints. A terminal
takes some of them for orders: to rename its window, to hide lines, to type an answer.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from typing import TextIO

import click

from vsperf.trust.printable import printable
from vsperf.waits import Outlet


def say(text: str, *, err: bool = False) -> None:
    """Print a line that holds words of others; where it has to fit it is broken between words."""
    from rich.text import Text  # takes long to import, for a program that may say nothing

    from vsperf.cli.terminal import PlainConsole, between_words, breaks_lines

    out, line = PlainConsole(stderr=err), printable(text)
    click.echo(between_words(Text(line), out.width).plain if breaks_lines(out) else line, err=err)


def patient(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return a stream that shows ? for what a terminal without UTF-8 has no letter for.

    Unless it is a file, it gives up on a reader who does not read once vsperf is to stop.
    """
    stream.reconfigure(errors="replace")
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(Outlet(stream.fileno())),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def silence_stdout() -> None:
    """Keep the interpreter from failing once more when it flushes stdout at its end."""
    _silence(sys.stdout)


def settle() -> None:
    """Write out what still waits to be, for the interpreter's exit code is 120 if it cannot."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _silence(stream)


def _silence(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
