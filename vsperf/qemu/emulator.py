"""How QEMU is run: the machine's own, or that of a tree. Pure, but for following links."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.host.enter_tree import OWN
from vsperf.qemu.image import GuestImage
from vsperf.qemu.settings import GuestSettings
from vsperf.records.run import Placeholder
from vsperf.trust.programs import whole

DEVICES = ("kvm", "net/tun", "vhost-net", "vfio")
"""What it may need of /dev, where it is run in a tree."""
TEMPORARY = "/var/tmp"  # noqa: S108 - QEMU's own choice
"""Where QEMU keeps what a guest writes to a disk image."""
LOADED = frozenset(("bin", "etc", "lib", "lib32", "lib64", "libx32", "sbin", "usr"))
"""Folders of a tree that programs are loaded from; none of the machine's can take their place."""


def files_of(settings: GuestSettings, image: GuestImage) -> tuple[str | Path, ...]:
    """Return what a guest is booted from."""
    if settings.own_guest:
        return (image.kernel, image.initrd)
    given = (settings.image, settings.kernel, settings.initrd)
    return tuple(path for path in given if path is not None)


def file_of(settings: GuestSettings, path: str | Path) -> str:
    """Return how QEMU is told of a file: by its whole path, in a tree without links.

    One in the deployment's folder has such a path once that is filled in.
    """
    if str(path).startswith(str(Placeholder.RUN)):
        return str(path)
    return whole(path) if settings.tree.root is None else str(Path(path).resolve())


def command_of(
    settings: GuestSettings, argv: Iterable[str], files: Iterable[str | Path]
) -> tuple[str, ...]:
    """Return how QEMU is run, where it finds its deployment and these files of the machine."""
    told = tuple(argv)
    if settings.tree.root is None:
        return told
    temporary = (TEMPORARY,) if settings.image is not None else ()
    shared = dict.fromkeys((str(Placeholder.RUN), *temporary, *_folders(settings, files)))
    return settings.tree.command(told, folders=tuple(shared), devices=DEVICES)


def require_within_reach(settings: GuestSettings, files: Iterable[str | Path]) -> None:
    """Raise `NotReadyError` for a file that cannot be shown to a QEMU in a tree."""
    root = settings.tree.root
    for folder in () if root is None else _folders(settings, files):
        top = Path(folder).parts[1:2]
        if not top or top[0] in LOADED | set(OWN) - {"run", "tmp"}:
            raise NotReadyError(
                f"QEMU of the tree {root} cannot be shown the folder {folder}",
                why=f"the tree has {'/' + top[0] if top else '/'} of its own, from which its "
                "programs are loaded",
                fix="copy what the guest boots into a folder elsewhere, such as /srv/guests",
            )


def _folders(settings: GuestSettings, files: Iterable[str | Path]) -> list[str]:
    return [str(Path(file_of(settings, path)).parent) for path in files]
