"""Parts of the last-level cache: as they are asked for, set, and told of."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from assertions import known
from record_samples import case_record, case_start, header, run_end, trial
from report_pages import html_of, markdown_of, whole_case
from simulated_cases import simulated_case
from stored_runs import store

from vsperf.cli.main import run_cli
from vsperf.config.cache import CacheShare
from vsperf.deploy.cache import cache_cpus, cache_steps
from vsperf.errors import ExitCode, NotReadyError, SpecError
from vsperf.host.files import Roots
from vsperf.host.resctrl import MOUNT, Abilities, abilities, masks_of, partitioned
from vsperf.host.undo import RemoveCacheGroup, ReturnCacheWays
from vsperf.host.undo_base import Reach
from vsperf.host.workspace import workspace
from vsperf.output.collected_tables import HELD, LOCAL, MOVED, TITLE, cached
from vsperf.quantities.quantity import UnitError
from vsperf.records.run import Placement, TrialLine
from vsperf.records.switch import CacheActivity
from vsperf.records.trial import Purpose, Trial

ABLE = Abilities(
    ways=11,
    least_ways=1,
    groups=4,
    bandwidth_percent=10,
    caches=("0", "1"),
    bandwidth_step=10,
    device_ways=0b11000000000,
    kept={"0": 0x7FF, "1": 0x7FF},
)


def shares(**words: str) -> dict[str, CacheShare]:
    return {role: CacheShare.parse(text) for role, text in words.items()}


# Parts of the last-level cache as they are asked for, and the ways that come of it. Pure.


class TestWords:
    @pytest.mark.parametrize(
        ("text", "ways", "percent"), [("8 ways", 8, None), ("1 way, 50% bandwidth", 1, 50)]
    )
    def test_they_are_read_and_written_back(
        self, text: str, ways: int, percent: int | None
    ) -> None:
        found = CacheShare.parse(text)
        assert (found.ways, found.bandwidth_percent, str(found)) == (ways, percent, text)

    @pytest.mark.parametrize("text", ["0 ways", "8", "half", "2 ways, 0% bandwidth", "-1 ways"])
    def test_what_is_no_part_is_refused(self, text: str) -> None:
        with pytest.raises(UnitError):
            CacheShare.parse(text)

    def test_a_case_without_the_word_is_what_it_was(self) -> None:
        assert "cache" not in simulated_case().measured()


class TestMasks:
    def test_the_ways_of_roles_lie_next_to_each_other_and_belong_to_one(self) -> None:
        found = masks_of(shares(switch="8 ways", noise="2 ways"), ABLE)
        assert found == {"switch": 0b0011111111, "noise": 0b1100000000}

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ({"switch": "8 ways", "noise": "4 ways"}, "gives away 12 ways"),
            ({"switch": "1 way"}, "at least 2 ways"),
            ({"noise": "2 ways, 50% bandwidth"}, "bandwidth cannot be limited"),
            (dict.fromkeys(("switch", "noise", "guests", "generator"), "2 ways"), "4 groups"),
        ],
    )
    def test_what_the_processor_cannot_do_is_refused(
        self, words: dict[str, str], said: str
    ) -> None:
        poor = Abilities(11, 2, 4, None, ("0",))
        with pytest.raises(SpecError, match=said):
            masks_of(shares(**words), poor)

    @pytest.mark.parametrize(
        ("ways", "least", "refused"),
        [(10, 1, False), (11, 1, True), (9, 2, False), (10, 2, True)],
    )
    def test_all_others_keep_as_many_as_a_group_has_to_have(
        self, ways: int, least: int, *, refused: bool
    ) -> None:
        able = replace(ABLE, least_ways=least)
        if not refused:
            masks_of(shares(switch=f"{ways} ways"), able)
            return
        with pytest.raises(SpecError, match="too few are left to all others") as caught:
            masks_of(shares(switch=f"{ways} ways"), able)
        assert f"at least {least}" in str(caught.value.problems[0].why)
        assert f"{11 - least} or less" in str(caught.value.problems[0].fix)

    @pytest.mark.parametrize(
        ("percent", "said"),
        [(5, "is to have 5% of the bandwidth, and the least here is 10%"), (35, "steps of 10%")],
    )
    def test_no_limit_is_quietly_made_another(self, percent: int, said: str) -> None:
        """The kernel would raise it, and the record say what was asked for."""
        with pytest.raises(SpecError, match=said):
            masks_of(shares(noise=f"2 ways, {percent}% bandwidth"), ABLE)

    def test_ways_that_another_group_has_are_nobodys_own(self) -> None:
        masks_of(shares(switch="8 ways"), replace(ABLE, taken={"mine": 0b11100000000}))
        with pytest.raises(SpecError, match="the group mine has ways"):
            masks_of(shares(switch="9 ways"), replace(ABLE, taken={"mine": 0b11100000000}))

    def test_who_shares_it_out_already_is_not_in_the_way_of_two(self) -> None:
        """Who ends first would give all of it back, while the other still counts on its part."""
        with pytest.raises(SpecError, match="from the group of all others") as caught:
            masks_of(shares(switch="8 ways"), replace(ABLE, kept={"0": 0x7FF, "1": 0x700}))
        assert "L3:0=7ff;1=700" in str(caught.value.problems[0].why)


# Parts of the last-level cache, on trees of files: no machine here has the real one.

PLACEMENT = Placement(cpus={"pmd": (2, 3), "generator": (4,), "noise": (5,), "vm1": (6,)})


@pytest.fixture(name="machine")
def fixture_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    """A machine with eleven ways in each of two caches; its groups go with their files."""
    roots = Roots(tmp_path / "machine")
    info = roots.resctrl / "info"
    for name, value in {
        "L3/cbm_mask": "7ff", "L3/min_cbm_bits": "1", "L3/num_closids": "4",
        "L3/shareable_bits": "600",
        "MB/min_bandwidth": "10", "MB/bandwidth_gran": "10", "last_cmd_status": "ok",
    }.items():  # fmt: skip
        (info / name).parent.mkdir(parents=True, exist_ok=True)
        (info / name).write_text(f"{value}\n")
    (roots.resctrl / "schemata").write_text("    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n")
    rmdir, write_text = Path.rmdir, Path.write_text

    def by_lines(path: Path, data: str, *arguments: Any, **named: Any) -> int:
        """A group keeps what it is not told of: each line sets one resource."""
        if path.name == "schemata" and path.exists() and path.is_relative_to(roots.resctrl):
            lines = {line.strip().partition(":")[0]: line for line in path.read_text().splitlines()}
            lines |= {line.partition(":")[0]: line for line in data.splitlines()}
            data = "".join(f"{line}\n" for line in lines.values())
        return write_text(path, data, *arguments, **named)

    monkeypatch.setattr(Path, "write_text", by_lines)

    def with_its_files(path: Path) -> None:
        if path.parent == roots.resctrl:
            shutil.rmtree(path)
        else:
            rmdir(path)

    monkeypatch.setattr(Path, "rmdir", with_its_files)
    return roots


def of_all_others(roots: Roots) -> str:
    return (roots.resctrl / "schemata").read_text()


def groups(roots: Roots) -> list[str]:
    return sorted(
        path.name.rpartition("-")[2]
        for path in roots.resctrl.iterdir()
        if path.is_dir() and path.name != "info"
    )


def not_mounted(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def code_apart(folder: Path) -> None:
    (folder / "info" / "L3").rename(folder / "info" / "L3CODE")


def no_ways(folder: Path) -> None:
    shutil.rmtree(folder / "info" / "L3")


class TestAbilities:
    def test_they_are_read_from_the_kernels_files(self, machine: Roots) -> None:
        assert abilities(machine) == ABLE

    @pytest.mark.parametrize(
        ("lacking", "why", "fix"),
        [
            (shutil.rmtree, "hidden by a hypervisor", "take a machine whose processor has RDT"),
            (not_mounted, "resctrl is not mounted", MOUNT),
            (code_apart, "apart for code and data (cdp)", f"umount /sys/fs/resctrl; {MOUNT}"),
            (no_ways, "no L3 CAT", "take a machine whose processor has RDT"),
        ],
    )
    def test_a_machine_that_cannot_says_why_and_what_mends_it(
        self, machine: Roots, lacking: Callable[[Path], object], why: str, fix: str
    ) -> None:
        lacking(machine.resctrl)
        with pytest.raises(NotReadyError, match="cannot be shared out") as caught:
            abilities(machine)
        assert why in caught.value.with_why
        assert fix in str(caught.value.problems[0].fix)

    @pytest.mark.parametrize("limits", ["0=2048;1=2048", "0=100;1=4294967295", "0=50;1=100", ""])
    def test_limits_that_are_no_percents_are_refused_with_what_was_seen(
        self, machine: Roots, limits: str
    ) -> None:
        """As on AMD, or with mba_MBps, where 50 would be next to nothing."""
        text = f"MB:{limits}\n" if limits else ""
        (machine.resctrl / "schemata").unlink()
        (machine.resctrl / "schemata").write_text(f"{text}L3:0=7ff;1=7ff\n")
        able = abilities(machine)
        masks_of(shares(noise="2 ways"), able)
        with pytest.raises(SpecError, match="bandwidth cannot be limited here") as caught:
            masks_of(shares(noise="2 ways, 50% bandwidth"), able)
        assert f"MB:{limits or 'nothing'} instead of 100" in str(caught.value.problems[0].why)


class TestGroups:
    def test_they_are_made_for_the_time_of_the_deployment(
        self, tmp_path: Path, machine: Roots
    ) -> None:
        wanted = shares(switch="8 ways", noise="2 ways, 10% bandwidth")
        cpus = {"switch": (2, 3), "noise": (5,)}
        with workspace("test", tmp_path / "run", machine) as place:
            with partitioned(wanted, cpus, place) as made:
                assert groups(machine) == ["noise", "switch"]
                switch, noise = made.folders["switch"], made.folders["noise"]
                assert switch.name == f"{place.name}-switch"
                assert (switch / "schemata").read_text() == "L3:0=ff;1=ff\n"
                assert (switch / "cpus_list").read_text() == "2-3\n"
                assert (noise / "schemata").read_text() == "L3:0=300;1=300\nMB:0=10;1=10\n"
            assert groups(machine) == []
        assert not place.left

    def test_all_others_lose_what_is_a_parts_own_and_get_it_back(
        self, tmp_path: Path, machine: Roots
    ) -> None:
        wanted = shares(switch="6 ways", noise="2 ways")
        cpus = {"switch": (2, 3), "noise": (5,)}
        with workspace("test", tmp_path / "run", machine) as place:
            with partitioned(wanted, cpus, place):
                assert of_all_others(machine) == "    MB:0=100;1=100\nL3:0=700;1=700\n"
            assert of_all_others(machine) == "    MB:0=100;1=100\nL3:0=7ff;1=7ff\n"

    def test_ways_that_a_killed_run_took_are_given_back_by_its_journal(
        self, tmp_path: Path, machine: Roots
    ) -> None:
        undo = ReturnCacheWays(
            folder=machine.resctrl, before="L3:0=7ff;1=7ff", now="L3:0=700;1=700"
        )
        with workspace("test", tmp_path / "run", machine) as place:
            place.journal.planned(undo)
            (machine.resctrl / "schemata").write_text("L3:0=0700;1=0700\n")
        assert "L3:0=7ff;1=7ff\n" in of_all_others(machine)

    def test_what_somebody_else_has_set_since_is_left_alone(
        self, tmp_path: Path, machine: Roots
    ) -> None:
        undo = ReturnCacheWays(
            folder=machine.resctrl, before="L3:0=7ff;1=7ff", now="L3:0=700;1=700"
        )
        (machine.resctrl / "schemata").write_text("L3:0=f;1=f\n")
        undo.take_back(Reach(tmp_path / "vsperf-1-abc", machine))
        assert "L3:0=f;1=f\n" in of_all_others(machine)
        shutil.rmtree(machine.resctrl)
        undo.take_back(Reach(tmp_path / "vsperf-1-abc", machine))  # it is mounted no more

    @pytest.mark.parametrize(
        ("before", "now"),
        [
            ("L3:0=7", "L3:0=8"),
            ("L3:0=7ff", "L3:0=7ff;1=7ff"),
            ("L3:0=7ff\nMB:0=10", "L3:0=7"),
            ("MB:0=100", "MB:0=10"),
        ],
    )
    def test_giving_back_never_takes_away_and_is_about_the_cache_alone(
        self, tmp_path: Path, machine: Roots, before: str, now: str
    ) -> None:
        reach = Reach(tmp_path / "vsperf-1-abc", machine)
        own = ReturnCacheWays(folder=machine.resctrl, before="L3:0=7ff", now="L3:0=700")
        assert own.is_within(reach)
        assert not own.model_copy(update={"folder": machine.resctrl / "mine"}).is_within(reach)
        assert not own.model_copy(update={"before": before, "now": now}).is_within(reach)

    def test_what_a_killed_run_left_is_undone_by_its_journal(
        self, tmp_path: Path, machine: Roots
    ) -> None:
        with workspace("test", tmp_path / "run", machine) as place:
            undo = RemoveCacheGroup(folder=machine.resctrl / f"{place.name}-switch")
            undo.folder.mkdir()
            place.journal.planned(undo)
        assert groups(machine) == []
        undo.take_back(place.reach)  # a second time, and late

    def test_no_group_of_others_is_ever_removed(self, tmp_path: Path, machine: Roots) -> None:
        reach = Reach(tmp_path / "vsperf-1-abc", machine)
        for folder in (machine.resctrl / "mine", tmp_path / "vsperf-1-abc-switch"):
            assert not RemoveCacheGroup(folder=folder).is_within(reach)

    @pytest.mark.parametrize(
        ("how", "what", "told"),
        [
            ("mkdir", "for switch cannot be made", "told L3:0=ff;1=ff"),
            ("write_text", "cannot be taken from all others", "told L3:0=700;1=700"),
        ],
    )
    def test_what_the_kernel_refuses_is_told_with_its_word_and_leaves_no_group(
        self,
        tmp_path: Path,
        machine: Roots,
        monkeypatch: pytest.MonkeyPatch,
        how: str,
        what: str,
        told: str,
    ) -> None:
        usual = getattr(Path, how)
        (machine.resctrl / "info" / "last_cmd_status").write_text("out of CLOSIDs\n")
        with workspace("test", tmp_path / "run", machine) as place:
            refused = {machine.resctrl / name for name in ("schemata", f"{place.name}-switch")}

            def refuse(path: Path, *arguments: Any, **named: Any) -> Any:
                if path in refused:
                    raise OSError(28, "No space left on device")
                return usual(path, *arguments, **named)

            with (
                monkeypatch.context() as patched,
                pytest.raises(NotReadyError, match=what) as caught,
            ):
                patched.setattr(Path, how, refuse)
                with partitioned(shares(switch="8 ways"), {"switch": (2,)}, place):
                    pass
        assert "out of CLOSIDs" in caught.value.with_why and told in caught.value.with_why
        assert groups(machine) == []


class TestCounters:
    def test_they_are_summed_over_the_caches(self, tmp_path: Path, machine: Roots) -> None:
        with (
            workspace("test", tmp_path / "run", machine) as place,
            partitioned(shares(switch="8 ways"), {"switch": (2,)}, place) as made,
        ):
            assert made.counts() == (CacheActivity(role="switch"),)
            for cache, count in (("00", 100), ("01", 11)):
                folder = made.folders["switch"] / "mon_data" / f"mon_L3_{cache}"
                folder.mkdir(parents=True)
                for name in ("llc_occupancy", "mbm_total_bytes"):
                    (folder / name).write_text(f"{count}\n")
            assert made.counts() == (
                CacheActivity(role="switch", occupancy_bytes=111, total_bytes=111),
            )

    def test_a_counter_that_is_unavailable_is_missing_and_not_0(
        self, tmp_path: Path, machine: Roots
    ) -> None:
        with (
            workspace("test", tmp_path / "run", machine) as place,
            partitioned(shares(switch="8 ways"), {"switch": (2,)}, place) as made,
        ):
            folder = made.folders["switch"] / "mon_data" / "mon_L3_00"
            folder.mkdir(parents=True)
            (folder / "llc_occupancy").write_text("Unavailable\n")
            assert made.counts() == (CacheActivity(role="switch"),)

    def test_what_was_moved_is_a_difference_and_what_is_held_is_not(self) -> None:
        before = CacheActivity(role="switch", occupancy_bytes=5, total_bytes=100, local_bytes=7)
        after = CacheActivity(role="switch", occupancy_bytes=3, total_bytes=150)
        found = after.since(before)
        assert (found.occupancy_bytes, found.total_bytes, found.local_bytes) == (3, 50, None)


class TestPlan:
    def test_each_part_is_a_step(self, tmp_path: Path) -> None:
        nowhere = Roots(tmp_path)
        case = simulated_case().model_copy(
            update={"cache": shares(switch="8 ways", guests="2 ways")}
        )
        cpus = cache_cpus(case, PLACEMENT)
        assert cpus == {"switch": (2, 3), "guests": (6,)}
        assert [step.action for step in cache_steps(case, cpus, nowhere)] == [
            "give switch 8 ways of the last-level cache, for CPU 2, 3",
            "give guests 2 ways of the last-level cache, for CPU 6",
            "leave all others the ways that are left, until the case has ended",
        ]
        assert cache_steps(simulated_case(), {}, nowhere) == ()

    def test_ways_that_devices_share_are_said(self, machine: Roots) -> None:
        """What a NIC receives takes the place of what the part had there."""
        case = simulated_case().model_copy(
            update={"cache": shares(switch="8 ways", guests="2 ways")}
        )
        switch, guests, _ = cache_steps(case, cache_cpus(case, PLACEMENT), machine)
        assert "devices" not in switch.action
        assert guests.action == (
            "give guests 2 ways of the last-level cache, for CPU 6; devices write into 1 of them, "
            "too (info/L3/shareable_bits)"
        )

    def test_parts_that_share_a_cpu_cannot_have_one_each(self) -> None:
        case = simulated_case().model_copy(update={"cache": shares(noise="2 ways")})
        shared = Placement(cpus={"pmd": (1,), "generator": (0,), "noise": (0,)})
        with pytest.raises(SpecError, match="noise cannot have a part") as caught:
            cache_cpus(case, shared)
        assert "on CPU 0 is generator, too" in str(caught.value.problems[0].why)

    def test_a_part_for_nobody_is_refused(self) -> None:
        case = simulated_case().model_copy(update={"cache": shares(guests="2 ways")})
        with pytest.raises(SpecError, match="guests, which has no CPU"):
            cache_cpus(case, Placement(cpus={"pmd": (1,)}))


# What parts of the last-level cache held and moved, as a table: in show, and in reports.

MIB = 1 << 20
SECOND = {"elapsed_ns": 1_000_000_000}


def part(role: str = "switch", **counts: int) -> CacheActivity:
    return CacheActivity.model_validate({"role": role, **counts})


def rows(*trials: Trial) -> dict[tuple[str, str], tuple[str, ...]]:
    found = known(cached(trials))
    return {(row[0], row[1]): row[2:] for row in found.table.texts}


def test_each_part_says_what_it_held_and_how_fast_it_moved() -> None:
    found = rows(
        trial(1, cache=(part(occupancy_bytes=3 * MIB, total_bytes=20_000_000),), **SECOND),
        trial(2, cache=(part(occupancy_bytes=5 * MIB, total_bytes=60_000_000),), **SECOND),
    )
    assert found["switch", HELD] == ("4.000 MiB", "3.000 MiB", "5.000 MiB", "")
    assert found["switch", MOVED] == ("40.00 MB/s", "20.00 MB/s", "60.00 MB/s", "20 B")
    assert ("switch", LOCAL) not in found


def test_what_stays_on_its_own_node_is_told_where_it_is_counted() -> None:
    counts = part("noise", total_bytes=4_000_000, local_bytes=3_000_000)
    found = rows(trial(1, cache=(counts,), **SECOND))
    assert found["noise", MOVED][0] == "4.000 MB/s"
    assert found["noise", LOCAL][0] == "3.000 MB/s"


def test_a_path_check_and_a_trial_that_took_no_time_have_no_rate() -> None:
    checked = trial(1, purpose=Purpose.PATH_CHECK, cache=(part(total_bytes=9 * MIB),))
    failed = trial(2, elapsed_ns=0, cache=(part(total_bytes=9 * MIB),))
    made = trial(3, cache=(part(total_bytes=2_000_000),), **SECOND)
    assert cached((checked,)) is None
    assert rows(checked, failed, made)["switch", MOVED] == ("2.000 MB/s", "", "", "1 B")


def test_a_processor_that_monitors_nothing_is_said_and_never_told_as_0() -> None:
    found = known(cached((trial(1, cache=(part(), part("noise"))),)))
    assert found.table.rows == ()
    (note,) = found.notes
    assert note.startswith(f"not counted here: what they {HELD} and what they {MOVED}")


def test_a_case_that_shares_out_no_cache_has_none() -> None:
    assert cached((trial(1), trial(2))) is None


def stored(results: Path, *cache: CacheActivity) -> Path:
    case = whole_case()
    head, key = header().model_copy(update={"cases": (case,)}), case.key
    line = TrialLine(case=key, trial=trial(1, cache=cache, **SECOND))
    return store(results, head.run, [head, case_start(key), line, case_record(key), run_end()])


def told(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what show, a page and a report in Markdown say of the run."""
    code = run_cli(["show", folder.name, "64B", "--all", f"--results={folder.parent}"])
    assert code == ExitCode.OK
    return [capsys.readouterr().out, html_of(folder), markdown_of(folder)]


def test_show_and_both_reports_have_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path, part(occupancy_bytes=3 * MIB))
    for text in told(folder, capsys):
        assert TITLE[1:] in text
        assert HELD in text and "3.000 MiB" in text
        assert f"not counted here: what they {MOVED}" in text


def test_none_of_them_says_a_word_where_no_cache_is_shared_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in told(stored(tmp_path), capsys):
        assert TITLE[1:] not in text
