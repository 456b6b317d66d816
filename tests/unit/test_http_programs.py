"""What wrk, wrk2 and h2load tell of HTTP, by recorded answers, and what is believed.

Recorded with wrk 4.1.0, h2load 1.52.0 and nginx 1.22.1; those of wrk2 are written as its source
writes them, and no wrk2 has said them. In those called `frozen` nginx stood still
for a second in the midst. Of wrk's that are refused before their times are read (`error`,
`killed-server`) most times are left out.
"""

from __future__ import annotations

import json
import math
import re
import signal
import socket
import subprocess
from bisect import bisect_right
from dataclasses import replace
from pathlib import Path

import pytest
from machine_tree import script
from ovs_traffic import wait_until
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.config.places import place_mac
from vsperf.drivers.programs import find, lua, serve_user_space, user_space
from vsperf.drivers.programs.base import InstalledProgram, Program, Rendezvous, Said, Told
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.drivers.programs.h2load.driver import H2LOAD, H2load, H2loadSpec, due_ns
from vsperf.drivers.programs.wrk.driver import WRK, Wrk, WrkSpec
from vsperf.drivers.programs.wrk2.driver import WRK2, Wrk2, Wrk2Spec, due_by_clock
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.procfs import listens
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import Failures
from vsperf.records.run import Endpoint
from vsperf.trust import own_python

GOLDEN = Path(__file__).parents[1] / "golden" / "programs"
SECOND, MS = 1_000_000_000, 1_000_000
MEET = Rendezvous("198.19.0.1", 11003)
ENDED = "ended with exit code 0"
STANDS = Said(None, "had not ended", "")
"""A server that goes on after its client has ended, as all of them do."""
CLOSED = ExchangeAsked("http-rr", 1, 2 * SECOND, response_bytes=4 * 2**20, connections=2)
FROZEN = ExchangeAsked("http-rr", 1, 3 * SECOND, response_bytes=4 * 2**20, connections=2)
SMALL = ExchangeAsked("http-rr", 1, 1 * SECOND, response_bytes=128, connections=8)
OPEN = ExchangeAsked("http-open", 1, 3 * SECOND, connections=4, rate=100)
OPEN_FROZEN = ExchangeAsked("http-open", 1, 4 * SECOND, connections=4, rate=100)


def said(program: str, name: str, exit_code: int | None = 0, ending: str = ENDED) -> Said:
    return Said(exit_code, ending, (GOLDEN / program / f"{name}.txt").read_text())


def wrk(asked: ExchangeAsked, client: Said, server: Said = STANDS) -> Told:
    return Wrk().told(asked, client, server)


def h2load(asked: ExchangeAsked, client: Said, server: Said = STANDS) -> Told:
    return H2load().told(asked, client, server)


def changed(client: Said, pattern: str, by: str) -> Said:
    text, count = re.subn(pattern, by, client.text, count=1, flags=re.M)
    assert count == 1
    return Said(client.exit_code, client.ending, text)


def case(spec: WrkSpec | Wrk2Spec | H2loadSpec) -> CaseSpec:
    return simulated_case().model_copy(update={"program": spec})


WRK_CASE = case(WrkSpec.model_validate({"kind": "wrk"}))
WRK2_CASE = case(Wrk2Spec.model_validate({"kind": "wrk2"}))
H2LOAD_CASE = case(H2loadSpec.model_validate({"kind": "h2load"}))


class TestWrk:
    def test_it_tells_one_sum_of_all_its_time_as_an_integer(self) -> None:
        client = said("wrk", "http-client")
        found = wrk(CLOSED, client)
        assert found.problem == ""
        assert f"{found.transactions} requests in" in client.text
        (whole,) = found.intervals
        assert (whole.began_ns, whole.ended_ns) == (0, found.elapsed_ns)
        assert whole.amount == found.transactions
        assert found.failures == Failures(statuses=0, sockets=0, timeouts=0, unanswered=None)

    def test_what_it_adds_to_its_times_is_taken_out_until_they_come_to_its_answers(self) -> None:
        client = said("wrk", "frozen-client")
        samples = sum(int(count) for count in re.findall(r"took_us \d+ (\d+)$", client.text, re.M))
        found = wrk(FROZEN, client)
        assert found.transactions is not None and found.round_trips is not None
        assert samples > found.transactions
        # Two requests of two connections waited for a second, which is less than one in a hundred.
        assert found.round_trips.most_ns > 990 * MS
        assert found.round_trips.p99_ns < 100 * MS

    @pytest.mark.parametrize(
        ("pattern", "by"),
        [
            (r"^vsperf took_us (\d+) 1$", r"vsperf took_us \1 2"),
            (r"^vsperf requests (\d+)$", r"vsperf requests 1\1"),
            (r"^vsperf errors_timeout 0$", "vsperf errors_timeout 3"),
        ],
    )
    def test_times_that_do_not_come_to_its_answers_are_not_told(
        self, pattern: str, by: str
    ) -> None:
        found = wrk(CLOSED, changed(said("wrk", "http-client"), pattern, by))
        assert found.problem == ""
        assert found.transactions
        assert found.round_trips is None

    def test_a_server_or_its_worker_that_died_is_told_though_it_exits_with_0(self) -> None:
        client = said("wrk", "killed-server-client")
        assert client.exit_code == 0
        found = wrk(CLOSED, client, Said(-9, "was killed by SIGKILL", ""))
        assert found.problem == "its server was killed by SIGKILL"
        server = said("wrk", "killed-worker-server", None, "had not ended")
        found = wrk(CLOSED, said("wrk", "http-client"), server)
        assert found.problem.startswith("its server says: ")
        assert found.problem.endswith("exited on signal 9")
        assert found.transactions is None

    def test_a_server_that_stands_still_in_the_end_is_to_blame(self) -> None:
        found = wrk(CLOSED, said("wrk", "http-client"), Said(None, "is stopped", ""))
        assert found.problem == "its server is stopped"
        assert found.transactions is None

    def test_answers_with_another_status_are_none(self) -> None:
        found = wrk(SMALL, said("wrk", "error-client"))
        assert "no answer of status 2xx" in found.problem
        some = changed(
            said("wrk", "http-client"), r"^vsperf errors_status 0$", "vsperf errors_status 7"
        )
        told = wrk(CLOSED, changed(some, r"^vsperf errors_read 0$", "vsperf errors_read 2"))
        whole = wrk(CLOSED, said("wrk", "http-client"))
        assert told.transactions == (whole.transactions or 0) - 7
        assert told.failures == Failures(statuses=7, sockets=2, timeouts=0, unanswered=None)

    def test_who_cannot_connect_is_quoted(self) -> None:
        found = wrk(SMALL, said("wrk", "refused-client", 1, "ended with exit code 1"))
        assert "Connection refused" in found.problem

    @pytest.mark.parametrize(
        ("pattern", "by"),
        [
            (r"^vsperf whole 1$", ""),
            (r"^vsperf requests \d+$", ""),
            (r"^vsperf requests \d+$", "vsperf requests " + "9" * 19),
            (r"^vsperf duration_us \d+$", "vsperf duration_us 0"),
            (r"^vsperf duration_us \d+$", f"vsperf duration_us {2**60}"),
            (r"^vsperf errors_timeout 0$", "vsperf errors_timeout 999999"),
        ],
    )
    def test_what_cannot_be_is_no_answer(self, pattern: str, by: str) -> None:
        found = wrk(CLOSED, changed(said("wrk", "http-client"), pattern, by))
        assert found.problem
        assert found.transactions is None

    def test_it_asks_in_whole_seconds_on_as_many_connections_as_asked(self) -> None:
        asked = ExchangeAsked("http-rr", 1, 1_500 * MS, connections=64)
        words = Wrk().client(WRK_CASE, "/its/wrk", asked, MEET)
        assert words[1:7] == ("-t", "1", "-c", "64", "-d", "2s")
        assert words[-1] == "http://198.19.0.1:11003/object"


BY_CLOCK = ExchangeAsked("http-open", 1, 10 * SECOND, 11 * SECOND, connections=10, rate=500)
SHARES = [1 - 0.5**half * (1 - tick / 10) for half in range(12) for tick in range(5)] + [1.0]
"""At which wrk2 prints times: five in each half of what is left to 1."""


def spectrum(kind: str, times_us: list[int]) -> str:
    """Return times as wrk2 prints them: how many took no longer, at some percentiles."""
    rows, times = [], sorted(times_us)
    for share in SHARES:
        time = times[max(0, math.ceil(share * len(times)) - 1)]
        seen = bisect_right(times, time)
        inverse = "inf" if share == 1 else f"{1 / (1 - share):.2f}"
        rows.append(f"{time / 1000:12.3f} {share:12f} {seen:12d} {inverse:>12}")
    return (
        f"  Latency Distribution (HdrHistogram - {kind} Latency)\n"
        f" 50.000%    {times[len(times) // 2] / 1000:.2f}ms\n\n  Detailed Percentile spectrum:\n"
        "       Value   Percentile   TotalCount 1/(1-Percentile)\n\n" + "\n".join(rows) + "\n"
        f"#[Mean    = {1.0:12.3f}, StdDeviation   = {1.0:12.3f}]\n"
        f"#[Max     = {times[-1] / 1000:12.3f}, Total count    = {len(times):12d}]\n"
        f"#[Buckets = {27:12d}, SubBuckets     = {2048:12d}]\n"
    )


def by_clock(due_us: list[int], sent_us: list[int], requests: int = 10_500) -> Said:
    """Return what wrk2 says of 21 seconds at 500 requests a second, of which ten are forgotten."""
    sums = {"ended_us": 1_800_000_000_000_000, "duration_us": 21_000_000, "requests": requests}
    errors = dict.fromkeys(("connect", "read", "write", "status", "timeout"), 0)
    sums |= {f"errors_{name}": count for name, count in errors.items()}
    lines = "".join(f"{lua.MARK} {name} {value}\n" for name, value in sums.items())
    calibrated = "  Thread calibration: mean lat.: 1.2ms, rate sampling interval: 10ms\n"
    due, sent = spectrum("Recorded", due_us), spectrum("Uncorrected", sent_us)
    return Said(0, ENDED, f"{calibrated}{due}{sent}{lines}{lua.MARK} whole 1\n")


FREEZE_US = [1_000] * 4_500 + [*range(2_000, 1_002_000, 2_000)]
"""Its server stood still for one second of ten: a tenth of all waited, evenly distributed."""
QUICK_US = [1_000] * 4_990 + [1_000_000] * 10
"""The same from when requests were sent, of which one of each connection waited."""


class TestWrk2:
    def test_it_has_times_from_when_requests_were_due_and_from_when_they_were_sent(self) -> None:
        found = Wrk2().told(BY_CLOCK, by_clock(FREEZE_US, QUICK_US), STANDS)
        assert found.problem == ""
        assert found.transactions == 10_500
        assert found.elapsed_ns == 21 * SECOND
        assert found.from_due is not None and found.round_trips is not None
        assert found.from_due.p99_ns == pytest.approx(900 * MS, rel=0.03)
        assert found.from_due.most_ns == SECOND
        assert found.round_trips.p99_ns == MS

    def test_requests_that_wait_in_the_end_are_counted_by_the_clock_and_have_waited(self) -> None:
        """500 of them on ten connections, as if each had one of each of its last 50 due times."""
        whole = due_by_clock(BY_CLOCK, 21 * SECOND)
        assert whole == pytest.approx(10_500, abs=150)  # connections begin one after the other
        client = by_clock([1_000] * 5_000, [1_000] * 5_000, requests=whole - 500)
        found = Wrk2().told(BY_CLOCK, client, STANDS)
        assert found.failures == Failures(statuses=0, sockets=0, timeouts=0, unanswered=500)
        assert found.from_due is not None and found.round_trips is not None
        assert found.from_due.most_ns == 980 * MS
        assert found.from_due.p99_ns > 800 * MS
        assert found.round_trips.most_ns == MS

    def test_times_that_it_forgets_are_those_of_the_warm_up(self) -> None:
        words = Wrk2().client(WRK2_CASE, "/its/wrk2", BY_CLOCK, MEET)
        assert words[words.index("-d") + 1] == "21s"
        assert words[words.index("-R") + 1] == "500"
        assert {"-L", "-U"} <= set(words)
        brief = replace(BY_CLOCK, warm_up_ns=SECOND, duration_ns=2 * SECOND)
        assert "3s" in Wrk2().client(WRK2_CASE, "/its/wrk2", brief, MEET), "it forgets nothing"
        with pytest.raises(UsageError, match="forgets the times") as refused:
            Wrk2().client(WRK2_CASE, "/its/wrk2", replace(BY_CLOCK, warm_up_ns=SECOND), MEET)
        assert refused.value.problems[0].fix == "--set search.warm_up=11s"

    @pytest.mark.parametrize(
        ("pattern", "by", "problem"),
        [
            (r"^ *Thread calibration.*$", "", "no answer in its first ten seconds"),
            (r"- Uncorrected Latency", "- Latency", "not tell all of its times (Uncorrected)"),
            (r"^#\[Max .*$", "", "not tell all of its times (Recorded)"),
            (r"Total count    = +\d+", "Total count    = 9", "not tell all of its times"),
            (r"^ +0\.\d+ +0\.\d+ +\d+ ", "  0.001  0.000000  999999 ", "not in their order"),
            (r"^vsperf requests \d+$", "vsperf requests 3", "counted 3 answers"),
            # Each request that was due in it would be gone through, for months.
            (r"^vsperf duration_us \d+$", f"vsperf duration_us {10**15}", "says that it ran for"),
            (r"^vsperf whole 1$", "", "told no end"),
        ],
    )
    def test_what_cannot_be_is_no_answer(self, pattern: str, by: str, problem: str) -> None:
        client = by_clock([900] * 5_000, [900] * 5_000)
        found = Wrk2().told(BY_CLOCK, changed(client, pattern, by), STANDS)
        assert problem in found.problem
        assert found.transactions is None

    def test_a_server_that_died_is_told_though_it_exits_with_0(self) -> None:
        client = by_clock(FREEZE_US, QUICK_US)
        found = Wrk2().told(BY_CLOCK, client, Said(-9, "was killed by SIGKILL", ""))
        assert found.problem == "its server was killed by SIGKILL"

    def test_wrk_and_wrk2_have_one_name_and_are_told_apart_by_what_they_can_be_told(self) -> None:
        usage = "Usage: wrk <options> <url>\n    -t, --threads <N>\n"
        other = f"{usage}    -R, --rate        <T>  work rate (throughput)\n"
        said = "wrk 4.0.0 [epoll] Copyright (C) 2012 Will Glozer\n"
        assert WRK2.version_of(said + other, "/its/wrk") == "4.0.0"
        assert WRK2.version_of("wrk  [epoll] Copyright\n" + other, "/its/wrk") == "[epoll]"
        assert WRK.version_of(said + usage, "/its/wrk") == "4.0.0"
        with pytest.raises(NotReadyError, match="is no wrk2"):
            WRK2.version_of(said + usage, "/its/wrk")
        with pytest.raises(NotReadyError, match=r"is no wrk$"):
            WRK.version_of(said + other, "/its/wrk")


class TestH2load:
    def test_its_log_and_its_sums_agree_and_intervals_come_to_all_answers(self) -> None:
        client = said("h2load", "open-client")
        found = h2load(OPEN, client)
        assert found.problem == ""
        assert f"status codes: {found.transactions} 2xx" in client.text
        assert sum(one.amount for one in found.intervals) == found.transactions
        assert found.intervals[-1].ended_ns == found.elapsed_ns == 3 * SECOND
        assert found.failures == Failures(statuses=0, sockets=0, timeouts=0, unanswered=0)

    def test_who_stood_still_made_all_requests_late_that_were_due_meanwhile(self) -> None:
        """A second of four: a quarter of the requests waited, evenly from none of it to all."""
        found = h2load(OPEN_FROZEN, said("h2load", "frozen-client"))
        assert found.round_trips is not None and found.from_due is not None
        assert found.round_trips.p99_ns < 10 * MS
        assert found.round_trips.most_ns > 900 * MS
        assert found.from_due.p90_ns == pytest.approx(600 * MS, abs=60 * MS)
        assert found.from_due.p99_ns == pytest.approx(960 * MS, abs=60 * MS)
        assert found.from_due.mean_ns == pytest.approx(125 * MS, abs=20 * MS)

    def test_times_are_of_requests_after_the_warm_up(self) -> None:
        asked = ExchangeAsked("http-open", 1, SECOND, 3 * SECOND, connections=4, rate=100)
        found = h2load(asked, said("h2load", "frozen-client"))
        assert (
            found.transactions == h2load(OPEN_FROZEN, said("h2load", "frozen-client")).transactions
        )
        assert found.from_due is not None
        assert found.from_due.most_ns < 100 * MS

    def test_a_request_that_was_never_answered_counts_as_long_as_it_had_waited(self) -> None:
        client = said("h2load", "open-client")
        lines = re.findall(r"^\d+\t200\t\d+\n", client.text, re.M)
        kept = len(lines) // 2
        text = client.text
        for line in lines[kept:]:
            text = text.replace(line, "", 1)
        text = text.replace(f"status codes: {len(lines)} 2xx", f"status codes: {kept} 2xx")
        found = h2load(OPEN, Said(0, ENDED, text))
        assert found.transactions == kept
        assert found.failures is not None and found.from_due is not None
        assert found.failures.unanswered == len(lines) - kept
        assert found.from_due.most_ns == pytest.approx(1_500 * MS, abs=60 * MS)

    def test_without_a_clock_there_is_no_time_from_when_requests_were_due(self) -> None:
        asked = ExchangeAsked("http-rr", 1, SECOND, connections=2)
        found = h2load(asked, said("h2load", "http-client"))
        assert found.problem == ""
        assert found.round_trips is not None
        assert found.from_due is None
        assert found.failures is not None
        assert found.failures.unanswered is None

    def test_each_connection_has_a_clock_of_its_own_that_begins_with_its_first_request(
        self,
    ) -> None:
        asked = ExchangeAsked("http-open", 1, SECOND, connections=2, rate=8)
        assert due_ns([5, 7], asked, SECOND) == [
            *(5, 7),
            *(5 + 250 * MS, 7 + 250 * MS),
            *(5 + 500 * MS, 7 + 500 * MS),
            *(5 + 750 * MS, 7 + 750 * MS),
        ]

    def test_a_server_that_died_is_told_though_it_exits_with_0(self) -> None:
        client = said("h2load", "killed-server-client")
        found = h2load(OPEN, client, Said(-9, "was killed by SIGKILL", ""))
        assert found.problem == "its server was killed by SIGKILL"
        for name in ("refused-client", "error-client"):
            assert "no answer of status 2xx" in h2load(OPEN, said("h2load", name)).problem

    @pytest.mark.parametrize(
        ("pattern", "by", "problem"),
        [
            (r"^finished in .*$", "", "told no end"),
            (r"^requests: .*$", "", "told no end"),
            (r"^status codes: \d+ ", "status codes: 900 ", "its log has 300 answers, and its sums"),
            (r"0 errored", f"{2**64 - 1} errored", "broke, and were not opened again"),
            (r"0 timeout$", f"{2**64 - 1} timeout", "more late answers"),
            (r"^\d+\t200\t", "1\t200\t", "another time"),
        ],
    )
    def test_what_cannot_be_is_no_answer(self, pattern: str, by: str, problem: str) -> None:
        found = h2load(OPEN, changed(said("h2load", "open-client"), pattern, by))
        assert problem in found.problem
        assert found.transactions is None

    def test_requests_that_failed_are_counted_and_not_among_the_answers(self) -> None:
        client = changed(said("h2load", "open-client"), r"\t200\t", "\t503\t")
        client = changed(client, r"\t200\t", "\t-1\t")
        found = h2load(OPEN, changed(client, r"0 errored", "1 errored"))
        assert found.transactions == 298
        assert found.failures == Failures(statuses=1, sockets=1, timeouts=0, unanswered=0)

    def test_a_rate_is_shared_by_the_connections(self) -> None:
        asked = ExchangeAsked("http-open", 1, 1_500 * MS, connections=8, rate=100)
        words = H2load().client(H2LOAD_CASE, "/its/h2load", asked, MEET)
        assert words[words.index("--rps") + 1] == "12.5"
        assert words[words.index("-D") + 1] == "1500ms"
        closed = ExchangeAsked("http-rr", 1, SECOND, connections=8)
        assert "--rps" not in H2load().client(H2LOAD_CASE, "/its/h2load", closed, MEET)


class TestNginx:
    @pytest.mark.parametrize(("driver", "spec"), [(Wrk(), WRK_CASE), (H2load(), H2LOAD_CASE)])
    def test_it_has_all_in_its_folder_and_listens_at_its_place_alone(
        self, driver: Program, spec: CaseSpec
    ) -> None:
        asked = ExchangeAsked(
            "http-rr", 1, SECOND, response_bytes=100_000, workers=3, connections=900
        )
        words = driver.server(spec, "/its/nginx", asked, MEET)
        files = driver.files(spec, asked, MEET)
        settings = files[words[-1]]
        assert "listen 198.19.0.1:11003 reuseport backlog=900;" in settings
        assert "worker_processes 3;" in settings
        assert len(files["object"]) == 100_000
        assert [one for one in settings.split() if one.startswith("/")] == ["/object"]

    def test_a_short_object_stands_in_its_settings_and_connections_end_where_asked(self) -> None:
        asked = ExchangeAsked("http-crr", 1, SECOND, response_bytes=5)
        files = Wrk().files(WRK_CASE, asked, MEET)
        assert "object" not in files
        assert 'return 200 "xxxxx";' in files["nginx-11003.conf"]
        assert "keepalive_timeout 0;" in files["nginx-11003.conf"]


USER_SPACE = case(WrkSpec.model_validate({"kind": "wrk", "stack": "user-space"}))


class TestUserSpace:
    def test_it_answers_with_the_object_at_the_place_and_sends_to_its_only_client(self) -> None:
        asked = ExchangeAsked("http-rr", 1, SECOND, response_bytes=128, connections=64)
        *_, program, device, port, request = Wrk().server(USER_SPACE, "/its/tgen", asked, MEET)
        assert (program, port) == ("/its/tgen", "11003")
        assert device == "net_af_packet0,iface=eth0,qdisc_bypass=0,framecnt=2048"
        told = json.loads(request)
        assert told["verb"] == "connections"
        assert "client" not in told
        server = told["server"]
        assert (server["ip"], server["service_port"]) == ("198.19.0.1", 11003)
        assert server["source_mac"] == place_mac(USER_SPACE, "phy1")
        assert server["destination_mac"] == place_mac(USER_SPACE, "phy0")
        assert server["connections"] >= 64
        head = (
            "HTTP/1.1 200 OK\r\nServer: tgen\r\nContent-Type: text/plain\r\n"
            "Content-Length: 128\r\n\r\n"
        )
        assert told["response_bytes"] == len(head) + 128
        assert list(Wrk().files(USER_SPACE, asked, MEET)) == [lua.FILE], "it reads no settings"

    @pytest.mark.parametrize(
        ("kind", "words"),
        [("vhost-user-client", ["server=1"]), ("vhost-user", [])],
        ids=["the switch calls", "the switch listens"],
    )
    def test_a_port_of_the_switch_that_it_has_to_itself_is_opened_as_the_switch_would_have_it(
        self, kind: str, words: list[str]
    ) -> None:
        port = Endpoint(link="phy1", kind=kind, address="/run/x/phy1.sock")
        meet = Rendezvous(MEET.address, MEET.port, port)
        *_, device, _, _ = Wrk().server(USER_SPACE, "/its/tgen", SMALL, meet)
        assert device.split(",") == [
            *("net_virtio_user0", "path=/run/x/phy1.sock", "queue_size=1024"),
            *words,
        ]
        command = serve_user_space.command("/its/tgen", device, [0])
        assert f"--vdev={device}" in command

    def test_an_object_that_is_longer_than_its_answers_is_refused(self) -> None:
        asked = ExchangeAsked("http-rr", 1, SECOND, response_bytes=1 << 20)
        with pytest.raises(UsageError, match="1,048,576 bytes at most"):
            Wrk().server(USER_SPACE, "/its/tgen", asked, MEET)

    def test_a_plan_has_the_program_by_its_name_where_it_is_not_built(self) -> None:
        words = Wrk().server(USER_SPACE, "nginx", SMALL, MEET)
        assert not any("nginx" in word for word in words)
        assert user_space.TGEN.planned() in words

    def test_it_polls_on_the_last_of_its_cpus(self) -> None:
        (lcores,) = (
            word
            for word in serve_user_space.command("/its/tgen", "eth0", [2, 5])
            if word.startswith("--lcores")
        )
        assert lcores == "--lcores=0@2,1@5"

    @pytest.mark.parametrize("ok", [True, False])
    def test_it_is_listened_to_once_it_serves_and_ends_what_it_started(
        self, ok: bool, tmp_path: Path
    ) -> None:
        """Played by a script that says yes or no to both, and notes when its input ends."""
        said, ended = tmp_path / "said", tmp_path / "ended"
        answers = '{"id":1,"ok":true}' if ok else '{"id":2,"ok":false}'
        program = script(
            tmp_path / "tgen",
            f"read one; read two; echo \"$one\" >{said}; echo '{answers}'\n"
            f"while read more; do :; done; touch {ended}",
        )
        with socket.socket(type=socket.SOCK_DGRAM) as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        file = Path(serve_user_space.__file__)
        request = '{"verb":"connections"}'
        argv = own_python.script(file, str(program), "eth0", str(port), request)
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as server:
            if ok:
                wait_until(lambda: listens(server.pid, port))
                server.terminate()
            assert server.stdout is not None
            assert server.stdout.read() == f"{answers}\n"
        assert server.returncode == (-signal.SIGTERM if ok else serve_user_space.ENDED)
        wait_until(ended.exists)
        assert json.loads(said.read_text()) == {"verb": "connections", "id": 2}


def test_a_server_is_found_where_distributions_have_those_of_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path such as that of `su` without a dash leads to no folder of root's."""
    server = script(tmp_path / "sbin" / "nginx", "echo nginx version: nginx/9.9")
    nginx = PackagedProgram(
        "nginx", "apt-get install nginx", "-v", r"nginx version: nginx/([\d.]+)"
    )
    monkeypatch.setattr(find, "FOLDERS_OF_ROOT", str(tmp_path))
    with pytest.raises(NotReadyError, match="nginx cannot be run"):
        nginx.find(None, str(tmp_path))
    monkeypatch.setattr(find, "FOLDERS_OF_ROOT", str(server.parent))
    assert nginx.find(None, str(tmp_path)) == InstalledProgram(str(server), "9.9")
    with pytest.raises(NotReadyError, match="no-such-nginx cannot be run"):
        nginx.find("no-such-nginx", str(tmp_path))


def test_versions_are_read_and_other_programs_are_none() -> None:
    assert WRK.version_of("wrk debian/4.1.0-3+b2 [epoll] Copyright", "/its/wrk") == "4.1.0"
    assert WRK.version_of("wrk 4.2.0 [epoll] Copyright", "/its/wrk") == "4.2.0"
    assert H2LOAD.version_of("h2load nghttp2/1.52.0", "/its/h2load") == "1.52.0"
    with pytest.raises(NotReadyError, match="is no wrk"):
        WRK.version_of("wrk2 4.0", "/its/wrk2")
    with pytest.raises(NotReadyError, match="is no h2load"):
        H2LOAD.version_of("iperf 3.12", "/its/iperf3")
