"""What is said of any chassis; its password is in a file, since specifications are recorded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vsperf.config.base import DriverSpec
from vsperf.errors import NotReadyError
from vsperf.trust.trusted import DistrustedError, callers, opened_file, why_not

ADDRESS = r"^[A-Za-z0-9][A-Za-z0-9.-]{0,252}(:[0-9]{1,5})?$"


class ChassisSpec(DriverSpec):
    """Settings of a generator in a chassis."""

    chassis: Annotated[str, Field(pattern=ADDRESS)] | None = None
    """Name or address of the chassis, or of the server that speaks for it, with a port after a
    colon where it is not the usual one."""
    password_file: Annotated[str, Field(pattern="^/")] | None = None
    """A file whose first line is the password, or the API key; a specification holds neither, since
    it is recorded. What the vendor delivers a chassis with when not given."""
    search: Literal["vsperf"] = "vsperf"
    """Who searches: vsperf, by trials. The vendor's own searches (`vendor`) are not used: nobody
    could say how they judge a trial."""

    @property
    def address(self) -> str:
        """Where it is; for people, and for who connects."""
        return self.chassis or "nowhere"


LONGEST = 1 << 16
"""Bytes of such a file."""


def password_from(file: str | None, delivered: str) -> str:
    """Return the first line of a file; without one, what a chassis is delivered with.

    It goes over the network, so nobody else may be able to lead to another file by that name.
    """
    if file is None:
        return delivered
    try:
        if (reason := why_not(Path(file), callers(os.environ))) is not None:
            raise DistrustedError(reason)
        with opened_file(Path(file)) as opened:
            lines = opened.read(LONGEST).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise NotReadyError(
            "the password of the chassis cannot be read",
            why=f"{file}: {getattr(error, 'strerror', None) or error}",
            fix="let generator.password_file name a file that nobody else can change or exchange",
        ) from error
    password = lines[0] if lines else ""
    if not password.isprintable() or '"' in password:
        raise NotReadyError(
            f"the password in {file} has characters that no chassis takes",
            fix="write it alone on the first line",
        )
    return password
