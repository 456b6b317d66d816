"""Clean time: slots are left out by who stood still in them, and never by what they lost."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slot_samples import (
    AWAY,
    CALM,
    GAP_NS,
    LOAD_FPS,
    LOSSY,
    RATE,
    SILENT,
    WIDTH_NS,
    Story,
    told,
    trial_of,
)

from vsperf.records.clean import (
    BURST_FRAMES,
    CleanTrial,
    clean_share,
    counted_ns,
    in_clean_time,
    kept_silent,
)
from vsperf.records.slots import SlotColumns
from vsperf.records.trial import GeneratorActivity, Trial


def indices(story: Story, guard: int = 1, *, silent: bool = True) -> tuple[int, ...]:
    return tuple(slot.index for slot in told(story).left_out(silent=silent, guard=guard))


def cleaned(trial: Trial) -> CleanTrial:
    found = in_clean_time(trial)
    assert isinstance(found, CleanTrial)
    return found


@pytest.mark.parametrize(
    ("story", "guard", "left_out"),
    [
        ([CALM] * 5, 1, ()),
        ([CALM, CALM, AWAY, CALM, CALM], 1, (1, 2, 3)),
        ([CALM, CALM, SILENT, CALM, CALM], 1, (1, 2, 3)),
        ([CALM, CALM, AWAY, CALM, CALM], 0, (2,)),
        ([AWAY, CALM, CALM, CALM, SILENT], 1, (0, 1, 3, 4)),
        ([LOSSY] * 5, 1, ()),
        ([AWAY] * 5, 1, (0, 1, 2, 3, 4)),
    ],
)
def test_slots_are_left_out_in_which_somebody_stood_still_and_those_beside_them(
    story: Story, guard: int, left_out: tuple[int, ...]
) -> None:
    assert indices(story, guard) == left_out


def test_neighbours_that_are_not_stored_cannot_be_left_out() -> None:
    for guard in (-1, 2):
        with pytest.raises(ValueError, match=f"not {guard}"):
            told([CALM]).left_out(silent=True, guard=guard)


def test_a_loss_counts_where_nobody_stood_still() -> None:
    found = cleaned(trial_of(told([LOSSY, CALM, (GAP_NS, 0, 50), LOSSY, LOSSY])))
    assert [way.lost_frames for way in found.directions] == [14, 0]
    assert [way.sent_frames for way in found.directions] == [2 * RATE, 2 * RATE]
    assert (found.counted_ns, found.whole_ns) == (2 * WIDTH_NS, 5 * WIDTH_NS)


def test_a_silent_switch_is_excused_only_if_the_kernel_says_that_it_did_not_run() -> None:
    story = [CALM, CALM, (0, 8 * GAP_NS, 50), CALM, CALM, (0, 3 * GAP_NS, 9), CALM]
    as_long, less = (
        trial_of(told(story), kept_ns=10 * GAP_NS),
        trial_of(told(story), kept_ns=10 * GAP_NS - 1),
    )
    assert cleaned(as_long).lost_frames == 0
    assert cleaned(less).lost_frames == 59


@pytest.mark.parametrize(("own_ms", "excused"), [(0, True), (2, False)])
def test_the_ticks_of_the_kernel_say_something_of_many_trials_together(
    own_ms: int, excused: bool
) -> None:
    """In each trial the switch is silent for 4 ms that were taken from it, and maybe by itself."""
    silent_ns, taken = (4 + own_ms) * 1_000_000, 0
    trials = []
    for number in range(1, 11):
        ticks = number * 4 // 10
        story = [CALM, CALM, (0, silent_ns, 50), CALM]
        trials.append(trial_of(told(story), kept_ns=(ticks - taken) * 10_000_000))
        taken = ticks
    assert len({kept_silent([trial]) for trial in trials}) == 2, "one by one they disagree"
    assert kept_silent(trials) is excused
    left = in_clean_time(trials[0], kept_silent(trials))
    assert (left.lost_frames == 0) is excused


def test_who_stands_still_right_behind_the_end_touches_the_last_slot() -> None:
    found = cleaned(trial_of(told([LOSSY, CALM, LOSSY, AWAY], count=3)))
    assert found.counted_ns == 2 * WIDTH_NS
    assert found.lost_frames == 7


def refusing(short: dict[int, int], away: tuple[int, ...] = ()) -> Trial:
    """Return a trial in whose slots so many frames less (or more) were sent than were due."""
    slots = told([AWAY if index in away else (0, 1, 0) for index in range(100)])
    gone = GAP_NS
    noted = []
    for slot in slots.noted:
        due = RATE - (LOAD_FPS * gone // 10**9 if slot.away else 0)
        sent = (due - short.get(slot.index, 0),) * 2
        full = (max(0, short.get(slot.index, 0)),) * 2
        noted.append(replace(slot, sent_frames=sent, received_frames=sent, refused_frames=full))
    changes = {
        f"{what}_frames": (sum(getattr(slot, f"{what}_frames")[0] for slot in noted),) * 2
        for what in ("sent", "received", "refused")
    }
    sent = changes["sent_frames"]
    slots = slots.model_copy(update={"columns": SlotColumns.of(noted, 2), **changes})
    unsent = sum(short.values())
    trial = trial_of(slots, unsent=unsent, refused=unsent)
    # What was due while the generator was away is due later: the schedule stands still.
    paused = len(away) * gone
    return trial.model_copy(
        update={
            "load_fps": LOAD_FPS,
            "duration_ns": (sent[0] + unsent) * 10**9 // LOAD_FPS,
            "sending_ns": trial.duration_ns + paused,
        }
    )


def test_what_a_full_port_left_unsent_is_missed_where_it_was_due() -> None:
    found = cleaned(refusing({50: 6000}, away=(50,)))
    assert found.lost_frames == 0
    found = cleaned(refusing({50: 6000}, away=(20,)))
    assert 6000 - 2 * BURST_FRAMES <= found.directions[0].lost_frames <= 6000
    assert found.directions[0].refused_frames == found.directions[0].lost_frames


def test_overload_is_overload_in_clean_time_too() -> None:
    """A port that is full all the time is so in clean slots, and these are not excused for it."""
    everywhere = refusing(dict.fromkeys(range(100), RATE // 100), away=(20, 60))
    found = cleaned(everywhere)
    assert found.loss_ratio == pytest.approx(Fraction(1, 100), rel=0.03)


def test_what_is_sent_later_makes_good_what_was_missed() -> None:
    """After a full port the generator sends faster than the load, so nothing stays unsent."""
    found = cleaned(refusing({50: 500, 51: -500}, away=(90,)))
    assert found.lost_frames == 0


def test_the_edge_of_a_slot_costs_no_frame() -> None:
    """A burst falls into one slot or the next; that it seems missing in one is no loss."""
    found = cleaned(refusing({50: 6000, 49: -40, 48: 40}, away=(50,)))
    assert BURST_FRAMES >= 40
    assert found.lost_frames == 0


def test_what_others_may_have_lost_is_held_against_what_is_left_out_first() -> None:
    """The generator's rings explain 500 frames: those of the stall, and not the switch's own 7."""
    trial = trial_of(told([LOSSY, *[CALM] * 6, (GAP_NS, 0, 500), CALM]))
    activity = GeneratorActivity(
        busy_ppm=1, longest_gap_ns=GAP_NS, gaps_over_10us=1, missed_frames=500
    )
    found = cleaned(trial.model_copy(update={"generator": activity}))
    assert (found.lost_frames, found.left_out_frames) == (7, 500)
    assert found.behind_frames == 0


def test_without_clean_time_nothing_is_left_that_stands_for_anything() -> None:
    assert not cleaned(trial_of(told([AWAY] * 3))).enough
    assert not cleaned(trial_of(told([AWAY, CALM, CALM]))).enough
    assert cleaned(trial_of(told([AWAY, *[CALM] * 3]))).enough


@pytest.mark.parametrize("why", ["cut", "no slots", "other frames", "other load"])
def test_where_slots_do_not_tell_all_the_trial_stays_what_it_is(why: str) -> None:
    trial = trial_of(told([AWAY, LOSSY, CALM], cut=why == "cut"))
    if why == "no slots":
        trial = trial.model_copy(update={"slots": None})
    if why == "other load":
        trial = trial.model_copy(update={"load_fps": trial.load_fps + 1000})
    if why == "other frames":
        assert trial.slots is not None
        slots = trial.slots.model_copy(update={"sent_frames": (1, 1)})
        trial = trial.model_copy(update={"slots": slots})
    assert in_clean_time(trial) is trial
    assert clean_share([trial]) is None
    assert counted_ns(trial) == trial.duration_ns


def test_the_share_of_clean_time_is_that_of_all_trials_together() -> None:
    half, whole = trial_of(told([AWAY, CALM, CALM, CALM])), trial_of(told([CALM] * 12))
    assert clean_share([half]) == Fraction(1, 2)
    assert clean_share([half, whole]) == Fraction(14, 16)
    assert counted_ns(in_clean_time(half)) == 2 * WIDTH_NS


TIMES = st.sampled_from((0, GAP_NS, WIDTH_NS))
STORIES = st.lists(st.tuples(TIMES, TIMES, st.integers(0, RATE)), min_size=1, max_size=40)
KEPT = st.sampled_from((0, 10**9))


@given(STORIES, KEPT)
def test_what_is_left_adds_up(story: Story, kept_ns: int) -> None:
    found = cleaned(trial_of(told(story), kept_ns=kept_ns))
    out = indices(story, silent=kept_ns > 0)
    kept = [one for index, one in enumerate(story) if index not in out]
    assert found.counted_ns == WIDTH_NS * len(kept)
    assert [way.sent_frames for way in found.directions] == [RATE * len(kept)] * 2
    assert [way.lost_frames for way in found.directions] == [sum(lost for _, _, lost in kept), 0]
    assert not any(away > 0 for away, _, _ in kept)


@given(STORIES, KEPT)
def test_what_is_left_out_does_not_depend_on_what_was_lost(story: Story, kept_ns: int) -> None:
    lossless = [(away, silent, 0) for away, silent, _ in story]
    lossy = [(away, silent, RATE - lost) for away, silent, lost in story]
    trials = [trial_of(told(one), kept_ns=kept_ns) for one in (story, lossless, lossy)]
    assert len({cleaned(trial).counted_ns for trial in trials}) == 1


@pytest.mark.parametrize("coincide", [False, True])
def test_leaving_out_is_fair_to_a_switch_that_drops_at_any_time(coincide: bool) -> None:
    """A switch drops a batch twice a second, and the generator is away four times a second.

    Where the two have nothing to do with each other, clean time has its share of the loss, within
    what chance allows. Where the stalls make more loss, that is left out, and the share stays.
    """
    chance = Random(1)
    lost = clean_lost = clean_ns = 0
    for _ in range(400):
        drops = [32 * (chance.random() < 0.02) for _ in range(100)]
        gaps = [GAP_NS * (chance.random() < 0.04) for _ in range(100)]
        made = [100 * bool(gap and coincide) for gap in gaps]
        both = [drop + more for drop, more in zip(drops, made, strict=True)]
        left = cleaned(trial_of(told([(gap, 0, n) for gap, n in zip(gaps, both, strict=True)])))
        lost += sum(drops)
        clean_lost += left.lost_frames
        clean_ns += left.counted_ns
    share = clean_ns / (400 * 100 * WIDTH_NS)
    assert 0.85 < share < 0.93
    assert clean_lost / lost == pytest.approx(share, rel=0.04)


@given(STORIES)
def test_a_guard_leaves_out_more_and_only_neighbours(story: Story) -> None:
    narrow, wide = set(indices(story, 0)), set(indices(story, 1))
    assert narrow <= wide
    near = {index + by for index in narrow for by in (-1, 0, 1)}
    assert wide == near & set(range(len(story)))


def test_a_direction_with_less_load_has_clean_time_as_well() -> None:
    """The forward direction has what the trial says, the other one half of it."""
    whole = trial_of(told([CALM, CALM, AWAY, LOSSY, CALM, CALM, CALM, CALM]))
    assert whole.slots is not None
    noted = [
        replace(
            slot,
            sent_frames=(slot.sent_frames[0], slot.sent_frames[1] // 2),
            received_frames=(slot.received_frames[0], slot.received_frames[1] // 2),
        )
        for slot in whole.slots.noted
    ]
    halved = {
        name: (getattr(whole.slots, name)[0], getattr(whole.slots, name)[1] // 2)
        for name in ("sent_frames", "received_frames")
    }
    slots = whole.slots.model_copy(update={"columns": SlotColumns.of(noted, 2), **halved})
    forward, reverse = whole.directions
    half = {
        name: getattr(reverse, name) // 2
        for name in ("intended_frames", "sent_frames", "received_frames")
    }
    ways = (forward, reverse.model_copy(update=half))
    left = in_clean_time(whole.model_copy(update={"slots": slots, "directions": ways}))
    assert isinstance(left, CleanTrial)
    same = in_clean_time(whole)
    assert left.directions[0] == same.directions[0]
    assert left.directions[1].intended_frames == same.directions[1].intended_frames // 2
    assert left.lost_frames == same.lost_frames


def test_slots_are_stored_as_columns_and_seen_as_rows() -> None:
    slots = told([CALM, AWAY, LOSSY, SILENT])
    assert [slot.index for slot in slots.noted] == list(slots.columns.index) == [0, 1, 2, 3]
    assert slots.columns.away_ns == (0, GAP_NS, 0, 0)
    assert slots.columns.received_frames == ((RATE, RATE, RATE - 7, RATE), (RATE,) * 4)


def test_columns_that_differ_in_length_are_no_slots() -> None:
    columns = told([CALM, AWAY, LOSSY]).columns
    with pytest.raises(ValueError, match="different lengths"):
        SlotColumns(**{**dict(columns), "away_ns": columns.away_ns[1:]})


def test_a_trial_in_which_nothing_happened_stores_no_slot() -> None:
    slots = told([CALM] * 4)
    assert slots.noted == ()
    assert SlotColumns.model_validate_json(slots.columns.model_dump_json()) == slots.columns
