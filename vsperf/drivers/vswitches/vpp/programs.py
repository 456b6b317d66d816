"""Which VPP is used: the program, its plugins and the definitions of its API, found by path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.host.software import to_install_extra, version_text
from vsperf.host.tree import HERE, Tree
from vsperf.trust.programs import whole

DISTRIBUTION = Path("/usr")
DAEMONS = ("bin/vpp", "local/bin/vpp", "vpp/bin/vpp")
"""Where the program may be below an install, or below a folder that it was built in."""
PLUGIN_FOLDERS = ("lib/*/vpp_plugins", "lib/vpp_plugins", "lib64/vpp_plugins")
API_FOLDERS = ("share/vpp/api", "CMakeFiles")
PYTHON = "vpp_papi"
"""VPP's own library for its API."""
GET_PYTHON = to_install_extra("vpp")
GET_VPP = (
    "install VPP (docs/how-to/measure-vpp.md; packages for some distributions: https://fd.io), or "
    "name an installed tree or a build directory: --vswitch vpp --set vswitch.install=PATH"
)
ENVIRONMENT = "/usr/bin/env"
DEVICES = ("shm", "vfio")
"""What it may need of /dev, where it is run in a tree: memory that it shares, and NICs."""


@dataclass(frozen=True, slots=True)
class Programs:
    """One VPP, by its paths in the tree that it is run in."""

    daemon: Path
    plugins: Path | None
    """The folder of its plugins; None where it was not found."""
    definitions: Path | None
    """The folder with the definitions of its API."""
    tree: Tree = HERE

    @property
    def libraries(self) -> Path | None:
        return None if self.plugins is None else self.plugins.parent

    def has_plugin(self, name: str) -> bool:
        """Whether it has a plugin; older versions have some of them built in."""
        if self.plugins is None:
            return False
        return self.tree.path(self.plugins / plugin_file(name)).is_file()

    def command(self, *argv: str, folder: str | None = None) -> tuple[str, ...]:
        """Return how one of its programs is run, with the folder of a deployment.

        A tree hides from its programs which libraries the machine's would take, so they are told
        of their own inside of it.
        """
        inside = argv
        if self.tree.root is not None:
            said = [f"{name}={value}" for name, value in self._library_path().items()]
            inside = (ENVIRONMENT, *said, *argv) if said else argv
        folders = () if folder is None else (folder,)
        return self.tree.command(inside, folders=folders, devices=DEVICES)

    def version(self) -> str:
        name = f"{self.daemon}{self.tree.within}"
        return version_text(self.command(str(self.daemon), "--version"), name, self.environment)

    @property
    def environment(self) -> dict[str, str]:
        """Variables for its programs; those of a tree find in it what they need."""
        return self._library_path() if self.tree.root is None else {}

    def _library_path(self) -> dict[str, str]:
        """Where the loader has to look for the libraries of an install of its own."""
        libraries = self.libraries
        if libraries is None or libraries.is_relative_to(DISTRIBUTION / "lib"):
            return {}
        return {"LD_LIBRARY_PATH": str(libraries)}


def plugin_file(name: str) -> str:
    """Return what the file of a plugin is called."""
    return f"{name}_plugin.so"


def planned_programs(install: str | None, tree: Tree = HERE) -> Programs:
    """Return what a plan calls the program, which need not be there yet. Reads names only."""
    here = install if install is None or tree.root is not None else whole(install)
    root = DISTRIBUTION if here is None else Path(here)
    daemon = tree.first_of(root, DAEMONS)
    prefix = daemon.parent.parent
    return Programs(
        daemon=daemon,
        plugins=_first_folder(tree, prefix, PLUGIN_FOLDERS),
        definitions=_first_folder(tree, prefix, API_FOLDERS),
        tree=tree,
    )


def find_programs(install: str | None, tree: Tree = HERE) -> Programs:
    """Return the VPP to use; raise `NotReadyError` for what is missing."""
    programs = planned_programs(install, tree)
    tree.require()
    said = "VPP is not installed" if install is None else f"vswitch.install names {install}"
    daemon = programs.daemon
    if not tree.runs(daemon):
        raise NotReadyError(
            f"{daemon}{tree.within} is not there, or is no program that can be run",
            why=said,
            fix=GET_VPP,
        )
    tree.require_program(daemon)
    if programs.definitions is None:
        raise NotReadyError(
            f"the definitions of VPP's API are not where {daemon}{tree.within} is",
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
    folder = programs.tree.path(programs.definitions)
    found = (path for path in folder.rglob("*.api.json") if path.name in wanted)
    return tuple(sorted(found))


def _first_folder(tree: Tree, root: Path, patterns: Iterable[str]) -> Path | None:
    """Return the first that there is, by its path in the tree."""
    here = tree.path(root)
    found = (path for pattern in patterns for path in sorted(here.glob(pattern)) if path.is_dir())
    return next((root / path.relative_to(here) for path in found), None)
