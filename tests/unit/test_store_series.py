"""Series lie beside the records, a line for each sample, and are read one line at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_samples import trial
from series_samples import CASE, header, sample

from vsperf.errors import RecordingError, StoreError
from vsperf.records.files.series import MOST_QUANTITIES, SeriesFile, series_of
from vsperf.records.series import Note, OwnTrial


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = SeriesFile.begin(tmp_path, header())
    file.append(sample(1), sample(2))
    file.append(Note(trial=2, text="it ended"), OwnTrial(trial=trial()))
    (found,) = series_of(tmp_path, CASE, 1)
    assert found.header == header()
    assert list(found.samples()) == [sample(1), sample(2)]
    assert [note.text for note in found.notes()] == ["it ended"]
    assert [own.trial.index for own in found.own_trials()] == [1]


def test_a_case_without_series_has_none(tmp_path: Path) -> None:
    assert series_of(tmp_path, CASE, 1) == ()


@pytest.mark.parametrize("name", ["../{}", "x/../{}", "", ".", "..", "nul\0", "/{}"])
def test_the_name_of_a_case_leads_nowhere_else(name: str, tmp_path: Path) -> None:
    SeriesFile.begin(tmp_path, header())
    assert series_of(tmp_path, name.format(CASE), 1) == ()


def test_a_last_line_that_was_cut_off_is_not_counted(tmp_path: Path) -> None:
    file = SeriesFile.begin(tmp_path, header())
    file.append(sample())
    with file.path.open("ab") as torn:
        torn.write(b'{"type":"sample","tri')
    (found,) = series_of(tmp_path, CASE, 1)
    assert list(found.samples()) == [sample()]


def test_a_file_without_a_header_was_killed_at_birth(tmp_path: Path) -> None:
    file = SeriesFile.begin(tmp_path, header())
    file.path.write_bytes(b'{"type":"ser')
    assert series_of(tmp_path, CASE, 1) == ()


def test_a_damaged_line_in_the_middle_is_refused_with_its_place(tmp_path: Path) -> None:
    file = SeriesFile.begin(tmp_path, header())
    with file.path.open("ab") as damaged:
        damaged.write(b'{"type":"sample"}\n')
    file.append(sample())
    (found,) = series_of(tmp_path, CASE, 1)
    with pytest.raises(StoreError) as refused:
        list(found.samples())
    assert refused.value.problems[0].where is not None
    assert refused.value.problems[0].where.line == 2


@pytest.mark.parametrize("value", ["NaN", "1e999", '"nan"', f'"{10**30}"', f"{10**30}", '"7"'])
def test_what_is_no_number_that_can_be_counted_is_refused(value: str, tmp_path: Path) -> None:
    """Text is none either: a number in it could be any."""
    file = SeriesFile.begin(tmp_path, header())
    line = f'{{"type":"sample","trial":1,"at_ns":1,"of":"switch","values":{{"a":{value}}}}}'
    with file.path.open("ab") as damaged:
        damaged.write(f"{line}\n".encode())
    file.append(sample())
    (found,) = series_of(tmp_path, CASE, 1)
    with pytest.raises(StoreError, match="cannot be understood"):
        list(found.samples())


def test_more_quantities_than_a_collector_has_are_refused(tmp_path: Path) -> None:
    """Each name of each sample is looked for among them."""
    many = (header().quantities[0],) * (MOST_QUANTITIES + 1)
    SeriesFile.begin(tmp_path, header().model_copy(update={"quantities": many}))
    with pytest.raises(StoreError, match="quantities"):
        series_of(tmp_path, CASE, 1)


def test_a_case_that_is_measured_anew_goes_on_in_the_same_file(tmp_path: Path) -> None:
    SeriesFile.begin(tmp_path, header()).append(sample(1))
    SeriesFile.begin(tmp_path, header()).append(sample(2))
    (found,) = series_of(tmp_path, CASE, 1)
    assert [one.trial for one in found.samples()] == [1, 2]
    assert [one.trial for one in found.samples(since=2)] == [2], "a part died before that"


def test_of_a_collector_with_trials_for_itself_all_count(tmp_path: Path) -> None:
    """They have numbers of their own."""
    heavy = header().model_copy(update={"heavy": True})
    SeriesFile.begin(tmp_path, heavy).append(sample(1), sample(2))
    (found,) = series_of(tmp_path, CASE, 1)
    assert [one.trial for one in found.samples(since=2)] == [1, 2]


def test_attempts_have_files_of_their_own(tmp_path: Path) -> None:
    SeriesFile.begin(tmp_path, header(attempt=1)).append(sample(1))
    SeriesFile.begin(tmp_path, header(attempt=2)).append(sample(9))
    assert [one.trial for one in series_of(tmp_path, CASE, 2)[0].samples()] == [9]


def test_what_lies_beside_is_found(tmp_path: Path) -> None:
    file = SeriesFile.begin(tmp_path, header())
    file.write_beside(".svg", "<svg/>")
    assert [one.name for one in series_of(tmp_path, CASE, 1)[0].beside] == ["proc.svg"]


@pytest.mark.parametrize("name", ["**.jsonl", "[.jsonl", "*.jsonl"])
def test_a_name_of_others_is_no_pattern(name: str, tmp_path: Path) -> None:
    file = SeriesFile.begin(tmp_path, header())
    file.write_beside(".svg", "<svg/>")
    file.path.rename(file.path.with_name(name))
    assert series_of(tmp_path, CASE, 1)[0].beside == ()


def test_nobody_writes_through_a_link(tmp_path: Path) -> None:
    file = SeriesFile.begin(tmp_path, header())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    file.path.unlink()
    file.path.symlink_to(elsewhere)
    with pytest.raises(RecordingError):
        file.append(sample())
    with pytest.raises(RecordingError), file.opened():
        pytest.fail("whoever is given it would write there")
    assert elsewhere.read_text() == "mine"


def test_a_name_says_its_unit_also_where_it_stands_for_many() -> None:
    found = header().quantity("softirqs_net_rx")
    assert found is not None and found.unit == "1"
    assert header().quantity("nothing") is None
