"""The account of a trial: what was sent is what arrived, what was counted as lost, and the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from connection_models import Device, rate
from exchanges import exchange
from record_samples import case_record, goal_result, planned, trial, view_of
from round_models import dead_round, round_of

from vsperf.output.report.account import account_of, account_table, made_table, trials_table
from vsperf.output.trial_tables import whole_account
from vsperf.quantities.human import human_count
from vsperf.records.meaning import DIED
from vsperf.records.result import SearchResult
from vsperf.records.switch import NicCounters, PortCounters, SwitchCounters, VnfCounters
from vsperf.records.trial import Direction, Purpose
from vsperf.records.turns import Role

NOTHING = SearchResult()


def counted(drops: dict[str, int], elsewhere: dict[str, int] | None = None) -> SwitchCounters:
    port = PortCounters(
        name="p1", link="phy1", received_frames=0, sent_frames=0, drops={"rx dropped": 0, **drops}
    )
    return SwitchCounters(ports=(port,), drops=elsewhere or {})


def test_frames_are_told_apart_by_who_counted_them() -> None:
    switch = counted({"tx dropped": 60}, {"datapath_drop_meter": 30})
    account = account_of(NOTHING, [trial(lost=100, switch=switch)])
    assert account is not None
    assert [stage.frames for stage in account.stages] == ["2,000,000", "2,000,000", "1,999,900"]
    lost = {branch.name: branch.frames for branch in account.stages[1].lost}
    assert lost == {"phy1: tx dropped": "60", "datapath_drop_meter": "30", "unexplained": "10"}
    assert account.sums == (
        "2,000,000 sent = 1,999,900 arrived + 90 dropped by a named counter + 10 unexplained"
    )


def test_loss_that_nobody_counts_is_not_called_the_switchs() -> None:
    account = account_of(NOTHING, [trial(lost=100)])
    assert account is not None
    assert [branch.name for branch in account.stages[1].lost] == ["not counted"]
    assert account.sums == "2,000,000 sent = 1,999,900 arrived + 100 that nobody counted"


def test_frames_lost_inside_a_vnf_are_the_vnfs() -> None:
    nics = (NicCounters(received_frames=500, sent_frames=460),)
    vnfs = (VnfCounters(name="vm1", nics=nics),)
    account = account_of(NOTHING, [trial(lost=40, switch=counted({}), vnfs=vnfs)])
    assert account is not None
    assert [(one.name, one.frames) for one in account.stages[1].lost] == [("in vm1", "40")]


def test_what_was_not_sent_ends_before_the_switch() -> None:
    way = Direction(
        name="phy0 to phy1",
        intended_frames=1000,
        sent_frames=900,
        received_frames=900,
        refused_frames=70,
    )
    account = account_of(NOTHING, [trial(directions=(way,))])
    assert account is not None
    lost = {branch.name: branch.frames for branch in account.stages[0].lost}
    assert lost == {"refused, phy0 to phy1": "70", "not sent, phy0 to phy1": "30"}
    assert account.stages[1].lost == ()


def test_counters_that_dropped_more_than_is_missing_are_said_to() -> None:
    account = account_of(NOTHING, [trial(lost=10, switch=counted({"tx dropped": 15}))])
    assert account is not None
    last = account.stages[1].lost[-1]
    assert (last.name, last.frames) == ("unexplained", "-5")
    assert "not frames of the test" in last.why


def test_the_trial_that_ended_the_search_is_shown() -> None:
    result = SearchResult(goals=(goal_result(),))
    trials = [
        trial(1, lost=9, load_fps=9_000_000),
        trial(2, lost=5, load_fps=8_040_000),
        trial(3, load_fps=8_000_000),
    ]
    account = account_of(result, trials)
    assert account is not None
    assert (account.trial, account.chosen) == (2, "at 8.040 Mfps, where ndr ends")


def test_without_trials_there_is_no_account() -> None:
    assert account_of(NOTHING, []) is None
    assert account_table([trial()]) is None
    assert whole_account([trial()]) is None


def test_of_a_trial_without_loss_nothing_is_said_to_be_missing() -> None:
    account = account_of(NOTHING, [trial()])
    assert account is not None
    assert account.sums == "2,000,000 sent = 2,000,000 arrived; none of these is missing"
    assert account.remark == ""


def test_the_account_of_all_trials_adds_up() -> None:
    way = trial(lost=100).directions[0]
    short = way.model_copy(
        update={"sent_frames": way.sent_frames - 70, "received_frames": way.received_frames - 70}
    )
    made = trial(directions=(short,), switch=counted({"tx dropped": 90}))
    table = account_table([made])
    assert table is not None
    cells = dict(zip(table.names, table.texts[0], strict=True))
    counted_in = ("due", "sent", "refused", "not sent", "arrived", "dropped", "unexplained")
    words = {name: cells[name].split()[0].replace(",", "") for name in counted_in}
    count = {name: int(word) if word != "–" else 0 for name, word in words.items()}
    assert count["not sent"] == 70
    assert count["due"] == count["sent"] + count["refused"] + count["not sent"]
    assert count["sent"] == count["arrived"] + count["dropped"] + count["unexplained"]


def test_so_does_that_of_all_of_them_together() -> None:
    way = trial(lost=100).directions[0]
    short = way.model_copy(
        update={"sent_frames": way.sent_frames - 70, "received_frames": way.received_frames - 70}
    )
    made = trial(directions=(short,), switch=counted({"tx dropped": 90}))
    table = whole_account([made, trial(2), made])  # of the second one nobody counted anything
    assert table is not None
    assert table.title == "where the frames of 2 trials went, all together"
    count = {row[0]: int(row[1].replace(",", "")) for row in table.texts}
    assert count["not sent"] == 140
    assert count["due"] == count["sent"] + count["refused"] + count["not sent"]
    sent = count["arrived"] + count["dropped by the switch"] + count["unexplained"]
    assert count["sent"] == sent
    assert (count["dropped by the switch"], count["unexplained"]) == (180, 20)
    (dropped,) = [row[2] for row in table.texts if row[0] == "dropped by the switch"]
    assert dropped.startswith("180 ") and dropped.endswith("tx dropped")


def test_what_vnfs_lost_is_a_part_of_what_was_sent() -> None:
    nics = (NicCounters(received_frames=500, sent_frames=470),)
    inside = VnfCounters(name="vnf1", nics=nics)
    made = trial(lost=100, switch=counted({"tx dropped": 50}), vnfs=(inside,))
    table = whole_account([made])
    assert table is not None
    count = {row[0]: row[1] for row in table.texts}
    assert (count["lost in VNFs"], count["unexplained"]) == ("30", "20")


def test_whose_loss_somebody_does_not_tell_is_not_explained_at_all() -> None:
    silent = trial(lost=100, switch=counted({"tx dropped": 50}), vnfs=(VnfCounters(name="vnf1"),))
    table = whole_account([silent])
    assert table is not None
    assert {row[0]: row[1] for row in table.texts}["unexplained"] == "–"


def test_so_does_each_line_of_the_trials_of_which_not_all_was_sent() -> None:
    way = (
        trial()
        .directions[0]
        .model_copy(update={"intended_frames": 1000, "sent_frames": 900, "received_frames": 880})
    )
    table = trials_table([trial(directions=(way,))])
    assert table is not None
    cells = dict(zip(table.names, table.texts[0], strict=True))
    assert [cells[name] for name in ("due", "arrived", "lost", "loss")] == [
        *("1,000", "880", "120"),
        "12%",
    ]


def test_a_trial_of_connections_says_how_many_were_due_not_begun_and_failed_by_which_cause() -> (
    None
):
    device, method = Device(rate=12_345, generator=13_000), rate()
    method.play(device)
    table = made_table(replace(view_of(planned()), connections=tuple(device.made)))
    assert table is not None
    assert table.count_text == f"all {len(device.made)}"
    rows = [dict(zip(table.names, row, strict=True)) for row in table.texts]
    assert {row["failed"].partition(":")[2] != "" for row in rows} == {True, False}
    for row, one in zip(rows, device.made, strict=True):
        assert row["due"] == f"{human_count(one.due)} connections"
        assert row["not begun"] == human_count(one.unsent or 0)
        assert row["failed"].partition(":")[0] == human_count(one.failed or 0)
        assert row["failed"].endswith(one.causes_text)


def test_an_exchange_says_what_arrived_and_which_one_it_repeats() -> None:
    made = (exchange(flags=("program-failed",), reasons=("it ended",)), exchange(index=2))
    again = made[1].model_copy(update={"retry_of": 1})
    table = made_table(replace(view_of(planned()), exchanges=(made[0], again)))
    assert table is not None
    assert table.title == "exchanges"
    failed, held = (dict(zip(table.names, row, strict=True)) for row in table.texts)
    assert (failed["arrived"], failed["said of it"]) == ("–", "program-failed, it ended")
    assert held["arrived"] == "1.000 Gbit/s, phy0 to phy1"
    assert held["said of it"] == "repeats #1"


@pytest.mark.parametrize(
    ("role", "said"), [(Role.LOAD, "–"), (Role.ANSWER, "too few passes can be used")]
)
def test_a_round_says_how_sides_stand_to_the_first_where_that_can_be_told(
    role: Role, said: str
) -> None:
    one = round_of(role=role, elapsed_ns=1_000_000_000)
    table = made_table(replace(view_of(planned()), rounds=(one,)))
    assert table is not None
    assert table.texts == (("#1", role.value, "1.000 Mfps", "1.0 s", said, ""),)


def test_a_round_of_a_path_that_was_no_whole_one_says_which_and_how_sides_stand_no_more() -> None:
    one = dead_round(elapsed_ns=1_000_000_000, retry_of=3)
    table = made_table(replace(view_of(planned()), rounds=(one,)))
    assert table is not None
    ((*_, against, said),) = table.texts
    assert against == "–"
    assert said == (
        "nothing-received, nothing came through B (vpp), direction 2, in 3 of its turns on end, "
        "from turn 1 on, repeats #3"
    )


def test_who_was_made_before_a_part_died_says_that_it_does_not_count() -> None:
    looks = [trial(index, purpose=Purpose.PATH_CHECK) for index in (1, 3)]
    table = made_table(view_of(planned(), None, (looks[0], trial(2), looks[1], trial(4))))
    assert table is not None
    assert [row[-1] for row in table.texts] == [DIED, DIED, "", ""]

    made = (exchange(index=1, reasons=("slow",)), exchange(index=2))
    case = replace(view_of(planned(), case_record("one", trials=1)), exchanges=made)
    table = made_table(case)
    assert table is not None
    assert [row[-1] for row in table.texts] == [f"{DIED}, slow", ""]

    load: dict[str, Any] = {"role": Role.LOAD, "elapsed_ns": 1_000_000_000}
    rounds = tuple(round_of(index=index, **load) for index in (1, 2, 1))
    table = made_table(replace(view_of(planned()), rounds=rounds))
    assert table is not None
    assert [row[-1] for row in table.texts] == [DIED, DIED, ""]


def test_frames_have_their_trials() -> None:
    table = made_table(view_of(planned(), None, (trial(),)))
    assert table is not None
    assert table.title == "trials"
    assert made_table(view_of(planned())) is None
