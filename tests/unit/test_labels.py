"""Labels and options of the command line that stand for settings."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Iterator
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any

import click
import pytest
from all_wrong import none_wrong
from click.testing import CliRunner
from record_samples import case_record, case_start, header, making, planned
from stored_runs import finished, store

from vsperf.cli import selection
from vsperf.cli.commands.show import write_seconds
from vsperf.cli.main import cli
from vsperf.config.case import Case
from vsperf.config.document import ALTERNATIVES
from vsperf.config.loader import Request, Shorthand
from vsperf.config.topology import Topology
from vsperf.errors import SpecError, StoreError, UsageError
from vsperf.plugins import Plugins
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.index import Filter, Index
from vsperf.records.files.validation import validate_file
from vsperf.records.files.view import open_run, views
from vsperf.records.files.writer import RunWriter
from vsperf.records.run import LINE, MOST_CHARACTERS, Line, RunHeader, SecondLine, parse_labels
from vsperf.records.switch import PmdCounters, SwitchCounters
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import DirectionSample, LatencySample, Sample, Second

# Labels are what a user calls a run: checked when given, stored, found again, and shown.

LABELS = {"build": "nightly 412", "revision": "4f2c1ab"}


def test_labels_are_sorted_by_name_and_stripped() -> None:
    assert parse_labels(["revision = 4f2c1ab", "build=nightly 412"]) == LABELS
    assert list(parse_labels(["b=2", "a=1"])) == ["a", "b"]


def test_a_value_may_hold_what_a_name_may_not() -> None:
    assert parse_labels(["url=https://ci.example/?job=3&x=µ"]) == {
        "url": "https://ci.example/?job=3&x=µ"
    }


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["revision"], "'revision' has no value"),
        (["revision="], "'revision' has no value"),
        (["=4f2c1ab"], "'' cannot be the name"),
        (["git revision=1"], "'git revision' cannot be the name"),
        (["1st=1"], "'1st' cannot be the name"),
        (["ä=1"], "'ä' cannot be the name"),
        (["x" * 64 + "=1"], "cannot be the name"),
        (["a=\x1b[31m"], "'a' has a value that cannot be kept"),
        (["a=one\ntwo"], "'a' has a value that cannot be kept"),
        (["a=\udcff"], "'a' has a value that cannot be kept"),
        (["a=" + "x" * (MOST_CHARACTERS + 1)], "'a' has a value that cannot be kept"),
        (["a=1", "a=2"], "'a' is given twice"),
    ],
)
def test_a_bad_label_is_refused_with_what_would_be_a_good_one(given: list[str], what: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_labels(given)
    (problem,) = caught.value.problems
    assert what in problem.what
    assert problem.fix


def test_a_header_keeps_labels_and_refuses_names_that_no_command_line_lets_pass() -> None:
    line = header(labels=LABELS)
    assert LINE.validate_json(LINE.dump_json(line), strict=True) == line
    with pytest.raises(ValueError, match="labels"):
        RunHeader.model_validate({**line.model_dump(), "labels": {"a b": "1"}})


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path) -> Path:
    """Two runs with labels and one without."""
    ids = ["2026-11-20-a-aaaa", "2026-11-20-b-bbbb", "2026-11-20-c-cccc"]
    for run, labels in zip(ids, [LABELS, {**LABELS, "revision": "x"}, {}], strict=True):
        store(tmp_path, run, finished(header(run, labels=labels)))
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ["cccc", "bbbb", "aaaa"]),
        ({"build": "nightly 412"}, ["bbbb", "aaaa"]),
        (LABELS, ["aaaa"]),
        ({"build": "nightly"}, []),
        ({"other": "4f2c1ab"}, []),
        ({"build": "' OR 1=1 --"}, []),
    ],
)
def test_runs_and_cases_are_found_by_all_labels_that_are_asked_for(
    results: Path, wanted: dict[str, str], expected: list[str]
) -> None:
    with Index.open(results) as index:
        index.refresh()
        asked = Filter(labels=tuple(wanted.items()))
        runs, cases = index.runs(asked), index.cases(asked)
    assert [entry.run[-4:] for entry in runs] == expected
    assert {entry.run[-4:] for entry in cases} == set(expected)
    assert all(case.labels.items() >= wanted.items() for case in cases)
    told = json.loads(json.dumps([run.as_json() for run in runs]))
    assert [run["labels"] for run in told] == [run.labels for run in runs]


def test_a_name_with_dots_is_a_name_and_no_path(tmp_path: Path) -> None:
    run = "2026-11-20-a-aaaa"
    store(tmp_path, run, finished(header(run, labels={"ci.job": "7"})))
    with Index.open(tmp_path) as index:
        index.refresh()
        assert len(index.runs(Filter(labels=(("ci.job", "7"),)))) == 1


def test_readers_see_the_labels_with_each_case(results: Path) -> None:
    run = open_run(results / "2026-11-20-a-aaaa")
    assert run.labels == LABELS
    assert [case.labels for case in run.cases()] == [LABELS] * len(header().cases)


def test_a_run_without_labels_has_none(tmp_path: Path) -> None:
    folder = store(tmp_path, "r", [header("r", cases=0).model_copy(update={"cases": (planned(),)})])
    assert open_run(folder).labels == {}


# Options that stand for settings: `--vswitch KIND,…` and its sisters, and `--mode trafficgen`.

PROCESS = Shorthand("--vnf process", "vnf.kind=process", keeps=True)
OUTSIDE = Shorthand("--mode trafficgen", "vswitch.kind=external")


@pytest.fixture(name="plugins")
def fixture_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """Give the installed drivers, in a folder that holds no specifications."""
    monkeypatch.chdir(tmp_path)
    return Plugins.load()


def first(plugins: Plugins, name: str, *shorthands: Shorthand, sets: tuple[str, ...] = ()) -> Case:
    request = Request((name,), testbed="local", sets=sets, shorthands=shorthands)
    return selection.load(request, plugins).cases[0]


def setting(case: Case, name: str) -> object:
    return case.spec.model_dump(mode="json")["vnf"][name]


def test_the_kind_of_vnfs_can_be_chosen_and_the_record_says_by_what(plugins: Plugins) -> None:
    case = first(plugins, "pvp_tput", PROCESS)
    assert setting(case, "kind") == "process"
    assert case.origins["vnf.kind"] == "--vnf process"


def test_what_the_testcase_sets_for_vnfs_stays(plugins: Plugins) -> None:
    case = first(plugins, "pvp_mq_tput", PROCESS)
    assert (setting(case, "kind"), setting(case, "queues")) == ("process", 2)


def test_a_driver_that_a_testcase_names_is_replaced_with_its_settings(
    plugins: Plugins, tmp_path: Path
) -> None:
    (tmp_path / "own.yaml").write_text(
        "name: own\ntopology: pvp\ntraffic: {frame_size: 64, flows: 1, direction: both}\n"
        "vnf: {kind: qemu, vcpus: 2, accelerator: tcg}\n"
    )
    case = first(plugins, "./own.yaml", PROCESS)
    assert (setting(case, "kind"), setting(case, "vcpus")) == ("process", None)


def test_a_setting_of_the_command_line_wins_over_the_option(plugins: Plugins) -> None:
    case = first(plugins, "pvp_tput", PROCESS, sets=("vnf.kind=qemu",))
    assert (setting(case, "kind"), case.origins["vnf.kind"]) == ("qemu", "--set vnf.kind=qemu")


def test_an_unknown_kind_is_refused_with_those_that_there_are(plugins: Plugins) -> None:
    with pytest.raises(SpecError) as caught:
        first(plugins, "pvp_tput", Shorthand("--vnf xen", "vnf.kind=xen", keeps=True))
    (problem,) = set(caught.value.problems)
    assert "xen" in problem.what
    assert "--vnf xen" in str(problem.where)
    assert "process, qemu" in str(problem.fix)


def test_seen_from_outside_there_is_one_device_between_the_links(plugins: Plugins) -> None:
    for name in ("phy2phy_tput", "pvp_tput", "pvvp_tput", "pvpv_tput"):
        case = first(plugins, name, OUTSIDE)
        assert case.spec.vswitch.kind == "external"
        assert case.spec.topology.paths == (("phy0", "phy1"),)
        assert case.spec.topology.name == "p2p"
    assert case.origins["topology"] == "--mode trafficgen"
    assert case.origins["vswitch.kind"] == "--mode trafficgen"


def test_a_case_measured_from_outside_is_another_case(plugins: Plugins) -> None:
    assert first(plugins, "pvp_tput", OUTSIDE).id != first(plugins, "pvp_tput").id


def test_links_keep_their_partners_from_outside(plugins: Plugins) -> None:
    case = first(
        plugins,
        "pvp_tput",
        OUTSIDE,
        sets=(
            "topology={paths: [[phy0, vm1, phy1], [phy1, vm2, phy0], [phy2, phy3]]}",
            "testbed.links.phy2={speed: 10G}",
            "testbed.links.phy3={speed: 10G}",
        ),
    )
    assert case.spec.topology == Topology(name="custom", paths=(("phy0", "phy1"), ("phy2", "phy3")))


def test_what_begins_in_a_vnf_cannot_be_seen_from_outside(plugins: Plugins) -> None:
    with pytest.raises(UsageError, match="cannot be measured from outside"):
        first(plugins, "v2v_tput", OUTSIDE)


class TestSwitches:
    def shown(self, *options: str, testcase: str = "phy2phy_smoke") -> Any:
        argv = ["show", testcase, *options, "--json"]
        return CliRunner().invoke(cli, argv, catch_exceptions=False)

    def kinds(self, *options: str, testcase: str = "phy2phy_smoke") -> list[str]:
        found = json.loads(self.shown("--testbed", "local", *options, testcase=testcase).output)
        return [one["spec"]["vswitch"]["kind"] for one in found]

    @pytest.mark.usefixtures("plugins")
    def test_one_takes_the_place_of_the_testbeds(self) -> None:
        assert self.kinds("--vswitch", "sim") == ["sim"]

    @pytest.mark.usefixtures("plugins")
    @pytest.mark.parametrize(
        "options",
        [("--vswitch", "sim,ovs-dpdk"), ("--vswitch", "sim, ovs-dpdk"),
         ("--vswitch", "sim", "--vswitch", "ovs-dpdk")],
    )  # fmt: skip
    def test_several_are_a_list(self, options: tuple[str, ...]) -> None:
        assert self.kinds(*options) == ["sim", "ovs-dpdk"]

    @pytest.mark.usefixtures("plugins")
    def test_what_the_testcase_sets_for_whichever_switch_stays(self) -> None:
        argv = ("--testbed", "local", "--vswitch", "sim,ovs-dpdk")
        found = json.loads(self.shown(*argv, testcase="phy2phy_scalability").output)
        assert {one["spec"]["vswitch"]["flows"] for one in found} == {"network"}
        assert found[0]["origins"]["vswitch.kind"] == "--vswitch sim,ovs-dpdk"

    @pytest.mark.usefixtures("plugins")
    @pytest.mark.parametrize("kinds", ["sim,", ",", "sim,]", "a=b"])
    def test_what_cannot_be_a_kind_is_refused(self, kinds: str) -> None:
        with pytest.raises(UsageError, match="names no kind of vswitch"):
            self.shown("--vswitch", kinds)

    @pytest.mark.usefixtures("plugins")
    def test_an_unknown_one_is_refused_with_those_that_there_are(self) -> None:
        with pytest.raises(SpecError) as caught:
            self.shown("--testbed", "local", "--vswitch", "ovs-dpdk,ovs-dpkd")
        (problem,) = caught.value.problems
        assert "ovs-dpkd" in problem.what and "--vswitch ovs-dpdk,ovs-dpkd" in str(problem.where)
        assert "ovs-dpdk" in str(problem.fix)

    @pytest.mark.usefixtures("plugins")
    def test_none_can_be_chosen_from_outside(self) -> None:
        with pytest.raises(UsageError, match="exclude each other"):
            CliRunner().invoke(
                cli,
                ["plan", "phy2phy_smoke", "--vswitch", "sim", "--mode", "trafficgen"],
                catch_exceptions=False,
            )

    @pytest.mark.usefixtures("plugins")
    def test_completion_goes_on_behind_a_comma(self) -> None:
        switch, context = click.Option(["--vswitch"]), click.Context(cli)
        assert "sim,ovs-dpdk" in selection.complete_driver(context, switch, "sim,ovs")
        assert selection.complete_driver(context, switch, "sim,si") == []


@pytest.mark.parametrize("command", ["run", "plan"])
def test_the_help_names_both_modes(command: str) -> None:
    shown = CliRunner().invoke(cli, [command, "--help"]).output
    assert "--mode [full|trafficgen]" in shown
    for section in ALTERNATIVES:
        assert f"--{section} KIND,..." in shown


def test_the_help_says_which_options_can_be_given_again() -> None:
    """Those of `KIND,...` say so by their form."""
    silent = [
        f"{path} {option.opts[0]}"
        for path, command in _commands("vsperf", cli)
        for option in command.params
        if isinstance(option, click.Option)
        and option.multiple
        and not (option.metavar or "").endswith(",...")
        and "repeatable" not in (option.help or "")
    ]
    assert silent == []


def test_each_help_has_an_example_and_the_first_says_where_exit_codes_stand() -> None:
    without = [
        path
        for path, command in _commands("vsperf", cli)
        if not isinstance(command, click.Group) and f"  {path}" not in (command.epilog or "")
    ]
    assert without == []
    assert "vsperf explain exit-codes" in CliRunner().invoke(cli, ["--help"]).output


def test_each_help_fits_a_terminal_of_80_columns() -> None:
    """What is too long there is broken by the terminal, within a word."""
    none_wrong(
        f"{path}: {line.strip()}"
        for path, command in _commands("vsperf", cli)
        for line in command.get_help(
            click.Context(command, info_name=path, terminal_width=80)
        ).splitlines()
        if len(line) > 80
    )


def test_each_example_of_a_help_is_taken_by_the_program_and_names_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    testcases = selection.library().testcases()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seen.pcap").touch()  # a file that an example replays
    examples = [one for _, command in _commands("vsperf", cli) for one in _examples(command)]
    assert len(examples) > 80

    def wrong(words: list[str]) -> str | None:
        try:
            _parse(words)
        except click.ClickException as error:
            return error.format_message()
        names = [word for word in words if TESTCASE.fullmatch(word)]
        return next((f"no testcase {name}" for name in names if name not in testcases), None)

    found = ((" ".join(words), wrong(words)) for words in examples)
    none_wrong(f"{example}: {why}" for example, why in found if why is not None)


TESTCASE = re.compile(r"(?:phy2phy|pvp|pvvp|v2v|places)_[a-z0-9_]+")


def _examples(command: click.Command) -> Iterator[list[str]]:
    """Yield the words of each command of a help, without what a shell does with it."""
    for line in re.findall(r"^ +(vsperf .*)$", command.epilog or "", re.MULTILINE):
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        for end, part in groupby(words, lambda word: word == ";"):
            if not end:
                yield list(takewhile(lambda word: not word.startswith(">"), part))


def _parse(words: list[str]) -> None:
    """Have the program itself read a command line, and do nothing of it."""
    name, *rest = words
    command: click.Command = cli
    context = click.Context(cli, info_name=name)
    while isinstance(command, click.Group):
        _, found, after = command.resolve_command(context, rest)
        assert found is not None
        if not isinstance(found, click.Group):
            found.make_context(rest[0], after, parent=context)
        command, rest = found, after


def _commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(f"{path} {name}", found)


# Seconds of long trials: streamed into the records, read back one by one, printed as CSV.


def second(number: int) -> Second:
    latency = LatencySample(
        frames=9, min_ns=1, p50_ns=5_000, p99_ns=9_000, p999_ns=9_500, max_ns=9_900
    )
    way = DirectionSample(
        name="phy0 to phy1",
        sent_frames=1000 * number,
        received_frames=990 * number,
        lost_frames=10 * number,
        latency=latency,
    )
    pmd = PmdCounters(cpu=1, frames=990, busy_cycles=300_000, idle_cycles=1)
    return Second(
        sample=Sample(elapsed_ns=number * 10**9, directions=(way,)),
        switch=SwitchCounters(pmds=(pmd,)),
        threads=(ThreadActivity(part="switch", name="pmd-c01", delay_ns=7),),
    )


def written(results: Path, *lines: Line) -> Path:
    with RunWriter.create(results, ["phy2phy_soak"], making(cases=1)) as writer:
        for line in lines:
            writer.append(line)
        return writer.folder


KEY = planned(1).key


def seconds(*numbers: int) -> list[SecondLine]:
    return [SecondLine(case=KEY, second=second(number)) for number in numbers]


def test_a_run_that_was_killed_has_every_second_so_far(tmp_path: Path) -> None:
    folder = written(tmp_path, case_start(KEY), *seconds(1, 2, 3))

    (case,) = open_run(folder).cases()
    assert case.record is None
    assert len(case.seconds) == 3
    assert list(next(views(folder)).seconds) == [second(1), second(2), second(3)]
    assert validate_file(folder / RECORDS) == 5


def test_seconds_of_an_attempt_that_was_begun_anew_are_left_out(tmp_path: Path) -> None:
    first: list[Line] = [case_start(KEY), *seconds(1, 2)]
    folder = written(tmp_path, *first, case_start(KEY, 2), *seconds(7), case_record(KEY))

    assert list(next(views(folder)).seconds) == [second(7)]


def test_a_second_of_a_case_that_does_not_run_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, *seconds(1))

    with pytest.raises(StoreError) as caught:
        open_run(folder)
    assert f"a second of {KEY}, which is not running" in str(caught.value.problems[0].why)


def test_each_second_is_a_row_with_units_in_the_headers(capsys: pytest.CaptureFixture[str]) -> None:
    bare = Second(sample=second(3).sample)

    assert write_seconds([second(1), second(2), bare]) == 3

    first, _, last = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert first == {
        "elapsed_s": "1.000",
        "switch_frames": "990",
        "switch_busy_cycles": "300000",
        "kept_from_running_ns": "7",
        "phy0_to_phy1_sent": "1000",
        "phy0_to_phy1_received": "990",
        "phy0_to_phy1_refused": "",
        "phy0_to_phy1_lost": "10",
        "phy0_to_phy1_latency_p50_ns": "5000",
        "phy0_to_phy1_latency_p99_ns": "9000",
    }
    assert last["switch_frames"] == ""


def test_names_of_others_in_the_headers_are_no_formula_and_steer_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = second(1)
    (way,) = one.sample.directions
    named = way.model_copy(update={"name": "=HYPERLINK(1)\x1b]0;mine\x07"})
    sample = one.sample.model_copy(update={"directions": (named,)})
    assert write_seconds([one.model_copy(update={"sample": sample})]) == 1
    said = capsys.readouterr().out
    assert "\x1b" not in said and "\x07" not in said
    assert "'=HYPERLINK(1)" in said and ",=HYPERLINK" not in said
