"""The password of a chassis, from a file: what stands in a specification is recorded."""

from __future__ import annotations

from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.trust.trusted import opened_file

LONGEST = 1 << 16
"""Bytes of such a file."""


def password_from(file: str | None, delivered: str) -> str:
    """Return the first line of a file; without one, what a chassis is delivered with."""
    if file is None:
        return delivered
    try:
        with opened_file(Path(file)) as opened:
            lines = opened.read(LONGEST).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise NotReadyError(
            "the password of the chassis cannot be read",
            why=f"{file}: {getattr(error, 'strerror', None) or error}",
            fix="see generator.password_file",
        ) from error
    password = lines[0] if lines else ""
    if not password.isprintable() or '"' in password:
        raise NotReadyError(
            f"the password in {file} has characters that no chassis takes",
            fix="write it alone on the first line",
        )
    return password
