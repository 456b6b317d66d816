"""Where a report goes: a file that is there whole or not at all."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from vsperf.errors import ComponentError, NotReadyError, RecordingError
from vsperf.output.report.form import Form
from vsperf.output.report.interactive import Library
from vsperf.output.report.page import Compared, Overview
from vsperf.output.report.write import Progress, write_html, write_markdown
from vsperf.trust import trusted
from vsperf.trust.named_files import written
from vsperf.trust.programs import program_path
from vsperf.waits import KilledError, how_it_ended, run

# A report as PDF: the page of HTML, printed by a browser that is installed here.

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Programs that print the same way; the first one on the PATH is taken."""
PATIENCE_S = 180
LAST_WORDS = 300
UNGUARDED = "--no-sandbox"
NO_SANDBOX = "No usable sandbox"
"""What it says where the system lets users make none, as Ubuntu does and many containers do. What
it prints is a page of ours without scripts, which may ask for nothing by the network."""


def browser() -> str:
    """Return the browser that prints; an error says how to get one."""
    for name in BROWSERS:
        if program := program_path(name):
            return program
    raise NotReadyError(
        "no browser is here that could print a PDF",
        why=f"none of {', '.join(BROWSERS)} is on the PATH",
        fix="install one (on Debian: apt-get install chromium), or take --format html and print it",
    )


def print_pdf(write: Callable[[BinaryIO], None], target: BinaryIO) -> None:
    """Let `write` make a page of HTML, and print it into `target`."""
    program = browser()
    place = trusted.temporary_folder()
    with tempfile.TemporaryDirectory(prefix="vsperf-pdf-", dir=place) as name:
        folder = Path(name)
        page, made = folder / "report.html", folder / "report.pdf"
        with page.open("xb") as file:
            write(file)
        argv = [program, *_options(folder), f"--print-to-pdf={made}", page.as_uri()]
        done = _run(argv)
        if NO_SANDBOX in done.stderr and UNGUARDED not in argv:
            done = _run([*argv, UNGUARDED])
        _check(done, program)
        if not made.is_file():
            raise ComponentError(f"{program} made no PDF", why="it ended without an error")
        with made.open("rb") as file:
            shutil.copyfileobj(file, target)


def _options(folder: Path) -> list[str]:
    """Return what makes it print and do nothing else; the page itself forbids scripts."""
    found = [
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-extensions",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--no-pdf-header-footer",
        f"--user-data-dir={folder / 'profile'}",
    ]
    if os.geteuid() == 0:
        found.append(UNGUARDED)  # it refuses to run as root with one
    return found


def _run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        with trusted.own_home() as homes:  # it reads and writes settings there, too
            return run(argv, PATIENCE_S, environment={**os.environ, **homes})
    except KilledError as error:
        return error.done
    except subprocess.TimeoutExpired as error:
        raise ComponentError(
            f"{argv[0]} did not print within {PATIENCE_S} s",
            fix="take --format html, and print it from a browser",
        ) from error


def _check(done: subprocess.CompletedProcess[str], program: str) -> None:
    if done.returncode != 0:
        raise ComponentError(
            f"{program} could not print: it {how_it_ended(done.returncode)}",
            why=done.stderr.strip()[-LAST_WORDS:] or None,
            fix="take --format html, and print it from a browser",
        )


def write_report(
    folders: Sequence[Path],
    target: Path,
    form: Form,
    progress: Progress,
    library: Library | None = None,
    compared: Compared | None = None,
) -> Overview | None:
    """Write a report of these runs to a file; nothing is there before it is whole."""
    if form is Form.PDF:
        browser()  # says at once that there is none
    found: list[Overview] = []

    def write(file: BinaryIO) -> None:
        out = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace")
        if form is Form.MARKDOWN:
            found.append(write_markdown(folders, out, progress, compared))
        else:
            found.append(write_html(folders, out, progress, library, compared))
        out.detach()

    with (
        RecordingError.if_refused(
            f"the report cannot be written to {target}", fix="choose another place with -o FILE"
        ),
        written(target) as file,
    ):
        if form is Form.PDF:
            print_pdf(write, file)
        else:
            write(file)
    return found[0] if found else None
