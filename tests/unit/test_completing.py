"""What a shell is given in somebody's folder: by the Tab key, and by commands that are copied."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_samples import header, planned

from vsperf.cli.main import COMPLETE, cli, run_cli
from vsperf.records.files.baselines import set_baseline
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.writer import RunWriter
from vsperf.records.run import RunHeader

FIT = ("fine", "größe", "a.b-c+d_1")
UNFIT = (
    "$(id)",
    "`id`",
    "x;id",
    "a b",
    "a|b",
    "a&b",
    "a>b",
    "it's",
    'say"so',
    "a\nplain,b",
    "\x1b[2J",
)
"""Names of files that a shell would carry out, take apart, or show as an order to the terminal."""
BEGIN = "zz"
"""Of all of them, as of nothing that comes with vsperf."""


@pytest.fixture(autouse=True)
def fixture_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("VSPERF_PATH", raising=False)


def offered(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str
) -> str:
    """Return what a shell is told when the Tab key is pressed at the end of a line."""
    monkeypatch.setenv(COMPLETE, f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        cli.main([], prog_name="vsperf")
    return capsys.readouterr().out


def write_testcases(title: str) -> None:
    folder = Path("testcases")
    folder.mkdir()
    for name in (*FIT, *UNFIT):
        (folder / f"{BEGIN}{name}.yaml").write_text(f"name: {BEGIN}\ntitle: {title}\n")


def test_only_words_that_a_shell_takes_as_they_are_are_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_testcases("fine")
    for command in ("run", "list", "plan", "deploy"):
        told = offered(f"vsperf {command} {BEGIN}", monkeypatch, capsys, "bash").splitlines()
        assert sorted(told) == sorted(f"plain,{BEGIN}{name}" for name in FIT), command


def test_a_title_is_one_line_which_adds_no_word_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_testcases(r'"red\nplain\nevil"')
    told = offered(f"vsperf run {BEGIN}fi", monkeypatch, capsys, "zsh").splitlines()
    assert told == ["plain", f"{BEGIN}fine", "red plain evil"]


def test_cases_of_a_record_of_others_are_offered_likewise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = tuple(
        planned(number, label=f"{BEGIN}{name}")
        for number, name in enumerate((*FIT, *UNFIT), start=1)
    )

    def announcing(run: str) -> RunHeader:
        return header(run).model_copy(update={"cases": cases})

    with RunWriter.create(tmp_path / "results", ["mine"], announcing) as writer:
        run = writer.folder.name
    told = offered(f"vsperf show {run} {BEGIN}", monkeypatch, capsys, "bash").splitlines()
    assert sorted(told) == sorted(f"plain,{BEGIN}{name}" for name in FIT)


@pytest.mark.parametrize("where", ["results", "elsewhere"])
def test_baselines_are_offered_where_one_is_meant(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if where != "results":
        monkeypatch.setenv("VSPERF_RESULTS", where)
    with RunWriter.create(tmp_path / where, ["mine"], header) as writer:
        set_baseline(tmp_path / where, f"{BEGIN}main", writer.folder)
    for line in ("compare latest --baseline", "compare --baseline", "baseline remove"):
        told = offered(f"vsperf {line} {BEGIN}", monkeypatch, capsys, "bash").splitlines()
        assert told == [f"plain,{BEGIN}main"], line


def test_a_command_to_be_copied_has_a_name_of_others_as_one_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name that a run says it has is in its record, and so anybody's."""
    named = "x; touch y"
    with RunWriter.create(tmp_path / "results", ["mine"], header) as writer:
        folder = writer.folder
    path = folder / RECORDS
    path.write_text(path.read_text().replace(folder.name, named))
    assert run_cli(["show", folder.name, "--results", str(tmp_path / "results")]) == 0
    shown = capsys.readouterr().out
    assert f"vsperf run --resume '{named}'" in shown
    assert f"--resume {named}" not in shown
