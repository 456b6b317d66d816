"""What a switch does not count is left out, and never shown as 0."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from assertions import known
from bench_models import LOADS, FluidBench, figures, method
from figure_cases import case as figure_case
from printed_text import printed
from record_samples import case_record, goal, planned, trial, view_of

from vsperf.analysis.summary import CaseRow
from vsperf.cli.tables import print_summary, print_table
from vsperf.methods.base import PLAIN, TrialOptions
from vsperf.output.case_tables import hit_columns, switch_columns
from vsperf.output.figures.plot import drawings
from vsperf.output.report.account import account_table as account_of_report
from vsperf.output.trial_tables import account_table
from vsperf.records.result import SearchResult
from vsperf.records.switch import PmdCounters, PortCounters, SwitchCounters
from vsperf.records.trial import Trial

PORT = PortCounters(name="p1", link="phy1", received_frames=10, sent_frames=10)
BRIDGE = SwitchCounters(ports=(PORT,))
"""Counters of ports and nothing else, as the kernel has them."""
NO_CACHES = SwitchCounters(
    ports=(PORT,), pmds=(PmdCounters(cpu=1, frames=1000, busy_cycles=90_000, idle_cycles=10_000),)
)
"""A switch whose threads poll, and which has no caches."""
NO_CYCLES = SwitchCounters(pmds=(PmdCounters(cpu=1, frames=1000, busy_cycles=0, idle_cycles=0),))
OVS = SwitchCounters(
    ports=(PORT,),
    pmds=(
        PmdCounters(
            cpu=1, frames=1000, busy_cycles=90_000, idle_cycles=10_000,
            hits={"emc": 0, "megaflow": 900, "upcall": 100},
        ),
    ),
)  # fmt: skip
LINKS = {"phy0": {"speed": "10G"}, "phy1": {"speed": "10G"}}


def account(*trials: Trial) -> str:
    return printed(print_table, known(account_table(trials)))


def row(number: int, switch: SwitchCounters | None, kind: str, **changes: Any) -> CaseRow:
    """Return the row of a case with flows of its own number."""
    case = planned(1, key=f"{kind}-{number}", **changes)
    spec = {
        **case.spec,
        "vswitch": {"kind": kind},
        "testbed": {"name": "lab", "links": LINKS},
        "topology": {"name": "p2p", "paths": [["phy0", "phy1"]]},
    }
    point = {**case.point, "flows": str(number)}
    made = case.model_copy(update={"spec": spec, "point": {**point, **changes.get("point", {})}})
    return CaseRow.of(view_of(made, case_record(made.key), [trial(switch=switch)]))


class TestTheAccount:
    def test_columns_that_no_trial_has_are_left_out(self) -> None:
        shown = account(trial(switch=BRIDGE))
        assert "dropped by the switch" in shown
        for name in ("busy", "cycles/frame", "answered by"):
            assert name not in shown

    def test_a_switch_without_caches_has_cycles_and_nothing_that_answers(self) -> None:
        shown = account(trial(switch=NO_CACHES))
        assert "cycles/frame" in shown and " 90\n" in shown
        assert "answered by" not in shown

    def test_cycles_that_nobody_counts_are_not_0(self) -> None:
        assert NO_CYCLES.cycles_per_frame is None
        assert trial(switch=NO_CYCLES).switch_busy is None
        assert "cycles/frame" not in account(trial(switch=NO_CYCLES))

    def test_ovs_has_all_of_them(self) -> None:
        shown = account(trial(switch=OVS))
        assert "answered by" in shown and "megaflow 90.0%" in shown

    def test_what_a_generator_does_not_count_is_not_0(self) -> None:
        assert " – " in account(trial(switch=BRIDGE))  # of frames that were refused

    def test_a_report_leaves_out_how_busy_a_switch_was_that_does_not_say_it(self) -> None:
        table = account_of_report([trial(switch=BRIDGE)])
        assert table is not None and "switch busy" not in table.names
        assert all(len(cells) == len(table.names) for cells in table.rows)
        table = account_of_report([trial(switch=BRIDGE), trial(switch=OVS)])
        assert table is not None and table.rows[0][-1] == "–"


class TestTheTable:
    def test_a_switch_without_caches_has_no_share_of_them(self) -> None:
        rows = [row(1, OVS, "ovs-dpdk"), row(2, NO_CACHES, "vpp")]
        cells = {column.name: [column.cell(one) for one in rows] for column in hit_columns(rows)}
        assert set(cells) == {"megaflow", "upcall"}
        assert [found[1] for found in cells.values()] == ["–", "–"]

    def test_caches_that_another_switch_has_are_not_0_here(self) -> None:
        other = PmdCounters(cpu=1, frames=9, busy_cycles=9, idle_cycles=1, hits={"route": 9})
        rows = [row(1, OVS, "ovs-dpdk"), row(2, SwitchCounters(pmds=(other,)), "vpp")]
        cells = {column.name: [column.cell(one) for one in rows] for column in hit_columns(rows)}
        assert cells["megaflow"][1] == "–"
        assert cells["route"][0] == "–"

    def test_no_column_and_no_word_of_caches_where_nobody_has_any(self) -> None:
        rows = [row(1, NO_CACHES, "vpp"), row(2, BRIDGE, "linux-bridge")]
        assert hit_columns(rows) == []
        shown = printed(print_summary, rows, simulated=False)
        assert "cache" not in shown
        assert "linux-bridge" in shown  # which switch a row is of

    def test_a_column_of_switches_is_there_where_names_do_not_tell_them(self) -> None:
        one = [row(1, OVS, "ovs-dpdk"), row(2, OVS, "ovs-dpdk")]
        assert switch_columns(one) == []
        two = [row(1, OVS, "ovs-dpdk"), row(2, BRIDGE, "vpp")]
        (column,) = switch_columns(two)
        assert (column.name, [column.cell(each) for each in two]) == ("switch", ["ovs-dpdk", "vpp"])
        named = [
            row(1, OVS, "ovs-dpdk", point={"vswitch": "old"}),
            row(2, BRIDGE, "vpp", point={"vswitch": "new"}),
        ]
        assert switch_columns(named) == []


@dataclass
class CountingBench(FluidBench):
    """A switch that counts frames, and has nothing that could be looked up."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        made = super().trial(load_fps, duration_ns, options)
        return made.model_copy(update={"switch": NO_CACHES})


def test_new_flows_are_believed_of_a_switch_that_has_no_caches() -> None:
    bench = CountingBench(80_000, loads=replace(LOADS, flows=16_384))
    result = method("flow_setup", width="2%").run(bench)
    rate = figures(result)["flow_setup_rate"]
    assert rate is not None and 78_000 <= rate <= 80_000


def drawn(switch: SwitchCounters, *names: str) -> list[str]:
    """Return which of the plots have something to draw of two cases with such a switch."""
    result = SearchResult(goals=(goal(1_000_000, 1_010_000),))
    cases = [
        figure_case(size, result=result, trials=(trial(switch=switch),)) for size in ("64B", "128B")
    ]
    return [name for name, _ in drawings(cases, names)]


def test_figures_draw_what_is_counted_and_nothing_else() -> None:
    assert drawn(OVS, "cycles", "caches") == ["cycles", "caches"]
    assert drawn(NO_CACHES, "cycles", "caches") == ["cycles"]
    assert drawn(NO_CYCLES, "cycles", "caches") == []
    assert drawn(BRIDGE, "cycles", "caches") == []
