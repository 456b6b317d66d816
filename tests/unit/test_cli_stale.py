"""No output is taken from a run that nobody asked for: what is refused is no older run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from record_samples import header
from stored_runs import finished, store

from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode
from vsperf.records.files.folders import FILE

SIMULATED = ["--testbed", "sim", "--progress", "quiet", "--set", "traffic.frame_size=64B"]
COMMANDS = {
    "export": ["export", "junit", "{}", "-o", "made"],
    "report": ["report", "{}", "-o", "made.html"],
    "plot": ["plot", "throughput", "{}", "-o", "made.svg"],
    "show": ["show", "{}"],
    "baseline": ["baseline", "set", "main", "{}"],
}


@pytest.fixture(name="results", autouse=True)
def fixture_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VSPERF_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


def run_one(*more: str) -> int:
    return run_cli(["run", "phy2phy_smoke", *SIMULATED, *more])


def refused() -> int:
    return run_cli(["run", "phy2phy_smoke", *SIMULATED, "--set", "vswitch.behaviour.kind=nonsense"])


@pytest.mark.parametrize("command", COMMANDS)
def test_after_a_run_that_was_refused_no_older_one_is_the_latest(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_one() == ExitCode.OK
    assert refused() == ExitCode.BAD_INPUT
    capsys.readouterr()
    arguments = [part.format("latest") for part in COMMANDS[command]]
    assert run_cli(arguments) == ExitCode.BAD_INPUT
    said = capsys.readouterr()
    assert "was refused before it began" in said.err
    assert "nonsense" in said.err
    assert not said.out
    assert not list(tmp_path.glob("made*"))


def test_the_next_run_is_the_latest_again(results: Path) -> None:
    assert run_one() == ExitCode.OK
    refused()
    assert (results / FILE).exists()
    assert run_one() == ExitCode.OK
    assert run_cli(["show", "latest"]) == ExitCode.OK


def test_a_run_that_was_not_taken_up_again_is_not_the_latest(results: Path) -> None:
    assert run_one() == ExitCode.OK
    first = (results / "latest").resolve()
    assert run_one() == ExitCode.OK
    second = (results / "latest").resolve()
    assert run_cli(["run", "--resume", first.name]) == ExitCode.BAD_INPUT, "it is finished"
    assert (results / "latest").resolve() == second != first
    refused()
    run_cli(["run", "--resume", first.name])
    assert run_cli(["show", "latest"]) == ExitCode.BAD_INPUT


def test_an_older_run_that_is_named_is_what_was_asked_for(results: Path) -> None:
    run_one()
    refused()
    (folder,) = (one for one in results.iterdir() if one.name.startswith("20") and one.is_dir())
    assert run_cli(["show", folder.name[-4:]]) == ExitCode.OK


def test_a_dry_run_that_fails_is_no_run(results: Path) -> None:
    run_one()
    run_cli(["run", "nothing_of_this_name", "--testbed", "sim", "--dry-run"])
    assert not (results / FILE).exists()


def test_where_there_are_no_results_none_are_made(results: Path) -> None:
    refused()
    assert not results.exists()


@pytest.mark.parametrize(
    "more",
    [
        ["--budget", "nonsense"],
        ["--no-such-option"],
        ["--progress"],
        ["--vswitch", "ovs-dpdk", "--mode", "trafficgen"],
    ],
)
@pytest.mark.parametrize("elsewhere", [True, False])
def test_what_the_command_line_refuses_is_noted_as_well(
    more: list[str], elsewhere: bool, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ["--results", str(results)] if elsewhere else []
    assert run_one() == ExitCode.OK
    if elsewhere:
        monkeypatch.delenv("VSPERF_RESULTS")
    assert run_one(*where, *more) == ExitCode.BAD_INPUT
    assert run_cli(["export", "junit", "latest", *where]) == ExitCode.BAD_INPUT


@pytest.mark.parametrize("more", [["--help"], ["--dry-run", "--budget", "nonsense"]])
def test_what_was_not_to_be_run_is_not_noted(more: list[str], results: Path) -> None:
    run_one()
    run_one(*more)
    assert not (results / FILE).exists()


@pytest.mark.parametrize(
    "path", ["results/latest", "./results/latest/", "{}/latest", "results/latest/records.jsonl"]
)
def test_the_latest_is_refused_however_it_is_written(
    path: str, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_one()
    assert run_cli(["show", path.format(results)]) == ExitCode.OK
    refused()
    monkeypatch.delenv("VSPERF_RESULTS")
    assert run_cli(["show", path.format(results)]) == ExitCode.BAD_INPUT


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"at": 1}'])
def test_what_was_kept_need_not_be_readable(kept: str, results: Path) -> None:
    run_one()
    (results / FILE).write_text(kept)
    assert run_cli(["show", "latest"]) == ExitCode.BAD_INPUT


class TestWhatOthersPutIntoItsPlace:
    """Who may write to a folder of results may put anything where the note is kept."""

    def test_what_a_link_leads_to_is_left_alone(self, results: Path, tmp_path: Path) -> None:
        run_one()
        (tmp_path / "kept").write_text("theirs")
        (results / FILE).symlink_to(tmp_path / "kept")
        refused()
        assert (tmp_path / "kept").read_text() == "theirs"
        assert run_cli(["show", "latest"]) == ExitCode.BAD_INPUT

    def test_another_name_of_a_file_is_left_alone(self, results: Path, tmp_path: Path) -> None:
        run_one()
        (tmp_path / "kept").write_text("theirs")
        (results / FILE).hardlink_to(tmp_path / "kept")
        refused()
        assert (tmp_path / "kept").read_text() == "theirs"

    def test_a_note_behind_a_link_is_not_believed(
        self, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run_one()
        (tmp_path / "told").write_text('{"at": "today", "why": "theirs"}')
        (results / FILE).symlink_to(tmp_path / "told")
        assert run_cli(["show", "latest"]) == ExitCode.BAD_INPUT
        assert "theirs" not in capsys.readouterr().err

    def test_nobody_waits_for_a_pipe(self, results: Path) -> None:
        run_one()
        os.mkfifo(results / FILE)
        assert run_cli(["show", "latest"]) == ExitCode.BAD_INPUT
        refused()
        assert (results / FILE).is_file()

    def test_a_folder_of_results_may_be_a_link(self, results: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        results.symlink_to(tmp_path / "elsewhere")
        run_one()
        refused()
        assert (results / FILE).is_file()
        assert run_cli(["show", "latest"]) == ExitCode.BAD_INPUT

    def test_nothing_else_is_left(self, results: Path) -> None:
        run_one()
        before = {one.name for one in results.iterdir()}
        refused()
        assert {one.name for one in results.iterdir()} == before | {FILE}


class TestLabels:
    """A job names its runs by a label that only it has given."""

    @pytest.fixture(autouse=True)
    def two_jobs(self, results: Path) -> None:
        for job, name in (("1", "aaaa"), ("2", "bbbb")):
            run = f"2026-11-20-phy2phy_tput-{name}"
            store(results, run, finished(header(run, labels={"job": job})))

    @pytest.mark.parametrize("command", ["export", "report", "plot"])
    def test_outputs_take_them_and_say_which_run_they_are_of(
        self, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_cli([part.format("job=1") for part in COMMANDS[command]]) == ExitCode.OK
        said = capsys.readouterr().err
        if command != "plot":  # its caption says how many runs it is of
            assert "of 2026-11-20-phy2phy_tput-aaaa, begun " in said
            assert "job=1" in said
        assert "bbbb" not in said
        assert list(tmp_path.glob("made*"))

    @pytest.mark.parametrize("command", ["export", "report", "plot"])
    def test_a_job_without_a_run_has_no_output(
        self, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_cli([part.format("job=3") for part in COMMANDS[command]]) == ExitCode.BAD_INPUT
        assert "no stored run fits 'job=3'" in capsys.readouterr().err
        assert not list(tmp_path.glob("made*"))
