"""What collectors saw, as a table: rates within trials, what stood, and what a frame cost."""

from __future__ import annotations

from pathlib import Path

from figure_world import COLLECTED
from record_samples import trial
from series_samples import CASE, header

from vsperf.record.series import Nature, Note, OwnTrial, Quantity, Sample
from vsperf.report.collected import collected_parts, sights
from vsperf.stats.collected import MOST_ROWS, NOTHING
from vsperf.store.series import SeriesFile

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
    return {(row[0], row[1]): row[2:] for row in one.rows}


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
    (part,) = collected_parts(tmp_path, CASE, 1, ())
    assert (part.table, part.notes) == (None, (NOTHING,))


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
    (part,) = collected_parts(tmp_path, CASE, 1, ())
    assert part.title == "What perf saw, in a trial of its own"
    assert part.notes == ("not counted of the switch: llc_misses",)


def test_of_several_trials_of_ones_own_it_is_said_how_they_scatter(tmp_path: Path) -> None:
    made, frames = SeriesFile.begin(tmp_path, HEAVY), trial(1).sent_frames
    for number, cycles in enumerate((300, 310, 350), start=1):
        counts = sample(number, 1, cycles=cycles * frames, instructions=600 * frames)
        made.append(counts, OwnTrial(trial=trial(number)))
    found = rows(tmp_path)
    assert found["switch", "cycles"] == ("620,000,000", "600,000,000", "700,000,000", "320")
    assert found["switch", "instructions per cycle"][:3] == ("1.94", "1.71", "2.00")
    (part,) = collected_parts(tmp_path, CASE, 1, ())
    assert part.title == "What perf saw, in 3 trials of its own"


def test_of_a_trial_of_its_own_that_went_wrong_nothing_is_told(tmp_path: Path) -> None:
    failed = trial(1, error="tgen hung up", flags=("generator-error",))
    SeriesFile.begin(tmp_path, HEAVY).append(sample(1, 1, cycles=7), OwnTrial(trial=failed))
    assert rows(tmp_path) == {}
    (part,) = collected_parts(tmp_path, CASE, 1, ())
    assert part.notes == ("no trial of it counts",)


def test_rows_beyond_those_that_are_read_are_counted(tmp_path: Path) -> None:
    made = SeriesFile.begin(tmp_path, LIGHT)
    for number in range(MOST_ROWS + 3):
        made.append(*(sample(1, s, of=f"cpu {number}", involuntary=9 * s) for s in (0, 1)))
    (part,) = collected_parts(tmp_path, CASE, 1, ())
    assert part.title.endswith("; 3 more rows are in its file")
    assert part.table is not None
    assert len(part.table.rows) == MOST_ROWS


def test_a_damaged_file_is_told_and_hides_no_other(tmp_path: Path) -> None:
    SeriesFile.begin(tmp_path, LIGHT).append(
        sample(1, 0, involuntary=1), sample(1, 1, involuntary=9)
    )
    damaged = SeriesFile.begin(tmp_path, HEAVY)
    with damaged.path.open("ab") as file:
        file.write(b'{"type": "sample"}\n')
    whole, broken = collected_parts(tmp_path, CASE, 1, ())
    assert whole.table is not None
    assert "cannot be understood" in broken.notes[0]


def test_series_of_a_real_run_are_told() -> None:
    (folder,) = (COLLECTED / "series").iterdir()
    (proc, *_) = sights(COLLECTED, folder.name, 1, ())
    (running,) = (
        row for row in proc.rows if row[0].startswith("switch: pmd") and "running" in row[1]
    )
    assert 50 < float(running[2].rstrip("%")) <= 100.5, "a thread that polls"
