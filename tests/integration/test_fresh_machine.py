"""A machine that nobody prepared can be had from a tree, and nothing of it is left."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import REPOSITORY, Require
from tiers import GIT

pytestmark = pytest.mark.scaffolding(
    "tools/fresh-machine", "tests/integration/test_fresh_machine.py"
)

BUSYBOX = Path("/bin/busybox")
HOME = Path("/", "home", "lab")
PLAYED_ENV = """shift
while [ "$1" != "${1#*=}" ]; do export "$1"; shift; done
if [ "$1" = setpriv ]; then
    echo "become $3"
    while [ "$1" != sh ]; do shift; done
fi
exec "$@"
"""
SUPPLIED = ("sh", "env", "ls", "cat", "mount", "id", "pwd", "sleep", "test", "setsid", "unshare")


@pytest.fixture(name="checkout")
def fixture_checkout(require: Require, tmp_path: Path) -> Path:
    for part in ("checkout", "root", "busybox"):
        require(part)
    checkout = tmp_path / "check out"
    (checkout / "tools").mkdir(parents=True)
    (checkout / "tools" / "fresh-machine").write_bytes(
        (REPOSITORY / "tools" / "fresh-machine").read_bytes()
    )
    (checkout / "tools" / "fresh-machine").chmod(0o755)
    (checkout / "committed").write_text("this is cloned\n")
    name = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    for argv in (["init", "--quiet"], ["add", "."], [*name, "commit", "--quiet", "-m", "first"]):
        subprocess.run([*GIT, *argv], cwd=checkout, check=True)
    (checkout / "uncommitted").touch()
    return checkout


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path) -> Path:
    """Return the smallest tree that commands run in."""
    tree = tmp_path / "tree"
    for folder in ("bin", "usr/bin", "proc", "sys", "dev", "run", "tmp", "etc", "root"):
        (tree / folder).mkdir(parents=True)
    (tree / "bin" / "busybox").write_bytes(BUSYBOX.read_bytes())
    (tree / "bin" / "busybox").chmod(0o755)
    for name in SUPPLIED:
        (tree / "bin" / name).symlink_to("busybox")
    (tree / "usr" / "bin" / "env").symlink_to("/bin/busybox")
    return tree


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def fresh_machine(checkout: Path, *argv: str) -> tuple[int, str, str]:
    """Return the exit code, what was printed, and the log."""
    done = subprocess.run(
        [str(checkout / "tools" / "fresh-machine"), *argv],
        text=True,
        capture_output=True,
        check=False,
        env={**os.environ, "LEAKED": "a secret of this shell"},
    )
    logs = sorted(checkout.glob("build/fresh/*.log"))
    return done.returncode, done.stdout + done.stderr, "".join(log.read_text() for log in logs)


def test_a_machine_is_bare_and_has_what_was_committed(checkout: Path, tree: Path) -> None:
    code, said, log = fresh_machine(
        checkout, "mine", "--tree", str(tree), "--command", "ls /dev && ls && env && mount"
    )
    assert (code, "… ok, 0 min" in said) == (0, True), said + log
    assert "committed" in log.split()
    assert "uncommitted" not in log.split()
    assert "hugepages" not in log, "nobody made a folder or a mount for them"
    assert "LEAKED" not in log
    assert "CI=true" in log.split()
    assert not list(checkout.glob("build/fresh/machine-*")), "the machine is gone"


def test_a_user_has_sudo_and_runs_the_commands_in_a_path_with_a_space(
    checkout: Path, tree: Path
) -> None:
    """The smallest tree has no programs that make a user and become one, so these play them."""
    (tree / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\nlab:x:1000:1000::/:/bin/sh\n")
    (tree / "etc" / "group").write_text("root:x:0:\nlab:x:1000:\n")
    (tree / "etc" / "sudoers.d").mkdir()
    (tree / "usr" / "bin" / "env").unlink()
    for name, text in (("useradd", f"mkdir -p {HOME}\n"), ("env", PLAYED_ENV)):
        program = tree / "usr" / "bin" / name
        program.write_text(f"#!/bin/sh\n{text}")
        program.chmod(0o755)
    for name in ("mkdir", "chown"):
        (tree / "bin" / name).symlink_to("busybox")
    commands = ("--command", "pwd", "--command", "echo at home in $HOME")
    code, said, log = fresh_machine(checkout, "mine", "--user", "--tree", str(tree), *commands)
    assert code == 0, said + log
    assert log.count("become lab\n") == 2, "for each command"
    assert f"{HOME}/a checkout\n" in log
    assert f"at home in {HOME}\n" in log
    assert "mine, lab: pwd … ok" in said


def test_the_first_failure_does_not_hide_the_next_command_and_decides_the_end(
    checkout: Path, tree: Path
) -> None:
    code, said, _ = fresh_machine(
        checkout, "mine", "--tree", str(tree), "--command", "exit 7", "--command", "true"
    )
    assert code == 1
    assert "exit 7 … FAILED with exit code 7" in said
    assert "true … ok" in said


def test_what_a_command_leaves_running_is_named_and_ended(checkout: Path, tree: Path) -> None:
    code, said, _ = fresh_machine(
        checkout, "mine", "--tree", str(tree), "--command", "setsid sleep 1234 &"
    )
    assert code == 1
    assert "left running: setsid sleep 1234" in said or "left running: sleep 1234" in said


def test_a_signal_ends_the_machine_at_once(checkout: Path, tree: Path) -> None:
    program = checkout / "tools" / "fresh-machine"
    running = subprocess.Popen(
        [program, "mine", "--tree", tree, "--command", "echo it runs; sleep 1234"],
        stdout=subprocess.PIPE,
        text=True,
    )
    log = checkout / "build" / "fresh" / "mine-root.log"
    wait_for(lambda: log.is_file() and "it runs\n" in log.read_text().splitlines(keepends=True))
    running.terminate()
    running.communicate(timeout=30)
    assert running.returncode == 130
    assert not list(checkout.glob("build/fresh/machine-*")), "the machine is gone"
