"""Connections through a real switch, from the command line to the report, and where none passes."""

from __future__ import annotations

import pytest
from real_runs import Place, fixture_calibrations, fixture_place

from vsperf.errors import ExitCode
from vsperf.records.connections import ConnectionTrial
from vsperf.records.run import Outcome

pytestmark = [pytest.mark.machine, pytest.mark.needs("ovs-dpdk", "tgen")]
__all__ = ["fixture_calibrations", "fixture_place"]

BRIEF = (
    "--set=search.duration=500ms",
    "--set=search.resolution=50%",
    "--set=search.max_rate=2000",
    "--set=trial.stretch_tolerance=100%",
)
"""A search that has an answer, however late a busy machine has its trials."""
FEW = ("--set=search.rate=2000", "--set=search.max_connections=2000", "--set=search.hold=200ms")


def trials(place: Place) -> tuple[ConnectionTrial, ...]:
    (case,) = place.records().cases()
    return tuple(case.connections)


def add_up(one: ConnectionTrial) -> bool:
    """Whether both ends account for each connection, and tell the same."""
    assert one.counts is not None
    client, server = one.counts.client, one.counts.server
    assert client is not None and server is not None
    return (
        client.balanced().intended == one.asked
        and server.balanced().accepted >= client.answered
        and server.responses >= client.responses
    )


@pytest.mark.everyday("the one path of connections through a switch to a report")
def test_connections_pass_and_all_of_them_are_accounted_for(place: Place) -> None:
    ended = place("run", "phy2phy_cps", *BRIEF)
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    made = trials(place)
    assert all(add_up(one) for one in made)
    # A machine that is away leaves most of them unbegun; what was begun comes to its end.
    searched = [one for one in made if one.purpose == "search" and one.client is not None]
    assert sum(one.client.completed for one in searched if one.client is not None) > 0
    (case,) = place.records().cases()
    assert case.record is not None and case.record.result is not None
    assert case.record.result.figures[0].name == "connection_rate"
    assert case.record.trials == len(made)
    assert place.traces() == []
    shown = place("show", "latest", case.planned.label)
    assert "what became of them" in shown.out
    assert place("report", "latest", "--output", str(place.folder / "report.html")).code == 0
    page = (place.folder / "report.html").read_text()
    assert "connection rate" in page
    assert "16 addresses" in page
    assert "connection_rate" in place("export", "csv", "latest", "--table", "cases").out


def test_connections_are_held_until_all_are_open(place: Place) -> None:
    ended = place("run", "phy2phy_cc", *FEW)
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    valid = [one for one in trials(place) if one.valid and not one.unsent]
    searched = [one for one in valid if one.purpose == "search"]
    assert searched
    for one in searched:
        assert one.client is not None
        assert one.client.most_established == one.client.answered


def test_what_goes_over_open_connections_is_counted_at_both_ends(place: Place) -> None:
    few = ("--set=search.connections=200", "--set=search.min_rate=500")
    ended = place("run", "phy2phy_pps", *few, *BRIEF)
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    searched = [one for one in trials(place) if one.purpose == "search"]
    told = [(one, one.counts.asking) for one in searched if one.counts and one.counts.asking]
    assert told
    for one, asking in told:
        assert asking.balanced().intended == one.due
        assert asking.client.segments_sent >= 2 * asking.replied
        # What a switch loses is sent again, and nobody waits for a response that came.
        assert asking.replied <= asking.asked <= asking.client.segments_sent
    assert sum(asking.replied for _, asking in told) > 0
    (case,) = place.records().cases()
    assert "requests by the clock" in place("show", "latest", case.planned.label).out


def test_a_switch_that_is_killed_is_away_for_a_time_that_answers_tell(place: Place) -> None:
    """Its trial lasts for as long as a machine with other work needs to start a switch again."""
    once = ("--set=search.repeats=1", "--set=search.duration=20s", "--set=search.rate=500")
    ended = place("run", "phy2phy_reconnect", *once, "--set=search.events=[kill-switch]")
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    (struck,) = [one for one in trials(place) if one.event is not None]
    assert struck.slots is not None and struck.slots.heard is not None
    assert 0 < sum(struck.slots.heard) <= struck.rate_cps * 20
    (case,) = place.records().cases()
    assert case.record is not None and case.record.result is not None
    figure = case.record.result.figures[0]
    assert (figure.name, figure.value) == ("kill_time", struck.outage_ns)
    if struck.outage_ns is None:
        assert "no connection was made any more" in figure.reason
    else:
        assert struck.slots.width_ns <= struck.outage_ns < struck.elapsed_ns


@pytest.mark.everyday("the one path of connections that is broken")
def test_where_no_connection_passes_nothing_is_searched(place: Place) -> None:
    """Rules of the switch that let the frames of tests pass, and no TCP."""
    ended = place("run", "phy2phy_cps", "--set=vswitch.flows=l4", *BRIEF)
    assert ended.code == ExitCode.COMPONENT_FAILED, ended.said
    (case,) = place.records().cases()
    assert case.record is not None and case.record.outcome is Outcome.ERROR
    assert "no connection comes through: of 20, " in case.record.reason
    assert {one.purpose for one in trials(place)} == {"path-check"}
    for one in trials(place):
        assert one.client is not None
        assert one.client.completed == 0
        assert one.causes.get("no_answer", 0) == one.client.launched
    assert place.traces() == []
