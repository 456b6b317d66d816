"""The workspace of a deployment: its private folder, its name, and the journal of its undos.

Whatever a deployment changes is promised to the workspace first. Leaving the workspace takes back
what its parts have not taken back themselves, and removes the folder. What a killed run leaves is
found by the folder, and taken back by `vsperf clean`.
"""

from __future__ import annotations

import atexit
import errno
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from vsperf.errors import DiedError, ExitCode, NotReadyError, RecordingError, VsperfError
from vsperf.host.files import Roots
from vsperf.host.journal import NAME, Entry, Journal, pending
from vsperf.host.owner import Owner
from vsperf.host.places import NAMESPACE, VARIABLE, make_root, runtime_folder, short_name
from vsperf.host.procfs import end_all, marked_below
from vsperf.host.threads import Polling, Thread, threads_of
from vsperf.host.undo import AnyUndo, SweepDpdk
from vsperf.host.undo_base import Reach
from vsperf.records.run import Placeholder, fill_in
from vsperf.stop import raise_if_stopped, signals_held
from vsperf.trust import trusted

PATIENCE_S = 4.0
"""Time that stopping all processes of a deployment may take before each is killed at once."""
LEFT_OVER_S = 1.0
"""Patience with a program that no undo has ended."""
ATTEMPTS = 1000
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MORE_ROOM = "make room in {}: df says what is full"
LONGEST_SOCKET_PATH = 107
"""Bytes; the kernel takes 108 with the one that ends them."""
LONGEST_NAME = f"{NAMESPACE}-4194304-abcdef"
"""Of a workspace; process ids end there."""


class Workspace:
    """Where a deployment lives; made by `workspace`."""

    def __init__(self, folder: Path, owner: Owner, roots: Roots | None = None) -> None:
        self.folder = folder
        """Private: nobody else can read it or write to it."""
        self.name = folder.name
        """Unique on this machine; the prefix of whatever needs a name outside of the folder."""
        self.owner = owner
        self.reach = Reach(folder, roots or Roots(), owner.started)
        """What it can change, and so what its undos may name."""
        self.journal = Journal(folder / NAME)
        self.kept = False
        """Whether the deployment stays up when vsperf ends."""
        self.left: tuple[str, ...] = ()
        """What could not be undone, for people; the folder stays then, and `vsperf clean` helps."""
        self.parts: dict[str, Callable[[], str | None]] = {}
        """By name, what says of each program that was started why it does not run any more."""
        self.errands: list[Callable[[], None]] = []
        """What parts have to do as others come up, done again and again while one is waited for."""
        self.polling: dict[int, Polling] = {}
        """By the number of its process, which threads of a program poll."""
        self._patience_s = PATIENCE_S

    def fill(self, text: str) -> str:
        """Fill in what a text of a plan leaves open.

        The name is too long for a network device, so that has a short one, made from it.
        """
        known = {
            Placeholder.RUN: str(self.folder),
            Placeholder.NAME: self.name,
            Placeholder.TAP: self.short_name,
        }
        return fill_in(text, known)

    @property
    def short_name(self) -> str:
        """The beginning of the names of network devices; as good as unique on this machine."""
        return short_name(self.name)

    def keep(self) -> None:
        """Leave everything up when the workspace is left; `vsperf clean` takes it down."""
        self.owner = self.owner.model_copy(update={"kept": True})
        self.owner.write(self.folder)
        self.kept = True

    @contextmanager
    def undoing(self, undo: AnyUndo) -> Iterator[Callable[[AnyUndo], None]]:
        """Promise an undo, let the change be made inside, and take it back afterwards.

        Yields what promises another undo in its place, for when more is known of the change.
        """
        raise_if_stopped()
        promised, number = undo, self._promise(undo)

        def becomes(better: AnyUndo) -> None:
            nonlocal promised
            self._promise(better, number)
            promised = better

        try:
            yield becomes
        finally:
            if not self.kept:
                with signals_held(), suppress(Exception):  # tried again when the workspace is left
                    promised.take_back(self.reach)
                    self.journal.undone(number)

    def _promise(self, undo: AnyUndo, number: int | None = None) -> int:
        if not undo.is_within(self.reach):
            raise ValueError(f"no deployment may promise this: {undo.text}")
        try:
            return self.journal.planned(undo, number)
        except OSError as error:
            raise NotReadyError(
                f"nothing can be changed that would have to be undone: {undo.text}",
                why=f"{self.journal.path}: {error.strerror or error}",
                fix=MORE_ROOM.format(self.folder.parent),
            ) from error

    def attend(self, when: str, but: str | None = None) -> None:
        """Raise `DiedError` when a program other than `but` does not run any more; do the errands.

        To be called while one part is waited for: without the others it would never be there.
        """
        raise_if_stopped()
        for name, failure in tuple(self.parts.items()):
            if name != but and (why := failure()) is not None:
                raise DiedError(f"{name} was lost {when}", why=f"{name} {why}")
        for errand in tuple(self.errands):
            errand()

    @contextmanager
    def errand(self, what: Callable[[], None]) -> Iterator[None]:
        """Have something done for as long as the context lasts, whenever a part is waited for."""
        self.errands.append(what)
        try:
            yield
        finally:
            self.errands.remove(what)

    def polling_threads(self) -> tuple[Thread, ...]:
        found = (threads_of(one, pid, self.reach.roots) for pid, one in self.polling.items())
        return tuple(thread for threads in found for thread in threads)

    def refill_patience(self) -> None:
        """Begin anew with the time for stopping: something is started, so nothing is ending."""
        self._patience_s = PATIENCE_S

    @contextmanager
    def patience(self, wanted_s: float) -> Iterator[float]:
        """Give the time that may be waited for an end, and take note of what was waited."""
        began = time.monotonic()
        try:
            yield max(0.0, min(wanted_s, self._patience_s))
        finally:
            self._patience_s -= time.monotonic() - began

    def require_nothing_left(self, after: VsperfError | OSError | None = None) -> None:
        """Raise `LeftBehindError` when something could not be undone; to be asked after leaving.

        `after` is what went wrong before that.
        """
        if self.left:
            told = after.with_why if isinstance(after, VsperfError) else str(after)
            before = () if after is None else (f"and before that: {told}",)
            raise LeftBehindError(
                f"something of {self.owner.purpose} is left on this machine",
                why="; ".join((*self.left, *before)),
                fix="mend what stands in the way, then: vsperf clean",
            ) from after

    def leave(self) -> None:
        """Undo what is left to undo and remove the folder, unless it is kept; never raises."""
        with signals_held():
            atexit.unregister(self.leave)
            if self.kept or os.getpid() != self.owner.pid or not self.folder.exists():
                self.journal.close()  # a fork of vsperf owns nothing
                return
            failures = (*undo_all(self.reach, self.journal), *end_the_rest(self.folder))
            self.journal.close()
            self.left = failures or remove_folder(self.folder)


class LeftBehindError(VsperfError):
    """Something that was changed could not be changed back."""

    exit_code = ExitCode.LEFT_BEHIND


class Nowhere(Workspace):
    """The place of a deployment that touches no machine, such as a model: there is none."""

    def __init__(self) -> None:
        self.name = "nowhere"
        self.parts = {}
        self.errands = []
        self.polling = {}
        self.kept = False
        self.left = ()

    def fill(self, text: str) -> str:
        return text


@contextmanager
def workspace(
    purpose: str, root: Path | None = None, roots: Roots | None = None
) -> Iterator[Workspace]:
    """Make a workspace for `purpose`, such as a run's id, and leave nothing of it.

    Ask `left` afterwards. `root` replaces the folder in which workspaces are made, `roots` the
    machine that a deployment changes.
    """
    with signals_held():
        made = _make(purpose, runtime_folder() if root is None else root, roots)
        atexit.register(made.leave)  # a signal can come between any two instructions below
    try:
        yield made
    finally:
        made.leave()


@contextmanager
def nothing_left_of(places: Sequence[Workspace]) -> Iterator[None]:
    """Raise `LeftBehindError` when something of them is left, whatever else went wrong meanwhile.

    They are left by then, and may be made meanwhile. What ends the whole run is raised as it is,
    with a note of what is left.
    """
    try:
        yield
    except LeftBehindError:
        raise
    except (RecordingError, KeyboardInterrupt) as error:
        for place in places:
            if place.left:
                left = "; ".join(place.left)
                error.add_note(f"{place.owner.purpose} left something, see vsperf clean: {left}")
        raise
    except (VsperfError, OSError) as error:
        for place in places:
            place.require_nothing_left(error)
        raise
    for place in places:
        place.require_nothing_left()


@contextmanager
def given_or_own(given: Workspace | None, purpose: str) -> Iterator[Workspace]:
    """Give the workspace that there is, or one made for the time of the context."""
    if given is not None:
        yield given
        return
    with workspace(purpose) as own:
        yield own
    own.require_nothing_left()


def undo_all(reach: Reach, journal: Journal, *, same_boot: bool = True) -> tuple[str, ...]:
    """Carry out what a journal promises, the last promise first; return what failed, and why."""
    failures = []
    for entry in pending(reach.workspace / NAME):
        if entry.undo is None:
            failures.append(entry.text)
            continue
        try:
            if same_boot or entry.undo.outlives_boot:
                entry.undo.take_back(reach)
        except Exception as error:  # whatever it is, it is told, and all others are carried out
            failures.append(f"cannot {entry.text}: {_text(error)}{_way_out(entry, reach)}")
        else:
            with suppress(OSError):  # a full folder: it may well be undone twice
                journal.undone(entry.number)
    return tuple(failures)


def forget_all(reach: Reach, journal: Journal) -> tuple[str, ...]:
    """Give up what is to be undone on other machines, which may be gone; return what stays there.

    Each is tried once more: what can be undone is not forgotten.
    """
    forgotten = []
    for entry in pending(reach.workspace / NAME):
        if entry.undo is None or entry.undo.if_forgotten is None:
            continue
        try:
            entry.undo.take_back(reach)
        except Exception as error:
            forgotten.append(f"{entry.undo.if_forgotten} ({_text(error)})")
        journal.undone(entry.number)
    return tuple(forgotten)


def _text(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"{type(error).__name__}: {error}"


def _way_out(entry: Entry, reach: Reach) -> str:
    """Return how to go on where another machine may be gone for good."""
    if entry.undo is None or entry.undo.if_forgotten is None:
        return ""
    return f" (if that is gone for good: vsperf clean --forget {reach.workspace.name})"


def end_the_rest(folder: Path) -> tuple[str, ...]:
    """End what still carries a deployment's mark, whatever its journal says; return what failed."""
    try:
        end_all(lambda: marked_below(f"{folder.name}/"), LEFT_OVER_S)
    except OSError as error:
        return (str(error),)
    return ()


def remove_folder(folder: Path) -> tuple[str, ...]:
    """Remove a workspace's folder, its owner last; return what failed."""
    try:
        with trusted.opened(folder) as opened:
            kept = [NAME, Owner.NAME]  # to the end, so that a kill meanwhile can be made good
            for name in [*(name for name in opened.names() if name not in kept), *kept]:
                opened.remove(name)
        folder.rmdir()
        with suppress(OSError):  # others are in it
            folder.parent.rmdir()
    except FileNotFoundError:
        return ()
    except OSError as error:
        return (f"cannot remove {folder}: {error.strerror or error}",)
    return ()


def require_short(sockets: Iterable[str], root: Path | None = None) -> None:
    """Raise `NotReadyError` when the paths of these sockets in a workspace would be too long."""
    root = runtime_folder() if root is None else root
    for name in sockets:
        path = root / LONGEST_NAME / name
        if (length := len(os.fsencode(path))) > LONGEST_SOCKET_PATH:
            raise NotReadyError(
                f"{root} is too long for sockets",
                why=f"the path of {name} there may have {length} bytes, and the kernel takes "
                f"{LONGEST_SOCKET_PATH}",
                fix=f"set {VARIABLE} to a folder with a shorter path, such as /run/{NAMESPACE}",
            )


def require_fitting(sockets: Iterable[str], made: Workspace) -> None:
    """Raise `NotReadyError` when a socket's path, as a plan has it, is too long in a workspace."""
    for socket in sockets:
        path = made.fill(socket)
        if (length := len(os.fsencode(path))) > LONGEST_SOCKET_PATH:
            raise NotReadyError(
                f"the path of a socket is too long: {path}",
                why=f"it has {length} bytes, and the kernel takes {LONGEST_SOCKET_PATH}",
                fix="give link or VNF a shorter name, or let runs live in a folder with a "
                f"short path: set {VARIABLE}",
            )


def _make(purpose: str, root: Path, roots: Roots | None) -> Workspace:
    owner = Owner.this_process(purpose)
    folder = root / f"{NAMESPACE}-{os.getpid()}-{secrets.token_hex(3)}"
    try:
        _make_folder(folder)
        owner.write(folder)
        made = Workspace(folder, owner, roots)
        made.journal.planned(SweepDpdk(prefix=made.name))
    except OSError as error:
        with suppress(OSError):  # nothing was done in it yet
            remove_folder(folder)
        fix = "run as root, or set XDG_RUNTIME_DIR to a folder of your own"
        raise NotReadyError(
            f"cannot make a folder for the deployment in {root}",
            why=error.strerror or str(error),
            fix=MORE_ROOM.format(root) if error.errno in FULL else fix,
        ) from error
    return made


def _make_folder(folder: Path) -> None:
    """Make the folder; whoever leaves the last workspace removes the one around it."""
    for _ in range(ATTEMPTS):
        with suppress(FileNotFoundError, FileExistsError):  # others come and go at this moment
            make_root(folder.parent)
            return folder.mkdir(mode=0o700)
    make_root(folder.parent)
    folder.mkdir(mode=0o700)
