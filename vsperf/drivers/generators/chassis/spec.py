"""What is said of any chassis."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vsperf.config.base import DriverSpec

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
