"""Parts of the last-level cache as they are asked for, and the ways that come of it. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cache_cases import ABLE, shares
from simulated_cases import simulated_case

from vsperf.errors import SpecError
from vsperf.host.resctrl import Abilities, masks_of
from vsperf.quantity import UnitError
from vsperf.spec.cache import CacheShare


class TestWords:
    @pytest.mark.parametrize(
        ("text", "ways", "percent"), [("8 ways", 8, None), ("1 way, 50% bandwidth", 1, 50)]
    )
    def test_they_are_read_and_written_back(
        self, text: str, ways: int, percent: int | None
    ) -> None:
        found = CacheShare.parse(text)
        assert (found.ways, found.bandwidth_percent, str(found)) == (ways, percent, text)

    @pytest.mark.parametrize("text", ["0 ways", "8", "half", "2 ways, 0% bandwidth", "-1 ways"])
    def test_what_is_no_part_is_refused(self, text: str) -> None:
        with pytest.raises(UnitError):
            CacheShare.parse(text)

    def test_a_case_without_the_word_is_what_it_was(self) -> None:
        assert "cache" not in simulated_case().measured()


class TestMasks:
    def test_the_ways_of_roles_lie_next_to_each_other_and_belong_to_one(self) -> None:
        found = masks_of(shares(switch="8 ways", noise="2 ways"), ABLE)
        assert found == {"switch": 0b0011111111, "noise": 0b1100000000}

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ({"switch": "8 ways", "noise": "4 ways"}, "gives away 12 ways"),
            ({"switch": "1 way"}, "at least 2 ways"),
            ({"noise": "2 ways, 50% bandwidth"}, "bandwidth cannot be limited"),
            (dict.fromkeys(("switch", "noise", "guests", "generator"), "2 ways"), "4 groups"),
        ],
    )
    def test_what_the_processor_cannot_do_is_refused(
        self, words: dict[str, str], said: str
    ) -> None:
        poor = Abilities(11, 2, 4, None, ("0",))
        with pytest.raises(SpecError, match=said):
            masks_of(shares(**words), poor)

    @pytest.mark.parametrize(
        ("ways", "least", "refused"),
        [(10, 1, False), (11, 1, True), (9, 2, False), (10, 2, True)],
    )
    def test_all_others_keep_as_many_as_a_group_has_to_have(
        self, ways: int, least: int, *, refused: bool
    ) -> None:
        able = replace(ABLE, least_ways=least)
        if not refused:
            masks_of(shares(switch=f"{ways} ways"), able)
            return
        with pytest.raises(SpecError, match="too few are left to all others") as caught:
            masks_of(shares(switch=f"{ways} ways"), able)
        assert f"at least {least}" in str(caught.value.problems[0].why)
        assert f"{11 - least} or less" in str(caught.value.problems[0].fix)

    @pytest.mark.parametrize(
        ("percent", "said"),
        [(5, "is to have 5% of the bandwidth, and the least here is 10%"), (35, "steps of 10%")],
    )
    def test_no_limit_is_quietly_made_another(self, percent: int, said: str) -> None:
        """The kernel would raise it, and the record say what was asked for."""
        with pytest.raises(SpecError, match=said):
            masks_of(shares(noise=f"2 ways, {percent}% bandwidth"), ABLE)

    def test_ways_that_another_group_has_are_nobodys_own(self) -> None:
        masks_of(shares(switch="8 ways"), replace(ABLE, taken={"mine": 0b11100000000}))
        with pytest.raises(SpecError, match="the group mine has ways"):
            masks_of(shares(switch="9 ways"), replace(ABLE, taken={"mine": 0b11100000000}))

    def test_who_shares_it_out_already_is_not_in_the_way_of_two(self) -> None:
        """Who ends first would give all of it back, while the other still counts on its part."""
        with pytest.raises(SpecError, match="from the group of all others") as caught:
            masks_of(shares(switch="8 ways"), replace(ABLE, kept={"0": 0x7FF, "1": 0x700}))
        assert "L3:0=7ff;1=700" in str(caught.value.problems[0].why)
