"""Network namespaces: made under a name, entered by threads of their own, and removed.

Only a thread enters one, and ends there: the program itself stays in its own network.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

FOLDER = Path("/run/netns")
"""Where they have names; other tools look there, too."""
CLONE_NEWNET = 0x40000000
MS_BIND = 4096
MNT_DETACH = 2
OWN = b"/proc/thread-self/ns/net"
HOST = Path("/proc/self/ns/net")
"""That of the program itself, whichever its threads are in."""

T = TypeVar("T")


def path_of(name: str) -> Path:
    """Return the file by which a namespace is entered; that of the host where none is named."""
    return FOLDER / name if name else HOST


def entering(name: str) -> tuple[str, ...]:
    """Return the words before a command that is to run in a namespace."""
    return ("nsenter", f"--net={path_of(name)}", "--")


def make_namespace(name: str) -> None:
    """Make a namespace in which no device says anything of its own accord, as IPv6 would have it.

    Raises OSError, also where one is called so already.
    """
    path = path_of(name)
    FOLDER.mkdir(mode=0o755, exist_ok=True)
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0))

    def bind() -> None:
        _call("unshare", CLONE_NEWNET)
        for which in ("all", "default"):
            with suppress(OSError):  # a kernel without IPv6 has no such file
                Path(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6").write_text("1\n")
        _call("mount", OWN, os.fsencode(path), b"none", MS_BIND, None)

    _in_a_thread(bind)


def remove_namespace(name: str) -> None:
    """Remove a namespace, if it is there; it ends when nobody is in it any more."""
    path = path_of(name)
    while True:
        try:
            _call("umount2", os.fsencode(path), MNT_DETACH)
        except OSError:  # nothing is mounted there, or not any more
            break
    path.unlink(missing_ok=True)
    with suppress(OSError):  # others are in it
        FOLDER.rmdir()


def within(name: str, action: Callable[[], T]) -> T:
    """Do something in a namespace, and return what comes of it; raises OSError without it."""

    def enter() -> T:
        descriptor = os.open(path_of(name), os.O_RDONLY | os.O_CLOEXEC)
        try:
            _call("setns", descriptor, CLONE_NEWNET)
        finally:
            os.close(descriptor)
        return action()

    return _in_a_thread(enter)


def apart(action: Callable[[], T]) -> T:
    """Do something in a namespace that nobody else sees, and that ends with it."""

    def leave() -> T:
        _call("unshare", CLONE_NEWNET)
        return action()

    return _in_a_thread(leave)


def _in_a_thread(action: Callable[[], T]) -> T:
    from concurrent.futures import ThreadPoolExecutor  # large, and most runs enter none

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(action).result()


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library that returns 0 where all went well."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
