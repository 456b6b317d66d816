"""Who may speak to a server: everybody that reaches it, or who knows its password."""

from __future__ import annotations

import base64
import hmac
import os
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.trust import trusted

LEAST_LETTERS = 8
OTHERS = 0o077


def password_in(file: Path) -> str:
    """Return the first line of a file that nobody else can read or change."""
    try:
        with trusted.opened(file.absolute().parent) as folder:
            if os.stat(file.name, dir_fd=folder.descriptor).st_mode & OTHERS:
                raise NotReadyError(
                    f"others can read the password in {file}", fix=f"chmod 600 {file}"
                )
            lines = folder.read(file.name).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise NotReadyError(
            f"the password cannot be read from {file}",
            why=getattr(error, "strerror", None) or str(error),
            fix="name a file of your own, with the password on its first line",
        ) from error
    password = lines[0] if lines else ""
    if len(password) < LEAST_LETTERS or not password.isprintable():
        raise NotReadyError(
            f"the first line of {file} is no password",
            why=f"it has {LEAST_LETTERS} printable letters at least",
            fix="head -c 18 /dev/urandom | base64 makes one",
        )
    return password


def knows(password: str | None, authorization: str) -> bool:
    """Whether a request with this header may be answered: HTTP's basic scheme, by any name."""
    if password is None:
        return True
    scheme, _, said = authorization.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        _, _, given = base64.b64decode(said.strip(), validate=True).partition(b":")
    except ValueError:
        return False
    return hmac.compare_digest(given, password.encode())
