"""The account of a trial: what was sent is what arrived, what was counted as lost, and the rest."""

from __future__ import annotations

from record_samples import goal_result, trial

from vsperf.output.report.account import account_of, account_table
from vsperf.records.result import SearchResult
from vsperf.records.switch import NicCounters, PortCounters, SwitchCounters, VnfCounters
from vsperf.records.trial import Direction

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
    cards = (NicCounters(received_frames=500, sent_frames=460),)
    vnfs = (VnfCounters(name="vm1", nics=cards),)
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
