"""Settings of drivers whose programs may come from a tree of files beside the machine's own."""

from __future__ import annotations

from pathlib import PurePosixPath

from pydantic import field_validator

from vsperf.config.base import DriverSpec


class RootedSpec(DriverSpec):
    """What every driver lets a user set that can run its programs inside of a tree."""

    root: str | None = None
    """Folder with a tree of files, such as an unpacked image of a container or what debootstrap
    makes, that the programs are taken from and run in, with all that they load: so several versions
    can be measured on one machine. The machine's own programs when not given."""
    foreign_root: bool = False
    """Take a tree that other users own or can write to, though root runs what is in it."""

    @field_validator("root")
    @classmethod
    def _is_a_folder_of_its_own(cls, root: str | None) -> str | None:
        if root is None:
            return None
        path = PurePosixPath(root)
        if not path.is_absolute() or ".." in path.parts:
            raise ValueError(f"write the whole path from / on, such as /srv/trees/trixie: {root!r}")
        if path == PurePosixPath(path.root):
            raise ValueError("this is the machine itself; leave it out to use the machine's own")
        return str(path)
