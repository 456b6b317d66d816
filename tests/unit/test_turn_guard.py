"""Whether a guard was long enough is told by how turns begin, beside how they go on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paired_models import PairedModel, method, session
from test_method_paired import QUIET, SHORT, changed, figures, played
from test_paired_runs import run, shown

from vsperf.records.flags import Flag
from vsperf.records.result import Figure
from vsperf.records.turn_columns import Turn, TurnColumns
from vsperf.records.turn_guard import Guard, guard_of
from vsperf.records.turn_misses import misses_of
from vsperf.records.turns import Round, Terms, answering


def rounds_of(warms_in: str, *, control: bool = True, **settings: Any) -> tuple[Round, ...]:
    """Return rounds of switches that forward half of their rate for so long after a change."""
    model = PairedModel("cold", {"noise": "1%"}, {"warms_in": warms_in})
    bench = session(model, 1, 0.9, control=control)
    played(bench, **settings)
    return answering(bench.rounds)


def guard(rounds: tuple[Round, ...]) -> Guard:
    found = guard_of(rounds, Terms())
    assert found is not None
    return found


@pytest.mark.parametrize("warms_in", ["0s", "1500us", "2ms"])
def test_a_guard_that_outlasts_cold_caches_suffices(warms_in: str) -> None:
    found = guard(rounds_of(warms_in))
    assert found.suffices
    assert found.text == (
        "guard of 2.000 ms suffices: behind it no switch is slower than in the rest of its turns"
    )


def test_one_that_does_not_says_whose_turns_are_slower_for_how_long_and_by_how_much() -> None:
    found = guard(rounds_of("4ms"))
    assert found.suffices is False
    assert [one.slow[-1].until_ns for one in found.begins] == [2_000_000] * 3
    assert "guard of 2.000 ms does not suffice: the first 2.000 ms of turns of A (A)" in found.text
    assert "of turns of B (B) are 5" in found.text or "of turns of B (B) are 4" in found.text
    assert found.text.endswith("; ask for search.guard=4ms or more")
    assert guard(rounds_of("4ms", guard="4ms")).suffices


def test_of_two_switches_each_follows_itself_in_half_of_its_turns() -> None:
    found = guard(rounds_of("4ms", control=False))
    ratios = [slot.ratio for one in found.begins for slot in one.slow]
    assert ratios == [pytest.approx(0.75, abs=0.03)] * 6


def test_numbers_of_a_switch_that_was_still_cold_say_so() -> None:
    result = method(**SHORT).answered(rounds_of("4ms"))
    found = figures(result)
    assert all(Flag.COLD_TURNS in found[name].flags for name in ("ratio_b", "rate_a", "control"))
    assert "the first 2.000 ms of turns of B (B) are" in found["rate_b"].reason
    assert (
        Flag.COLD_TURNS not in figures(method(**SHORT).answered(rounds_of("1ms")))["rate_b"].flags
    )


def test_fewer_rounds_than_an_interval_takes_do_not_tell() -> None:
    for warms_in in ("0s", "4ms"):
        found = guard(rounds_of(warms_in)[:5])
        assert found.suffices is None
        assert "whether it suffices cannot be told" in found.text


def test_a_load_that_all_carry_shows_no_cold_caches() -> None:
    assert guard_of(rounds_of("4ms"), Terms(overload=False)) is None


def test_who_brings_all_of_a_load_through_begins_as_the_generator_does() -> None:
    def begun_slowly(one: Round) -> Round:
        def late(turn: Turn) -> Turn:
            first, *others, last = turn.received_by_slot or ()
            return replace(turn, received_by_slot=(first // 2, *others, last + first - first // 2))

        turns = TurnColumns.of([late(turn) for turn in one.turns.rows()])
        return one.model_copy(update={"turns": turns})

    bench = session(PairedModel("quiet", {"noise": "1%"}, {}), 1, 0.9)
    played(bench)
    assert guard(tuple(map(begun_slowly, answering(bench.rounds)))).suffices is False
    bench = session(PairedModel("quiet", {"noise": "1%"}, {}), 1, 0.5)
    bench.loads = replace(bench.loads, maximum=3_000_000)
    played(bench)
    told = guard(answering(bench.rounds)).text
    assert told.endswith("in the rest of its turns; of A (A), A′ (A′) nobody can tell")
    bench = session(PairedModel("quiet", {"noise": "1%"}, {}), 1, 0.9)
    bench.loads = replace(bench.loads, maximum=3_000_000)
    played(bench)
    assert guard_of([*map(begun_slowly, answering(bench.rounds))], Terms()) is None


def test_turns_of_which_nobody_knows_what_came_when_say_nothing() -> None:
    def untold(one: Round) -> Round:
        unknown: dict[str, Any] = {"slots_ns": None, "received_by_slot": None}
        turns = TurnColumns.of([replace(turn, **unknown) for turn in one.turns.rows()])
        return one.model_copy(update={"turns": turns})

    assert guard_of([untold(one) for one in rounds_of("4ms")], Terms()) is None


@pytest.mark.parametrize(
    ("slots_ns", "told"), [((5_000_000, 5_000_000), False), ((-1, 1, 1, 1, 1), True)]
)
def test_rounds_of_others_with_slots_that_nobody_makes_tell_no_more(
    slots_ns: tuple[int, ...], told: bool
) -> None:
    def other(one: Round) -> Round:
        def cut(turn: Turn) -> Turn:
            frames = (turn.received_frames, *(0,) * (len(slots_ns) - 1))
            return replace(turn, slots_ns=slots_ns, received_by_slot=frames)

        turns = TurnColumns.of([cut(turn) for turn in one.turns.rows()])
        return one.model_copy(update={"turns": turns})

    first, *others = rounds_of("4ms")
    found = guard_of([first, *map(other, others)], Terms())
    assert (found is not None) is told
    assert found is None or found.suffices is None


def test_slots_add_up_to_what_a_turn_counted() -> None:
    columns = rounds_of("0s")[0].turns.model_dump()
    count = len(columns["side"])
    with pytest.raises(ValueError, match="slots of a turn do not add up"):
        TurnColumns.model_validate(columns | {"received_by_slot": ((1, 2, 3, 4, 5),) * count})
    with pytest.raises(ValueError, match="of slots there are times and frames, or neither"):
        TurnColumns.model_validate(columns | {"slots_ns": None})


def test_a_run_says_whether_its_guard_sufficed(tmp_path: Path) -> None:
    cold = "{kind: sim, name: old}, {kind: sim, name: new, warms_in: 4ms}"
    run(tmp_path, switches=cold)
    text = shown(tmp_path)
    assert "guard of 2.000 ms does not suffice: the first 2.000 ms of turns of B (new)" in text
    assert "turns of A" not in text


# What the generator itself missed in turns: told of whom, how much of it, and by a flag.


class TestGeneratorItself:
    """What it missed looks like a slower switch, and is none."""

    def asked(self, rounds: Iterable[Round], **settings: Any) -> dict[str, Figure]:
        return figures(method(**{**SHORT, **settings}).answered(tuple(rounds)))

    def made(self) -> tuple[Round, ...]:
        bench = session(QUIET, 1, 0.97)
        played(bench)
        return answering(bench.rounds)

    def of_b(self, one: Round, **changes: Any) -> Round:
        """Return a round with these numbers in all turns of B."""
        turns = (replace(t, **changes) if t.side == 2 else t for t in one.turns.rows())
        return one.model_copy(update={"turns": TurnColumns.of(tuple(turns))})

    def test_frames_that_waited_for_it_put_all_numbers_of_that_switch_in_doubt(self) -> None:
        found = self.asked(self.of_b(one, behind_ns=1_000_000) for one in self.made())
        doubted = {name for name, one in found.items() if Flag.GENERATOR_BEHIND in one.flags}
        assert doubted == {"ratio_b", "rate_b"}
        assert found["ratio_b"].reason.endswith(
            "; the generator itself was behind with receiving in 144 of 144 turns of B"
        )

    @pytest.mark.parametrize(
        ("behind_ns", "gaps_ns"), [(400_000, 0), (900_000, 450_000), (1_300_000, 450_000)]
    )
    def test_a_moment_of_it_and_one_that_a_gap_explains_do_not(
        self, behind_ns: int, gaps_ns: int
    ) -> None:
        changes = {"behind_ns": behind_ns, "gaps_ns": gaps_ns}
        found = self.asked(self.of_b(one, **changes) for one in self.made())
        assert {one.flags for one in found.values()} == {()}

    @pytest.mark.parametrize(("missed", "doubted"), [(10, False), (1_000, True)])
    def test_so_do_frames_that_it_had_no_room_for(self, missed: int, doubted: bool) -> None:
        found = self.asked(self.of_b(one, missed_frames=missed) for one in self.made())
        assert (Flag.GENERATOR_BEHIND in found["ratio_b"].flags) is doubted
        assert ("had no room for 144,000 frames" in found["ratio_b"].reason) is doubted

    def test_what_it_did_not_send_matters_at_a_load_that_is_given(self) -> None:
        def short(one: Round) -> Round:
            sent = [turn.intended_frames or 0 for turn in one.turns.rows()]
            return changed(self.of_b(one, sent_frames=sent[0] * 9 // 10), refused_frames=0)

        rounds = [short(one) for one in self.made()]
        assert not self.asked(rounds)["rate_b"].flags
        found = self.asked(rounds, load="3Mpps")
        doubted = {name for name, one in found.items() if Flag.SHORT_OFFER in one.flags}
        assert doubted == {"ratio_b", "rate_b", "delivery_ratio_b", "lost_b"}
        assert "left 10% unsent of what was due to B" in found["rate_b"].reason

    def test_what_a_full_port_refused_was_not_left_out_by_it(self) -> None:
        rounds = [
            self.of_b(one, sent_frames=0, refused_frames=max(one.turns.intended_frames or ()))
            for one in self.made()
        ]
        assert not self.asked(rounds, load="3Mpps")["rate_b"].flags

    def test_where_devices_do_not_tell_nobody_says_that_nothing_was_missed(self) -> None:
        def untold(one: Round) -> Round:
            unknown = {"missed_frames": None, "behind_ns": None}
            return one.model_copy(update={"turns": one.turns.model_copy(update=unknown)})

        found = misses_of([untold(one) for one in self.made()], "B")
        assert (found.missed_frames, found.behind) == (None, 0)
        assert not found.of_receiving
