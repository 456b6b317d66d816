"""Samples of the documentation: each the best of several runs, and right by its own trials."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
from all_wrong import none_wrong
from conftest import REPOSITORY
from reread import of_runs
from test_attacks import load_tool

from vsperf.cli.main import run_cli
from vsperf.errors import ComponentError
from vsperf.records.files.folders import RECORDS

RUN = REPOSITORY / "tests" / "golden" / "records" / "2026-11-20-phy2phy_tput-gxq9"


@pytest.fixture(name="tool")
def fixture_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, which writes its pages here."""
    tool = load_tool("make-samples")
    monkeypatch.setattr(tool, "REPOSITORY", tmp_path)
    monkeypatch.setattr(tool, "PAGES", tmp_path)
    monkeypatch.setattr(tool, "BENCH", REPOSITORY / "tools" / "bench")
    return tool


def test_the_best_run_is_the_one_against_which_least_is_to_be_said(tool: ModuleType) -> None:
    """First of all that it has answers, then that nothing is suspect, then that it was clean."""
    against = [
        tool.Against(0, 1, Fraction(1, 10)),
        tool.Against(0, 1, Fraction(1, 20)),
        tool.Against(0, 2, Fraction(0)),
        tool.Against(1, 0, Fraction(0)),
    ]
    runs = [tool.Made(Path(str(number)), 7, one) for number, one in enumerate(against)]
    assert tool.choose(runs) is runs[1]
    assert tool.choose([runs[3], runs[2]]) is runs[2]


def test_a_sample_is_kept_with_its_records_and_says_that_it_is_the_best_of_its_runs(
    tool: ModuleType, tmp_path: Path
) -> None:
    """What lies in the checkout, such as a program built there, is said to lie elsewhere."""
    here, records = tmp_path / "run", (RUN / RECORDS).read_text()
    here.mkdir()
    (here / RECORDS).write_text(records.replace('"example"', f'"{tmp_path}/build"'))
    made = tool.weighed(here)
    tool.keep("p2p", made)
    kept = tmp_path / "p2p.jsonl.gz"
    with tool.unpacked(kept) as folder:
        assert folder.name == RUN.name
        told = (folder / RECORDS).read_text()
        assert told == records.replace('"example"', '"/usr/src/vsperf/build"')
    tool.write(kept)
    assert RUN.name in (tmp_path / "p2p.html").read_text()
    sample, other = tool.SAMPLES[0], tool.weighed(RUN)
    first, second = tool.lines([(sample, [other, made], made)])
    assert first.startswith("| p2p |")
    assert second.startswith("| [p2p](p2p.html) |")
    assert second.endswith(" shown, the best of 2 |\n")


def test_a_sample_does_not_say_whose_machine_it_was_made_on(
    tool: ModuleType, tmp_path: Path
) -> None:
    """What says how the machine was set up stays."""
    head, *rest = (RUN / RECORDS).read_text().splitlines()
    header = json.loads(head)
    system = header["environment"]["system"]
    system |= {"kernel": "6.1.0-ours", "kernel_build": "made by us", "kernel_command_line": ""}
    system["kernel_command_line"] = "isolcpus=2,3 root=/dev/ours quiet"
    header["environment"]["system"]["hostname"] = f"{Path.home()}/.cache/vsperf/kvm.json"
    (here := tmp_path / "run").mkdir()
    (here / RECORDS).write_text("\n".join((json.dumps(header), *rest, "")))
    tool.keep("p2p", tool.weighed(here))
    with tool.unpacked(tmp_path / "p2p.jsonl.gz") as folder:
        told = (folder / RECORDS).read_text()
    assert "ours" not in told and "made by us" not in told
    assert "~/.cache/vsperf/kvm.json" in told and f"{Path.home()}/" not in told
    found = json.loads(told.splitlines()[0])["environment"]["system"]
    assert (found["kernel"], found["kernel_command_line"]) == ("6.1.0", "isolcpus=2,3 quiet")


def test_a_sample_that_is_made_alone_leaves_the_lines_of_the_others(
    tool: ModuleType, tmp_path: Path
) -> None:
    for name in ("p2p", "pvp"):
        (tmp_path / f"{name}.html").write_text("")
    before = "# Samples\n\n| page | run |\n|---|---|\n| pvp | 1 |\n| [pvp](pvp.html) | 2 |\n"
    found = tool.with_others(before, ["| [application](application.html) | 3 |\n"])
    assert found[0].startswith("| [p2p](p2p.html) | made before runs were chosen")
    assert found[1:] == [
        "| pvp | 1 |\n",
        "| [pvp](pvp.html) | 2 |\n",
        "| [application](application.html) | 3 |\n",
    ]
    again = tool.with_others("".join(found), ["| [application](application.html) | 4 |\n"])
    assert again[:3] == found[:3]
    assert again[3:] == ["| [application](application.html) | 4 |\n"]


def test_what_is_asked_for_each_sample_can_be_planned(
    tool: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    ways = ("--recalibrate", "--wait", tool.WAIT)  # of a run
    for sample in tool.SAMPLES:
        asked = [word for word in sample.asked if word not in ways]
        assert run_cli(["plan", *asked, "--json"]) == 0, capfd.readouterr().err
        assert json.loads(capfd.readouterr().out), sample.name


def test_a_run_of_which_an_answer_is_not_what_its_trials_come_to_is_no_sample(
    tool: ModuleType, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong"
    shutil.copytree(RUN, wrong)
    lines = [json.loads(line) for line in (RUN / RECORDS).read_text().splitlines()]
    goal = next(one for one in lines if one["type"] == "case")["result"]["goals"][0]
    goal["lower_fps"] -= 1
    (wrong / RECORDS).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(ComponentError) as raised:
        tool.keep("p2p", tool.weighed(wrong))
    assert "lower bound printed" in str(raised.value.problems[0].why)
    assert not (tmp_path / "p2p.jsonl.gz").exists()


def test_each_sample_whose_records_are_kept_is_right_and_is_the_page_of_them(
    tool: ModuleType,
) -> None:
    for kept in sorted((REPOSITORY / "docs" / "samples").glob("*.jsonl.gz")):
        page = kept.with_name(f"{kept.name.partition('.')[0]}.html").read_text()
        with tool.unpacked(kept) as folder:
            none_wrong(
                f"{kept.name}, {name}: {text}"
                for _, name, said in of_runs([folder])
                for text in said
            )
            assert folder.name in page
