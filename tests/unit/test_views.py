"""What people see on a terminal of 80 columns, view by view, as it is kept in `golden/views`.

What changes a view shows it in its diff: look at it as its reader would. The views are of stored
runs and of models, which are the same on any machine.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from all_wrong import none_wrong
from conftest import REPOSITORY
from viewed_runs import store_what_has_no_frames

from vsperf.cli.commands import doctor
from vsperf.cli.main import run_cli
from vsperf.host.doctor.finding import Finding, Group, Status
from vsperf.host.doctor.usable import WAY, Judged

GOLDEN = REPOSITORY / "tests" / "golden"
VIEWS = GOLDEN / "views"
NOW = REPOSITORY / "build" / "views"
"""Where a view goes that is not as it was."""
COLUMNS = 80
UNIT = re.compile(r"(?:[nµm]?s|min|h|%|[kMG]?(?:fps|bit/s|B/s)|[kMG]i?B)(?![\w/])")
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(name="models", scope="module")
def fixture_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return results of each kind of bench but that of frames, which golden runs have."""
    store_what_has_no_frames(results := tmp_path_factory.mktemp("models"))
    return results


def test_there_are_views_of_what_people_look_at() -> None:
    seen = {shlex.split(view.read_text().splitlines()[0])[2] for view in VIEWS.glob("*.txt")}
    assert seen >= {"show", "results", "list", "plan", "trend", "compare", "explain", "run"}
    assert {"baseline", "plot", "export", "doctor"} <= seen


def test_no_view_parts_a_figure_from_its_unit() -> None:
    """A line that ends with a number does not go on with what it counts."""
    parted = []
    for view in sorted(VIEWS.glob("*.txt")):
        lines = view.read_text().splitlines()
        for number, (line, after) in enumerate(itertools.pairwise(lines), start=1):
            if line.rstrip()[-1:].isdigit() and UNIT.match(after.strip()):
                parted.append(f"{view.name}:{number}: {line.strip()[-20:]} / {after.strip()[:20]}")
    none_wrong(parted)


@pytest.mark.parametrize("name", sorted(view.stem for view in VIEWS.glob("*.txt")))
def test_a_view_is_as_it_was_looked_at(
    name: str,
    tmp_path: Path,
    models: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = (VIEWS / f"{name}.txt").read_text()
    command = kept.splitlines()[0]
    stored_and_narrow(tmp_path, models, monkeypatch)
    run_cli(shlex.split(command.removeprefix("$ vsperf ")))
    printed = lines_of(capsys)
    shown = "\n".join((command, *(line.rstrip() for line in printed))) + "\n"
    if shown != kept:
        NOW.mkdir(parents=True, exist_ok=True)
        (NOW / f"{name}.txt").write_text(shown)
    assert shown == kept, f"see build/views/{name}.txt; where it is better: cp it to {VIEWS.name}"
    assert not too_long(printed), "only a path or another word that is longer than a line may be"


@pytest.mark.parametrize("command", ["plugins", "explain"])
def test_what_is_no_view_of_these_fits_the_terminal_as_well(
    command: str,
    tmp_path: Path,
    models: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stored_and_narrow(tmp_path, models, monkeypatch)
    assert run_cli(command.split()) == 0
    assert not too_long(lines_of(capsys))


def a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `doctor` find what never changes: an answer of each kind, and of each length."""
    found = [
        Finding("cpus", Group.PROCESSORS, Status.OK, "2 of 2 usable: 0-1"),
        Finding(
            "hugepages",
            Group.MEMORY,
            Status.WARNING,
            "node 0: 12 of 1024 pages of 2 MB free (24.00 MiB), and a run of OVS-DPDK with a "
            "guest takes 768.0 MiB; what is missing is reserved when it begins",
        ),
        Finding(
            "kvm", Group.PROCESSORS, Status.ABSENT, "/dev/kvm is not there: guests are emulated"
        ),
        Finding("steal", Group.PROCESSORS, Status.UNKNOWN, "the hypervisor tells nothing of it"),
        Finding(
            "dpdk-testpmd",
            Group.PROGRAMS,
            Status.FAILURE,
            "dpdk-testpmd is not in $PATH: /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",
            fix="apt-get install --no-install-recommends dpdk",
        ),
        Finding(
            "guest image", Group.PROGRAMS, Status.OK, f"/images/guest, {'0123456789abcdef' * 4}"
        ),
    ]
    mend = ("apt-get install --no-install-recommends dpdk",)
    drivers = {
        ("vswitch", "ovs-dpdk"): Judged("vswitch", "ovs-dpdk"),
        ("vswitch", "testpmd"): Judged("vswitch", "testpmd", mend),
        ("vnf", "process"): Judged("vnf", "process", mend),
        ("vnf", "qemu"): Judged("vnf", "qemu", (), "emulated"),
    }
    ways = [Judged(WAY, "p2p"), Judged(WAY, "pvp", (), "emulated")]
    monkeypatch.setattr(doctor, "examine", lambda here, chosen: found)
    monkeypatch.setattr(doctor, "judge_drivers", lambda plugins, findings: drivers)
    monkeypatch.setattr(doctor, "_ways", lambda *asked: ways)


def stored_and_narrow(folder: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_machine(monkeypatch)
    shutil.copytree(models, folder / "results")
    for run in (GOLDEN / "records").iterdir():
        if run.is_dir():
            shutil.copytree(run, folder / "results" / run.name)
    kept = {"run": "2026-11-21-phy2phy_smoke-acj4", "set_at": "2026-11-22T08:15:00+00:00"}
    baselines = folder / "results" / "baselines"
    baselines.mkdir()
    (baselines / "main.json").write_text(f"{json.dumps(kept)}\n")
    monkeypatch.chdir(folder)
    for variable, value in {
        "COLUMNS": str(COLUMNS),
        "FORCE_COLOR": "1",
        "TERM": "xterm",
        "HOME": str(folder),
    }.items():
        monkeypatch.setenv(variable, value)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capsys.readouterr()
    return STYLE.sub("", out + err).replace(f"{REPOSITORY}", "REPOSITORY").splitlines()


def too_long(printed: list[str]) -> list[str]:
    return [line for line in printed if len(line) > COLUMNS and " " in line.strip()]
