"""Where the workspaces of this user are: their folders, their names, and which can be trusted.

Whoever looks for deployments or locks looks through here, so that nothing is believed, carried out
or removed that another user has put there.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.trust import trusted

NAMESPACE = "vsperf"
VARIABLE = "VSPERF_RUNTIME"
"""Environment variable that names another folder for workspaces; a short one, as sockets need."""
VARIABLES = f"XDG_RUNTIME_DIR or {VARIABLE}"
RUN = Path("/run")
WORKSPACE = re.compile(rf"{NAMESPACE}-(\d{{1,10}})-[0-9a-f]{{6}}", re.ASCII)
"""Name of a workspace; the number is that of the process that made it."""


LONGEST_SHORT_NAME = "vspa0b1c2"
"""Beginning of the names of network devices, which the kernel wants in 15 bytes."""


HOST_END = "h"
"""What is between such a beginning and the number of a device that stays in the host's network."""


def short_name(workspace: str) -> str:
    """Return the beginning of the names of network devices: as good as unique on this machine."""
    return f"vsp{hashlib.sha256(workspace.encode()).hexdigest()[:6]}"


def runtime_folder() -> Path:
    """Return the folder in which this user's workspaces are made; it may not exist yet."""
    return runtime_folders()[0]


def runtime_folders() -> tuple[Path, ...]:
    """Return all folders in which workspaces of this user may be, the preferred one first."""
    if chosen := os.environ.get(VARIABLE):
        return (Path(chosen).absolute(),)
    return usual_folders()


def usual_folders() -> tuple[Path, ...]:
    """Return these folders as they are when nothing else was chosen, the same for all runs.

    Those of root are in /run only: anybody could make one in /tmp.
    """
    if os.geteuid() == 0:
        return (RUN / NAMESPACE,)
    found = [RUN, Path(os.environ.get("XDG_RUNTIME_DIR") or RUN / "user/none")]
    usable = [path / NAMESPACE for path in found if os.access(path, os.W_OK | os.X_OK)]
    usable.append(Path(tempfile.gettempdir()) / f"{NAMESPACE}-{os.geteuid()}")
    return tuple(dict.fromkeys(usable))


def make_root(root: Path) -> None:
    """Make the folder of all workspaces, unless it is there and can be trusted."""
    with suppress(FileNotFoundError):  # somebody who leaves removes it at this moment
        try:
            trusted.make_folder(root)
        except trusted.DistrustedError as error:
            raise _cannot_be_trusted(root, error) from error


def require_own(root: Path) -> None:
    """Raise `NotReadyError` where others have put theirs in the place of one of `usual_folders`."""
    try:
        with trusted.opened(root):
            pass
    except (FileNotFoundError, PermissionError):  # who reads in it says what he cannot read
        return
    except trusted.DistrustedError as error:
        raise _cannot_be_trusted(root, error, "XDG_RUNTIME_DIR") from error


def trusted_folders() -> tuple[Path, ...]:
    """Return the runtime folders that are there and that nobody else can have made.

    Raises `NotReadyError` where one was chosen that cannot be trusted.
    """
    found = []
    for root in runtime_folders():
        try:
            with trusted.opened(root):
                found.append(root)
        except FileNotFoundError:
            continue
        except OSError as error:
            if os.environ.get(VARIABLE):
                raise _cannot_be_trusted(root, error) from error
    return tuple(found)


def workspaces(roots: tuple[Path, ...] | None = None) -> tuple[Path, ...]:
    """Return what is called like a workspace in folders that can be trusted; all, if none given."""
    found = []
    for root in trusted_folders() if roots is None else roots:
        with suppress(OSError), trusted.opened(root) as folder:
            found += [root / name for name in folder.names() if WORKSPACE.fullmatch(name)]
    return tuple(found)


def _cannot_be_trusted(root: Path, error: OSError, variables: str = VARIABLES) -> NotReadyError:
    return NotReadyError(
        f"{root} cannot be trusted with a deployment",
        why=error.strerror or str(error),
        fix=f"remove {root}, or set {variables} to a folder of your own",
    )
