"""The set-up script says what is wrong before it touches anything."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

import pytest
from conftest import REPOSITORY

pytestmark = pytest.mark.scaffolding("tools/bootstrap", "tests/integration/test_bootstrap.py")


def bootstrap(checkout: Path, *argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    (checkout / "tools").mkdir(exist_ok=True)
    script = checkout / "tools" / "bootstrap"
    script.write_bytes((REPOSITORY / "tools" / "bootstrap").read_bytes())
    for name in ("requirements.txt", "requirements-dev.txt", "setup.py"):
        (checkout / name).write_bytes((REPOSITORY / name).read_bytes())
    return subprocess.run(
        [str(which("sh")), str(script), *argv],
        env={**os.environ, **environ},
        cwd="/",
        text=True,
        capture_output=True,
        check=False,
    )


def test_it_explains_itself(tmp_path: Path) -> None:
    done = bootstrap(tmp_path, "--help")
    assert done.returncode == 0
    assert "tools/bootstrap --dev" in done.stdout
    assert not (tmp_path / ".venv").exists()


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    done = bootstrap(tmp_path, "--devel")
    assert done.returncode == 3
    assert "unknown option --devel; there are --dev and --bench" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("finished", [False, True])
def test_all_that_benchmarks_lack_is_told_before_anything_is_set_up(
    tmp_path: Path, finished: bool
) -> None:
    checkout, programs = tmp_path / "checkout", tmp_path / "programs"
    checkout.mkdir()
    programs.mkdir()
    for name in ("sh", "cat", "cmp", "date", "dirname", "grep", "id", "mkdir", "sed", "sort", "tr"):
        (programs / name).symlink_to(str(which(name)))
    if finished:
        bootstrap(checkout, "--help")
        finish(checkout)
    done = bootstrap(checkout, "--bench", PATH=str(programs))
    assert (done.returncode, done.stdout) == (3, "")
    lacking, mend = done.stderr.splitlines()
    wanted = {"tcpdump", "tcpreplay", "iproute2", "gcc", "meson"}
    assert wanted <= set(lacking.partition("lack these packages: ")[2].split())
    assert wanted <= set(mend.partition("as root: apt-get install ")[2].split())
    assert (checkout / ".venv").exists() == finished


def test_an_interpreter_that_does_not_suit_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    done = bootstrap(tmp_path, PYTHON="/bin/false")
    assert (done.returncode, done.stdout) == (3, ""), "no other one is looked for"
    assert "PYTHON=/bin/false is not Python 3.11 or newer" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_a_finished_set_up_is_left_alone_and_another_one_is_not(tmp_path: Path) -> None:
    checkout = tmp_path / "a check out"
    checkout.mkdir()
    bootstrap(checkout, "--help")
    finish(checkout)
    done = bootstrap(checkout, PYTHON="/bin/false")
    assert (done.returncode, done.stdout) == (0, "bootstrap: nothing to do, .venv is complete\n")
    with (checkout / "requirements.txt").open("a") as file:
        file.write("another==1\n")
    script = checkout / "tools" / "bootstrap"
    again = subprocess.run(
        ["sh", str(script)],
        env={**os.environ, "PYTHON": "/bin/false"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert again.returncode == 3, "the stamp of other requirements must not count"


def test_a_step_that_fails_shows_its_last_words_and_names_the_log(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    script = tmp_path / "tools" / "bootstrap"
    script.write_bytes((REPOSITORY / "tools" / "bootstrap").read_bytes())
    for name in ("requirements-dev.txt", "setup.py"):
        (tmp_path / name).touch()
    (tmp_path / "requirements.txt").write_text("vsperf-without-a-hash==1\n")
    done = subprocess.run(["sh", str(script)], text=True, capture_output=True, check=False)
    assert done.returncode == 3
    assert "Python packages of requirements.txt into .venv (1) … failed" in done.stdout
    assert "the end of build/set-up.log:" in done.stdout
    assert "require-hashes" in done.stdout, "a package that has no hash is not installed"
    assert "vsperf-without-a-hash" in (tmp_path / "build" / "set-up.log").read_text()


SWITCH_FOR_SERVICES = """
as_root() { "$@"; }
%s
hold_services
echo held
while :; do sleep 0.05; done
"""


@contextmanager
def holding_services(policy: Path) -> Iterator[subprocess.Popen[str]]:
    """Run what keeps services from starting, with its file elsewhere.

    A shell cannot trap a signal that its parent ignores, as `nohup` has it with SIGHUP.
    """
    text = (REPOSITORY / "tools" / "bootstrap").read_text()
    begin, end = text.index("policy=/usr/sbin/policy-rc.d"), text.index("# Installs packages whose")
    part = text[begin:end].replace("policy=/usr/sbin/policy-rc.d", f"policy={policy}")
    argv = ["env", "--default-signal", "sh", "-euc", SWITCH_FOR_SERVICES % part]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
            process.wait(10)
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_set_up_that_a_signal_ends_lets_services_start_again(
    tmp_path: Path, number: signal.Signals
) -> None:
    policy = tmp_path / "policy-rc.d"
    with holding_services(policy) as process:
        refused = subprocess.run([policy, "openvswitch-switch", "start"], check=False)
        others = subprocess.run([policy, "ssh", "start"], check=False)
        process.send_signal(number)
        assert process.wait(10) == 130
    assert (refused.returncode, others.returncode) == (101, 0)
    assert not policy.exists()


def test_a_switch_for_services_that_somebody_else_made_stays_as_it_is(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    with holding_services(policy) as process:
        process.terminate()
    assert policy.read_text() == "#!/bin/sh\nexit 101\n"


def finish(checkout: Path) -> None:
    """Leave what a successful set-up leaves, with a stand-in for the interpreter."""
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 0\n")
    python.chmod(0o755)
    files = ("requirements.txt", "setup.py", "tools/bootstrap")
    state = f"checkout {checkout.resolve()}\nlevel run\n"
    state += "".join((checkout / name).read_text() for name in files)
    (checkout / ".venv" / "stamp-run").write_text(state)
