"""Loads beside a case: the word for them, their places, and what is told of their cost."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from assertions import known
from compared_runs import HOST, found
from config_world import cases, mistakes, write
from exchanges import exchange
from export_samples import SPEC
from record_samples import case_record, case_start, header, planned, run_end, trial, trial_line
from report_pages import UNPARTED, Reader, quietly
from stored_runs import store

from vsperf.analysis.noise import noise_lines
from vsperf.cli.commands.show import cost_data
from vsperf.cli.main import run_cli
from vsperf.config.case import Case
from vsperf.deploy.placement import place, sharing
from vsperf.engine.judge_exchange import judged
from vsperf.errors import ExitCode, SpecError
from vsperf.host.cpus import Beside, Cpu, CpuNeed, CpuTopology, read_topology
from vsperf.host.files import Roots
from vsperf.output.quiet import MOST_LINES, against_quiet, costs_of
from vsperf.output.report.case_part import noise_table
from vsperf.output.report.page import Compared
from vsperf.output.report.write import write_html, write_markdown
from vsperf.quantities.byte_units import ByteRate, ByteSize
from vsperf.quantities.quantity import UnitError
from vsperf.records.files.view import open_run
from vsperf.records.flags import Flag
from vsperf.records.host import Conditions
from vsperf.records.run import Line, Outcome, TrialLine
from vsperf.records.switch import NoiseActivity
from vsperf.records.trial import Purpose, Trial

RUN = "2026-11-20-phy2phy_tput-aaaa"


def levels(
    results: Path, rates: dict[str, int | None], repeats: int = 5, sizes: tuple[str, ...] = ("64B",)
) -> Path:
    """Store a run with these levels in turns; a level without a rate came to no result."""
    cases, lines = [], list[Line]()
    for repeat in range(1, repeats + 1):
        for size in sizes:
            for name, rate in rates.items():
                label = f"phy2phy_tput-{size}-{name}"
                key = label if repeat == 1 else f"{label}.{repeat}"
                point = {"frame_size": size, "noise": name}
                case = planned(repeat=repeat, key=key, id=label, label=label, point=point)
                noise = None if name == "none" else {"kind": "memory"}
                cases.append(case.model_copy(update={"spec": {**case.spec, "noise": noise}}))
                record = (
                    case_record(key, outcome=Outcome.INVALID, reason="too loud", result=None)
                    if rate is None
                    else case_record(key, result=found(rate + repeat))
                )
                lines += [case_start(key), trial_line(key), record]
    made = header(RUN, environment=HOST).model_copy(update={"cases": tuple(cases)})
    store(results, RUN, [made, *lines, run_end()])
    return results / RUN


# The word `noise`: levels of conf/noise, lists that make cases, and cases that it leaves alone.

FOUR = "noise: [none, level_0, level_1, level_2]\n"


def noises(found: tuple[Case, ...], key: str) -> list[object]:
    return [one.spec.noise and one.spec.noise.model_dump(mode="json")[key] for one in found]


class TestLevels:
    def test_a_list_makes_a_case_of_each_and_none_is_the_quiet_one(self, tmp_path: Path) -> None:
        found = cases(tmp_path, FOUR)
        assert [case.label for case in found] == [
            "mine-64B-none", "mine-64B-level_0", "mine-64B-level_1", "mine-64B-level_2",
        ]  # fmt: skip
        assert noises(found, "kind") == [None, "memory", "memory", "memory"]
        assert noises(found, "buffer") == [None, "64KiB", "33MiB", "64MiB"]

    def test_the_levels_are_the_published_ones(self, tmp_path: Path) -> None:
        _, zero, one, two = cases(tmp_path, FOUR)
        asked = [noises((case,), key)[0] for case in (zero, one, two) for key in ("read_size",)]
        assert asked == ["32KiB", "4MiB", "8MiB"]
        assert noises((zero, one, two), "read_rate") == ["5GB/s", "10GB/s", "10GB/s"]
        assert noises((zero, one, two), "write_rate") == ["2GB/s", "5GB/s", "5GB/s"]
        assert noises((zero, one, two), "instances") == [2, 2, 2]

    @pytest.mark.parametrize("level", ["level_0", "level_1", "level_2"])
    def test_a_level_in_guests_is_the_same_by_another_kind(
        self, level: str, tmp_path: Path
    ) -> None:
        here, guests = cases(tmp_path, f"noise: [{level}, {level}_vm]\n")
        assert noises((here, guests), "kind") == ["memory", "memory-vm"]
        for key in ("instances", "buffer", "read_size", "write_size", "read_rate", "write_rate"):
            assert noises((here,), key) == noises((guests,), key)

    def test_one_level_alone_makes_one_case(self, tmp_path: Path) -> None:
        (found,) = cases(tmp_path, "noise: level_1\n")
        assert (found.label, found.point) == ("mine-64B", {})
        assert noises((found,), "buffer") == ["33MiB"]

    def test_settings_beside_a_level_lie_above_its_file(self, tmp_path: Path) -> None:
        found = cases(tmp_path, "noise: [none, {kind: level_1, buffer: 50MiB}]\n")
        assert [case.point for case in found] == [{"noise": "none"}, {"noise": "level_1"}]
        assert noises(found, "buffer") == [None, "50MiB"]

    def test_an_option_holds_for_all_levels_of_a_list(self, tmp_path: Path) -> None:
        found = cases(tmp_path, FOUR, "noise.instances=1")
        assert noises(found, "instances") == [None, 1, 1, 1]

    def test_an_option_takes_the_place_of_a_level(self, tmp_path: Path) -> None:
        (found,) = cases(tmp_path, "noise: level_1\n", "noise=level_2")
        assert noises((found,), "buffer") == ["64MiB"]
        (quiet,) = cases(tmp_path, "noise: level_1\n", "noise=none")
        assert quiet.spec.noise is None

    def test_a_level_of_ones_own_is_found_as_everything_else_is(self, tmp_path: Path) -> None:
        own = "noise: {kind: memory, buffer: 2MiB, read_size: 1MiB, write_size: 1MiB}\n"
        write(tmp_path, {"conf/noise/small.yaml": own})
        (found,) = cases(tmp_path, "noise: small\n")
        assert noises((found,), "buffer") == ["2MiB"]

    def test_a_kind_of_driver_needs_no_level(self, tmp_path: Path) -> None:
        (found,) = cases(tmp_path, "noise: {kind: stress, load: irq}\n")
        assert noises((found,), "load") == ["irq"]


class TestRepeats:
    def test_levels_take_turns_and_each_other_repeat_turns_them_round(self, tmp_path: Path) -> None:
        found = cases(tmp_path, FOUR, repeat=2)
        order = [case.point["noise"] for case in found]
        assert order == [
            *("none", "level_0", "level_1", "level_2"), *("level_2", "level_1", "level_0", "none"),
        ]  # fmt: skip


class TestIdentity:
    def test_a_case_that_says_nothing_of_noise_is_what_it_was(self, tmp_path: Path) -> None:
        (without,) = cases(tmp_path, "")
        assert "noise" not in without.spec.measured()

    def test_the_quiet_sister_measures_the_same_as_a_case_without_the_word(
        self, tmp_path: Path
    ) -> None:
        (without,) = cases(tmp_path, "")
        quiet, loud, *_ = cases(tmp_path, FOUR)
        assert quiet.spec.measured() == without.spec.measured()
        assert quiet.id.rpartition("-")[2] == without.id.rpartition("-")[2]
        assert loud.id.rpartition("-")[2] != without.id.rpartition("-")[2]


class TestProblems:
    def test_an_unknown_level_is_told_with_those_that_there_are(self, tmp_path: Path) -> None:
        found = mistakes(tmp_path, "noise: loud\n")
        assert [one.what for one in found] == ["there is no level or kind of noise 'loud'"]
        assert found[0].where is not None
        assert "level_1" in str(found[0].fix)

    def test_a_file_that_is_no_level_is_told(self, tmp_path: Path) -> None:
        write(tmp_path, {"conf/noise/odd.yaml": "noise: {kind: memory}\ntraffic: {flows: 2}\n"})
        (found,) = mistakes(tmp_path, "noise: odd\n")
        assert found.what == "a level of noise holds `title` and `noise`"
        assert found.why == "found: traffic"
        assert found.fix == "write all of its settings below `noise:`"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("{kind: memory, read_size: 65MiB}", "from 64B to the size of the buffer"),
            ("{kind: memory, write_size: 65B}", "a multiple of 8B, a word"),
            ("{kind: memory, read_rate: 0, write_rate: 0}", "which is no load"),
            ("{kind: memory, near: somewhere}", "near"),
            ("{kind: memory, to: moon}", "to"),
            ("{kind: memory, cpus: 1-3}", "names 3 CPUs, and instances is 1"),
            ("{kind: memory, read_rate: 5000}", "a rate is written like"),
            ("{kind: memory, loud: 3}", "loud"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, tmp_path: Path, text: str, said: str) -> None:
        found = mistakes(tmp_path, f"noise: {text}\n")
        assert said in " ".join(f"{one.what}; {one.why}; {one.fix}" for one in found)


class TestUnits:
    @pytest.mark.parametrize(
        ("text", "count"), [("32KiB", 32768), ("4MB", 4_000_000), ("0.5GiB", 2**29), ("1B", 1)]
    )
    def test_memory_is_read_exactly_and_written_back(self, text: str, count: int) -> None:
        assert ByteSize.parse(text).bytes == count
        assert ByteSize.parse(str(ByteSize.parse(text))) == ByteSize.parse(text)

    @pytest.mark.parametrize("text", ["4M", "4", "-1MB", "0B", "1.5B", "fast"])
    def test_what_could_mean_several_things_is_refused(self, text: str) -> None:
        with pytest.raises(UnitError):
            ByteSize.parse(text)

    def test_a_rate_has_a_second_in_it_or_is_nothing(self) -> None:
        assert ByteRate.parse("5000MB/s").per_second == 5_000_000_000
        assert str(ByteRate.parse("0")) == "0"
        with pytest.raises(UnitError):
            ByteRate.parse("5000MB")


# Where noise runs: as near to the part that it disturbs as was asked for, or refused.

PARTS = [CpuNeed("pmd", 1), CpuNeed("generator", 1), CpuNeed("vsperf", 1, busy=False)]
THREADS = CpuTopology(
    tuple(
        Cpu(number, core=number % 8, cache=number // 4 % 2 * 4, socket=number // 4 % 2)
        for number in range(16)
    )
)
"""Two sockets of four cores with two threads each, one last-level cache per socket."""
TWO_CPUS = CpuTopology((Cpu(0, core=0, cache=0), Cpu(1, core=1, cache=0)))


def noise(near: str, count: int = 1, to: str = "pmd", *, share: bool = False) -> CpuNeed:
    return CpuNeed("noise", count, beside=Beside(to, near, share))


@pytest.mark.parametrize("near", ["same-cpu", "sibling", "same-cache", "other-socket"])
def test_the_other_parts_are_where_they_are_without_noise(near: str) -> None:
    quiet, loud = place(PARTS, THREADS), place([*PARTS, noise(near)], THREADS)
    assert {role: loud.of(role) for role in quiet.cpus} == quiet.cpus


def test_each_distance_is_what_it_says() -> None:
    def seen(near: str) -> tuple[Cpu, Cpu]:
        found = place([*PARTS, noise(near)], THREADS)
        return THREADS[found.of("pmd")[0]], THREADS[found.of("noise")[0]]

    switch, load = seen("same-cpu")
    assert load.number == switch.number
    switch, load = seen("sibling")
    assert (load.core, load.number != switch.number) == (switch.core, True)
    switch, load = seen("same-cache")
    assert (load.cache, load.core != switch.core) == (switch.cache, True)
    switch, load = seen("other-socket")
    assert load.socket != switch.socket


def test_noise_takes_no_cpu_that_polls_while_there_is_another() -> None:
    found = place([*PARTS, noise("same-cache", 2)], THREADS)
    taken = {*found.of("pmd"), *found.of("generator")}
    assert len(found.of("noise")) == 2
    assert not taken & set(found.of("noise"))
    assert not any("functional only" in note for note in found.notes)


def test_on_two_cpus_noise_is_refused_unless_it_is_to_share_one() -> None:
    with pytest.raises(SpecError, match="no CPU is left for noise") as caught:
        place([*PARTS, noise("same-cache")], TWO_CPUS)
    (problem,) = caught.value.problems
    assert "CPU 0 has generator" in str(problem.why)
    assert "noise.share=true" in str(problem.fix)


def test_noise_that_may_share_a_cpu_takes_a_free_one_while_there_is_one() -> None:
    either = [place([*PARTS, noise("same-cache", share=share)], THREADS) for share in (True, False)]
    assert either[0] == either[1]


def test_noise_that_is_to_disturb_by_sharing_a_cpu_does_so_unasked() -> None:
    needs = [*PARTS, noise("same-cpu")]
    found = place(needs, THREADS)
    assert found.of("noise") == found.of("pmd")
    assert sharing(found, needs) == {"pmd", "noise"}
    assert any("functional only" in note for note in found.notes)


def test_on_two_cpus_noise_shares_the_generators_and_the_plan_says_what_that_is_worth() -> None:
    needs = [*PARTS, noise("same-cache", share=True)]
    found = place(needs, TWO_CPUS)
    assert found.of("noise") == found.of("generator") != found.of("pmd")
    assert any("shared by generator and noise" in note for note in found.notes)
    assert any("functional only" in note for note in found.notes)
    assert sharing(found, needs) == {"generator", "noise"}


def test_a_core_that_noise_has_to_share_with_another_part_is_said() -> None:
    """Of two cores with two threads each, the switch has one and the generator the other."""
    threads = CpuTopology(tuple(Cpu(number, core=number % 2, cache=0) for number in range(4)))
    found = place([*PARTS, noise("same-cache")], threads)
    (generator,) = found.of("generator")
    (load,) = found.of("noise")
    assert threads[load].core == threads[generator].core
    assert any(f"a thread of the core of generator ({generator})" in one for one in found.notes)
    quiet = place([*PARTS, noise("same-cache")], THREADS)
    assert not any("a thread of the core" in one for one in quiet.notes)


def test_instances_without_a_cpu_of_their_own_take_turns() -> None:
    found = place([*PARTS, noise("same-cache", 3, share=True)], TWO_CPUS)
    assert len(found.of("noise")) == 1
    assert any("3 instances of noise take turns" in note for note in found.notes)


@pytest.mark.parametrize(
    ("near", "said"), [("sibling", "thread of the core"), ("other-socket", "another socket")]
)
def test_what_a_machine_does_not_have_is_refused(near: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as caught:
        place([*PARTS, noise(near)], TWO_CPUS)
    assert "0, 1" in str(caught.value.problems[0].why)


def test_noise_near_a_part_without_a_cpu_is_refused() -> None:
    with pytest.raises(SpecError, match="near vm3, which has no CPU of its own"):
        place([*PARTS, noise("same-cpu", to="vm3")], TWO_CPUS)


def test_a_machine_that_hides_its_caches_is_told_of() -> None:
    hidden = CpuTopology(tuple(Cpu(number, core=number) for number in range(4)))
    found = place([*PARTS, noise("same-cache")], hidden)
    assert any("this machine does not say" in note for note in found.notes)


def test_chosen_cpus_are_taken() -> None:
    need = CpuNeed("noise", 1, pinned=(15,), beside=Beside("pmd", "same-cache"))
    assert place([*PARTS, need], THREADS).of("noise") == (15,)


def test_caches_and_sockets_are_read_from_the_kernels_files(tmp_path: Path) -> None:
    roots = Roots(tmp_path)
    for number in range(4):
        folder = roots.cpus / f"cpu{number}"
        (folder / "topology").mkdir(parents=True)
        (folder / "topology" / "physical_package_id").write_text(f"{number // 2}\n")
        for index, (level, shared) in enumerate([(1, f"{number}"), (3, f"{number // 2 * 2}-3")]):
            cache = folder / "cache" / f"index{index}"
            cache.mkdir(parents=True)
            (cache / "level").write_text(f"{level}\n")
            (cache / "shared_cpu_list").write_text(f"{shared}\n")
    found = read_topology(frozenset(range(4)), roots)
    assert [(cpu.cache, cpu.socket) for cpu in found.cpus] == [(0, 0), (0, 0), (2, 1), (2, 1)]


# What noise cost: each level against the quiet case of its run, with how sure that is.


def test_each_level_is_held_against_the_quiet_case_whatever_came_first(tmp_path: Path) -> None:
    folder = levels(tmp_path, {"level_1": 700_000, "none": 1_000_000, "level_0": 1_000_000})
    one, zero = against_quiet(folder)
    assert "phy2phy_tput-64B" in one
    assert "beside level_1: " in one
    assert "-30.00 %" in one.replace("−", "-")
    assert "by ranks over repeats, p 0.0" in one
    assert "beside level_0: " in zero
    assert zero.endswith("p 1.000"), "that is chance"


def test_of_a_single_run_of_each_level_it_is_said_that_this_tells_little(tmp_path: Path) -> None:
    (line,) = against_quiet(levels(tmp_path, {"none": 1_000_000, "level_1": 700_000}, repeats=1))
    assert "by the intervals of the searches alone" in line


def test_a_level_that_came_to_no_number_is_said_with_the_reason(tmp_path: Path) -> None:
    (line,) = against_quiet(levels(tmp_path, {"none": 1_000_000, "level_1": None}, repeats=1))
    assert "beside level_1: no number" in line
    assert "too loud" in line


def test_programs_are_told_the_same(tmp_path: Path) -> None:
    folder = levels(tmp_path, {"none": 1_000_000, "level_1": 700_000})
    said = cost_data(open_run(folder))
    (row,) = said
    assert row["level"] == "level_1"
    assert "30" in row["change"]
    assert json.loads(json.dumps(said)) == said


def test_without_a_quiet_case_nothing_is_said_of_what_noise_cost(tmp_path: Path) -> None:
    assert against_quiet(levels(tmp_path, {"level_0": 1_000_000, "level_1": 700_000})) == ()


def test_a_long_list_is_cut_and_says_where_the_rest_is(tmp_path: Path) -> None:
    sizes = tuple(f"{size}B" for size in range(64, 64 + MOST_LINES + 3))
    rates = {"none": 1_000_000, "level_1": 700_000}
    lines = against_quiet(levels(tmp_path, dict(rates), repeats=1, sizes=sizes))
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == f"and 3 more: vsperf compare {RUN} --by noise"


# What is told of noise after a run: what it reached in its trials, and in which it was lost.

SECOND = 1_000_000_000
AROUND = Conditions(noise={"settled": {"noise 1": 7.5e9, "noise 2": 0.98}, "least": 0.8})
RECORD = case_record("one", conditions=AROUND)


def beside(index: int, *did: NoiseActivity, flags: tuple[Flag, ...] = ()) -> Trial:
    return trial(index, noise=did, flags=flags)


def memory(megabytes: int, cpu: float = 0.5) -> NoiseActivity:
    return NoiseActivity(
        instance="noise 1",
        elapsed_ns=SECOND,
        read_bytes=megabytes * 1_000_000,
        written_bytes=0,
        cpu_ns=int(cpu * SECOND),
    )


def stress(cpu: float) -> NoiseActivity:
    return NoiseActivity(instance="noise 2", elapsed_ns=SECOND, cpu_ns=int(cpu * SECOND))


TRIALS = (
    trial(1),
    beside(2, memory(7000), stress(0.9)),
    beside(3, memory(5000, 0.25), stress(0.9), flags=(Flag.NOISE_SLACKENED,)),
)


def test_each_instance_is_told_with_what_it_settled_at_and_reached() -> None:
    assert list(noise_lines(RECORD, TRIALS)) == [
        "noise 1: settled at 7,500 MB/s, 5,000 MB/s to 7,000 MB/s in trials, "
        "a CPU for 25% to 50% of the time",
        "noise 2: settled at 98% of a CPU, a CPU for 90% of the time",
        "noise died or slackened in #3: nothing is concluded from these trials",
    ]


def test_the_report_has_the_same_as_a_table() -> None:
    found = known(noise_table(RECORD, TRIALS))
    assert found.rows == (
        ("noise 1", "7,500 MB/s", "5,000 MB/s to 7,000 MB/s", "25% to 50%", "2 of 2 trials", "#3"),
        ("noise 2", "98% of a CPU", "–", "90%", "2 of 2 trials", "#3"),
    )


def test_what_noise_did_before_a_part_died_is_not_told_of_what_was_measured_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A look at the path begins each deployment."""
    looks = [trial(index, purpose=Purpose.PATH_CHECK) for index in (1, 3)]
    made = (looks[0], beside(2, memory(100)), looks[1], beside(4, memory(7000)))
    lines = (TrialLine(case="one", trial=each) for each in made)
    one = planned(key="one", spec=SPEC)
    head = header(RUN).model_copy(update={"cases": (one,)})
    folder = store(tmp_path, RUN, [head, case_start("one"), *lines, RECORD, run_end()])
    for command in (["show", str(folder), "one"], ["report", str(folder), "-o", "-"]):
        assert run_cli(command) == ExitCode.OK
        shown = UNPARTED.sub(r"\1", capsys.readouterr().out)
        assert "7,000 MB/s" in shown
        assert "100 MB/s" not in shown


def test_who_was_not_heard_of_did_nothing_that_is_known_and_never_0() -> None:
    silent = beside(1, NoiseActivity(instance="noise 1"))
    assert list(noise_lines(None, (silent,))) == ["noise 1: nothing is known of what it did"]
    found = known(noise_table(None, (silent,)))
    assert found.rows == (("noise 1", "–", "–", "–", "0 of 1 trials", "none"),)


def test_beside_programs_it_is_told_by_exchange() -> None:
    did = NoiseActivity(instance="noise 1", elapsed_ns=10**9, cpu_ns=5 * 10**8)
    slack = judged(exchange(noise=(did,)), noise_slackened=True)
    assert slack.flags == (Flag.NOISE_SLACKENED,)
    assert not slack.valid
    assert list(noise_lines(None, (exchange(noise=(did,)), slack))) == [
        "noise 1: a CPU for 50% of the time",
        "noise died or slackened in #1: nothing is concluded from these trials",
    ]


def test_a_case_without_noise_says_nothing_of_it() -> None:
    assert list(noise_lines(case_record("one"), (trial(1),))) == []
    assert noise_table(case_record("one"), (trial(1),)) is None


# What a report says of the cost of noise: against the quiet case, with how sure that is.

RATES: dict[str, int | None] = {"none": 1_000_000, "level_0": 1_000_000, "level_1": 700_000}


def page(*folders: Path) -> Reader:
    out, reader = io.StringIO(), Reader()
    write_html(folders, out, quietly, compared=Compared(costs_of(folders)))
    reader.feed(out.getvalue())
    assert reader.open == []
    return reader


def told(case: str, words: str) -> str:
    """Return what a page says of a case, from its headline to the link back."""
    return words.partition("Case by case")[2].partition(f"{case} PASS")[2].partition("Back to")[0]


def test_a_table_holds_each_level_against_the_quiet_case(tmp_path: Path) -> None:
    reader = page(levels(tmp_path, RATES))
    assert "noise" in reader.ids
    words = reader.words.partition("What the noise cost, against the quiet case")[2]
    assert "64B ndr level_1 1.000 … 1.011 Mfps 700.0 … 707.1 kfps -30.00 % [" in words
    assert "by ranks over repeats, p 0.008 5:5" in words
    assert "about 0.1 show a change by chance alone" in words


def test_a_case_beside_noise_says_what_that_cost_and_how_sure_it_is(tmp_path: Path) -> None:
    words = page(levels(tmp_path, RATES)).words
    loud = told("phy2phy_tput-64B-level_1", words)
    assert "ndr, 700.0 … 707.1 kfps beside level_1 and 1.000 … 1.011 Mfps without noise: " in loud
    assert "without noise: -30.00 % [" in loud
    assert "by ranks over repeats, p 0.008 (5:5 repeats)" in loud
    assert "without noise: ~" in told("phy2phy_tput-64B-level_0", words)
    assert "without noise" not in told("phy2phy_tput-64B-none", words)


def test_the_page_says_the_same_as_the_end_of_a_run(tmp_path: Path) -> None:
    folder = levels(tmp_path, RATES)
    (costs,) = costs_of([folder])
    rows = [f"{one.case} {one.number} beside {one.level}: {one.change}" for one in costs.rows]
    lines = against_quiet(folder)
    assert len(rows) == len(lines)
    assert all(line.startswith(row) for row, line in zip(rows, lines, strict=True))


def test_of_a_single_run_of_each_level_the_page_says_that_nobody_knows_the_scatter(
    tmp_path: Path,
) -> None:
    words = page(levels(tmp_path, RATES, repeats=1)).words
    assert "by the intervals of the searches alone 1:1" in words
    assert "nothing was repeated, so nobody knows how far runs lie apart here" in words


def test_a_level_without_a_number_is_said_with_the_reason(tmp_path: Path) -> None:
    words = page(levels(tmp_path, {"none": 1_000_000, "level_1": None}, repeats=1)).words
    assert "beside level_1: no number (invalid: too loud)" in words.replace("INVALID", "invalid")


def test_runs_together_are_told_apart(tmp_path: Path) -> None:
    other = levels(tmp_path / "other", RATES)
    other = other.rename(other.with_name("2026-11-21-phy2phy_tput-bbbb"))
    words = page(levels(tmp_path, RATES), other).words
    assert f"{RUN} case number beside" in words
    assert f"{other.name} case number beside" in words


def test_without_levels_nothing_is_said_of_noise(tmp_path: Path) -> None:
    quiet = levels(tmp_path, {"none": 1_000_000})
    assert costs_of([quiet]) == ()
    assert "What the noise cost" not in page(quiet).words


def test_the_command_says_it_in_html_and_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = levels(tmp_path, RATES)
    for form in ("html", "md"):
        code = run_cli(["report", str(folder), "--format", form, "-o", "-"])
        assert code == ExitCode.OK
        found = capsys.readouterr().out
        assert "What the noise cost, against the quiet case" in found
        assert "by ranks over repeats, p 0.008" in found


def test_markdown_has_whole_tables(tmp_path: Path) -> None:
    out, folder = io.StringIO(), levels(tmp_path, RATES)
    write_markdown([folder], out, quietly, Compared(costs_of([folder])))
    lines = out.getvalue().splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("| case | number | beside"))
    assert lines[head + 1] == "|" + " :--- |" * 8
    assert [line.count("|") for line in lines[head + 2 : head + 4]] == [9, 9]


@pytest.mark.parametrize("noise", [7, ["level_1"], {"kind": 3}, {}])
def test_a_damaged_run_has_a_report_all_the_same(tmp_path: Path, noise: object) -> None:
    folder = levels(tmp_path, RATES)
    records = folder / "records.jsonl"
    sound = records.read_text()
    damaged = sound.replace('{"kind":"memory"}', json.dumps(noise, separators=(",", ":")))
    assert damaged != sound
    records.write_text(damaged)
    assert "Case by case" in page(folder).words
