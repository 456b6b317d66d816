"""Passes on the lines of a program, or those that come new to a file, each with its time.

    python3 -I -S stamp.py -- PROGRAM ARGUMENT…
    python3 -I -S stamp.py FILE

Each line becomes JSON: when it came, and what it was. It imports nothing of vsperf.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

LOOK_S = 0.5
"""Between two looks at a file."""
LONGEST = 1 << 16


def pass_on(lines: Iterable[bytes]) -> None:
    """Write each line with its time, at once."""
    for line in lines:
        text = line.decode(errors="replace").rstrip("\n")
        sys.stdout.write(json.dumps({"at_ns": time.time_ns(), "line": text}) + "\n")
        sys.stdout.flush()


def of_program(argv: list[str]) -> int:
    """Pass on what a program writes, and end as it ends."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as program:  # noqa: S603 - the user's own
        assert program.stdout is not None
        pass_on(iter(lambda: program.stdout.readline(LONGEST), b""))  # type: ignore[union-attr]
    return program.returncode


def news_of(path: Path) -> Iterator[bytes]:
    """Yield the first line of a file and what comes new to it; one made anew is read from there."""
    at = path.stat().st_size
    with path.open("rb") as file:
        head = file.readline(LONGEST)
    if head:
        yield head
    rest = b""
    while True:
        size = path.stat().st_size
        if size < at:
            at, rest = 0, b""
        with path.open("rb") as file:
            file.seek(at)
            while piece := file.readline(LONGEST):
                at += len(piece)
                rest += piece
                if rest.endswith(b"\n") or len(rest) >= LONGEST:  # nor is one of a program longer
                    yield rest
                    rest = b""
        time.sleep(LOOK_S)


def main(arguments: list[str]) -> int:
    """Pass on what was asked for."""
    try:
        if arguments[0] == "--":
            return of_program(arguments[1:])
        pass_on(news_of(Path(arguments[0])))
    except OSError as error:
        sys.stderr.write(f"{error.filename or ''}: {error.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
