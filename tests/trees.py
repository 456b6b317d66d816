"""Trees of files that programs are run in, and what may be left of one that was entered."""

from __future__ import annotations

import struct
from pathlib import Path

import psutil

from vsperf.host.netns import FOLDER

BUSYBOX = Path("/bin/busybox")
NAMED_NETWORKS = str(FOLDER)
COMMANDS = ("cat", "env", "false", "ls", "mkdir", "readlink", "sh", "sleep", "touch", "true")


def busybox_tree(folder: Path) -> Path:
    """Make the smallest tree that commands run in, and that says which one it is."""
    for name in ("usr/bin", "etc", "var", "opt"):
        (folder / name).mkdir(parents=True)
    (folder / "bin").symlink_to("usr/bin")
    (folder / "usr" / "bin" / "busybox").write_bytes(BUSYBOX.read_bytes())
    (folder / "usr" / "bin" / "busybox").chmod(0o755)
    for name in COMMANDS:
        (folder / "bin" / name).symlink_to("busybox")
    (folder / "etc" / "os-release").write_text('NAME="Tiny"\nPRETTY_NAME="Tiny 1 (test)"\n')
    return folder


def program_for(
    machine: int, *, bits: int = 64, little: bool = True, linker: str | None = None
) -> bytes:
    """Return the head of a program for some processor, as a compiler would write it."""
    order, wide = "<" if little else ">", bits == 64
    word = "Q" if wide else "I"
    name = b"" if linker is None else linker.encode() + b"\0"
    head, entry = (64, 56) if wide else (52, 32)
    identity = struct.pack("4sBBBB8x", b"\x7fELF", 2 if wide else 1, 1 if little else 2, 1, 0)
    rest = (2, machine, 1, 0, head, 0, 0, head, entry, int(linker is not None), 0, 0, 0)
    found = identity + struct.pack(f"{order}HHI3{word}I6H", *rest)
    if linker is not None:
        place = head + entry
        segment = (3, 4, place, 0, 0, len(name), len(name), 1)
        if not wide:
            segment = (3, place, 0, 0, len(name), len(name), 4, 1)
        found += struct.pack(f"{order}II6Q" if wide else f"{order}8I", *segment) + name
    return found.ljust(128, b"\0")


def mount_namespaces() -> frozenset[str]:
    """Return the mount namespaces in which descendants of this process run now.

    Orphans are among them; what tests beside this one run in is theirs.
    """
    found = set()
    for process in psutil.Process().children(recursive=True):
        try:
            found.add(str(Path(f"/proc/{process.pid}/ns/mnt").readlink()))
        except OSError:
            continue
    return frozenset(found)


def mounts() -> list[str]:
    """Return what is mounted on this machine, as every program outside of trees sees it.

    Without network namespaces that have a name: each is mounted there, also by tests beside this.
    """
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if not line.split()[4].startswith(NAMED_NETWORKS)]


def contents(tree: Path) -> dict[str, tuple[int, int, int]]:
    """Return the names of all that is in a tree, with size, mode and time of the last change."""
    found = {}
    for path in tree.rglob("*"):
        status = path.lstat()
        found[str(path)] = (status.st_size, status.st_mode, status.st_mtime_ns)
    return found
