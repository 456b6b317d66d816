"""Paths of switches in turns: who forwards nothing, or one way of two, has no rate."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from assertions import known
from paired_models import ModelTurns, method, session
from reread import of_runs
from test_method_paired import BY_NAME, QUIET, SHORT, changed, figures, played
from test_paired_runs import run, shown, stored

from vsperf.records.files.folders import resolve
from vsperf.records.flags import Flag
from vsperf.records.signed_ranks import LEAST, middle_of
from vsperf.records.turn_columns import Turn, TurnColumns
from vsperf.records.turns import CONTROL, Role, Round, Terms, answering, clean_passes, looks_of
from vsperf.simulation.turns import SimulatedTurns


def with_turns_of_b(one: Round, dead: Iterable[int], *, direction: int | None = 1) -> Round:
    """Return a round without what came through B in these of its turns, in one direction or all."""
    found, own = list(one.turns.rows()), 0
    for number, turn in enumerate(found):
        own += turn.side == 1
        if turn.side != 1 or own not in dead:
            continue
        assert turn.received_by_direction is not None
        counted = enumerate(turn.received_by_direction)
        came = tuple(0 if direction in {None, n} else frames for n, frames in counted)
        changes: dict[str, Any] = {"received_by_direction": came, "turn_received_frames": sum(came)}
        found[number] = replace(turn, **changes)
    return one.model_copy(update={"turns": TurnColumns.of(found)})


class TestDirections:
    """A switch that forwards one way of two is no slower one."""

    def made(self, **changes: Any) -> Round:
        bench = session(QUIET, 1, 0.97, control=False)
        played(bench, **changes)
        return answering(bench.rounds)[0]

    def test_three_turns_on_end_without_a_frame_one_way_are_no_chance(self) -> None:
        one = self.made()
        assert one.valid
        assert with_turns_of_b(one, {4, 5}).valid
        assert with_turns_of_b(one, {4, 5, 7, 8, 10}).valid
        dead = with_turns_of_b(one, {2, 3, 4, 8, 9, 10, 11})
        assert dead.flags == (Flag.NOTHING_RECEIVED,)
        (found,) = dead.dead
        assert (found.side, found.number, found.first, found.turns) == (1, 1, 8, 4)
        (said,) = dead.model_copy(update={"direction_names": ("in to out", "out to in")}).reasons
        assert said == (
            "nothing came through B (B), out to in, in 4 of its turns on end, from turn 8 on"
        )
        assert "direction 2, in 4 of" in dead.reasons[0]

    def test_a_switch_that_brings_nothing_at_all_may_be_kept_from_running(self) -> None:
        assert with_turns_of_b(self.made(), range(1, 9), direction=None).valid

    def test_it_counts_nowhere(self) -> None:
        one = self.made()
        assert answering([with_turns_of_b(one, range(1, 9))]) == ()
        later = one.model_copy(update={"index": 9})
        assert answering([with_turns_of_b(one, range(1, 9)), later]) == (later,)

    def test_turns_of_the_warm_up_may_be_without_a_direction(self) -> None:
        one = with_turns_of_b(self.made(), range(1, 5))
        assert not one.valid
        assert one.model_copy(update={"warm_passes": 4}).valid

    def test_of_a_direction_with_hardly_a_frame_nobody_can_tell(self) -> None:
        one = self.made()
        turns = [
            replace(turn, received_by_direction=(turn.turn_received_frames - few, few))
            for turn, few in zip(one.turns.rows(), itertools.cycle((0, 0, 0, 0, 90)), strict=False)
        ]
        assert one.model_copy(update={"turns": TurnColumns.of(turns)}).valid

    def test_directions_add_up_to_what_a_turn_counted(self) -> None:
        columns = self.made().turns.model_dump()
        count = len(columns["side"])
        wrong = columns | {"received_by_direction": ((1, 2),) * count}
        with pytest.raises(ValueError, match="directions of a turn do not add up"):
            TurnColumns.model_validate(wrong)
        ragged = tuple((frames,) for frames in columns["turn_sent_frames"][1:])
        first = (columns["turn_sent_frames"][0], 0)
        with pytest.raises(ValueError, match="different numbers of directions"):
            TurnColumns.model_validate(columns | {"sent_by_direction": (first, *ragged)})

    def test_a_round_has_as_many_as_its_turns_count(self) -> None:
        stored = self.made().model_dump()
        with pytest.raises(ValueError, match="turns of 2 directions, 0 of which are named"):
            Round.model_validate(stored | {"directions": 1})
        with pytest.raises(ValueError, match="turns of 2 directions, 1 of which are named"):
            Round.model_validate(stored | {"direction_names": ("in to out",)})


class TestElsewhere:
    """Frames of one switch have no business on ports of another."""

    def test_a_pass_is_left_out_where_frames_came_in_on_ports_of_who_stood(self) -> None:
        bench = session(QUIET, 1, 0.97)
        played(bench, pairs=40)
        one = answering(bench.rounds)[0]
        stray = [0] * len(one.turns.side)
        stray[4], stray[32] = 1, 7
        turns = one.turns.model_copy(update={"elsewhere_frames": tuple(stray)})
        kept = clean_passes(one.model_copy(update={"turns": turns}))
        assert len(kept) == len(one.passes) - 2
        assert {group[0].began_ns for group in one.passes} - {g[0].began_ns for g in kept} == {
            one.passes[1][0].began_ns,
            one.passes[10][0].began_ns,
        }

    def test_where_all_are_left_out_it_is_said_why(self) -> None:
        bench = session(QUIET, 1, 0.97)
        played(bench)
        rounds = [changed(one, elsewhere_frames=1) for one in bench.rounds]
        found = figures(method(**SHORT).answered(rounds))["ratio_b"]
        assert found.value is None
        assert found.reason == (
            "0 rounds say something, and 6 are needed to know how sure it is; of 144 passes the "
            "generator was away in 0, and in 144 frames came in on ports of a switch that stood"
        )


def losing(turn: Turn, *directions: int) -> Turn:
    """Return a turn through which nothing came in these directions."""
    assert turn.received_by_direction is not None
    counted = enumerate(turn.received_by_direction)
    came = tuple(0 if number in directions else frames for number, frames in counted)
    share = sum(came) / max(1, turn.turn_received_frames)
    return replace(
        turn,
        received_frames=round(turn.received_frames * share),
        turn_received_frames=sum(came),
        received_by_direction=came,
        slots_ns=None,
        received_by_slot=None,
    )


def dying_one_way(*, first: int, turns: int, after: int = 0, again: bool = False) -> Any:
    """Return turns of B without one of two directions, for so many on end of all that it has.

    In the round that answers behind so many whole ones, or in each from then on.
    """
    made, dead = SimulatedTurns.run, range(first, first + turns)
    rounds = 0

    def run_turns(self: SimulatedTurns, order: Any, *asked: Any) -> list[Any]:
        nonlocal rounds
        found, own = made(self, order, *asked), 0
        rounds += len(order) == 3 * 24
        for number, turn in enumerate(found):
            own += turn.side == 2
            due = rounds > after if again else rounds == after + 1
            if len(order) == 3 * 24 and due and turn.side == 2 and own in dead:
                found[number] = losing(turn, 1)
        return found

    return run_turns


UNCOUNTED: dict[str, Any] = {"sent_by_direction": None, "received_by_direction": None}


class TestRuns:
    @pytest.mark.parametrize(
        ("lost", "unknown", "said"),
        [
            ((0, 1), {}, "no frame came through B (new)"),
            ((1,), {}, "no frame came through B (new) from phy1 to phy0"),
            ((1,), UNCOUNTED, "no frame came through B (new) in one direction"),
        ],
        ids=["nothing", "one way of two", "one way, and directions are not counted"],
    )
    def test_a_switch_that_forwards_nothing_some_way_is_no_slow_switch(
        self,
        lost: tuple[int, ...],
        unknown: dict[str, Any],
        said: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Else it would have half of its rate, and nobody would know."""
        made = SimulatedTurns.run

        def dead(self: SimulatedTurns, *asked: Any) -> list[Any]:
            turns = made(self, *asked)
            turns = [losing(turn, *lost) if turn.side == 2 else turn for turn in turns]
            return [replace(turn, **unknown) for turn in turns]

        monkeypatch.setattr(SimulatedTurns, "run", dead)
        done = run(tmp_path)
        assert done.exit_code == 4, done.output
        assert said in done.output

    @pytest.mark.parametrize(
        ("until", "lost", "said"),
        [
            (1, (0, 1), "B (new) forwarded frames at first, and does so no more before a round"),
            (40, (0, 1), "B (new) forwarded frames at first, and does so no more in round 2"),
            (40, (0,), "B (new) from phy0 to phy1 forwarded frames at first, and does so no more"),
        ],
    )
    def test_a_switch_whose_rules_run_out_while_it_stands_has_no_rate(
        self,
        until: int,
        lost: tuple[int, ...],
        said: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """It forwards nothing ever after so many turns of the first deployment."""
        made = SimulatedTurns.run
        passed = 0

        def runs_out(self: SimulatedTurns, *asked: Any) -> list[Any]:
            nonlocal passed
            found = []
            for turn in made(self, *asked):
                passed += turn.side == 0
                dead = turn.side == 2 and passed > until
                found.append(losing(turn, *lost) if dead else turn)
            if until == 1 and len(found) > 3 and passed > until:  # it ended between two rounds
                found = [*made(self, *asked)]
            return found

        monkeypatch.setattr(SimulatedTurns, "run", runs_out)
        more = () if until == 1 else ("--set", "search.load=1Mpps", "--set", "search.pairs=100")
        done = run(tmp_path, *more)
        assert done.exit_code == 4, done.output
        assert said in done.output
        assert "rules that have a time-out run out" in done.output

    def test_a_switch_that_the_machine_kept_from_running_in_its_last_turn_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = SimulatedTurns.run

        def late(self: SimulatedTurns, order: Any, *asked: Any) -> list[Any]:
            found = made(self, order, *asked)
            if len(order) > 3:
                found[-1] = losing(found[-1], 0, 1)
            return found

        monkeypatch.setattr(SimulatedTurns, "run", late)
        done = run(tmp_path)
        assert done.exit_code == 0, done.output
        roles = [one.role for one in stored(tmp_path).rounds]
        assert roles[:4] == [Role.CHECK, Role.LOAD, Role.CHECK, Role.CHECK]

    @pytest.mark.parametrize(("turns", "repeated"), [(2, False), (3, True), (20, True)])
    def test_a_round_in_which_a_direction_was_dead_for_a_while_is_made_again(
        self, turns: int, repeated: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else it would be one of a slower switch, and the answer with it."""
        monkeypatch.setattr(SimulatedTurns, "run", dying_one_way(first=3, turns=turns))
        done = run(tmp_path)
        assert done.exit_code == 0, done.output
        case = stored(tmp_path)
        made = [one for one in case.rounds if one.role is Role.ANSWER]
        assert [one.valid for one in made] == [not repeated] + [True] * (len(made) - 1)
        assert len(answering(made)) == 6
        assert case.record is not None
        assert case.record.result is not None
        assert case.record.result.figures[0].value == pytest.approx(0.9, abs=1e-3)
        assert not any(against for *_, against in of_runs([resolve(tmp_path, "latest")]))
        if repeated:
            first, second, *_ = made
            assert (second.retry_of, second.deployment) == (first.index, first.deployment)
            text = shown(tmp_path, "old")
            assert (
                f"nothing came through B (new), phy1 to phy0, in {turns} of its turns on end, from "
                "turn 3 on  [nothing-received]"
            ) in text
            assert f"(repeats #{first.index})" in text
            told: dict[str, Any] = json.loads(shown(tmp_path, "old", "--json"))
            flags = {one["index"]: one["flags"] for one in told["all_rounds"]}
            assert (flags[first.index], flags[second.index]) == (["nothing-received"], [])

    def test_a_direction_that_dies_in_every_round_leaves_no_answer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(SimulatedTurns, "run", dying_one_way(first=3, turns=5, again=True))
        done = run(tmp_path, "--set", "trial.retries=1")
        assert done.exit_code == 5, done.output
        record = stored(tmp_path).record
        assert record is not None
        assert "stayed invalid after 1 repeat: nothing-received" in record.reason
        rounds = tuple(stored(tmp_path).rounds)
        assert (record.flags, record.trials) == ((Flag.NOTHING_RECEIVED,), len(rounds))
        assert record.measured_ns == sum(one.elapsed_ns for one in rounds) > 0
        assert "nothing came through B (new), phy1 to phy0, in 5 of its turns" in done.output

    def test_what_was_whole_before_is_the_answer_where_that_is_enough(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The seventh round of eight is without a direction, however often it is made."""
        dies = dying_one_way(first=3, turns=5, after=6, again=True)
        monkeypatch.setattr(SimulatedTurns, "run", dies)
        done = run(tmp_path, "--set", "search.rounds=8")
        assert done.exit_code == 0, done.output
        case = stored(tmp_path)
        assert case.record is not None
        assert case.record.result is not None
        assert Flag.FEWER_REPEATS in case.record.flags
        assert case.record.result.figures[0].value == pytest.approx(0.9, abs=1e-3)
        (warning,) = (one for one in case.record.warnings if "6 rounds were made" in one)
        assert "nothing came through B (new), phy1 to phy0" in warning
        assert not any(against for *_, against in of_runs([resolve(tmp_path, "latest")]))


# When a comparison in turns ends, and what it answers from what there is by then.


def answers(bench: ModelTurns) -> int:
    return sum(one.role is Role.ANSWER for one in bench.rounds)


class TestDecided:
    """Looks at planned numbers of rounds end it, and are wrong in 5 % of cases all together."""

    ASKED: ClassVar[dict[str, Any]] = {"rounds": 32, "until": "decided"}

    def test_it_ends_at_the_first_look_where_a_rival_is_slower_for_sure(self) -> None:
        bench = session(BY_NAME["draws"], 1, 0.8)
        found = played(bench, **self.ASKED)["ratio_b"]
        assert answers(bench) == 8
        assert found.upper is not None
        assert found.upper < 1

    def test_it_ends_where_a_difference_is_too_small_to_matter(self) -> None:
        bench = session(BY_NAME["noise"], 1, 0.999)
        found = played(bench, **self.ASKED, alike="2%")["ratio_b"]
        assert answers(bench) == 8
        assert "at most lie between them" in found.reason

    def test_it_goes_on_to_the_end_where_nothing_is_decided(self) -> None:
        bench = session(BY_NAME["large-draws"], 1, 1.0)
        played(bench, **self.ASKED)
        assert answers(bench) == 32

    def test_all_rivals_have_to_be_decided(self) -> None:
        bench = session(BY_NAME["large-draws"], 1, 0.7, 1.0)
        played(bench, **self.ASKED)
        assert answers(bench) > 8

    def test_it_does_not_end_on_a_control_that_differs(self) -> None:
        bench = ModelTurns(QUIET, (1.0, 0.9, 0.8), ("A", CONTROL, "B"), seed=1)
        played(bench, **self.ASKED)
        assert answers(bench) == 32

    def test_it_does_not_end_where_the_control_has_no_answer(self) -> None:
        """Both of the first wait for the generator; the rival, which is slower, is decided."""
        bench = ModelTurns(
            QUIET, (1.0, 1.0, 0.1), ("A", CONTROL, "B"), seed=1, most=lambda *_: 10**6
        )
        found = played(bench, **self.ASKED)
        assert known(found["ratio_b"].upper) < 1
        assert found["control"].value is None
        assert answers(bench) >= 32

    def test_it_goes_on_where_a_rival_is_slower_and_its_criterion_is_open(self) -> None:
        """It has 80 % of the rate: after eight rounds it is slower for sure, and misses 99 %."""
        made = []
        for least in (0.8, 0.99):
            bench = session(BY_NAME["draws"], 1, 0.8)
            bench.least = {"ratio_b": least}
            found = played(bench, **self.ASKED)["ratio_b"]
            assert found.upper is not None
            assert found.upper < 0.99
            made.append(answers(bench))
        assert made == [32, 8]

    def test_a_criterion_that_is_decided_asks_for_no_more_of_its_rival(self) -> None:
        """It may be 10 % slower, and is not: whether it differs at all nobody asks."""
        bench = session(BY_NAME["draws"], 1, 1.0)
        bench.least = {"ratio_b": 0.8}
        found = played(bench, **self.ASKED)["ratio_b"]
        assert answers(bench) == 8
        assert (found.lower or 0) < 1 < (found.upper or 0)

    def test_a_rival_without_a_criterion_has_to_be_decided_beside_one_that_has_it(self) -> None:
        bench = session(BY_NAME["large-draws"], 1, 0.7, 1.0)
        bench.least = {"ratio_b": 0.97}
        played(bench, **self.ASKED)
        assert answers(bench) > 8

    def test_looks_are_planned_and_four_at_most(self) -> None:
        assert looks_of(6) == (6,)
        assert looks_of(8) == (8,)
        assert looks_of(20) == (8, 16, 20)
        assert looks_of(32) == (8, 16, 24, 32)
        assert looks_of(100) == (25, 50, 75, 100)

    def test_each_look_has_an_interval(self) -> None:
        for rounds in range(LEAST, 200):
            terms = Terms(looks=looks_of(rounds))
            assert terms.looks[0] >= terms.least
            assert len(terms.looks) * terms.level == pytest.approx(0.05)

    @pytest.mark.parametrize("shape", ["normal", "heavy-tailed", "two-valued"])
    def test_the_same_is_called_different_in_5_of_100_cases_whenever_it_ends(
        self, shape: str
    ) -> None:
        """1,500 sessions of one switch against itself, each ended where it seems decided."""
        chance = Random(7)

        def drawn() -> float:
            match shape:
                case "normal":
                    return chance.gauss(0, 0.04)
                case "heavy-tailed":
                    return 0.01 * chance.gauss(0, 1) / max(1e-3, abs(chance.gauss(0, 1)))
                case _:
                    return chance.choice((-0.03, 0.03)) + chance.gauss(0, 1e-4)

        def wrong(values: Sequence[float], level: float) -> bool:
            ends = [middle_of(values[:look], level) for look in looks_of(32)]
            return any(not (one.lower or 0) <= 0 <= (one.upper or 0) for one in ends)

        terms = Terms(looks=looks_of(32))
        sessions = [[drawn() for _ in range(32)] for _ in range(1500)]
        share = sum(wrong(values, terms.level) for values in sessions) / len(sessions)
        as_if_once = sum(wrong(values, 0.05) for values in sessions[:500]) / 500
        assert share <= 0.05
        assert as_if_once > 0.07  # what looks at 95 % each would make of it

    def test_what_is_alike_is_asked_for_by_looks_only(self) -> None:
        with pytest.raises(ValueError, match="set `until: decided`"):
            method(alike="2%")
