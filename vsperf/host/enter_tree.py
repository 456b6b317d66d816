"""A program that becomes another program inside of a tree of files, in mounts of its own.

The tree is seen read-only, in the place of `/`; above it are the machine's /proc and /sys, a /dev
with a few devices, and an empty /run and /tmp in memory. Folders that are named are the machine's
own, under the same names. All of it is in a mount namespace that ends with its last process, so
nothing has to be taken back. What becomes the program keeps its process number.

    python3 -I -S enter_tree.py TREE [--folder=PATH]… [--device=NAME]… -- PROGRAM ARGUMENT…

It imports nothing of vsperf, so any Python runs it, by hand as well, and it starts at once.
"""

from __future__ import annotations

import ctypes
import os
import sys
from argparse import ArgumentParser
from pathlib import Path

CLONE_NEWNS = 0x20000
RDONLY, NOSUID, NODEV, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 1 << 5, 1 << 12, 1 << 14, 1 << 18
KEPT = 8
"""The flag of a mount that nothing on it may be run; another mount of the same has to keep it."""
DEVICES = ("full", "null", "random", "urandom", "zero")
LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
OWN = {"dev": 0o755, "proc": 0o755, "run": 0o755, "sys": 0o755, "tmp": 0o1777}
"""Folders that every tree gets anew, and how they are made."""
MEMORY = b"mode=755,size=64m"
LOADER = "LD_"
"""With this begin variables that name libraries of the machine, which a tree may not have."""
NOT_ENTERED, NOT_RUN = 125, 126
"""How it ends when it becomes nothing."""
LIBC = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> int:
    """Enter the tree and become the program; returns only where that cannot be."""
    middle = arguments.index("--") if "--" in arguments else len(arguments)
    program = arguments[middle + 1 :]
    parser = ArgumentParser(prog="enter_tree.py", epilog="-- PROGRAM ARGUMENT…: what is run there")
    parser.add_argument("tree", type=Path, help="folder that the program takes for /")
    for option, what in (("--folder", "folder of the machine"), ("--device", "name in /dev")):
        about = f"{what} that is shown there, too"
        parser.add_argument(option, type=Path, action="append", default=[], help=about)
    asked = parser.parse_args(arguments[:middle])
    if not program:
        parser.error("there is no PROGRAM behind --")
    try:
        enter(asked.tree, asked.folder, asked.device)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _refused(f"cannot enter {asked.tree}: {where}{error.strerror}", NOT_ENTERED)
    for name in [name for name in os.environ if name.startswith(LOADER)]:
        del os.environ[name]
    try:
        os.execv(program[0], program)  # noqa: S606 - what the caller asked for
    except OSError as error:
        return _refused(f"cannot run {program[0]} in {asked.tree}: {error.strerror}", NOT_RUN)


def enter(tree: Path, folders: list[Path], devices: list[Path]) -> None:
    """Let the tree be `/` for this process, and for nobody else."""
    if LIBC.unshare(CLONE_NEWNS):
        raise _error("a mount namespace of its own")
    _mount(None, Path("/"), flags=REC | PRIVATE)
    tree = tree.resolve()
    source = _opened(tree)  # what is mounted over a folder hides it from its name, not from this
    shared = {folder: _opened(folder) for folder in folders}
    _mount("vsperf", tree, kind="tmpfs", flags=NOSUID | NODEV, data=MEMORY)
    _show_tree(source, tree, hidden={*OWN, *(folder.parts[1] for folder in folders)})
    for name, mode in OWN.items():
        (tree / name).mkdir(exist_ok=True)  # one is there if it holds a folder that is shared
        (tree / name).chmod(mode)
    for name in ("proc", "sys"):
        _mount(f"/{name}", tree / name, flags=BIND | REC)
    for device in dict.fromkeys((*map(Path, DEVICES), *devices)):
        _show_device("/dev" / device, tree / "dev" / device)
    for name, target in LINKS.items():
        (tree / "dev" / name).symlink_to(target)
    for folder, descriptor in shared.items():
        place = tree / folder.relative_to("/")
        place.mkdir(parents=True, exist_ok=True)
        _mount(_held(descriptor), place, flags=BIND)
    os.chroot(tree)
    os.chdir("/")


def _show_tree(source: int, place: Path, hidden: set[str]) -> None:
    """Show what the tree has, so that it cannot be written to."""
    for entry in Path(_held(source)).iterdir():
        shown = place / entry.name
        if entry.name in hidden:
            continue
        if entry.is_symlink():
            shown.symlink_to(entry.readlink())
        elif entry.is_dir():
            shown.mkdir()
            _mount(str(entry), shown, flags=BIND)
            kept = os.statvfs(shown).f_flag & KEPT
            _mount(None, shown, flags=BIND | REMOUNT | RDONLY | NOSUID | NODEV | kept)


def _show_device(device: Path, place: Path) -> None:
    """Show a device, or a folder of some; where the machine has it not, neither has the tree."""
    if not device.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if device.is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()
    _mount(str(device), place, flags=BIND | REC)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_PATH | os.O_DIRECTORY)


def _held(descriptor: int) -> str:
    """Return a name by which a folder is found whatever is mounted over it."""
    return f"/proc/self/fd/{descriptor}"


def _mount(
    source: str | None, place: Path, *, kind: str | None = None, flags: int, data: bytes = b""
) -> None:
    source_, kind_ = (None if word is None else os.fsencode(word) for word in (source, kind))
    if LIBC.mount(source_, os.fsencode(place), kind_, ctypes.c_ulong(flags), data or None):
        raise _error(f"mounting {source or 'anew'} at {place}")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), what)


def _refused(reason: str, code: int) -> int:
    sys.stderr.write(f"vsperf: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
