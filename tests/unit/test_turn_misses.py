"""What the generator itself missed in turns: told of whom, how much of it, and by a flag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from paired_models import method, session
from test_method_paired import QUIET, SHORT, changed, figures, played

from vsperf.records.flags import Flag
from vsperf.records.result import Figure
from vsperf.records.turn_columns import TurnColumns
from vsperf.records.turn_misses import misses_of
from vsperf.records.turns import Round, answering


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
