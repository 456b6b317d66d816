"""What stages of a switch took is shown for each trial, and only where they were counted."""

from __future__ import annotations

from record_samples import trial

from vsperf.output.trial_tables import MOST, stages_table
from vsperf.records.switch import PmdCounters, StageCounters, SwitchCounters
from vsperf.records.trial import Trial


def stage(name: str, calls: int, frames: int, cycles: int) -> StageCounters:
    return StageCounters(name=name, calls=calls, frames=frames, cycles=cycles)


def counted(*threads: tuple[StageCounters, ...]) -> SwitchCounters:
    return SwitchCounters(
        pmds=tuple(
            PmdCounters(cpu=cpu, frames=100, busy_cycles=1, idle_cycles=1, stages=stages)
            for cpu, stages in enumerate(threads)
        )
    )


def printed(*trials: Trial) -> list[list[str]]:
    """Return the names of the columns, and the rows."""
    table = stages_table(trials)
    assert table is not None
    return [list(table.names), *(list(row) for row in table.texts)]


def test_cycles_and_frames_of_a_call_are_of_all_threads_together() -> None:
    first = (stage("l2-input", 10, 1000, 30_000), stage("l2-output", 10, 1000, 20_000))
    second = (stage("l2-input", 30, 1000, 10_000),)
    head, row, *_ = printed(trial(switch=counted(first, second)))
    assert head == ["trial", "l2-input", "l2-output"]
    assert row[1:] == ["20.0 (50.0 a call)", "20.0 (100.0 a call)"]


def test_stages_that_took_most_stand_first_and_the_rest_is_left_out() -> None:
    stages = tuple(stage(f"node{number}", 1, 1, number) for number in range(1, MOST + 3))
    head, *_ = printed(trial(switch=counted(stages)))
    assert head[1:] == [f"node{number}" for number in range(MOST + 2, 2, -1)]


def test_a_stage_that_no_frame_passed_is_none() -> None:
    stages = (stage("unix-epoll-input", 500, 0, 90_000), stage("l2-input", 5, 50, 100))
    head, *_ = printed(trial(switch=counted(stages)))
    assert head == ["trial", "l2-input"]


def test_a_trial_in_which_one_did_nothing_has_no_figure_of_it() -> None:
    both = (stage("l2-input", 5, 50, 100), stage("l2-flood", 5, 50, 50))
    one = (stage("l2-input", 5, 50, 100),)
    _, first, second, *_ = printed(trial(switch=counted(both)), trial(switch=counted(one)))
    assert first[-1] == "1.0 (10.0 a call)"
    assert second[-1] == "–"


def test_switches_without_stages_have_no_such_table() -> None:
    assert stages_table([trial(), trial(switch=counted(()))]) is None
