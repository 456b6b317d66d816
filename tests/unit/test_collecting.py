"""What a case collects, how it goes about it, and what is shown of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from collecting_world import Driver, Looks, asking, heavy, notes_in, started
from config_world import cases, mistakes, wrong
from exchanges import exchange, instance
from figure_world import COLLECTED
from pydantic import ValidationError
from record_samples import given_load, goal_result, trial
from search_models import POLICY
from series_samples import CASE, header
from simulated_cases import session, simulated_case

from vsperf.config.base import DriverSpec
from vsperf.config.case import Case
from vsperf.drivers.collectors.base import (
    Parts,
    Seat,
    own_trials_ns,
    own_trials_text,
)
from vsperf.drivers.collectors.perf import PerfSpec
from vsperf.drivers.vswitches.sim import RunningModel
from vsperf.engine.collecting import Collecting, apart_ns, load_of
from vsperf.engine.measurer import Measurer
from vsperf.engine.watch import Watch
from vsperf.errors import ComponentError
from vsperf.output.collected_tables import MOST_ROWS, NOTHING, sights
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.files.series import SeriesFile, series_of
from vsperf.records.result import SearchResult
from vsperf.records.run import Placement
from vsperf.records.series import Nature, Note, OwnExchange, OwnTrial, Quantity, Sample
from vsperf.records.trial import Purpose, Trial
from vsperf.search.base import Budget

# What a case collects is a word, settings, or alternatives; without it nothing changes.


def one(folder: Path, text: str = "", *sets: str) -> Case:
    (found,) = cases(folder, text, *sets)
    return found


class TestWords:
    def test_without_the_word_nobody_collects(self, tmp_path: Path) -> None:
        assert one(tmp_path).spec.collect == {}

    def test_a_word_names_collectors_with_their_defaults(self, tmp_path: Path) -> None:
        found = one(tmp_path, "collect: proc+ovs\n").spec.collect
        assert {name: settings.kind for name, settings in found.items()} == {
            "proc": "proc",
            "ovs": "ovs",
        }

    def test_a_mapping_gives_settings(self, tmp_path: Path) -> None:
        found = one(tmp_path, "collect: {proc: {every: 2s}, ovs: {}}\n").spec.collect
        assert str(found["proc"].every) == "2s"  # type: ignore[attr-defined]

    def test_a_name_of_ones_own_has_a_kind(self, tmp_path: Path) -> None:
        found = one(tmp_path, "collect: {slowly: {kind: proc, every: 5s}}\n").spec.collect
        assert found["slowly"].kind == "proc"

    def test_none_takes_out_what_a_lower_layer_says(self, tmp_path: Path) -> None:
        assert one(tmp_path, "collect: proc\n", "collect=none").spec.collect == {}

    def test_a_collector_can_be_taken_out_by_its_name(self, tmp_path: Path) -> None:
        found = one(tmp_path, "collect: {proc: {}, ovs: {}}\n", "collect.ovs=null").spec.collect
        assert list(found) == ["proc"]


class TestIdentity:
    def test_a_case_that_collects_nothing_is_the_case_that_it_was(self, tmp_path: Path) -> None:
        assert one(tmp_path).id == one(tmp_path, "collect: none\n").id
        assert "collect" not in one(tmp_path).spec.measured()

    def test_who_collects_decides_numbers_as_far_as_anybody_knows(self, tmp_path: Path) -> None:
        assert one(tmp_path).id != one(tmp_path, "collect: proc\n").id


class TestAlternatives:
    def test_a_list_makes_a_case_of_each(self, tmp_path: Path) -> None:
        found = cases(tmp_path, "collect: [none, proc, proc+ovs]\n")
        assert [case.label for case in found] == [
            "mine-64B-none",
            "mine-64B-proc",
            "mine-64B-proc+ovs",
        ]
        assert [len(case.spec.collect) for case in found] == [0, 1, 2]

    def test_each_other_repeat_turns_the_order_round(self, tmp_path: Path) -> None:
        found = cases(tmp_path, "collect: [none, proc]\n", repeat=3)
        assert [case.point["collect"] for case in found] == [
            *("none", "proc"),
            *("proc", "none"),
            *("none", "proc"),
        ]


class TestMistakes:
    def test_an_unknown_collector_is_named_with_what_was_meant(self, tmp_path: Path) -> None:
        (found,) = mistakes(tmp_path, "collect: prok\n")
        assert found.what == "there is no collector 'prok'"
        assert found.fix == "did you mean `proc`?"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("{x: {kind: [1]}}", "there is no collector '[1]'"),
            ("{x: {kind: 1}}", "there is no collector '1'"),
            ("7", "`collect` names collectors, and is the number 7"),
            ("[proc, proc]", "`collect` holds 'proc' twice"),
            ("{proc: {often: 2s}}", "often"),
            ("{proc: {every: 1ms}}", "disturb"),
            ("{'../x': {kind: proc}}", "called"),
        ],
    )
    def test_what_could_not_be_collected_is_refused(
        self, tmp_path: Path, text: str, said: str
    ) -> None:
        (found,) = wrong(tmp_path, f"collect: {text}\n")
        assert said in found


# Whoever collects never changes what a trial says, and who is lost is a warning.


def collecting(folder: Path, **collectors: Looks) -> Collecting:
    spec: Any = SimpleNamespace()
    place: Any = SimpleNamespace()
    running: dict[str, Any] = {}
    for name, one in collectors.items():
        file = SeriesFile.begin(folder, header(name))
        parts = Parts(None, None, None)
        running[name] = (Seat(name, spec, Placement(), place, parts, file), one)
    return Collecting(running)


@pytest.mark.parametrize(
    ("purpose", "looks"), [(Purpose.SEARCH, [("begin", 3), ("end", 3)]), (Purpose.PATH_CHECK, [])]
)
def test_each_looks_before_a_trial_and_after_it_and_at_no_path_check(
    tmp_path: Path, purpose: Purpose, looks: list[tuple[str, int]]
) -> None:
    one = Looks()
    found = collecting(tmp_path, proc=one)
    found.begin(3, purpose)
    found.end()
    assert one.looks == looks


def test_an_end_without_a_begin_is_nothing(tmp_path: Path) -> None:
    one = Looks()
    collecting(tmp_path, proc=one).end()
    assert one.looks == []


def test_who_is_lost_is_a_warning_and_a_note_and_the_others_go_on(tmp_path: Path) -> None:
    dying, other = Looks(dies_at=2), Looks()
    found = collecting(tmp_path, proc=dying, ovs=other)
    for number in (1, 2, 3):
        found.begin(number, Purpose.SEARCH)
        found.end()
    assert found.warnings == (
        "the collector proc was lost at trial 2: collect-proc was killed by SIGKILL; its series "
        "end there",
    )
    assert dying.looks[-1] == ("begin", 2)
    assert other.looks[-1] == ("end", 3)
    notes = notes_in(tmp_path)
    assert [note.trial for note in notes["proc"]] == [2]
    assert notes["ovs"] == []


def test_who_fails_in_a_way_that_nobody_thought_of_is_lost_all_the_same(tmp_path: Path) -> None:
    """A collector may be a plugin's, and whatever it raises ends it, and never the case."""
    found = collecting(tmp_path, own=Looks(dies_at=1, of=ZeroDivisionError("by zero")))
    found.begin(1, Purpose.SEARCH)
    found.end()
    assert found.warnings == (
        "the collector own was lost at trial 1: ZeroDivisionError: by zero; its series end there",
    )


def test_an_interruption_is_nobodys_loss(tmp_path: Path) -> None:
    found = collecting(tmp_path, own=Looks(dies_at=1, of=KeyboardInterrupt()))
    found.begin(1, Purpose.SEARCH)
    with pytest.raises(KeyboardInterrupt):
        found.end()
    assert found.warnings == ()


class TestStart:
    @pytest.mark.parametrize(
        ("error", "why"),
        [
            (
                ComponentError("collect-one hangs", why="it is tired"),
                "collect-one hangs: it is tir",
            ),
            (FileExistsError(17, "File exists", "one.ctl"), "one.ctl: File exists"),
            (ValueError("three"), "ValueError: three"),
        ],
    )
    def test_who_cannot_start_is_a_warning_and_a_note_and_the_others_go_on(
        self, tmp_path: Path, error: Exception, why: str
    ) -> None:
        other = Looks()
        with started(tmp_path, one=Driver(Looks(), at_start=error), two=Driver(other)) as found:
            found.begin(1, Purpose.SEARCH)
            found.end()
        assert other.looks == [("begin", 1), ("end", 1)]
        (warning,) = found.warnings
        assert warning.startswith(f"the collector one did not start: {why}")
        notes = notes_in(tmp_path)
        assert notes["two"] == []
        (note,) = notes["one"]
        assert (note.trial, note.text) == (0, warning)

    def test_one_whose_file_cannot_be_made_is_a_warning_too(self, tmp_path: Path) -> None:
        (tmp_path / "series").write_text("no folder")
        with started(tmp_path, one=Driver(Looks())) as found:
            assert found.running == {}
        (warning,) = found.warnings
        assert "the series of one cannot be written" in warning

    def test_who_cannot_end_does_not_end_the_case(self, tmp_path: Path) -> None:
        first = Driver(Looks())
        with started(tmp_path, one=first, two=Driver(Looks(), at_end=OSError(5, "I/O error"))):
            pass
        assert first.left, "the others are ended all the same"
        notes = notes_in(tmp_path)
        assert [note.text for note in notes["two"]] == [
            "the collector two did not end well: I/O error"
        ]

    def test_an_interruption_of_the_start_passes(self, tmp_path: Path) -> None:
        with (
            pytest.raises(KeyboardInterrupt),
            started(tmp_path, one=Driver(Looks(), at_start=KeyboardInterrupt())),
        ):
            pass


# Heavy collectors have trials for themselves, as many as they ask for; no result is by them.

FOUND = SearchResult(goals=(goal_result(7_000_000),))


def made(
    found: Collecting, budget: Budget | None = None, result: SearchResult = FOUND
) -> tuple[str, ...]:
    """Have the collectors their trials on a model; return what failed."""
    with session(simulated_case()) as generator:
        told: list[Trial] = []
        watch = Watch(RunningModel(), generator)
        measurer = Measurer(generator, watch, POLICY, budget or Budget(), 2, record=told.append)
        warnings = found.own_trials(measurer, result)
        assert told == measurer.trials == [], "none of them is one of the case"
    return warnings


def own(folder: Path) -> list[Trial]:
    (case,) = (folder / "series").iterdir()
    return [line.trial for one in series_of(folder, case.name, 1) for line in one.own_trials()]


def test_each_of_its_trials_is_looked_at_and_kept(tmp_path: Path) -> None:
    looks = Looks()
    with started(tmp_path, one=heavy(looks, 3)) as found:
        assert made(found) == ()
    assert looks.looks == [(look, number) for number in (1, 2, 3) for look in ("begin", "end")]
    kept = own(tmp_path)
    assert [one.index for one in kept] == [1, 2, 3]
    assert {one.load_fps for one in kept} == {7_000_000}
    assert {one.duration_ns for one in kept} == {NANOSECONDS}
    assert {one.reference for one in kept} == {"for one"}


def test_one_that_listens_hears_of_each_of_its_trials(tmp_path: Path) -> None:
    class Listens(Looks):
        def hear(self, trial: Trial) -> None:
            self.looks.append(("hear", trial.index))

    looks = Listens()
    with started(tmp_path, one=heavy(looks, 2)) as found:
        assert made(found) == ()
    assert looks.looks[:3] == [("begin", 1), ("end", 1), ("hear", 1)]
    assert looks.looks[-1] == ("hear", 2)


def test_one_that_was_lost_hears_nothing_more(tmp_path: Path) -> None:
    class Listens(Looks):
        def hear(self, trial: Trial) -> None:
            raise AssertionError

    with started(tmp_path, one=heavy(Listens(dies_at=1), 1)) as found:
        (warning,) = made(found)
    assert "was lost at trial 1" in warning


def test_where_no_frames_are_sent_it_is_said_who_collected_nothing(tmp_path: Path) -> None:
    """Of connections: what was lost or did not start is told there, too."""
    looks, lost = Looks(), Looks(dies_at=1)
    with started(tmp_path, one=heavy(looks, 3), two=Driver(lost)) as found:
        found.begin(1, Purpose.SEARCH)
        found.end()
        told, nothing = found.without_frames()
    assert "the collector two was lost at trial 1" in told
    assert nothing.startswith("nothing was collected by one: it looks at trials of frames")
    assert looks.looks == []


def test_those_that_no_time_is_left_for_are_told(tmp_path: Path) -> None:
    for_one_ns = NANOSECONDS + POLICY.overhead_ns
    with started(tmp_path, one=heavy(Looks(), 3)) as found:
        (warning,) = made(found, Budget(for_one_ns))
    assert warning == "1 of 3 trials for one were made: the time was over"
    assert len(own(tmp_path)) == 1


def test_without_time_for_any_nothing_is_collected(tmp_path: Path) -> None:
    with started(tmp_path, one=heavy(Looks(), 3)) as found:
        assert made(found, Budget(1)) == ("nothing was collected by one: the time was over",)


def test_a_search_leaves_them_their_time(tmp_path: Path) -> None:
    with started(tmp_path, one=heavy(Looks(), 3), two=Driver(Looks())) as found:
        assert found.time_ns(overhead_ns=7) == 3 * (NANOSECONDS + 7)


def test_where_no_load_passed_there_is_none_to_have_a_trial_at(tmp_path: Path) -> None:
    with started(tmp_path, one=heavy(Looks(), 3)) as found:
        (warning,) = made(found, result=SearchResult())
    assert "there is no load that passed" in warning


def test_one_that_is_lost_has_no_more_trials_and_the_next_has_its_own(tmp_path: Path) -> None:
    lost, other = Looks(dies_at=2), Looks()
    with started(tmp_path, one=heavy(lost, 3), two=heavy(other, 1)) as found:
        (warning,) = made(found)
    assert warning.startswith("the collector one was lost at trial 2")
    assert lost.looks[-1] == ("begin", 2)
    assert other.looks == [("begin", 1), ("end", 1)]


def test_one_that_cannot_start_leaves_the_result_as_it_is(tmp_path: Path) -> None:
    failing = heavy(Looks(), 3, at_start=FileExistsError(17, "File exists"))
    with started(tmp_path, one=failing) as found:
        assert made(found) == ("the trial for one failed: File exists",)


@pytest.mark.parametrize("count", [0, 21])
def test_so_many_are_refused_where_they_are_written(count: int) -> None:
    with pytest.raises(ValidationError):
        asking(count)


def test_perf_has_enough_to_tell_a_cause_from_chance() -> None:
    settings = PerfSpec.model_validate({"kind": "perf"})
    assert len(own_trials_ns(settings)) == 3
    assert own_trials_text(settings) == "3 trials of its own"


def test_no_trial_is_so_short_that_nothing_is_counted_in_it() -> None:
    assert own_trials_ns(asking(2, "10ms")) == (NANOSECONDS, NANOSECONDS)


def test_a_collector_of_others_that_says_nothing_has_one() -> None:
    assert own_trials_ns(DriverSpec(kind="own")) == (5 * NANOSECONDS,)
    assert own_trials_text(DriverSpec(kind="own")) == "a trial of its own"


def test_only_heavy_ones_add_to_the_time_of_a_case() -> None:
    drivers: Any = {"light": Driver(Looks()), "heavy": heavy(Looks(), 3)}
    asked = {name: driver.settings for name, driver in drivers.items()}
    case = simulated_case().model_copy(update={"collect": asked})
    assert apart_ns(drivers, case) == (NANOSECONDS,) * 3


def test_a_heavy_one_gets_the_load_that_was_found() -> None:
    assert load_of(SearchResult(goals=(goal_result(7_000_000),))) == 7_000_000
    assert (
        load_of(
            SearchResult(loads=(given_load(1000), given_load(3000), given_load(4000, passed=0)))
        )
        == 3000
    )
    assert load_of(SearchResult()) is None


# What collectors saw, as a table: rates within trials, what stood, and what a frame cost.

S = 1_000_000_000
LIGHT = header().model_copy(
    update={
        "quantities": (
            Quantity(name="running_ns", unit="ns"),
            Quantity(name="involuntary", unit="1"),
            Quantity(name="resident_bytes", unit="bytes", nature=Nature.GAUGE),
            Quantity(name="softirqs_*", unit="1"),
        )
    }
)
HEAVY = header("perf").model_copy(
    update={
        "heavy": True,
        "quantities": (
            Quantity(name="cycles", unit="1", nature=Nature.TOTAL),
            Quantity(name="instructions", unit="1", nature=Nature.TOTAL),
            Quantity(name="task_ns", unit="ns", nature=Nature.TOTAL),
        ),
    }
)


def sample(number: int, at_s: float, of: str = "switch", **values: int) -> Sample:
    return Sample(trial=number, at_ns=round(at_s * S), of=of, values=values)


def rows(folder: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    (one,) = sights(folder, CASE, 1, ())
    return {(row[0], row[1]): row[2:] for row in one.table.texts}


def test_counters_are_rates_within_trials_and_never_between_them(tmp_path: Path) -> None:
    SeriesFile.begin(tmp_path, LIGHT).append(
        sample(1, 0, running_ns=0, involuntary=5, resident_bytes=7000, softirqs_timer=1),
        sample(1, 2, running_ns=S, involuntary=25, resident_bytes=7000, softirqs_timer=3),
        sample(2, 50, running_ns=9 * S, involuntary=1000),
        sample(2, 51, running_ns=10 * S, involuntary=1020),
    )
    found = rows(tmp_path)
    assert found["switch", "running, of the time"] == ("75%", "50%", "100%", "")
    assert found["switch", "involuntary"] == ("15/s", "10/s", "20/s", "")
    assert found["switch", "resident bytes"] == ("7,000 bytes", "", "", "")
    assert found["switch", "softirqs timer"] == ("1/s", "", "", "")


def test_what_was_never_seen_to_happen_is_no_row_and_that_is_said(tmp_path: Path) -> None:
    SeriesFile.begin(tmp_path, LIGHT).append(
        sample(1, 0, involuntary=5, running_ns=9), sample(1, 1, involuntary=5, running_ns=3)
    )
    assert rows(tmp_path) == {}
    (part,) = sights(tmp_path, CASE, 1, ())
    assert (part.table.rows, part.notes) == ((), (NOTHING,))


def test_a_trial_of_ones_own_tells_what_a_frame_cost(tmp_path: Path) -> None:
    own = trial(1)
    frames = own.sent_frames
    SeriesFile.begin(tmp_path, HEAVY).append(
        sample(1, 1, cycles=300 * frames, instructions=600 * frames, task_ns=S),
        Note(trial=1, text="not counted of the switch: llc_misses"),
        OwnTrial(trial=own),
    )
    found = rows(tmp_path)
    assert found["switch", "cycles"][-1] == "300"
    assert found["switch", "task"][0] == "1.000 s"
    assert found["switch", "instructions per cycle"][0] == "2.00"
    (part,) = sights(tmp_path, CASE, 1, ())
    assert part.title == "What perf saw, in a trial of its own"
    assert part.notes == ("not counted of the switch: llc_misses",)


def test_an_exchange_of_ones_own_tells_what_a_request_cost_and_a_stream_what_a_bit(
    tmp_path: Path,
) -> None:
    requests = exchange(instance(transactions=1000), traffic="tcp-rr")
    counts = sample(1, 1, cycles=7_000_000, instructions=14_000_000)
    SeriesFile.begin(tmp_path, HEAVY).append(counts, OwnExchange(exchange=requests))
    (part,) = sights(tmp_path, CASE, 1, ())
    assert part.table.names[-1] == "for a request"
    assert rows(tmp_path)["switch", "cycles"][-1] == "7,000"
    assert rows(tmp_path)["switch", "instructions per cycle"][0] == "2.00"
    other = tmp_path / "other"
    SeriesFile.begin(other, HEAVY).append(counts, OwnExchange(exchange=exchange()))
    (part,) = sights(other, CASE, 1, ())
    assert part.table.names[-1] == "for a bit"


def test_of_several_trials_of_ones_own_it_is_said_how_they_scatter(tmp_path: Path) -> None:
    made, frames = SeriesFile.begin(tmp_path, HEAVY), trial(1).sent_frames
    for number, cycles in enumerate((300, 310, 350), start=1):
        counts = sample(number, 1, cycles=cycles * frames, instructions=600 * frames)
        made.append(counts, OwnTrial(trial=trial(number)))
    found = rows(tmp_path)
    assert found["switch", "cycles"] == ("620,000,000", "600,000,000", "700,000,000", "320")
    assert found["switch", "instructions per cycle"][:3] == ("1.94", "1.71", "2.00")
    (part,) = sights(tmp_path, CASE, 1, ())
    assert part.title == "What perf saw, in 3 trials of its own"


def test_of_a_trial_of_its_own_that_went_wrong_nothing_is_told(tmp_path: Path) -> None:
    failed = trial(1, error="tgen hung up", flags=("generator-error",))
    SeriesFile.begin(tmp_path, HEAVY).append(sample(1, 1, cycles=7), OwnTrial(trial=failed))
    assert rows(tmp_path) == {}
    (part,) = sights(tmp_path, CASE, 1, ())
    assert part.notes == ("no trial of it counts",)


def test_rows_beyond_those_that_are_read_are_counted(tmp_path: Path) -> None:
    made = SeriesFile.begin(tmp_path, LIGHT)
    for number in range(MOST_ROWS + 3):
        made.append(*(sample(1, s, of=f"cpu {number}", involuntary=9 * s) for s in (0, 1)))
    (part,) = sights(tmp_path, CASE, 1, ())
    assert part.title.endswith("; its file has 3 more rows")
    assert part.table is not None
    assert len(part.table.rows) == MOST_ROWS


def test_a_damaged_file_is_told_and_hides_no_other(tmp_path: Path) -> None:
    SeriesFile.begin(tmp_path, LIGHT).append(
        sample(1, 0, involuntary=1), sample(1, 1, involuntary=9)
    )
    damaged = SeriesFile.begin(tmp_path, HEAVY)
    with damaged.path.open("ab") as file:
        file.write(b'{"type": "sample"}\n')
    whole, broken = sights(tmp_path, CASE, 1, ())
    assert whole.table is not None
    assert "cannot be understood" in broken.notes[0]


def test_series_of_a_real_run_are_told() -> None:
    (folder,) = (COLLECTED / "series").iterdir()
    (proc, *_) = sights(COLLECTED, folder.name, 1, ())
    (running,) = (
        row for row in proc.table.texts if row[0].startswith("switch: pmd") and "running" in row[1]
    )
    assert 50 < float(running[2].rstrip("%")) <= 100.5, "a thread that polls"
