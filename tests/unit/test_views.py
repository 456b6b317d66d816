"""What people see on a terminal of 80 columns, view by view, as it is kept in `golden/views`.

What changes a view shows it in its diff: look at it as its reader would. The views are of stored
runs and of models, which are the same on any machine.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from all_wrong import none_wrong
from conftest import REPOSITORY
from export_samples import SPEC
from printed_text import printed
from record_samples import case_record, case_start, header, planned, run_end, trial
from stored_runs import refreshed, store, store_finished
from viewed_runs import store_what_has_no_frames

from vsperf.cli.commands import doctor
from vsperf.cli.commands.list import print_entries, print_groups
from vsperf.cli.commands.results import _cases, _runs
from vsperf.cli.main import run_cli
from vsperf.cli.selection import library
from vsperf.cli.tables import print_table
from vsperf.host.doctor.finding import Finding, Group, Status
from vsperf.host.doctor.usable import TESTCASE, Judged
from vsperf.output.table import Table
from vsperf.output.trial_tables import MOST, stages_table
from vsperf.records.files.view import open_run
from vsperf.records.run import Line, RunResume
from vsperf.records.switch import PmdCounters, StageCounters, SwitchCounters
from vsperf.records.trial import Trial

GOLDEN = REPOSITORY / "tests" / "golden"
VIEWS = GOLDEN / "views"
NOW = REPOSITORY / "build" / "views"
"""Where a view goes that is not as it was."""
COLUMNS = 80
UNIT = re.compile(r"(?:[nµm]?s|min|h|%|[kMG]?(?:fps|bit/s|B/s)|[kMG]i?B)(?![\w/])")
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(name="models", scope="module")
def fixture_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return results of each kind of bench but that of frames, which golden runs have."""
    store_what_has_no_frames(results := tmp_path_factory.mktemp("models"))
    return results


def test_there_are_views_of_what_people_look_at() -> None:
    seen = {shlex.split(view.read_text().splitlines()[0])[2] for view in VIEWS.glob("*.txt")}
    assert seen >= {"show", "results", "list", "plan", "trend", "compare", "explain", "run"}
    assert {"baseline", "plot", "export", "doctor"} <= seen


def test_no_view_parts_a_figure_from_its_unit() -> None:
    """A line that ends with a number does not go on with what it counts."""
    parted = []
    for view in sorted(VIEWS.glob("*.txt")):
        lines = view.read_text().splitlines()
        for number, (line, after) in enumerate(itertools.pairwise(lines), start=1):
            if line.rstrip()[-1:].isdigit() and UNIT.match(after.strip()):
                parted.append(f"{view.name}:{number}: {line.strip()[-20:]} / {after.strip()[:20]}")
    none_wrong(parted)


def test_no_view_parts_the_ends_of_an_interval() -> None:
    parted = []
    for view in sorted(VIEWS.glob("*.txt")):
        for number, line in enumerate(view.read_text().splitlines(), start=1):
            if re.search(r"\d[^\s;]*(?: [^\s;]+)? …$|(?:^|  )… ", line.rstrip()):
                parted.append(f"{view.name}:{number}: {line.strip()}")
    none_wrong(parted)


@pytest.mark.parametrize("name", sorted(view.stem for view in VIEWS.glob("*.txt")))
def test_a_view_is_as_it_was_looked_at(
    name: str,
    tmp_path: Path,
    models: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = (VIEWS / f"{name}.txt").read_text()
    command = kept.splitlines()[0]
    stored_and_narrow(tmp_path, models, monkeypatch)
    run_cli(shlex.split(command.removeprefix("$ vsperf ")))
    printed = lines_of(capsys)
    shown = "\n".join((command, *(line.rstrip() for line in printed))) + "\n"
    if shown != kept:
        NOW.mkdir(parents=True, exist_ok=True)
        (NOW / f"{name}.txt").write_text(shown)
    assert shown == kept, f"see build/views/{name}.txt; where it is better: cp it to {VIEWS.name}"
    assert not too_long(printed), "only a path or another word that is longer than a line may be"


@pytest.mark.parametrize("command", ["plugins", "explain"])
def test_what_is_no_view_of_these_fits_the_terminal_as_well(
    command: str,
    tmp_path: Path,
    models: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stored_and_narrow(tmp_path, models, monkeypatch)
    assert run_cli(command.split()) == 0
    assert not too_long(lines_of(capsys))


def a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `doctor` find what never changes: answers of each length, and what they come to."""
    found = [
        Finding("cpus", Group.PROCESSORS, Status.OK, "2 of 2 usable: 0-1"),
        Finding(
            "hugepages",
            Group.MEMORY,
            Status.WARNING,
            "node 0: 12 of 1024 pages of 2 MB free (24.00 MiB), and a run of OVS-DPDK with a "
            "guest takes 768.0 MiB; what is missing is reserved when it begins",
        ),
        Finding(
            "kvm", Group.PROCESSORS, Status.ABSENT, "/dev/kvm is not there: guests are emulated"
        ),
        Finding("steal", Group.PROCESSORS, Status.UNKNOWN, "the hypervisor tells nothing of it"),
        Finding(
            "dpdk-testpmd",
            Group.PROGRAMS,
            Status.ABSENT,
            "dpdk-testpmd is not in $PATH: /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",
            fix="apt-get install --no-install-recommends dpdk-dev",
        ),
        Finding(
            "guest image", Group.PROGRAMS, Status.OK, f"/images/guest, {'0123456789abcdef' * 4}"
        ),
    ]
    mend = ("apt-get install --no-install-recommends dpdk-dev",)
    drivers = {
        ("vswitch", "ovs-dpdk"): Judged("vswitch", "ovs-dpdk"),
        ("vswitch", "testpmd"): Judged("vswitch", "testpmd", mend),
        ("vnf", "process"): Judged("vnf", "process", mend),
        ("vnf", "qemu"): Judged("vnf", "qemu", (), "emulated"),
    }
    noise = (
        "a machine with more CPUs; --set noise.share=true measures all the same, functional only"
    )
    testcases = [
        Judged(TESTCASE, "phy2phy_tput"),
        Judged(TESTCASE, "phy2phy_loss"),
        Judged(TESTCASE, "phy2phy_tput_noise", (noise,)),
        Judged(TESTCASE, "pvp_loss", (), "emulated"),
        Judged(TESTCASE, "pvp_tput", (), "emulated"),
    ]
    monkeypatch.setattr(doctor, "examine", lambda here, chosen: found)
    monkeypatch.setattr(doctor, "usable_drivers", lambda *asked: drivers)
    monkeypatch.setattr(doctor, "_testcases", lambda *asked: testcases)


def stored_and_narrow(folder: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_machine(monkeypatch)
    shutil.copytree(models, folder / "results")
    for run in (GOLDEN / "records").iterdir():
        if run.is_dir():
            shutil.copytree(run, folder / "results" / run.name)
    kept = {"run": "2026-11-21-phy2phy_smoke-acj4", "set_at": "2026-11-22T08:15:00+00:00"}
    baselines = folder / "results" / "baselines"
    baselines.mkdir()
    (baselines / "main.json").write_text(f"{json.dumps(kept)}\n")
    monkeypatch.chdir(folder)
    for variable, value in {
        "COLUMNS": str(COLUMNS),
        "FORCE_COLOR": "1",
        "TERM": "xterm",
        "HOME": str(folder),
    }.items():
        monkeypatch.setenv(variable, value)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capsys.readouterr()
    return STYLE.sub("", out + err).replace(f"{REPOSITORY}", "REPOSITORY").splitlines()


def too_long(printed: list[str]) -> list[str]:
    return [line for line in printed if len(line) > COLUMNS and " " in line.strip()]


# `vsperf list` on a terminal of 80 columns: every name whole, and every title.


def listed(kind: str, width: int) -> list[str]:
    places = library()
    entries = list(getattr(places, kind)().values())
    text = printed(print_entries, places, entries, width=width)
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("kind", ["testcases", "testbeds", "presets", "topologies"])
def test_names_are_whole_and_lines_fit_80_columns(kind: str) -> None:
    lines = listed(kind, 80)
    names = set(getattr(library(), kind)())
    assert names <= {line.split()[0] for line in lines if line}
    assert max(map(len, lines)) <= 80


def test_testcases_stand_by_the_folder_that_they_are_in() -> None:
    lines = listed("testcases", 80)
    p2p, vnfs = lines.index("phy2phy"), lines.index("vm")
    place = {line.split()[0]: number for number, line in enumerate(lines) if line}
    assert p2p < place["phy2phy_tput"] < vnfs < place["pvp_tput"]


def test_where_there_is_room_tags_and_files_are_told() -> None:
    (row,) = (one for one in listed("testcases", 220) if "phy2phy_tput " in one)
    assert "rfc2544" in row
    assert "testcases/phy2phy/phy2phy_tput.yaml" in row


@pytest.mark.parametrize("width", [80, 120, 200])
def test_all_names_are_on_one_screen_by_the_folder_that_they_are_in(width: int) -> None:
    found = library().testcases()
    lines = printed(print_groups, list(found.values()), width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) < 50
    assert {name for line in lines if line.startswith(" ") for name in line.split()} == set(found)
    assert any(re.match(r"vm  .*VNFs", line) for line in lines), "what a folder has is told"


def test_tags_are_named_below_where_there_is_no_room_beside() -> None:
    lines = listed("testcases", 80)
    assert any(line.startswith("tags (--tag TAG): ") and "back2back" in line for line in lines)
    assert not any(line.startswith("tags (--tag TAG): ") for line in listed("testcases", 220))


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["pvp_t*put", "--names"], ["pvp_tput"]),
        (["phy2phy_tput", "v2v_tput", "--names"], ["phy2phy_tput", "v2v_tput"]),
        (["testbeds", "s*", "--names"], ["sim"]),
        (["pvp_*", "--tag", "pvp", "--tag", "soak", "--names"], ["pvp_soak"]),
        (["vm", "SOAK", "--names"], ["pvp_soak", "pvvp_soak"]),
        (["load balancer", "flood", "--names"], ["lb_cps_flood"]),
        (["pvp_t*put", "pvpv_tput", "side by side", "--names"], ["pvpv_tput"]),
        (["rfc6201", "--names"], ["phy2phy_reset", "pvp_reset"]),
    ],
)
def test_names_patterns_words_and_all_tags_narrow_a_list_down(
    words: list[str], names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["list", *words]) == 0
    assert capsys.readouterr().out.split() == names


def test_a_group_is_what_is_in_it_and_a_tag_names_all_that_have_vms(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`vm` is a part of places_vm_to_vm_rr as well, which is in another group."""
    assert run_cli(["list", "vm", "--names"]) == 0
    group = capsys.readouterr().out.split()
    assert not [name for name in group if name.startswith("places_")]
    assert run_cli(["list", "--tag", "vm", "--names"]) == 0
    assert capsys.readouterr().out.split() == group


def test_a_name_that_somebody_gave_a_file_is_one_line_and_steers_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VSPERF_PATH", str(tmp_path))
    (tmp_path / "testcases").mkdir()
    name = "zz\x1b]0;mine\x07\nphy2phy_tput\x9b"
    (tmp_path / "testcases" / f"{name}.yaml").write_text("title: mine\n")
    assert run_cli(["list", "zz*", "--names"]) == 0
    assert capsys.readouterr().out == "zz\\x1b]0;mine\\x07\\nphy2phy_tput\\x9b\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pvpp_tput"], "did you mean `pvp_tput`?"),
        (["quicksand"], "a word is a name, or a part of a name, a title or a tag"),
        (["vm", "quicksand"], "no testcases fit 'quicksand' together with the words before it"),
        (["testcase"], "did you mean `testcases`?"),
        (["--tag", "throughputt"], "did you mean `throughput`?"),
        (["testbeds", "--tag", "vm"], "known tags: none"),
    ],
)
def test_what_fits_nothing_is_a_mistake(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["list", *words]) == 2
    assert said in capsys.readouterr().err


# `vsperf results` at 80 columns: when, how long, what was found and how it ended, nothing cut.

LONG = "2026-11-20-phy2phy_tput_mod_vlan_pop-k7f3"
FIRST = header().cases[0].key


def shown(table: Table, width: int) -> list[str]:
    return [line.rstrip() for line in printed(print_table, table, width=width).splitlines()]


def test_at_80_columns_a_run_is_told_whole(tmp_path: Path) -> None:
    store_finished(tmp_path, LONG)
    with refreshed(tmp_path) as index:
        found = shown(_runs(index.runs(), index), 80)
    assert found == [
        "run, first result                          started  took   testbed  outcome",
        f"{LONG}  10:00Z   0.0 s  sim      2 PASS",
        "  64B: ndr 8.000 … 8.040 Mfps (SIMULATED)",
    ]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_of_cases_no_result_is_cut_at_any_width(tmp_path: Path, width: int) -> None:
    store_finished(tmp_path, LONG)
    store_finished(tmp_path, f"{LONG[:-4]}m4xq")
    with refreshed(tmp_path) as index:
        found = shown(_cases(index.cases()), width)
    text = "\n".join(found)
    assert max(map(len, found)) <= width
    assert text.count("ndr 8.000 … 8.040 Mfps") == 4
    assert text.count(f"{LONG} (SIMULATED)") == 2


def test_where_there_is_room_all_stands_in_columns(tmp_path: Path) -> None:
    store_finished(tmp_path)
    with refreshed(tmp_path) as index:
        names, row = shown(_runs(index.runs(), index), 200)
    assert names.split()[:6] == ["run", "started", "took", "testbed", "preset", "cases"]
    assert "64B: ndr 8.000 … 8.040 Mfps (SIMULATED)" in row


def test_the_time_between_an_interruption_and_its_resumption_is_none_of_the_run(
    tmp_path: Path,
) -> None:
    at = "2026-11-20T{}.000+00:00"
    lines: list[Line] = [
        header(started_at=at.format("10:00:00")),
        case_start(FIRST).model_copy(update={"started_at": at.format("10:00:02")}),
        case_record(FIRST).model_copy(update={"finished_at": at.format("10:00:10")}),
    ]
    more: list[Line] = [
        RunResume(resumed_at=at.format("12:00:00"), argv=()),
        run_end().model_copy(update={"finished_at": at.format("12:00:05")}),
    ]
    store(tmp_path, "2026-11-20-x-aaaa", lines)
    with refreshed(tmp_path) as index:
        assert index.runs()[0].took_s == pytest.approx(10, abs=0.01)
        store(tmp_path, "2026-11-20-x-aaaa", [*lines, *more])
        index.refresh()
        assert index.runs()[0].took_s == pytest.approx(15, abs=0.01)
        assert index.runs()[0].as_json()["took_s"] == index.runs()[0].took_s


@pytest.mark.parametrize("resumed", [0, 1, 2])
@pytest.mark.parametrize("ended", [True, False])
def test_how_long_a_run_took_is_one_number_wherever_it_is_shown(
    resumed: int, ended: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = "2026-11-20T1{}:00:{:02}.000+00:00"
    head = header(started_at=at.format(0, 0))
    lines: list[Line] = [head.model_copy(update={"cases": (planned(1, spec=SPEC),)})]
    for hour in range(resumed + 1):
        lines += [RunResume(resumed_at=at.format(hour, 0), argv=())] if hour else []
        begun, over = at.format(hour, 2), at.format(hour, 31)
        lines += [case_start(FIRST).model_copy(update={"started_at": begun})]
        lines += [case_record(FIRST).model_copy(update={"finished_at": over})]
    if ended:
        lines += [run_end().model_copy(update={"finished_at": at.format(resumed, 36)})]
    folder = store(tmp_path, "2026-11-20-x-aaaa", lines)
    expected = 31 * (resumed + 1) + 5 * ended
    with refreshed(tmp_path) as index:
        assert index.runs()[0].took_s == open_run(folder).took_s == expected
        (row,) = (one for one in shown(_runs(index.runs(), index), 120) if "aaaa" in one)
    assert run_cli(["show", "aaaa", "--results", str(tmp_path)]) == 0
    told = capsys.readouterr().out.splitlines()[0].partition(", took ")[2]
    assert told and f"  {told}  " in row
    assert run_cli(["show", "aaaa", "--results", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["took_s"] == expected


def test_of_a_run_whose_times_are_none_it_is_not_told_how_long_it_took(tmp_path: Path) -> None:
    head = header(started_at="yesterday")
    store(tmp_path, "2026-11-20-x-aaaa", [head])
    with refreshed(tmp_path) as index:
        assert index.runs()[0].took_s is None
        assert "–" in shown(_runs(index.runs(), index), 80)[1]


# What stages of a switch took is shown for each trial, and only where they were counted.


def stage(name: str, calls: int, frames: int, cycles: int) -> StageCounters:
    return StageCounters(name=name, calls=calls, frames=frames, cycles=cycles)


def counted(*threads: tuple[StageCounters, ...]) -> SwitchCounters:
    return SwitchCounters(
        pmds=tuple(
            PmdCounters(cpu=cpu, frames=100, busy_cycles=1, idle_cycles=1, stages=stages)
            for cpu, stages in enumerate(threads)
        )
    )


def cells_of(*trials: Trial) -> list[list[str]]:
    """Return the names of the columns, and the rows."""
    table = stages_table(trials)
    assert table is not None
    return [list(table.names), *(list(row) for row in table.texts)]


def test_cycles_and_frames_of_a_call_are_of_all_threads_together() -> None:
    first = (stage("l2-input", 10, 1000, 30_000), stage("l2-output", 10, 1000, 20_000))
    second = (stage("l2-input", 30, 1000, 10_000),)
    head, row, *_ = cells_of(trial(switch=counted(first, second)))
    assert head == ["trial", "l2-input", "l2-output"]
    assert row[1:] == ["20.0 (50.0 a call)", "20.0 (100.0 a call)"]


def test_stages_that_took_most_stand_first_and_the_rest_is_left_out() -> None:
    stages = tuple(stage(f"node{number}", 1, 1, number) for number in range(1, MOST + 3))
    head, *_ = cells_of(trial(switch=counted(stages)))
    assert head[1:] == [f"node{number}" for number in range(MOST + 2, 2, -1)]


def test_a_stage_that_no_frame_passed_is_none() -> None:
    stages = (stage("unix-epoll-input", 500, 0, 90_000), stage("l2-input", 5, 50, 100))
    head, *_ = cells_of(trial(switch=counted(stages)))
    assert head == ["trial", "l2-input"]


def test_a_trial_in_which_one_did_nothing_has_no_figure_of_it() -> None:
    both = (stage("l2-input", 5, 50, 100), stage("l2-flood", 5, 50, 50))
    one = (stage("l2-input", 5, 50, 100),)
    _, first, second, *_ = cells_of(trial(switch=counted(both)), trial(switch=counted(one)))
    assert first[-1] == "1.0 (10.0 a call)"
    assert second[-1] == "–"


def test_switches_without_stages_have_no_such_table() -> None:
    assert stages_table([trial(), trial(switch=counted(()))]) is None
