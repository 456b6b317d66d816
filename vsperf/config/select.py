"""Which testcases a command line means: names, patterns, tags and files."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from vsperf.config.lookup import SUFFIXES, Entry, Folder, Library, NamedFile
from vsperf.config.suggest import did_you_mean, listed, testcase_meant
from vsperf.errors import Location, Problem, SpecError

TAG = "tag:"
Key = tuple[Path, str]


def is_path(name: str) -> bool:
    """Whether an argument is a file and not the name of one."""
    return "/" in name or name.endswith(SUFFIXES)


def named_file(name: str, library: Library) -> NamedFile:
    """Return the file that a path typed by the user means, whether it exists or not."""
    path = library.cwd / Path(name).expanduser()
    return NamedFile(path.stem, path, Folder(path.parent, "command line"))


def _testcases_of(file: NamedFile, library: Library) -> list[NamedFile]:
    """Return the testcase that a file holds, or all those of a suite."""
    return [replace(file, name=name) for name in library.names(file.path)]


def select(
    names: Iterable[str], library: Library, tags: Iterable[str] = ()
) -> tuple[NamedFile, ...]:
    """Return the testcases that are meant, each once, in the order they were asked for.

    A name is exact, a pattern such as `phy2phy_*`, a tag such as `tag:rfc2544`, or a file, which
    means all that it holds. `tags` narrow the names down to testcases that carry all of them;
    without names, down from all.
    """
    files = library.files("testcases")
    problems: list[Problem] = []
    chosen: dict[Key, NamedFile] = {}
    heads: dict[Key, Entry] = {}
    wanted = tuple(tags)

    def head(found: NamedFile) -> Entry:
        if found.key not in heads:
            heads[found.key] = library.head(found)
        return heads[found.key]

    for name in tuple(names) or (("*",) if wanted else ()):
        matching = _matching(name, files, library, head)
        if not matching:
            problems.append(_nothing(name, library, files))
        chosen |= {found.key: found for found in matching}
    if wanted:
        chosen = {key: f for key, f in chosen.items() if set(wanted) <= set(head(f).tags)}
    for found in chosen.values():
        if found.clashing:
            paths = ", ".join(library.shown(path) for path in (found.path, *found.clashing))
            problems.append(
                Problem(
                    f"the testcase {found.name} exists twice in one folder",
                    why=paths,
                    fix="rename one of them, or name the file that is meant by its path",
                )
            )
    if not problems and not chosen:
        problems.append(_empty(wanted, library, files))
    if problems:
        raise SpecError(problems)
    return tuple(chosen.values())


def _matching(
    name: str, files: dict[str, NamedFile], library: Library, head: Callable[[NamedFile], Entry]
) -> list[NamedFile]:
    if is_path(name):
        return _testcases_of(named_file(name, library), library)
    if name in files:
        return [files[name]]
    if name.startswith(TAG):
        return [found for found in files.values() if name.removeprefix(TAG) in head(found).tags]
    if any(char in name for char in "*?["):
        return [found for found in files.values() if fnmatch.fnmatchcase(found.name, name)]
    return []


def _nothing(name: str, library: Library, files: dict[str, NamedFile]) -> Problem:
    place, why = Location(name), may_hold(library)
    if name.startswith(TAG):
        tags = _tags(library)
        fix = did_you_mean(name.removeprefix(TAG), tags, f"tags in use: {listed(tags)}")
        return Problem(f"no testcase carries the tag {name.removeprefix(TAG)!r}", place, why, fix)
    known = f"testcases: {listed(files)}"
    if any(char in name for char in "*?["):
        return Problem(f"no testcase matches {name!r}", place, why, known)
    return Problem(f"there is no testcase {name!r}", place, why, testcase_meant(name, files, known))


def may_hold(library: Library) -> str | None:
    """Return why a testcase may be there though it was not found, None if it is not."""
    unread = library.unread()
    return f"it may stand in {listed(unread)}, which cannot be read" if unread else None


def _tags(library: Library) -> list[str]:
    return sorted({tag for entry in library.testcases().values() for tag in entry.tags})


def _empty(tags: tuple[str, ...], library: Library, files: dict[str, NamedFile]) -> Problem:
    if tags:
        known = _tags(library)
        strange = next((tag for tag in tags if tag not in known), "")
        return Problem(
            f"no testcase that was named carries the tags {', '.join(tags)}",
            fix=did_you_mean(strange, known, "`vsperf list` shows all testcases with their tags"),
        )
    nothing = "no testcase was named"
    folders = ", ".join(str(folder.path) for folder in library.folders)
    if files:
        return Problem(nothing, fix=f"`vsperf list` shows them all: {listed(files)}")
    return Problem(
        nothing,
        why=f"none was found in {folders or 'any folder'}",
        fix="set VSPERF_PATH to where they are",
    )
