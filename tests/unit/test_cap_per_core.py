"""The rate per core of a generator: computed from its calibration, and never stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_samples import TIME

from vsperf.cli.tgen_view import print_calibrations
from vsperf.drivers.generators.tgen.calibrate import Calibration as FoundByHand
from vsperf.output.report.environment import found_of
from vsperf.records.files.view import views
from vsperf.records.host import Calibration, Conditions

GOLDEN = Path(__file__).parents[1] / "golden" / "records"
RUNS = sorted(run.parent for run in GOLDEN.glob("*/records.jsonl"))


def calibration(*cpus: int) -> Calibration:
    """Return what was found on these CPUs, of which the last one was the mirror's."""
    return Calibration(
        frame_size=64, cap_fps=9_000_001, method="a mirror", measured_at=TIME, cpus=cpus
    )


@pytest.mark.parametrize(("cpus", "rate"), [((0, 1), 9_000_001), ((0, 2, 1), 4_500_000)])
def test_it_is_the_cap_divided_by_the_cpus_of_the_generator(
    cpus: tuple[int, ...], rate: int
) -> None:
    assert calibration(*cpus).per_cpu_fps == rate


@pytest.mark.parametrize("cpus", [(), (1,)])
def test_there_is_none_where_the_generator_has_no_cpu(cpus: tuple[int, ...]) -> None:
    assert calibration(*cpus).per_cpu_fps is None


def test_it_is_not_stored() -> None:
    assert "per_cpu_fps" not in calibration(0, 1).model_dump()


def test_records_have_it() -> None:
    found = [
        around.calibration
        for run in RUNS
        for case in views(run)
        if case.record is not None and (around := case.record.conditions) is not None
    ]
    known = [one for one in found if one is not None]
    assert known
    for one in known:
        assert one.per_cpu_fps == one.cap_fps  # they were all made with one worker


def test_a_report_says_it_of_several_cpus() -> None:
    (cap,) = found_of(Conditions(calibration=calibration(0, 2, 1)))
    assert cap.value.endswith("; 4.500 Mfps for each of its 2 CPUs")


def test_a_report_does_not_say_the_cap_of_one_cpu_twice() -> None:
    (cap,) = found_of(Conditions(calibration=calibration(0, 1)))
    assert "CPUs" not in cap.value


def test_calibration_by_hand_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    one = FoundByHand(
        frame_size=64,
        directions=2,
        maximum_fps=8_000_000,
        loss_free_lower_fps=7_000_000,
        loss_free_upper_fps=7_100_000,
        floor_min_ns=100,
        floor_p50_ns=200,
        floor_p99_ns=300,
        workers=4,
        per_cpu_fps=2_000_000,
    )
    print_calibrations([one])
    shown = capsys.readouterr().out
    assert "per CPU" in shown
    assert "2.000 Mfps" in shown
