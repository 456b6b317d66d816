"""What `vsperf show` prints of exchanges: each instance, and what network devices counted."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from exchanges import REVERSE, cpu, device, device_use, exchange, instance, program, use
from printed_text import printed
from record_samples import case_record, header, planned

from vsperf.analysis.summary import CaseRow
from vsperf.cli.exchange_view import (
    devices_table,
    exchanges_data,
    instances_table,
    print_exchanges,
    sar_table,
)
from vsperf.cli.progress import exchange_line
from vsperf.cli.tables import print_table
from vsperf.engine.judge_exchange import judged
from vsperf.output.figures.published import known, names, published_table
from vsperf.output.report.account import OF_EXCHANGES
from vsperf.output.report.case_part import asked_of
from vsperf.output.table import Table
from vsperf.quantities.unit import Unit
from vsperf.records.asked import Asked
from vsperf.records.exchange import CLIENTS, Exchange, Failures, RoundTrips
from vsperf.records.files.view import CaseView
from vsperf.records.result import Figure, SearchResult
from vsperf.records.switch import PmdCounters, SwitchCounters


def of(table: Table, place: int) -> dict[str, str]:
    return dict(zip(table.names, table.texts[place], strict=True))


def test_a_report_says_how_many_programs_there_were_and_of_no_flows() -> None:
    spec: dict[str, Any] = {
        "search": {"kind": "stream", "instances": 4, "offloads": "off"},
        "program": {"kind": "iperf3"},
        "generator": {"kind": "tgen"},
        "traffic": {"frame_size": "1518B", "flows": 1, "direction": "forward"},
    }
    planned: Any = SimpleNamespace(spec=spec)
    asked = Asked(planned)
    told = {fact.name: fact.value for fact in asked_of(asked)}
    assert told["instances"] == "4 per direction"
    assert told["program"] == "iperf3"
    assert {"flows", "generator"}.isdisjoint(told)
    assert asked.flows is None
    spec.pop("program")
    assert Asked(planned).flows == 1


def test_each_instance_has_a_row_and_what_nobody_told_is_a_dash() -> None:
    one = exchange(instance(1), instance(2, direction=REVERSE, began_ns=None))
    table = instances_table(one)
    assert table.title == f"instances in exchange #{one.index}"
    assert [of(table, place)["direction"] for place in (0, 1)] == ["phy0 to phy1", "phy1 to phy0"]
    assert of(table, 0)["began"] != "–"
    assert of(table, 1)["began"] == "–"


@pytest.mark.parametrize(("received", "each"), [(0, "–"), (1_000_000, "1,000")])
def test_a_device_says_how_long_its_frames_were_if_any_came(received: int, each: str) -> None:
    found = device("phy1", received, frames=received // 1000)
    table = devices_table(exchange(devices=(found,)))
    assert of(table, 0)["place"] == "phy1"
    assert of(table, 0)["bytes each"] == each


def test_at_80_columns_each_instance_is_named_wherever_its_numbers_stand() -> None:
    made = exchange(instance(1), instance(2, direction=REVERSE))
    for table in (instances_table(made), devices_table(made)):
        text = printed(print_table, table, width=80)
        cells = {cell for row in table.texts for cell in row if " " in cell}
        assert not [cell for cell in cells if cell not in text]
        assert max(map(len, text.splitlines())) <= 80


def test_what_a_device_received_and_what_it_sent_are_told_apart_by_their_names() -> None:
    names = devices_table(exchange()).names
    assert len({*names}) == len(names)


def test_a_device_has_the_rates_that_sar_would_show_by_its_names_and_in_its_kilobytes() -> None:
    counted = {"received_frames": 6_000, "received_bytes": 8_192_000, "sent_frames": 3_000}
    one = exchange(device_use=(device_use("phy1", **counted, sent_bytes=204_800),))
    row = of(sar_table(one), 0)
    assert row == {
        "place": "phy1",
        "rxpck/s": "1500.00",
        "txpck/s": "750.00",
        "rxkB/s": "2000.00",
        "txkB/s": "50.00",
        "%ifutil": "0.16",  # of 10 Gbit/s, by the busier way: 16.4 Mbit/s
    }
    case: Any = SimpleNamespace(exchanges=(one,))
    (told,) = exchanges_data(case)["all_exchanges"]
    assert told["sar"]["phy1"]["%ifutil"] == pytest.approx(0.16384)


def test_a_device_that_says_no_speed_has_no_share_of_it_and_one_nobody_looked_at_has_no_row() -> (
    None
):
    silent = exchange(device_use=(device_use("phy1", None, received_bytes=4),))
    assert of(sar_table(silent), 0)["%ifutil"] == "–"

    def shown(*made: Exchange) -> str:
        return printed(print_exchanges, SimpleNamespace(exchanges=made, died=0), every=True)

    assert "as sar -n DEV shows exchange #1" in shown(silent)
    assert "sar" not in shown(exchange())


def test_a_program_that_ran_elsewhere_is_named_in_show_and_in_the_account_of_a_report() -> None:
    one = judged(exchange(cpu=use(programs=(program(CLIENTS, 0.5, 0, 1, placed=(0,)),))))
    said = "clients 1 was put on CPU 0, and could run on CPU 0, 1"
    assert said in exchange_line(one)
    (column,) = (column for column in OF_EXCHANGES if column.name == "said of it")
    assert column.of(one) == f"program-mispinned, {said}"


def test_requests_by_a_clock_have_a_time_from_when_they_were_due_and_failures() -> None:
    times = RoundTrips(mean_ns=1, least_ns=1, p50_ns=1, p90_ns=1, p99_ns=900_000_000, most_ns=1)
    failed = Failures(statuses=2, sockets=1, timeouts=0, unanswered=4)
    one = exchange(instance(from_due=times, failures=failed), traffic="http-open")
    row = of(instances_table(one), 0)
    assert (row["p99 from due"], row["failed"]) == ("900.0 ms", "3")
    assert "failed" not in instances_table(exchange()).names


def test_data_for_programs_have_costs_and_what_limited_each_exchange() -> None:
    full = exchange(cpu=use(cpu(0, busy=1), clients=1, servers=0.5, switch=0.5))
    echo = exchange(traffic="udp-echo", cpu=use(cpu(0), clients=0.5))
    failed = exchange(flags=("program-failed",))
    case: Any = SimpleNamespace(exchanges=(full, echo, failed))
    found = exchanges_data(case)["all_exchanges"]
    assert [one["limit"] for one in found] == ["generator", None, None]
    assert found[0]["cpu_costs_ns"]["clients"] == pytest.approx(1)
    assert found[2]["cpu_costs_ns"]["clients"] is None
    nobody: Any = SimpleNamespace(exchanges=())
    assert exchanges_data(nobody) == {}


def test_a_record_in_which_nobody_sent_for_any_time_says_nothing_of_polling_threads() -> None:
    busy = SwitchCounters(pmds=(PmdCounters(cpu=2, frames=1, busy_cycles=97, idle_cycles=3),))
    nothing = instance(elapsed_ns=0)
    one = exchange(nothing, switch=busy, asked_ns=0, warm_up_ns=0, cpu=use(cpu(0, busy=1)))
    assert one.polling_share is None
    assert exchange(switch=busy).polling_share is not None


def answered(testcase: str, *figures: Figure) -> CaseRow:
    """Return a case of a testcase that came to these figures."""
    one = planned(7, label=f"{testcase}-1518B", spec={"name": testcase})
    record = case_record(one.key, result=SearchResult(figures=figures))
    return CaseRow.of(CaseView(Path("nowhere"), header(simulated=False), one, record=record))


RATE = Figure(name="rate", unit=Unit.PER_SECOND, value=12_000)
TAIL = Figure(name="p99_from_sent", unit=Unit.NANOSECONDS, value=3_000_000)


def test_figures_stand_beside_what_others_published_of_the_same_question() -> None:
    table = published_table([answered("places_http", RATE, TAIL)])
    assert table is not None
    rows = [of(table, place) for place in range(len(table.rows))]
    nginx = [row for row in rows if "nginx, 32 cores" in row["of"]]
    assert [(row["figure"], row["here"], row["published"]) for row in nginx] == [
        ("rate", "12,000/s", "971,666/s"),
        ("p99 from sent", "3.000 ms", "235.0 ms"),
    ]
    assert "r4.8xlarge" in table.title and "no difference" in table.title


def test_nothing_stands_beside_what_nobody_published_or_what_is_no_number() -> None:
    assert published_table([answered("places_tcp_stream", RATE)]) is None
    unknown = RATE.model_copy(update={"value": None, "reason": "none was believed"})
    assert published_table([answered("places_http", unknown)]) is None
    for name in names():
        known(name)
