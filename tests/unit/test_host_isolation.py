"""What keeps a deployment apart: its testbed, sockets, limits of open files, and folders."""

from __future__ import annotations

import json
import os
import resource
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from assertions import known
from machine_tree import script

from vsperf.drivers.generators.dpdk_ports import device_port
from vsperf.drivers.generators.tgen.command import Options
from vsperf.errors import NotReadyError
from vsperf.host.files import Roots
from vsperf.host.lock import stale_locks
from vsperf.host.lock import testbed_lock as hold
from vsperf.host.open_files import most_open_files
from vsperf.host.own_program import OwnProgram
from vsperf.host.places import VARIABLE, runtime_folder
from vsperf.host.process import (
    managed,
)
from vsperf.host.procfs import all_listened_at
from vsperf.host.workspace import workspace
from vsperf.otg.serve import Location
from vsperf.qemu.image import find_image, image_folder
from vsperf.records.run import Placeholder
from vsperf.trust import own_python
from vsperf.trust.programs import program_path, whole
from vsperf.waits import run

# One run per testbed: a second one is refused, and told by whom.


def test_a_second_run_is_refused_and_told_who_holds_the_testbed(tmp_path: Path) -> None:
    root = tmp_path / "run"
    with (
        hold("local", "20260101-first", root),
        pytest.raises(NotReadyError, match="testbed local is in use") as caught,
        hold("local", "20260101-second", root),
    ):
        pass
    why = known(caught.value.problems[0].why)
    assert why.startswith(f"run 20260101-first (process {os.getpid()}) measures on it")


def test_another_testbed_is_free(tmp_path: Path) -> None:
    with hold("local", "first", tmp_path / "run"), hold("lab/7", "second", tmp_path / "run"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_testbed_is_free_after_its_run(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with hold("local", name, tmp_path / "run"):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_testbed_is_free_after_its_run_was_killed(tmp_path: Path) -> None:
    root = tmp_path / "run"
    text = (
        "import os, pathlib, signal\n"
        "from vsperf.host.lock import testbed_lock\n"
        f"with testbed_lock('local', 'first', pathlib.Path({str(root)!r})):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", text], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [path.name for path in stale_locks(root)] == ["local.lock"]
    with hold("local", "second", root):
        assert stale_locks(root) == ()
    assert list(tmp_path.iterdir()) == []


# A socket can be called once somebody listens at it, and not as soon as it is there.


def test_a_socket_is_ready_when_somebody_listens(tmp_path: Path) -> None:
    first, other = tmp_path / "first of two", tmp_path / "other"
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        one.bind(str(first))
        assert first.is_socket()
        assert not all_listened_at([first])
        one.listen()
        assert all_listened_at([first])
        assert not all_listened_at([first, other])
        two.bind(str(other))
        two.listen()
        assert all_listened_at([first, other])


def test_who_has_hung_up_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))
        one.listen()
    assert path.is_socket()
    assert not all_listened_at([path])


def test_a_socket_whose_name_looks_like_lines_of_the_kernels_list_deceives_nobody(
    tmp_path: Path,
) -> None:
    """Any user of the machine can have one, without a file: the list shows its name as it is."""
    path, token = tmp_path / "socket", secrets.token_hex(8)
    other = Path("/") / token
    line = f"0: 00000002 00000000 00010000 0001 01 1 {other}"
    names = [f"\0{token}\nX: no flags of it at all here", f"\0\n{line}\n"]
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in (*names, path)]
        for one, name in zip(sockets, (*names, str(path)), strict=True):
            one.bind(name.encode())
        sockets[-1].listen()
        assert line in Path("/proc/net/unix").read_text(errors="replace").splitlines()
        assert all_listened_at([path])
        assert not all_listened_at([other])


def test_a_machine_that_does_not_tell_has_nobody_who_listens(tmp_path: Path) -> None:
    assert not all_listened_at([tmp_path / "socket"], Roots(tmp_path))


# Too few open files are raised where they may be, and named where they may not.


def test_a_program_may_have_as_many_files_open_as_it_may_raise_its_limit_to(tmp_path: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert hard != resource.RLIM_INFINITY
    allowed = tmp_path / "proc" / "sys" / "fs" / "nr_open"
    allowed.parent.mkdir(parents=True)
    status = tmp_path / "proc" / "self" / "status"
    status.parent.mkdir()

    def most(rights: str, nr_open: int) -> int:
        allowed.write_text(f"{nr_open}\n")
        status.write_text(f"Name:\tit\nCapEff:\t{rights}\n")
        return most_open_files(Roots(tmp_path))

    assert most("000001ffffffffff", 10 * hard) == 10 * hard
    assert most("000001fffeffffff", 10 * hard) == hard
    assert most("000001fffeffffff", 100) == 100


LIMITED = """
import json, os, resource
from vsperf.errors import NotReadyError
from vsperf.host.open_files import allow_open_files, require_open_files
soft, hard = map(int, os.environ["LIMITED"].split())
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
allow_open_files()
why = None
try:
    require_open_files()
except NotReadyError as error:
    why = error.problems[0].why
print(json.dumps([resource.getrlimit(resource.RLIMIT_NOFILE), why]))
"""


def limited(tmp_path_factory: pytest.TempPathFactory, words: str) -> tuple[list[int], str | None]:
    folder = tmp_path_factory.mktemp("limited")
    (folder / "limited.py").write_text(LIMITED)
    done = subprocess.run(
        own_python.module("limited", folder=folder),
        env={**os.environ, "LIMITED": words},
        capture_output=True,
        text=True,
        check=True,
    )
    found, why = json.loads(done.stdout)
    return found, why


def test_few_are_raised_to_the_usual(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert limited(tmp_path_factory, "32 4096") == ([1024, 4096], None)


def test_many_stay_as_they_are(tmp_path_factory: pytest.TempPathFactory) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    few = min(most, 2048)
    assert limited(tmp_path_factory, f"{few} {few}")[0] == [few, few]


def test_too_few_that_nobody_may_raise_are_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    found, why = limited(tmp_path_factory, "64 64")
    assert found == [64, 64]
    assert why is not None
    assert "no more than 64 files may be open at once" in why


# Programs do not run where vsperf was called, and find what users named from there.


@pytest.fixture(name="here")
def fixture_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder in which vsperf was called, with a program in it."""
    folder = script(tmp_path / "here" / "says-where", "pwd").parent
    monkeypatch.chdir(folder)
    return folder


def test_what_a_deployment_starts_runs_in_its_folder(here: Path, tmp_path: Path) -> None:
    with (
        workspace("a test", tmp_path / "run") as place,
        managed(["./says-where"], name="program", workspace=place) as program,
    ):
        assert program.await_end(30.0)
        assert program.log.read_text() == f"{place.folder}\n"


def test_words_of_the_users_own_are_taken_where_the_user_is(here: Path, tmp_path: Path) -> None:
    with (
        workspace("a test", tmp_path / "run") as place,
        managed(["./says-where"], name="own", workspace=place, folder=here) as program,
    ):
        assert program.await_end(30.0)
        assert program.log.read_text() == f"{here}\n"


@pytest.mark.parametrize("named", ["./says-where", "says-where"])
def test_a_question_is_asked_in_no_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    assert run([named], 30.0).stdout == "/\n"


def test_a_program_is_known_by_its_whole_path(here: Path) -> None:
    environment = {"PATH": ".", "VSPERF_X": "says-where"}
    assert program_path("says-where", environment) == str(here / "says-where")
    assert program_path("says-nothing", environment) is None
    assert OwnProgram("x", "a test").find(environment, here) == here / "says-where"
    assert OwnProgram("says-where", "a test").find(environment, here) == here / "says-where"


def test_what_is_missing_is_built_in_a_checkout_and_copied_where_vsperf_came_as_a_wheel(
    here: Path,
) -> None:
    def fixes() -> Iterator[str]:
        wanted = (lambda: OwnProgram("tgen", "x").find({}, here), lambda: find_image({}, here))
        for find in wanted:
            with pytest.raises(NotReadyError) as caught:
                find()
            yield caught.value.problems[0].fix or ""

    assert all("of a checkout that was set up" in fix for fix in fixes())
    for folder in ("tools/tgen", "vnfs"):
        (here / folder).mkdir(parents=True)
    assert all(fix.startswith("make setup builds it") for fix in fixes())


def test_what_users_name_is_named_wholly(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert whole("image") == str(here / "image")
    assert image_folder({"VSPERF_GUEST": "guest"}) == here / "guest"
    monkeypatch.setenv(VARIABLE, "run")
    assert runtime_folder() == here / "run"


def test_devices_of_dpdk_name_their_files_wholly(here: Path) -> None:
    assert device_port("net_pcap0,rx_pcap=in,tx_pcap=/out").device == (
        f"net_pcap0,rx_pcap={here}/in,tx_pcap=/out"
    )
    assert device_port("net_virtio_user0,path=p,queues=1").device == (
        f"net_virtio_user0,path={here}/p,queues=1"
    )
    in_the_deployment = f"net_virtio_user0,path={Placeholder.RUN}/p"
    for device in ("net_ring0", "net_af_packet0,iface=veth0", in_the_deployment):
        assert device_port(device).device == device
    assert f"path={here}/p0," in Location.of("p1=vhost-user:p0").port(0, Options()).device
