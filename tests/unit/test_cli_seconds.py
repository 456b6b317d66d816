"""Seconds of long trials: streamed into the records, read back one by one, printed as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from record_samples import case_record, case_start, making, planned

from vsperf.cli.seconds_view import write_seconds
from vsperf.errors import StoreError
from vsperf.record.run import Line, SecondLine
from vsperf.record.sample import DirectionSample, LatencySample, Sample
from vsperf.record.second import Second
from vsperf.record.switch import PmdCounters, SwitchCounters
from vsperf.record.threads import ThreadActivity
from vsperf.store.folders import RECORDS
from vsperf.store.reader import read_run
from vsperf.store.validation import validate_file
from vsperf.store.view import views
from vsperf.store.writer import RunWriter


def second(number: int) -> Second:
    latency = LatencySample(
        frames=9, min_ns=1, p50_ns=5_000, p99_ns=9_000, p999_ns=9_500, max_ns=9_900
    )
    way = DirectionSample(
        name="phy0 to phy1",
        sent_frames=1000 * number,
        received_frames=990 * number,
        lost_frames=10 * number,
        latency=latency,
    )
    pmd = PmdCounters(cpu=1, frames=990, busy_cycles=300_000, idle_cycles=1)
    return Second(
        sample=Sample(elapsed_ns=number * 10**9, directions=(way,)),
        switch=SwitchCounters(pmds=(pmd,)),
        threads=(ThreadActivity(part="switch", name="pmd-c01", delay_ns=7),),
    )


def written(results: Path, *lines: Line) -> Path:
    with RunWriter.create(results, ["phy2phy_soak"], making(cases=1)) as writer:
        for line in lines:
            writer.append(line)
        return writer.folder


KEY = planned(1).key


def seconds(*numbers: int) -> list[SecondLine]:
    return [SecondLine(case=KEY, second=second(number)) for number in numbers]


def test_a_run_that_was_killed_has_every_second_so_far(tmp_path: Path) -> None:
    folder = written(tmp_path, case_start(KEY), *seconds(1, 2, 3))

    (case,) = read_run(folder).cases
    assert case.record is None
    assert case.attempts[-1].seconds == 3
    assert list(next(views(folder)).seconds) == [second(1), second(2), second(3)]
    assert validate_file(folder / RECORDS) == 5


def test_seconds_of_an_attempt_that_was_begun_anew_are_left_out(tmp_path: Path) -> None:
    first: list[Line] = [case_start(KEY), *seconds(1, 2)]
    folder = written(tmp_path, *first, case_start(KEY, 2), *seconds(7), case_record(KEY))

    assert list(next(views(folder)).seconds) == [second(7)]


def test_a_second_of_a_case_that_does_not_run_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, *seconds(1))

    with pytest.raises(StoreError) as caught:
        read_run(folder)
    assert f"a second of {KEY}, which is not running" in str(caught.value.problems[0].why)


def test_each_second_is_a_row_with_units_in_the_headers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bare = Second(sample=second(3).sample)

    assert write_seconds([second(1), second(2), bare]) == 3

    first, _, last = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert first == {
        "elapsed_s": "1.000",
        "switch_frames": "990",
        "switch_busy_cycles": "300000",
        "kept_from_running_ns": "7",
        "phy0_to_phy1_sent": "1000",
        "phy0_to_phy1_received": "990",
        "phy0_to_phy1_refused": "",
        "phy0_to_phy1_lost": "10",
        "phy0_to_phy1_latency_p50_ns": "5000",
        "phy0_to_phy1_latency_p99_ns": "9000",
    }
    assert last["switch_frames"] == ""
