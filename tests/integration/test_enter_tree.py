"""What runs in a tree sees nothing else of the machine than it was given, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from trees import busybox_tree, contents, mount_namespaces, mounts

from vsperf.errors import ComponentError
from vsperf.host.process import managed
from vsperf.host.tree import Tree
from vsperf.host.workspace import workspace

pytestmark = pytest.mark.everyday

Ran = subprocess.CompletedProcess[str]


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path, require: Callable[[str], None]) -> Iterator[Tree]:
    """Give a tree, and see that it stays as it was and that no mount is left."""
    for part in ("root", "busybox", "namespaces"):
        require(part)
    root = busybox_tree(tmp_path / "tree")
    before, mounted = contents(root), mounts()
    yield Tree(root)
    assert contents(root) == before
    assert mounts() == mounted


def run(tree: Tree, *argv: str, folders: tuple[str, ...] = (), **environ: str) -> Ran:
    return subprocess.run(
        tree.command(argv, folders=folders, devices=("net/tun", "no-such-device")),
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        text=True,
        capture_output=True,
        check=False,
    )


def test_the_tree_is_all_that_there_is(tree: Tree) -> None:
    done = run(tree, "/bin/ls", "/")
    assert done.returncode == 0, done.stderr
    usual = {"dev", "proc", "run", "sys", "tmp"}
    assert set(done.stdout.split()) == {"bin", "etc", "opt", "usr", "var"} | usual
    assert run(tree, "/bin/cat", "/etc/os-release").stdout.startswith('NAME="Tiny"')
    assert run(tree, "/bin/ls", "/run", "/tmp").stdout.split() == ["/run:", "/tmp:"]


def test_the_kernels_own_files_are_those_of_the_machine(tree: Tree) -> None:
    command = "cd /proc/$$ && readlink exe && ls /sys/devices/system/cpu"
    done = run(tree, "/bin/sh", "-c", command)
    assert done.stdout.splitlines()[0] == "/usr/bin/busybox"
    assert "cpu0" in done.stdout.split()


def test_a_few_devices_are_there_and_those_that_were_asked_for(tree: Tree) -> None:
    found = set(run(tree, "/bin/ls", "/dev").stdout.split())
    assert found - {"net"} == {
        *("fd", "full", "null", "random", "stderr", "stdin", "stdout", "urandom", "zero")
    }
    assert ("net" in found) == Path("/dev/net/tun").exists()
    assert run(tree, "/bin/sh", "-c", "echo gone > /dev/null && cat /dev/stdin").returncode == 0


def test_a_shared_folder_has_its_name_and_what_is_written_there_stays(
    tree: Tree, tmp_path: Path
) -> None:
    inner = tmp_path / "tree" / "opt"
    changed = inner.stat().st_mtime_ns
    for shared in (tmp_path / "run", inner):
        shared.mkdir(exist_ok=True)
        done = run(tree, "/bin/sh", "-c", f"echo hello > {shared}/file", folders=(str(shared),))
        assert done.returncode == 0, done.stderr
        assert (shared / "file").read_text() == "hello\n"
        (shared / "file").unlink()
    os.utime(inner, ns=(changed, changed))


@pytest.mark.parametrize("place", ["/usr/new", "/etc/os-release", "/var/new"])
def test_nothing_can_be_written_to_the_tree(tree: Tree, place: str) -> None:
    assert "Read-only file system" in run(tree, "/bin/touch", place).stderr


def test_what_is_written_beside_the_tree_goes_with_the_program(tree: Tree) -> None:
    assert run(tree, "/bin/touch", "/tmp/new", "/run/new", "/dev/new", "/new").returncode == 0
    assert not Path("/run/new").exists()
    assert not Path("/new").exists()


def test_libraries_of_the_machine_are_not_named_to_it(tree: Tree) -> None:
    done = run(tree, "/bin/env", LD_LIBRARY_PATH="/usr/lib", OVS_RUNDIR="/run/x")
    names = {line.partition("=")[0] for line in done.stdout.splitlines()}
    assert "OVS_RUNDIR" in names
    assert "LD_LIBRARY_PATH" not in names


def test_it_ends_as_its_program_does(tree: Tree) -> None:
    assert run(tree, "/bin/true").returncode == 0
    assert run(tree, "/bin/sh", "-c", "exit 7").returncode == 7


def test_a_program_that_is_not_there_is_named_in_one_line(tree: Tree) -> None:
    done = run(tree, "/bin/nothing")
    assert done.returncode == 126
    assert done.stderr == (
        f"vsperf: cannot run /bin/nothing in {tree.root}: No such file or directory\n"
    )


def test_a_tree_that_is_not_there_is_named_in_one_line(tmp_path: Path, tree: Tree) -> None:
    done = run(Tree(tmp_path / "gone"), "/bin/true")
    assert done.returncode == 125
    assert done.stderr.count("\n") == 1
    assert str(tmp_path / "gone") in done.stderr


def test_a_managed_program_keeps_its_number_and_leaves_no_namespace(tree: Tree) -> None:
    with workspace("a test of trees") as place:
        command = tree.command(("/bin/sleep", "600"), folders=(str(place.folder),))
        with managed(command, name="sleeper", workspace=place, ready=lambda: True) as program:
            seen = Path(f"/proc/{program.pid}")
            wait_for(lambda: (seen / "comm").read_text() == "sleep\n")
            # By the file, and not by its name: from a namespace of its own that is the kernel's.
            assert (seen / "exe").samefile(tree.path(Path("/usr/bin/busybox")))
            own = (seen / "ns" / "mnt").readlink()
            assert own != Path("/proc/self/ns/mnt").readlink()
    wait_for(lambda: str(own) not in mount_namespaces())


def test_a_program_that_was_killed_leaves_no_namespace(tree: Tree) -> None:
    with subprocess.Popen(tree.command(("/bin/sleep", "600"))) as process:
        wait_for(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
        own = Path(f"/proc/{process.pid}/ns/mnt").readlink()
        process.send_signal(signal.SIGKILL)
    wait_for(lambda: str(own) not in mount_namespaces())


def test_what_stands_in_the_way_is_in_the_obituary(tree: Tree) -> None:
    with workspace("a test of trees") as place:
        command = tree.command(("/bin/nothing",))
        with (
            pytest.raises(ComponentError) as caught,
            managed(command, name="nothing", workspace=place, ready=lambda: False),
        ):
            pass
    assert "cannot run /bin/nothing" in (caught.value.problems[0].why or "")


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)
