"""Ctrl-C and SIGTERM: noted where they arrive, raised at places of vsperf's own only."""

import fcntl
import gc
import importlib
import os
import re
import signal
import subprocess
import sys
import termios
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator
from rich.console import Console
from stopping import fixture_watch

from vsperf.host.interrupts import signals_held
from vsperf.stop import SignalWatch, Terminated, forget_stop, raise_if_stopped

__all__ = ["fixture_watch"]

CALLED_BACK = """
import signal
from vsperf.cli import main

def called_back(*arguments, **settings):
    {how}

main.cli.main = called_back
main.main()
"""
AMID_A_TEXT = 'exec("import signal; signal.raise_signal(signal.{name})")'
BY_ITSELF = "signal.raise_signal(signal.{name})"
TWICE = "signal.raise_signal(signal.{name}); signal.raise_signal(signal.SIGINT)"


def strike() -> None:
    signal.raise_signal(signal.SIGINT)


def in_a_validator(folder: Path) -> None:
    class Checked(BaseModel):
        value: int

        @field_validator("value")
        @classmethod
        def check(cls, value: int) -> int:
            strike()
            return value

    assert Checked(value=3).value == 3


def while_a_pattern_is_compiled(folder: Path) -> None:
    """The core of pydantic compiles patterns of Python, and asks them for their text."""
    compiled = re.compile

    def compile_struck(*arguments: object, **more: object) -> object:
        strike()
        return compiled(*arguments, **more)  # type: ignore[call-overload]

    re.compile = compile_struck  # type: ignore[assignment]
    try:

        class Named(BaseModel):
            model_config = ConfigDict(regex_engine="python-re")
            name: Annotated[str, Field(pattern="^[A-Za-z]+$")]

        assert Named(name="abc").name == "abc"
    finally:
        re.compile = compiled


def while_a_value_says_its_text(folder: Path) -> None:
    class Odd:
        def __repr__(self) -> str:
            strike()
            return "odd"

    class Number(BaseModel):
        value: int

    with pytest.raises(ValueError, match="value"):
        Number(value=Odd())
    assert repr(Odd()) == "odd"


def in_a_finalizer(folder: Path) -> None:
    class Gone:
        def __del__(self) -> None:
            strike()

    Gone()
    gc.collect()


def in_a_callback_of_a_weak_reference(folder: Path) -> None:
    class Referred:
        pass

    referred = Referred()
    reference = weakref.ref(referred, lambda _: strike())
    del referred
    gc.collect()
    assert reference() is None


def amid_an_import(folder: Path) -> None:
    (folder / "struck_module.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\nwhole = True\n"
    )
    sys.path.insert(0, str(folder))
    try:
        assert importlib.import_module("struck_module").whole
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("struck_module", None)


def in_a_constructor_of_yaml(folder: Path) -> None:
    class Loader(yaml.SafeLoader):
        pass

    def construct(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
        strike()
        return str(loader.construct_scalar(node))

    Loader.add_constructor("!struck", construct)
    assert yaml.load("a: !struck b", Loader) == {"a": "b"}


def while_rich_renders(folder: Path) -> None:
    class Shown:
        def __rich__(self) -> str:
            strike()
            return "shown"

    with (folder / "said").open("w") as file:
        Console(file=file).print(Shown())
    assert (folder / "said").read_text() == "shown\n"


def while_a_list_is_sorted(folder: Path) -> None:
    def key(value: int) -> int:
        strike()
        return value

    assert sorted([2, 1], key=key) == [1, 2]


@pytest.mark.parametrize(
    "foreign",
    [
        in_a_validator,
        while_a_pattern_is_compiled,
        while_a_value_says_its_text,
        in_a_finalizer,
        in_a_callback_of_a_weak_reference,
        amid_an_import,
        in_a_constructor_of_yaml,
        while_rich_renders,
        while_a_list_is_sorted,
    ],
)
def test_foreign_code_comes_to_its_end_and_the_next_step_of_ours_stops(
    foreign: Callable[[Path], None],
    tmp_path: Path,
    watch: SignalWatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    foreign(tmp_path)
    assert watch.pending is KeyboardInterrupt, "it was not struck"
    with pytest.raises(KeyboardInterrupt):
        raise_if_stopped()
    assert capfd.readouterr() == ("", "")


def test_a_wish_to_stop_is_raised_once(watch: SignalWatch) -> None:
    strike()
    with pytest.raises(KeyboardInterrupt):
        raise_if_stopped()
    raise_if_stopped()


def test_the_first_of_several_signals_decides(watch: SignalWatch) -> None:
    signal.raise_signal(signal.SIGTERM)
    strike()
    with pytest.raises(Terminated):
        raise_if_stopped()
    raise_if_stopped()


def test_a_thread_is_told_nothing_and_the_main_one_is(watch: SignalWatch) -> None:
    strike()
    thread = threading.Thread(target=raise_if_stopped)
    thread.start()
    thread.join()
    with pytest.raises(KeyboardInterrupt):
        raise_if_stopped()


def test_signals_that_are_held_are_raised_after_what_must_not_be_stopped(
    watch: SignalWatch,
) -> None:
    with signals_held():
        strike()
        strike()
        raise_if_stopped()
    with pytest.raises(KeyboardInterrupt):
        raise_if_stopped()
    raise_if_stopped()


def test_what_ended_for_a_wish_to_stop_is_not_stopped_for_another(watch: SignalWatch) -> None:
    strike()
    forget_stop()
    raise_if_stopped()


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        watch = SignalWatch.install()
        strike()
        raise_if_stopped()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        watch.close()
    finally:
        signal.signal(signal.SIGINT, before)


def test_there_is_a_way_out_of_what_hangs() -> None:
    """The kernel ends a program at SIGQUIT, which a terminal sends for a Ctrl and a backslash.

    Unless whoever started it had that ignored, as a shell does in the background.
    """
    before = signal.getsignal(signal.SIGQUIT)
    watch = SignalWatch.install()
    try:
        assert signal.getsignal(signal.SIGQUIT) is before
    finally:
        watch.close()


def test_no_program_that_is_started_has_the_descriptors(watch: SignalWatch) -> None:
    assert not os.get_inheritable(watch.waker)
    written = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(written)
    assert not os.get_inheritable(written)


@pytest.mark.parametrize("how", [BY_ITSELF, AMID_A_TEXT, TWICE])
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_command_that_is_told_to_stop_ends_with_the_documented_exit_code(
    name: str, code: int, how: str, tmp_path: Path
) -> None:
    (tmp_path / "interrupted.py").write_text(CALLED_BACK.format(how=how.format(name=name)))
    environ = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path.cwd()}"}
    command = [sys.executable, "-m", "interrupted"]
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (code, "")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_amid_the_import_of_all_commands_is_no_traceback(
    name: str, code: int, tmp_path: Path
) -> None:
    """vsperf listens before it imports what takes long."""
    program = (
        "import signal, sys\n"
        "class Struck:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'click.core':\n"
        f"            signal.raise_signal(signal.{name})\n"
        "sys.meta_path.insert(0, Struck())\n"
        "from vsperf.__main__ import main\n"
        "sys.argv[1:] = ['list']\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr.strip()) == (code, "", "")


@pytest.mark.parametrize(
    ("words", "stream"),
    [
        (("schema", "testcase"), "stdout"),
        (("run", "phy2phy_tput", "--testbed", "sim", "--progress", "json"), "stderr"),
    ],
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_reader_who_does_not_read_keeps_nobody_from_stopping(
    words: tuple[str, ...], stream: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 8192)
    other = tmp_path / "other"
    with other.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "vsperf", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
            stdout=writer if stream == "stdout" else file,
            stderr=writer if stream == "stderr" else file,
        )
    os.close(writer)
    try:
        while waiting_in(reader) < room // 2:
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(number)
        assert process.wait(60) == code
    finally:
        process.kill()
        process.wait()
        os.close(reader)
    assert "Traceback" not in other.read_text()


def waiting_in(pipe: int) -> int:
    """Return how many bytes of a pipe nobody has read."""
    answer = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(answer, sys.byteorder)
