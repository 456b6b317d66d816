"""What the benchmarks of real comparisons make of them, held against models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from paired import hold
from paired_kept import Made
from paired_models import MODELS, PairedModel, method, session
from paired_sessions import Session, changed, tell
from paired_table import Cell, tell_differing

QUIET = PairedModel("quiet", {"noise": "0.5%"})
ASKED = method(rounds=6, pairs=20)
BRIEF = 40.0


def made(*shares: float, model: PairedModel = QUIET, seed: int = 1) -> Made:
    """Return a comparison of a first switch with such as forward these shares of its rate."""
    bench = session(model, seed, *shares)
    ASKED.play(bench)
    return Made(BRIEF, tuple(bench.rounds), ASKED.terms)


def test_a_session_says_the_same_of_a_rival_whichever_comes_first() -> None:
    second = Session.of(made(0.9), busy=False, turned=False)
    first = Session.of(made(1 / 0.9), busy=False, turned=True)
    assert first.kind != second.kind
    for one in (first, second):
        assert one.found is not None
        assert one.found.less
        assert one.found.ratio == pytest.approx(0.9, abs=0.01)


def test_sessions_are_counted_by_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    slower = [Session.of(made(0.9, seed=one), busy=False, turned=False) for one in (1, 2)]
    faster = Session.of(made(1.1), busy=True, turned=False)
    ratio = tell([*slower, faster], BRIEF - 1, rival=True)
    assert ratio.rounds == 2
    told = capsys.readouterr().out.splitlines()
    rows = {line[:21].strip(): line[21:].split() for line in told if line[:21].strip()}
    assert rows["alone, rival second"][:6] == ["2", "2", "0", "0", "2", "0"]
    assert rows["busy, rival second"][:6] == ["1", "1", "0", "0", "1", "1"], "it says the wrong way"
    assert rows["all"][-1] == "3", "all took longer than they may"
    assert "3% is seen in 95% of sessions of some" in told[-1]


def test_of_the_same_switch_whatever_is_different_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell([Session.of(made(0.9), busy=False, turned=False)], BRIEF, rival=False)
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("all  "))
    assert row[21:].split()[:7] == ["1", "1", "0", "0", "1", "1", "0"]


def test_each_switch_of_a_table_is_held_against_each() -> None:
    cell = Cell.of("64B 1", made(0.8, 0.8))
    assert {pair: one.word for pair, one in cell.verdicts.items()} == {
        ("A", "B"): "slower",
        ("A", "C"): "slower",
        ("B", "C"): "alike",
    }
    assert cell.verdicts["B", "C"].text.startswith("±")


def test_verdicts_that_differ_between_two_tables_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell_differing(1, [Cell.of("64B 1", made(0.8))], 2, [Cell.of("64B 1", made(1.0))])
    told = capsys.readouterr().out
    assert "0 verdicts are the same, 1 differ" in told
    assert re.search(r"^  64B 1: B to A: -(20\.0|19\.9|20\.1)%, then ±", told, re.MULTILINE)


def test_sessions_on_models_that_are_noted_are_not_had_once_more(tmp_path: Path) -> None:
    model = MODELS[0]
    first = hold(model, 2, ASKED, tmp_path)
    (noted,) = tmp_path.iterdir()
    text = noted.read_text()
    assert hold(model, 2, ASKED, tmp_path) == first
    assert noted.read_text() == text
    assert hold(model, 1, method(rounds=7, pairs=20), tmp_path) != first
    noted.write_text(text[:-20])  # it was killed amid the second
    assert hold(model, 2, ASKED, tmp_path) == first == hold(model, 2, ASKED)


def test_a_rival_has_settings_in_the_place_of_others_or_beside_them() -> None:
    assert changed("kind: device, work: 600", "work: 632") == 'kind: "device", work: 632'
    assert changed("kind: sim", "cost: {cycles: 2}") == 'kind: "sim", cost: {"cycles": 2}'
