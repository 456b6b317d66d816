"""A run loads the drivers that it names; one that is broken is in nobody's way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from all_wrong import CHASSIS, none_wrong

from vsperf.cli.commands import doctor
from vsperf.cli.commands import plugins as listing
from vsperf.cli.main import run_cli
from vsperf.config.base import DriverSpec
from vsperf.config.suggest import packages_outside
from vsperf.drivers.collectors.base import Collector
from vsperf.drivers.generators import release
from vsperf.drivers.generators.base import TrafficGenerator
from vsperf.drivers.loads.base import LoadGenerator
from vsperf.drivers.programs.base import Program
from vsperf.drivers.vnfs.base import Vnf
from vsperf.drivers.vswitches.base import VSwitch
from vsperf.errors import ExitCode, UsageError
from vsperf.host.cpus import Cpu, CpuTopology
from vsperf.host.doctor.finding import Finding, Group, Status
from vsperf.plugins import GROUPS, METHODS_OF, OF_READERS, Plugin, Plugins

PLAN = """
import sys
from vsperf.cli.main import main
sys.argv = ["vsperf", "plan", "phy2phy_smoke", "--testbed", "sim"]
try:
    main()
finally:
    print(*(name for name in sys.modules if name.startswith("vsperf.")), file=sys.stderr)
"""


PROTOCOLS = {
    "vswitch": VSwitch,
    "generator": TrafficGenerator,
    "vnf": Vnf,
    "program": Program,
    "probe": Program,
    "collect": Collector,
    "noise": LoadGenerator,
}


class WorkingSpec(DriverSpec):
    kind: Literal["working"]


class Working:
    Spec = WorkingSpec


@pytest.fixture(name="asked")
def fixture_asked() -> list[str]:
    return []


@pytest.fixture(name="plugins")
def fixture_plugins(asked: list[str]) -> Plugins:
    def working() -> Working:
        asked.append("working")
        return Working()

    def broken() -> Any:
        raise ImportError("no module named missing")

    return Plugins((Plugin("vnf", "working", working), Plugin("vnf", "broken", broken)))


def test_all_that_vsperf_brings_is_found_and_can_be_loaded() -> None:
    """A driver is one by its kind: an entry point of another name is refused where it is loaded."""
    every = (*Plugins.load().all, *Plugins.beside())
    ours = [one for one in every if one.package in ("vsperf", *packages_outside())]
    assert {one.section for one in ours} == {*GROUPS, *OF_READERS}
    none_wrong(f"{one.section} {one.kind}: {one.failure}" for one in ours if one.driver is None)


def test_a_plan_loads_no_driver_that_it_does_not_name() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAN], check=False, capture_output=True, text=True, timeout=60
    )
    loaded = set(done.stderr.split())
    assert {"vsperf.drivers.vswitches.sim", "vsperf.drivers.generators.sim"} <= loaded
    others = {"vpp.driver", "ovs.dpdk.driver", "linux_bridge.driver", "testpmd.driver"}
    assert loaded.isdisjoint(f"vsperf.drivers.vswitches.{one}" for one in others)
    assert loaded.isdisjoint(
        {"vsperf.drivers.generators.tgen.driver", "vsperf.drivers.vnfs.qemu.driver"}
    )


def test_a_driver_is_loaded_when_it_is_asked_for_and_once(
    plugins: Plugins, asked: list[str]
) -> None:
    known = plugins.specs()["vnf"]
    assert asked == []
    assert known["working"] is WorkingSpec
    assert isinstance(plugins.driver("vnf", "working"), Working)
    assert asked == ["working"]


def test_a_broken_driver_is_not_listed_and_who_names_it_is_told_why(plugins: Plugins) -> None:
    known = plugins.drivers("vnf")
    assert list(known) == ["working"]
    asking: tuple[Callable[[], Any], ...] = (
        lambda: known["broken"],
        lambda: plugins.driver("vnf", "broken"),
    )
    for ask in asking:
        with pytest.raises(UsageError) as caught:
            ask()
        assert caught.value.problems[0].why == "ImportError: no module named missing"


PACKAGE = """
from typing import Literal
from vsperf.cli.commands import doctor
from vsperf.cli.commands import plugins as listing
from vsperf.cli.main import run_cli
from vsperf.config.base import DriverSpec
class Odd(DriverSpec):
    kind: Literal["odd"]
class Sound:
    Spec, kind, summary = Odd, "odd", "it is sound"
    def needs(self, case): ...
    def plan(self, case, placement): ...
    def require(self, case): ...
    def start(self, case, plan, placement, workspace): ...
class Bare:
    kind = "bare"
class Other(Sound):
    pass
class Half(Sound):
    plan = start = None
class Strange(Sound):
    kind = "even"
"""
BROKEN = 'COLOURS = {"red": 1}\n\n\nCOLOURS["green"]\n'


@pytest.fixture(name="install")
def fixture_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Plugins]:
    """Offer switches by packages: entry points as text, by the package that has them."""

    def install(**entries: str) -> Plugins:
        (tmp_path / "odd_package.py").write_text(PACKAGE)
        (tmp_path / "broken_package.py").write_text(BROKEN)
        for package, text in entries.items():
            (folder := tmp_path / f"{package}-1.dist-info").mkdir()
            (folder / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n"
            )
            (folder / "entry_points.txt").write_text(f"[vsperf.vswitches]\n{text}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        return Plugins.load()

    return install


def failure(plugins: Plugins, kind: str) -> str | None:
    (found,) = (one for one in plugins.all if (one.section, one.kind) == ("vswitch", kind))
    return found.failure


def test_a_driver_without_settings_or_of_another_name_is_in_nobodys_way(
    install: Callable[..., Plugins],
) -> None:
    text = "odd = odd_package:Sound\nbare = odd_package:Bare\nmisnamed = odd_package:Other"
    plugins = install(one=text)
    assert failure(plugins, "odd") is None
    assert "no `Spec`" in str(failure(plugins, "bare"))
    assert "'misnamed', and its settings say 'odd'" in str(failure(plugins, "misnamed"))
    assert {"bare", "misnamed"}.isdisjoint(plugins.specs()["vswitch"])
    for kind in ("bare", "misnamed"):
        with pytest.raises(UsageError, match=f"'{kind}' of one cannot be loaded"):
            plugins.specs()["vswitch"][kind]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("odd_package:Half", "Half has no `plan`, `start`"),
        ("odd_package:Strange", "is called 'odd', and its `kind` is 'even'"),
        ("odd_package:Literal", "names Literal, which is no class"),
        ("broken_package:Any", "KeyError: 'green', in "),
        ("broken_package:Any", "broken_package.py, line 4"),
    ],
)
def test_what_is_wrong_with_a_driver_is_told_when_it_is_loaded(
    install: Callable[..., Plugins], entry: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("odd_package", "broken_package"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert told in str(failure(install(one=f"odd = {entry}"), "odd"))


def test_the_methods_that_are_asked_for_are_those_of_each_protocol() -> None:
    none_wrong(
        f"{section}: {METHODS_OF[section]} is not {found}"
        for section, protocol in PROTOCOLS.items()
        if (found := tuple(n for n, one in vars(protocol).items() if n[0] != "_" and callable(one)))
        != METHODS_OF[section]
    )
    assert {*PROTOCOLS} == {*METHODS_OF}


def test_a_driver_that_two_packages_offer_is_neither_of_theirs(
    install: Callable[..., Plugins],
) -> None:
    plugins = install(one="odd = odd_package:Sound", two="odd = odd_package:Other")
    assert "one and two both offer it" in str(failure(plugins, "odd"))
    with pytest.raises(UsageError, match="cannot be loaded"):
        plugins.driver("vswitch", "odd")


def test_an_unknown_driver_is_told_those_that_there_are(plugins: Plugins) -> None:
    with pytest.raises(UsageError) as caught:
        plugins.driver("vnf", "unknown")
    assert caught.value.problems[0].fix == "known drivers: working"


def test_what_is_told_of_a_package_outside_is_what_it_brings() -> None:
    project = tomllib.loads((CHASSIS.parent / "pyproject.toml").read_text())["project"]
    sections = {group: section for section, group in GROUPS.items()}
    brought = {sections[group]: sorted(kinds) for group, kinds in project["entry-points"].items()}
    told = dict(packages_outside()[project["name"]])
    assert "./tools/chassis" in told.pop("install")
    assert told == brought


def test_who_names_a_kind_of_a_package_outside_is_told_how_that_is_installed(
    plugins: Plugins,
) -> None:
    for package, kinds in packages_outside().items():
        for kind in kinds["generator"]:
            with pytest.raises(UsageError) as caught:
                plugins.driver("generator", kind)
            (problem,) = caught.value.problems
            assert package in str(problem.why)
            assert problem.fix == kinds["install"]


def test_an_undo_whose_driver_is_gone_says_which_package_had_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(release, "entry_points", lambda **_: ())
    monkeypatch.setattr(sys, "argv", ["release", "xena", "192.0.2.7", "vspdead0", "0/0"])
    assert release.main() == ExitCode.NOT_READY
    assert "no generator xena any more: it comes with the package" in capsys.readouterr().err


# Whose bug it is that a driver raises: its package's, and not vsperf's.

CRASHING = """
from typing import Literal
from vsperf.drivers.generators.sim import SimulatedGenerator, SimulatedGeneratorSpec


class CrashingSpec(SimulatedGeneratorSpec):
    kind: Literal["crashing"]


class Crashing(SimulatedGenerator):
    kind = "crashing"
    Spec = CrashingSpec

    def needs(self, case):
        return BODY
"""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('{}["nothing"]', "KeyError: 'nothing'"),
        ("None", "Crashing: `needs` returned None, and not `Needs`"),
    ],
)
def test_what_a_driver_of_another_package_raises_or_answers_wrongly_is_that_packages_bug(
    tmp_path: Path, answer: str, told: str
) -> None:
    (tmp_path / "crashing_driver.py").write_text(CRASHING.replace("BODY", answer))
    (info := tmp_path / "crashing_package-1.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: crashing-package\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[vsperf.generators]\ncrashing = crashing_driver:Crashing\n"
    )
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from vsperf.cli.main import main"
    arguments = [
        "vsperf",
        "plan",
        "phy2phy_smoke",
        "--testbed=sim",
        "--set=generator.kind=crashing",
    ]
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; sys.argv = {arguments!r}; main()"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    first, second = done.stderr.splitlines()
    assert first == f"bug in crashing-package (generator crashing): {told}"
    assert "please report it" in second
    assert done.returncode == ExitCode.BUG


# `vsperf plugins`: ✓ is what can be used on this machine, by what doctor finds.


def test_a_driver_whose_program_is_missing_has_no_tick_and_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = Finding("wrk2", Group.PROGRAMS, Status.ABSENT, "wrk2 is not there", "build it")
    there = Finding("wrk", Group.PROGRAMS, Status.OK, "/usr/bin/wrk")
    monkeypatch.setattr(listing, "examine_parts", lambda drivers, here: [lost, there])
    monkeypatch.delenv("COLUMNS", raising=False)
    assert run_cli(["plugins"]) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    (place,) = (n for n, line in enumerate(lines) if line.split()[1:2] == ["wrk2"])
    assert lines[place].startswith("  – wrk2 ")
    assert lines[place + 1].strip() == "cannot be used here; fix: build it"
    assert any(line.startswith("  ✓ wrk ") for line in lines)
    assert any(line.startswith("  ✓ throughput ") or line.startswith("  ✓ mlr ") for line in lines)
    assert run_cli(["plugins", "--json"]) == ExitCode.OK
    rows = {(one["section"], one["kind"]): one for one in json.loads(capsys.readouterr().out)}
    assert (rows["program", "wrk2"]["ready"], rows["program", "wrk2"]["fix"]) == (False, "build it")
    assert (rows["program", "wrk"]["ready"], rows["program", "wrk"]["fix"]) == (True, None)
    assert rows["export", "csv"]["ready"]


def test_noise_without_a_cpu_has_no_tick_either(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    two = CpuTopology(cpus=tuple(Cpu(number=n, core=n) for n in (0, 1)))
    monkeypatch.setattr(doctor, "read_topology", lambda: two)
    monkeypatch.setattr(listing, "examine_parts", lambda drivers, here: [])
    assert run_cli(["plugins", "--json"]) == ExitCode.OK
    rows = [one for one in json.loads(capsys.readouterr().out) if one["section"] == "noise"]
    assert {"memory", "stress", "command"} <= {one["kind"] for one in rows}
    assert all("noise.share" in one["fix"] and not one["ready"] for one in rows)
