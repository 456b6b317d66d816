"""Where testcases, presets, testbeds and topologies are looked up, and how a file is read."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vsperf.config.document import TESTCASES
from vsperf.config.suggest import described
from vsperf.config.suite import Suite, is_suite, suite_of
from vsperf.config.tree import Listing, Section, Source, find, plain
from vsperf.config.yaml import is_plain_text, parse
from vsperf.errors import Location, Problem, SpecError
from vsperf.trust import trusted
from vsperf.trust.trusted import DistrustedError, opened_file

SUFFIXES = (".yaml", ".yml")
BUILT_IN = "built-in"
ALLOW = "--allow-foreign"
"""The option that lets files of other users decide."""
README = "README.md"
LONGEST_SUBJECT = 400
"""Bytes of a README that are read for its first line."""
LARGEST_FILE = 1_000_000
"""Bytes; a specification of this size is something else by mistake."""


def read_section(path: Path, source: Source) -> Section:
    """Return what the file says, which must be a mapping; `source` says how to name it."""
    text = _decode(_read(path, source), source)
    located = dataclasses.replace(source, lines=tuple(text.splitlines()))
    if not any(line.split("#")[0].strip() for line in located.lines):
        raise _error(source, "the file is empty", fix="write at least one section into it")
    tree = parse(text, located)
    if not isinstance(tree, Section):
        what = f"a file holds sections such as `traffic:`, not {described(plain(tree))}"
        fix = "write each setting as `SECTION:`, with its keys indented below it"
        raise SpecError([Problem(what, tree.mark.location, None, fix)])
    return tree


def _error(source: Source, what: str, why: str | None = None, fix: str | None = None) -> SpecError:
    return SpecError([Problem(what, Location(source.name), why, fix)])


def _read(path: Path, source: Source) -> bytes:
    try:
        with opened_file(path) as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError as error:
        fix = "name one that is there; names without a slash are looked up: `vsperf list`"
        raise _error(source, "there is no such file", fix=fix) from error
    except IsADirectoryError as error:
        fix = "name a file inside it"
        raise _error(source, "this is a folder, not a file", fix=fix) from error
    except DistrustedError as error:
        fix = "save what it says in a file"
        raise _error(source, "this is a device or a pipe, not a file", fix=fix) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(source, "the file cannot be read", why=reason) from error
    if len(data) > LARGEST_FILE:
        fix = "name a specification; frames of a capture are sent by `traffic.replay`"
        raise _error(source, f"the file is larger than {LARGEST_FILE // 1000} kB", fix=fix)
    return data


def _decode(data: bytes, source: Source) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        place = Location(source.name, line)
        fix = "save the file as UTF-8 text"
        raise SpecError([Problem("the file is not UTF-8 text", place, None, fix)]) from error
    for number, content in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not is_plain_text(content):
            column = next(i for i, char in enumerate(content, 1) if not is_plain_text(char))
            place = Location(source.name, number, column)
            what = "the file holds a control character; it may be no text at all"
            fix = "remove it, or name a file of text"
            raise SpecError([Problem(what, place, None, fix)])
    return text


@dataclass(frozen=True, slots=True)
class Folder:
    """A place that may hold `conf/` and `testcases/`."""

    path: Path
    role: str
    """Why it is searched: `$VSPERF_PATH`, `current directory`, `user`, `built-in`."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """What has a name: a file, or a testcase of a suite; the first in the order of the folders.

    A suite that cannot be read is found by the name of its file, so that lists can show it.
    """

    name: str
    path: Path
    """The file that holds it."""
    folder: Folder
    shadowed: tuple[Path, ...] = ()
    """Files that hold the same name in later folders."""
    clashing: tuple[Path, ...] = ()
    """Files that hold the same name in the same folder: an error as soon as it is used."""

    @property
    def key(self) -> tuple[Path, str]:
        """What tells it from all others."""
        return self.path, self.name


@dataclass(frozen=True, slots=True)
class Entry:
    """What was found with its head, as lists show it."""

    found: NamedFile
    title: str = ""
    tags: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = field(default=())
    """Why it cannot be used; lists show it anyway."""

    @property
    def name(self) -> str:
        return self.found.name

    @property
    def path(self) -> Path:
        return self.found.path


def search_folders(environ: Mapping[str, str], cwd: Path) -> tuple[Folder, ...]:
    """Return the folders that are searched, in order; the first file of a name wins.

    1. each folder of `$VSPERF_PATH`, separated as in `$PATH`
    2. the current directory
    3. the user's `$XDG_CONFIG_HOME/vsperf` (`~/.config/vsperf` when that is not set)
    4. built-in: what the package brings along, or the checkout that it is run from

    Each may hold `conf/` (`defaults.yaml`, `presets/`, `testbeds/`, `topologies/`) and
    `testcases/`. A folder that appears twice counts once; one that has neither is left out.
    """
    listed = [part for part in environ.get("VSPERF_PATH", "").split(os.pathsep) if part]
    candidates = [Folder(cwd / Path(part).expanduser(), "$VSPERF_PATH") for part in listed]
    candidates.append(Folder(cwd, "current directory"))
    home = environ.get("XDG_CONFIG_HOME") or (
        f"{environ['HOME']}/.config" if environ.get("HOME") else ""
    )
    if home:
        candidates.append(Folder(cwd / home / "vsperf", "user"))
    candidates.append(Folder(built_in(), BUILT_IN))
    kept: dict[Path, Folder] = {}
    for folder in candidates:
        if any(_is_folder(folder.path / name) for name in ("conf", "testcases")):
            kept.setdefault(folder.path.resolve(), folder)
    return tuple(kept.values())


def built_in() -> Path:
    """Return the folder that the package brings along, or the checkout that it is run from."""
    package = Path(__file__).resolve().parents[1]
    data = package / "_data"
    return data if data.is_dir() else package.parent


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True)
class Library:
    """All named files of all folders; reads names at once and contents only when asked.

    The names of a suite's testcases stand in it, so suites are read for theirs, each once.
    """

    folders: tuple[Folder, ...]
    cwd: Path
    """Paths that the user types count from here, and errors name files relative to it."""
    users: frozenset[int] | None = None
    """Users whose files may decide what is done; None where anybody's may."""
    _suites: dict[Path, Suite | SpecError] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def find(
        cls, environ: Mapping[str, str], cwd: Path, users: frozenset[int] | None = None
    ) -> Library:
        """Return the library that `search_folders` describes."""
        return cls(search_folders(environ, cwd), cwd, users)

    def section(self, path: Path, source: Source) -> Section:
        """Return what a file says that shall decide something; raises `SpecError`."""
        reason = self._why_not(path)
        if reason is None:
            return read_section(path, source)
        raise SpecError(
            [
                Problem(
                    "another user can decide what this file says, and so what root does",
                    Location(source.name),
                    reason,
                    f"let it be root's alone (chown, chmod go-w), be elsewhere, or add {ALLOW}",
                )
            ]
        )

    def _why_not(self, path: Path) -> str | None:
        """Return why a file may not decide; what came with the program is as good as that."""
        if self.users is None or path.resolve().is_relative_to(built_in()):
            return None
        try:
            return trusted.why_not(path, self.users)
        except OSError:
            return None  # the error comes with the reading

    def hidden(self, kind: str, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """Say which built-in files of a kind are hidden by others, of those names or of all."""
        found = self.files(kind)
        return tuple(
            f"{kind}/{name}, by {self.shown(found[name].path)}"
            for name in (found if names is None else names)
            if name in found and any(p.is_relative_to(built_in()) for p in found[name].shadowed)
        )

    def shown(self, path: Path) -> str:
        """Return the path as an error names it: relative where that is possible."""
        return str(path.relative_to(self.cwd) if path.is_relative_to(self.cwd) else path)

    def defaults(self) -> Path | None:
        """Return the `conf/defaults.yaml` that counts."""
        files = (folder.path / "conf" / "defaults.yaml" for folder in self.folders)
        return next((file for file in files if file.exists()), None)

    def files(self, kind: str) -> dict[str, NamedFile]:
        """Return the files of a kind (testcases, testbeds, presets, topologies) by name."""
        found: dict[str, NamedFile] = {}
        for folder in self.folders:
            here: dict[str, list[Path]] = {}
            for path in _files_below(folder.path, kind):
                for name in self.names(path) if kind == TESTCASES else (path.stem,):
                    here.setdefault(name, []).append(path)
            for name, (first, *others) in here.items():
                above = found.get(name)
                if above is None:
                    found[name] = NamedFile(name, first, folder, (), tuple(others))
                else:
                    shadowed = (*above.shadowed, first, *others)
                    found[name] = NamedFile(
                        name, above.path, above.folder, shadowed, above.clashing
                    )
        return dict(sorted(found.items()))

    def names(self, path: Path) -> tuple[str, ...]:
        """Return the names of the testcases in a file; of a broken suite that of the file."""
        suite = self._suite(path) if is_suite(path) else None
        return suite.names if isinstance(suite, Suite) else (path.stem,)

    def unread(self) -> tuple[str, ...]:
        """Return the suites that cannot be read, and so may hold what is not found."""
        found = self.files(TESTCASES).values()
        broken = (one.path for one in found if is_suite(one.path) and one.name == one.path.stem)
        return tuple(map(self.shown, broken))

    def _suite(self, path: Path) -> Suite | SpecError:
        """Return what a suite says, for lists; or why it cannot be read."""
        if path not in self._suites:
            try:
                self._suites[path] = suite_of(self._read(path))
            except SpecError as error:
                self._suites[path] = error
        return self._suites[path]

    def _read(self, path: Path) -> Section:
        """Return what a file says for lists, which decides nothing."""
        return read_section(path, Source(self.shown(path), path.name))

    def testcases(self) -> dict[str, Entry]:
        """Return all testcases with their heads; a broken one carries its problems."""
        return self._entries(TESTCASES, "")

    def testbeds(self) -> dict[str, Entry]:
        return self._entries("testbeds", "testbed")

    def presets(self) -> dict[str, Entry]:
        return self._entries("presets", "preset")

    def topologies(self) -> dict[str, Entry]:
        """Return all topology families with their heads."""
        return self._entries("topologies", "")

    def _entries(self, kind: str, head: str) -> dict[str, Entry]:
        return {name: self.head(found, head) for name, found in self.files(kind).items()}

    def head(self, found: NamedFile, section: str = "") -> Entry:
        """Read title and tags; they stand at the top of the file, in `section`, or in a suite."""
        try:
            root = self._top(found)
        except SpecError as error:
            return Entry(found, problems=error.problems)
        top = find(root, section) if section else root
        if not isinstance(top, Section):
            return Entry(found)
        title, tags = top.get("title"), top.get("tags")
        words = plain(tags) if isinstance(tags, Listing) else []
        return Entry(
            found,
            title=str(plain(title) or "") if title else "",
            tags=tuple(word for word in words if isinstance(word, str)),
        )

    def _top(self, found: NamedFile) -> Section:
        if not is_suite(found.path):
            return self._read(found.path)
        suite = self._suite(found.path)
        if isinstance(suite, SpecError):
            raise suite
        return suite.testcase(found.name)


def subject_of(folder: Path) -> str:
    """Return what testcases in a folder are about, the first line of its README.md; "" without.

    It is shown and decides nothing.
    """
    try:
        with opened_file(folder / README) as file:
            first = file.read(LONGEST_SUBJECT).decode(errors="replace").partition("\n")[0]
    except (OSError, ValueError):
        return ""
    return first.removeprefix("# ").strip() if first.startswith("# ") else ""


def _files_below(folder: Path, kind: str) -> Iterator[Path]:
    """Yield the YAML files of a kind in a fixed order; testcases may lie in subfolders."""
    top = folder / kind if kind == TESTCASES else folder / "conf" / kind
    pattern = "**/*" if kind == TESTCASES else "*"
    try:
        paths = sorted(top.glob(pattern))
    except OSError:
        return
    yield from (path for path in paths if path.suffix in SUFFIXES)
