"""Which VPP is used: the program, its plugins and the definitions of its API, found by path."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from vsperf.errors import NotReadyError

DISTRIBUTION = Path("/usr")
DAEMONS = ("bin/vpp", "local/bin/vpp", "vpp/bin/vpp")
"""Where the program may be below an install, or below a folder that it was built in."""
PLUGIN_FOLDERS = ("lib/*/vpp_plugins", "lib/vpp_plugins", "lib64/vpp_plugins")
API_FOLDERS = ("share/vpp/api", "CMakeFiles")
PYTHON = "vpp_papi"
"""VPP's own library for its API."""
GET_PYTHON = "pip install 'vsperf[vpp]'"
GET_VPP = (
    "install VPP (FD.io has packages for some distributions: https://fd.io), or name an installed "
    "tree or a build directory: vswitch.install=PATH"
)
ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Programs:
    """One VPP."""

    daemon: Path
    plugins: Path | None
    """The folder of its plugins; None where it was not found."""
    definitions: Path | None
    """The folder with the definitions of its API."""

    @property
    def libraries(self) -> Path | None:
        """The folder of its libraries."""
        return None if self.plugins is None else self.plugins.parent

    def has_plugin(self, name: str) -> bool:
        """Whether it has a plugin; older versions have some of them built in."""
        return self.plugins is not None and (self.plugins / plugin_file(name)).is_file()


def plugin_file(name: str) -> str:
    """Return what the file of a plugin is called."""
    return f"{name}_plugin.so"


def planned_programs(install: str | None) -> Programs:
    """Return what a plan calls the program, which need not be there yet. Reads names only."""
    root = DISTRIBUTION if install is None else Path(install)
    daemon = _existing(root, DAEMONS)
    prefix = daemon.parent.parent
    return Programs(
        daemon=daemon,
        plugins=_first_folder(prefix, PLUGIN_FOLDERS),
        definitions=_first_folder(prefix, API_FOLDERS),
    )


def find_programs(install: str | None) -> Programs:
    """Return the VPP to use; raise `NotReadyError` for what is missing."""
    programs = planned_programs(install)
    said = "VPP is not installed" if install is None else f"vswitch.install names {install}"
    daemon = programs.daemon
    if not (daemon.is_file() and os.access(daemon, os.X_OK)):
        raise NotReadyError(
            f"{daemon} is not there, or is no program that can be run", why=said, fix=GET_VPP
        )
    if programs.definitions is None:
        raise NotReadyError(
            f"the definitions of VPP's API are not where {daemon} is",
            why=f"none of {', '.join(API_FOLDERS)} is a folder of {daemon.parent.parent}",
            fix="install VPP as a whole: its files *.api.json belong to it",
        )
    require_library()
    return programs


def require_library() -> None:
    """Raise `NotReadyError` where the Python library for VPP's API is missing."""
    if find_spec(PYTHON) is None:
        raise NotReadyError(
            f"the Python library {PYTHON} is not installed",
            why="VPP is asked over its binary API, and that is the library for it",
            fix=GET_PYTHON,
        )


def definition_files(programs: Programs, names: Iterable[str]) -> tuple[Path, ...]:
    """Return the files that define these parts of the API; what a version has not is left out."""
    if programs.definitions is None:
        return ()
    wanted = {f"{name}.api.json" for name in names}
    found = (path for path in programs.definitions.rglob("*.api.json") if path.name in wanted)
    return tuple(sorted(found))


def version_text(programs: Programs) -> str:
    """Return what the program says of its version."""
    try:
        done = subprocess.run(  # noqa: S603 - a program that the user chose
            [str(programs.daemon), "--version"],
            stdin=subprocess.DEVNULL,
            env={**os.environ, **library_path(programs)},
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotReadyError(
            f"{programs.daemon} does not tell its version", why=str(error)
        ) from error
    if done.returncode != 0:
        raise NotReadyError(
            f"{programs.daemon} does not tell its version", why=done.stderr.strip() or None
        )
    return done.stdout.strip()


def library_path(programs: Programs) -> dict[str, str]:
    """Return where the loader has to look for the libraries of an install of its own."""
    libraries = programs.libraries
    if libraries is None or libraries.is_relative_to(DISTRIBUTION / "lib"):
        return {}
    return {"LD_LIBRARY_PATH": str(libraries)}


def digest(program: Path) -> str:
    """Return the SHA-256 of a program, which tells builds of one version apart."""
    return hashlib.sha256(program.read_bytes()).hexdigest()


def _existing(root: Path, names: Iterable[str]) -> Path:
    """Return the first that exists, or the first at all."""
    candidates = [root / name for name in names]
    return next((path for path in candidates if path.exists()), candidates[0])


def _first_folder(root: Path, patterns: Iterable[str]) -> Path | None:
    found = (path for pattern in patterns for path in sorted(root.glob(pattern)) if path.is_dir())
    return next(found, None)
