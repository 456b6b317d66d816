"""Collectors that ask a part: what it says becomes samples, and what does not fit is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from machine_tree import script
from pydantic import ValidationError
from series_samples import CASE, header

from vsperf.drivers.collectors import stamp
from vsperf.drivers.collectors.base import Parts, Seat
from vsperf.drivers.collectors.command import STAMP, Command, CommandSpec, Lines
from vsperf.drivers.collectors.guest import Guest, GuestSpec
from vsperf.drivers.collectors.ovs import OvsCollectorSpec, OvsInsides
from vsperf.drivers.collectors.perf import Counting, counted
from vsperf.drivers.collectors.perf_program import require_perf
from vsperf.drivers.collectors.switch_trace import flame_graph, folded, folded_text
from vsperf.drivers.collectors.vpp import VppCollectorSpec, VppInsides
from vsperf.drivers.vswitches.ovs import parse
from vsperf.drivers.vswitches.ovs.parse import insides
from vsperf.drivers.vswitches.vpp.reading import Reading
from vsperf.drivers.vswitches.vpp.reading import insides as insides_of_vpp
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.host.files import Roots
from vsperf.plugins import Plugins
from vsperf.records.files.series import SeriesFile, series_of
from vsperf.records.run import Placement
from vsperf.records.series import Nature

GOLDEN = Path(__file__).parents[1] / "golden" / "ovs"
OVS = OvsCollectorSpec(kind="ovs")


class Counts:
    """A part that counts one more each time that it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def insides(self) -> dict[str, dict[str, int]]:
        self.asked += 1
        return {"daemon": {"coverage_upcall": self.asked}, "silent": {}}


def seat(folder: Path, switch: object) -> Seat:
    case: Any = SimpleNamespace()
    place: Any = SimpleNamespace()
    file = SeriesFile.begin(folder, header("ovs"))
    return Seat("ovs", case, Placement(), place, Parts(switch, None, None), file)


def case(vswitch: str = "ovs-dpdk", vnf: str | None = None, vnfs: int = 0) -> Any:
    known = Plugins.load().specs()
    return SimpleNamespace(
        vswitch=known["vswitch"][vswitch](kind=vswitch),
        vnf=known["vnf"][vnf](kind=vnf) if vnf else None,
        topology=SimpleNamespace(name="p2p", vnfs=("vm1",) * vnfs),
    )


def test_it_is_asked_before_a_trial_and_after_it(tmp_path: Path) -> None:
    with OvsInsides().start(OVS, seat(tmp_path, Counts())) as running:
        running.begin(7)
        running.end(7)
    (found,) = series_of(tmp_path, CASE, 1)
    assert [(one.trial, one.of, one.values) for one in found.samples()] == [
        (7, "daemon", {"coverage_upcall": 1}),
        (7, "daemon", {"coverage_upcall": 2}),
    ]


def test_a_switch_that_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ComponentError, match="cannot be asked"),
        OvsInsides().start(OVS, seat(tmp_path, object())),
    ):
        pass


@pytest.mark.parametrize(
    ("driver", "settings", "known", "other"),
    [
        (OvsInsides(), OVS, "ovs", "vpp"),
        (VppInsides(), VppCollectorSpec(kind="vpp"), "vpp", "ovs-dpdk"),
    ],
    ids=["ovs", "vpp"],
)
def test_another_switch_than_it_knows_is_refused_with_both(
    driver: Any, settings: Any, known: str, other: str
) -> None:
    driver.require(case(known), settings)
    with pytest.raises(UsageError) as refused:
        driver.require(case(other), settings)
    assert refused.value.problems[0].why == (
        f"vswitch.kind is {other}, which does not tell what it asks"
    )


def test_without_vnfs_there_is_no_guest_to_ask() -> None:
    settings = GuestSpec(kind="guest")
    Guest().require(case(vnf="qemu", vnfs=1), settings)
    with pytest.raises(UsageError, match="nothing to collect"):
        Guest().require(case(vnf="qemu"), settings)
    with pytest.raises(UsageError, match="nothing to collect"):
        Guest().require(case(vnf="process", vnfs=1), settings)


def test_what_ovs_says_has_our_names_and_nothing_of_the_record() -> None:
    threads = parse.thread_performance((GOLDEN / "two-pmds-pmd-perf-show.txt").read_text())
    found = insides(threads, {"netdev_sent": 5})
    assert list(found) == ["pmd on CPU 0", "pmd on CPU 1", "daemon"]
    one = found["pmd on CPU 0"]
    assert (one["iterations"], one["busy_iterations"], one["sent_batches"]) == (
        40672785,
        2496,
        2496,
    )
    assert found["daemon"] == {"coverage_netdev_sent": 5}
    named = {quantity.name for quantity in OvsInsides().quantities(OVS)}
    assert set(one) <= named


def perf_show(bins: int, fast: int, slow: int) -> str:
    """Return what a daemon with metrics says of a thread: counters, histograms, milliseconds."""
    names = ("cycles/it", "packets/it", "cycles/pkt", "pkts/batch", "max vhost qlen", "upcalls/it")
    head = "   " + "  ".join(f"{name:<21}" for name in (*names, "cycles/upcall"))
    rows = [f"   {f'{bound:<9} {fast + bound:<11}  ' * 7}" for bound in range(bins)]
    rest = "   " + f"{'>':<9} {slow:<11}  " * 7
    averages = (
        "   499                    0.51200                904                    32.00000"
        "               0.00000                0.00000                0"
    )
    history = (
        "   ms             iterations   cycles/it    Kpps         cycles/pkt   pkts/batch   "
        "vhost qlen   upcalls      cycles/upcall"
    )
    milliseconds = (
        (1700000001000, 900, 2200, 1700, 910, 31, 4, 0, 0),
        (1700000000999, 800, 2500, 0, 0, 0, 0, 0, 0),
        (1700000000998, 700, 2900, 1500, 1200, 30, 9, 2, 8000),
        (0, 0, 0, 0, 0, 0, 0, 0, 0),
    )
    return "\n".join((
        "Time: 02:22:52.878", "Measurement duration: 3.188 s", "",
        "pmd thread numa_id 0 core_id 1:", "", "  Iterations:  40672785  (0.08 us/it)",
        "  Rx packets:                79872  (25 Kpps, 5247 cycles/pkt)", "", "Histograms", head,
        *rows, rest, "-" * 150, head, averages, "", history,
        *("   " + "".join(f"{number:<15}" for number in row) for row in milliseconds), "",
    ))  # fmt: skip


def test_metrics_of_ovs_are_histograms_and_the_worst_of_the_last_second() -> None:
    found = insides(parse.thread_performance(perf_show(3, 10, 5)), {})
    of_frames = found["pmd on CPU 1: cycles/pkt"]
    assert of_frames == {"bin_0": 10, "bin_1": 11, "bin_2": 12, "bin_more": 5}
    assert "pmd on CPU 1: max vhost qlen" in found
    assert found["pmd on CPU 1: last second"] == {
        "milliseconds": 3,
        "busy_milliseconds": 2,
        "longest_queue": 9,
        "upcalls_in_milliseconds": 2,
        "most_frames_in_ms": 1700,
        "most_cycles_per_frame_in_ms": 1200,
    }
    quantities = OvsInsides().quantities(OVS)
    for values in found.values():
        assert all(any(one.fits(name) for one in quantities) for name in values)


def test_a_switch_that_keeps_no_metrics_says_nothing_of_them() -> None:
    threads = parse.thread_performance((GOLDEN / "two-pmds-pmd-perf-show.txt").read_text())
    assert not [of for of in insides(threads, {}) if ":" in of]


RAN = Reading(
    nodes=("vhost-user-input", "ethernet-input", "never-called"),
    calls=((5, 0, 0), (100, 40, 0)),
    vectors=((0, 0, 0), (1000, 1000, 0)),
    clocks=((50, 0, 0), (9000, 3000, 0)),
    errors={"null-node/blackholed packets": 3},
)


class Runs:
    """A VPP that has carried 500 frames more whenever it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def insides(self) -> dict[str, dict[str, int]]:
        more = 500 * self.asked
        self.asked += 1
        return {
            "worker 1: ethernet-input": {
                "calls": 40 + more // 25,
                "frames": more,
                "cycles": 2 * more,
            },
            "main thread: idle": {"calls": 7, "frames": 0, "cycles": 70},
        }


def test_what_vpp_counts_is_by_thread_and_node() -> None:
    found = insides_of_vpp(RAN, {"default-numa-0": 16384})
    assert found == {
        "main thread: vhost-user-input": {"calls": 5, "frames": 0, "cycles": 50},
        "worker 1: vhost-user-input": {"calls": 100, "frames": 1000, "cycles": 9000},
        "worker 1: ethernet-input": {"calls": 40, "frames": 1000, "cycles": 3000},
        "daemon": {"count_null-node/blackholed packets": 3, "buffers_default-numa-0": 16384},
    }
    quantities = VppInsides().quantities(VppCollectorSpec(kind="vpp"))
    for values in found.values():
        assert all(any(one.fits(name) for one in quantities) for name in values)


def test_vectors_per_call_and_clocks_per_frame_are_those_of_the_trial(tmp_path: Path) -> None:
    with VppInsides().start(VppCollectorSpec(kind="vpp"), seat(tmp_path, Runs())) as running:
        for trial in (3, 4):
            running.begin(trial)
            running.end(trial)
    (series,) = series_of(tmp_path, CASE, 1)
    per = {
        (one.trial, one.of): (one.values["frames_per_call"], one.values["cycles_per_frame"])
        for one in series.samples()
        if "frames_per_call" in one.values
    }
    assert per == {
        (3, "worker 1: ethernet-input"): (25.0, 2.0),
        (4, "worker 1: ethernet-input"): (25.0, 2.0),
    }, "a node without frames has none, and what was between two trials is of none"


# Collectors: those that run a program, or ask perf.

# A program of the user: its lines become values with times; its end is not that of a case.


def spec(**settings: object) -> CommandSpec:
    return CommandSpec.model_validate({"kind": "command", **settings})


class TestSettings:
    def test_there_is_one_source(self) -> None:
        with pytest.raises(ValidationError, match="either `argv`"):
            spec()
        with pytest.raises(ValidationError, match="either `argv`"):
            spec(argv=["pcm"], file="/tmp/pcm.csv")

    def test_units_are_the_users_word(self) -> None:
        found = Command().quantities(spec(argv=["x"], units={"watt": "W"}, counters=["joule"]))
        assert [(one.name, one.unit, one.nature) for one in found] == [
            ("watt", "W", Nature.GAUGE),
            ("joule", "?", Nature.COUNTER),
            ("*", "?", Nature.GAUGE),
        ]

    def test_a_heavy_one_is_so_by_the_users_word(self) -> None:
        assert Command().heavy(spec(argv=["x"], heavy=True))
        assert not Command().heavy(spec(argv=["x"]))


class TestLines:
    def test_of_json_numbers_are_kept(self) -> None:
        line = '{"a": 1, "b": 2.5, "c": "7", "d": true, "e": null, "f": "x", "g": NaN}'
        assert Lines("json").values(line) == {"a": 1, "b": 2.5, "c": 7}

    @pytest.mark.parametrize("number", [f"{10**30}", f'"{10**30}"', f'"{"9" * 5000}"', "1e999"])
    def test_a_number_that_no_reader_of_series_takes_is_left_out(self, number: str) -> None:
        assert Lines("json").values(f'{{"a": {number}, "b": 1}}') == {"b": 1}

    @pytest.mark.parametrize("line", ["", "[1]", "{", "7"])
    def test_what_is_no_object_has_no_values(self, line: str) -> None:
        assert Lines("json").values(line) == {}

    def test_of_csv_the_first_line_has_the_names(self) -> None:
        lines = Lines("csv")
        assert lines.values("time, ipc") == {}
        assert lines.values("12,1.25") == {"time": 12, "ipc": 1.25}
        assert lines.values("13,") == {"time": 13}


class TestStamp:
    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-I", "-S", str(STAMP), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    def test_each_line_of_a_program_has_its_time(self) -> None:
        done = self.run("--", "/bin/sh", "-c", "echo one; echo two; exit 3")
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert [one["line"] for one in found] == ["one", "two"]
        assert 0 < found[0]["at_ns"] <= found[1]["at_ns"]
        assert done.returncode == 3

    def test_a_program_that_is_missing_is_named(self) -> None:
        done = self.run("--", "/nowhere/pcm")
        assert done.returncode == 1
        assert "/nowhere/pcm" in done.stderr

    def test_what_comes_new_to_a_file_is_passed_on_after_its_head(self, tmp_path: Path) -> None:
        file = tmp_path / "pcm.csv"
        file.write_text("time,ipc\n1,old\n")
        argv = [sys.executable, "-I", "-S", str(STAMP), str(file)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            first = json.loads(program.stdout.readline())
            with file.open("a") as more:
                more.write("2,new\n")
            second = json.loads(program.stdout.readline())
            program.kill()
        assert [first["line"], second["line"]] == ["time,ipc", "2,new"]


class TestMissing:
    def test_a_file_to_which_somebody_adds_without_end_of_line_is_read_in_pieces(
        self, tmp_path: Path
    ) -> None:
        file = tmp_path / "values"
        file.write_bytes(b"head\n")
        news = stamp.news_of(file)
        assert next(news) == b"head\n"
        with file.open("ab") as more:
            more.write(bytes(3 * stamp.LONGEST))
        assert [len(next(news)) for _ in range(3)] == [stamp.LONGEST] * 3

    def test_a_program_that_is_not_there_is_said_before_anything_starts(self) -> None:
        with pytest.raises(NotReadyError, match="pcm-of-nobody"):
            Command().require(None, spec(argv=["pcm-of-nobody"]))  # type: ignore[arg-type]

    def test_a_file_that_nobody_wrote_is_said(self, tmp_path: Path) -> None:
        missing = str(tmp_path / "none.csv")
        with pytest.raises(NotReadyError, match=r"none\.csv"):
            Command().require(None, spec(file=missing))  # type: ignore[arg-type]


# What perf says is read as it is: what was not counted is missing; a flame graph is time.

WITHOUT_COUNTERS = """# started on Mon Nov 23 21:09:04 2026

<not supported>,,cycles,0,100.00,,
<not supported>,,LLC-load-misses:u,0,100.00,,
518,,context-switches,5040810000,100.00,102.761,/sec
5040.81,msec,task-clock,5040810000,100.00,0.993,CPUs utilized
"""
TAKING_TURNS = "1000,,cycles,500,50.00,,\n77,,LLC-load-misses,500,49.50,,\n"
IN_USER_MODE = """1000,,cycles:u,500,100.00,,
0,,context-switches:u,3790037,100.00,0.000,/sec
0,,cpu-migrations:u,3790037,100.00,0.000,/sec
198,,page-faults:u,3790037,100.00,52.242,K/sec
3.79,msec,task-clock:u,3790037,100.00,0.014,CPUs utilized
"""
SCRIPT = """pmd-c01/id:8 14631 1 (no cpu):
\t    7f10 rte_vhost_dequeue_burst+0x1f (/usr/lib/librte_vhost.so.23)
\t    55d0 [unknown] (/usr/lib/ovs-vswitchd-dpdk)

pmd-c01/id:8 14631
\t    7f10 rte_vhost_dequeue_burst (/usr/lib/librte_vhost.so.23)
\t    55d0 [unknown] (/usr/lib/ovs-vswitchd-dpdk)

pmd-c01/id:8 14631
\tffffffff81 <evil>;name ([kernel.kallsyms])

"""


def notes(folder: Path, said: str) -> list[str]:
    """Return the notes of a series in which perf said that of the switch."""
    place: Any = SimpleNamespace()
    file = SeriesFile.begin(folder / str(len(said)), header("perf"))
    seat = Seat("perf", place, Placement(), place, Parts(None, None, None), file)
    (folder / "said").write_text(said)
    Counting(seat, []).keep("switch", folder / "said", 1, 1000)
    (series,) = series_of(folder / str(len(said)), CASE, 1)
    return [note.text for note in series.notes()]


class TestCounted:
    def test_what_the_machine_does_not_count_is_missing_and_never_0(self) -> None:
        found = counted(WITHOUT_COUNTERS)
        assert found.values == {"context_switches": 518, "task_ns": 5_040_810_000}
        assert found.missing == ("cycles", "llc_misses")

    def test_what_no_user_mode_has_is_missing_and_not_the_0_that_perf_says(self) -> None:
        """The kernel deals out CPUs: an event of that kind cannot be seen outside of it."""
        found = counted(IN_USER_MODE)
        assert found.values == {"cycles": 1000, "page_faults": 198, "task_ns": 3_790_000}
        assert (found.missing, found.hidden) == ((), ("context_switches", "migrations"))

    @pytest.mark.parametrize("modifiers", ["", ":k", ":uk", ":H"])
    def test_where_the_kernel_is_seen_a_0_is_a_0(self, modifiers: str) -> None:
        found = counted(f"0,,cpu-migrations{modifiers},3790037,100.00,0.000,/sec\n")
        assert (found.values, found.hidden) == ({"migrations": 0}, ())

    def test_the_setting_that_hides_the_kernel_is_named_in_the_series(self, tmp_path: Path) -> None:
        said = notes(tmp_path, IN_USER_MODE)
        assert said == [
            "not counted of the switch: context_switches, migrations; kernel.perf_event_paranoid "
            "shows user mode only, in which there are none, and all other events are those of user "
            "mode: sudo sysctl kernel.perf_event_paranoid=1, or run as root"
        ]
        assert not any("paranoid" in text for text in notes(tmp_path, WITHOUT_COUNTERS))

    def test_events_that_took_turns_say_so(self) -> None:
        found = counted(TAKING_TURNS)
        assert found.values == {"cycles": 1000, "llc_misses": 77}
        assert found.share == 49.5

    def test_what_is_no_line_of_perf_is_nothing(self) -> None:
        assert counted("nonsense\n,,,,\n").values == {}


class TestAllowed:
    def paranoid(self, folder: Path, level: str) -> Roots:
        file = folder / "proc" / "sys" / "kernel" / "perf_event_paranoid"
        file.parent.mkdir(parents=True)
        file.write_text(level)
        return Roots(root=folder)

    @pytest.fixture(autouse=True)
    def installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(script(tmp_path / "bin" / "perf").parent))

    def test_a_perf_that_is_missing_is_said_with_its_package(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
        with pytest.raises(NotReadyError) as refused:
            require_perf("perf")
        assert "not installed" in str(refused.value)
        assert "linux-perf" in str(refused.value.problems[0].fix)

    def test_a_kernel_that_forbids_it_to_users_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(NotReadyError) as refused:
            require_perf("perf", self.paranoid(tmp_path, "3\n"), user=1000)
        assert refused.value.problems[0].why == (
            "kernel.perf_event_paranoid is 3, which forbids it to all but root"
        )

    @pytest.mark.parametrize(("level", "user"), [("3", 0), ("2", 1000), ("-1", 1000)])
    def test_others_may(self, tmp_path: Path, level: str, user: int) -> None:
        require_perf("perf", self.paranoid(tmp_path, level), user)


class TestFlames:
    def test_equal_stacks_are_counted_outermost_first(self) -> None:
        found = folded(SCRIPT.splitlines(keepends=True))
        assert found == {
            "pmd-c01/id:8;[ovs-vswitchd-dpdk];rte_vhost_dequeue_burst": 2,
            "pmd-c01/id:8;<evil>_name": 1,
        }

    def test_folded_stacks_are_as_other_programs_read_them(self) -> None:
        assert folded_text({"a;b": 2, "a": 1}) == "a 1\na;b 2\n"

    def test_width_is_time(self) -> None:
        svg = flame_graph({"pmd;poll;receive": 3, "pmd;poll;send": 1}, "switch")
        root = ElementTree.fromstring(svg)
        space = "{http://www.w3.org/2000/svg}"
        widths = {
            str(one.findtext(f"{space}title")).partition(":")[0]: float(
                one.find(f"{space}rect").get("width")  # type: ignore[union-attr, arg-type]
            )
            for one in root.iter(f"{space}g")
        }
        assert widths == {"pmd": 1200, "poll": 1200, "receive": 900, "send": 300}

    def test_names_are_harmless(self) -> None:
        svg = flame_graph(folded(SCRIPT.splitlines()), 'a "title" <b>')
        assert "<evil>" not in svg
        ElementTree.fromstring(svg)

    def test_nothing_makes_an_empty_drawing(self) -> None:
        ElementTree.fromstring(flame_graph({}, "switch"))
