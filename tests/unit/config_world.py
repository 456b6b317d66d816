"""What the configuration tests share: drivers of their own, and the project's real library."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from all_methods import METHODS
from pydantic import Field

from vsperf.cli.main import run_cli
from vsperf.config.base import DriverSpec, Spec
from vsperf.config.case import Case
from vsperf.config.document import Drivers
from vsperf.config.loader import Loaded, Request, load
from vsperf.config.lookup import Folder, Library
from vsperf.config.modify import Modify
from vsperf.drivers.collectors.ovs import OvsCollectorSpec
from vsperf.drivers.collectors.pacing import PacingSpec
from vsperf.drivers.collectors.perf import PerfSpec
from vsperf.drivers.collectors.proc import ProcSpec
from vsperf.drivers.generators.testpmd.plan import TestpmdGeneratorSpec
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.loads.memory import MemorySpec
from vsperf.drivers.loads.memory_vm import GuestMemorySpec
from vsperf.drivers.loads.stress import StressSpec
from vsperf.drivers.programs.h2load.driver import H2loadSpec
from vsperf.drivers.programs.iperf.driver import IperfSpec
from vsperf.drivers.programs.iperf3.driver import Iperf3Spec
from vsperf.drivers.programs.irtt.driver import IrttSpec
from vsperf.drivers.programs.netperf.driver import NetperfSpec
from vsperf.drivers.programs.wrk.driver import WrkSpec
from vsperf.drivers.programs.wrk2.driver import Wrk2Spec
from vsperf.drivers.vswitches.base import Filters, Rules
from vsperf.drivers.vswitches.dpvs.layout import DpvsSpec
from vsperf.drivers.vswitches.ipvs.driver import IpvsSpec
from vsperf.drivers.vswitches.linux_bridge.driver import LinuxBridgeSpec
from vsperf.drivers.vswitches.nftables.driver import NftablesSpec
from vsperf.drivers.vswitches.none import NoSwitchSpec
from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.plain.driver import OvsSpec
from vsperf.drivers.vswitches.proxy.haproxy.driver import HaproxySpec
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import Problem, SpecError
from vsperf.quantities.units import CpuSet, Rate

CHECKOUT = Path(__file__).parents[2]


class Steady(Spec):
    """A behaviour without surprises."""

    kind: Literal["steady"]
    capacity: Rate = Rate.parse("5Mfps")


class Lossy(Spec):
    """A behaviour with another set of settings."""

    kind: Literal["lossy"]
    probability: float = Field(default=0.1, ge=0, le=1)


class Switch(DriverSpec):
    """A switch with a union inside, as the simulated one has."""

    kind: Literal["sim"]
    seed: int = 1
    flows: Rules = "port"
    modify: Modify | None = None
    filters: Filters = 0
    behaviour: Annotated[Steady | Lossy, Field(discriminator="kind")] = Steady(kind="steady")


class OtherSwitch(DriverSpec):
    """A second kind, so that the kind decides which settings exist."""

    kind: Literal["other"]
    cpus: CpuSet


class Generator(DriverSpec):
    """The generator of the testbeds here."""

    kind: Literal["sim"]
    seed: int = 1
    max_rate: Rate | None = None


class Guest(DriverSpec):
    """The only guest."""

    kind: Literal["loop"]
    queues: int = Field(default=1, ge=1)


class NoGuest(DriverSpec):
    """What the simulated testbed names in place of guests."""

    kind: Literal["sim"]
    queues: int = Field(default=1, ge=1)


DRIVERS: Drivers = {
    "vswitch": {
        "sim": Switch,
        "other": OtherSwitch,
        "ovs-dpdk": OvsDpdkSpec,
        "ovs": OvsSpec,
        "vpp": VppSpec,
        "nftables": NftablesSpec,
        "linux-bridge": LinuxBridgeSpec,
        "haproxy": HaproxySpec,
        "ipvs": IpvsSpec,
        "dpvs": DpvsSpec,
        "none": NoSwitchSpec,
    },
    "generator": {"sim": Generator, "tgen": TgenSpec, "testpmd": TestpmdGeneratorSpec},
    "vnf": {"loop": Guest, "sim": NoGuest},
    "program": {
        "iperf": IperfSpec,
        "iperf3": Iperf3Spec,
        "netperf": NetperfSpec,
        "wrk": WrkSpec,
        "wrk2": Wrk2Spec,
        "h2load": H2loadSpec,
    },
    "probe": {"irtt": IrttSpec},
    "search": METHODS,
    "collect": {"proc": ProcSpec, "ovs": OvsCollectorSpec, "pacing": PacingSpec, "perf": PerfSpec},
    "noise": {"memory": MemorySpec, "memory-vm": GuestMemorySpec, "stress": StressSpec},
}


def library(cwd: Path, *first: Path) -> Library:
    """Return a library of `first` and the checkout, and nothing of the machine it runs on."""
    folders = [Folder(path, "$VSPERF_PATH") for path in first]
    return Library((*folders, Folder(CHECKOUT, "built-in")), cwd)


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files below a folder and return it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


MINIMAL = "name: mine\ntopology: p2p\ntraffic: {frame_size: 64}\n"


def loaded(folder: Path, text: str = MINIMAL, request: Request | None = None) -> Loaded:
    """Load the testcase `mine` with `text` on the simulated testbed."""
    write(folder, {"testcases/mine.yaml": text})
    return load(request or Request(("mine",), testbed="sim"), library(folder, folder), DRIVERS)


def cases(
    folder: Path, text: str = "", *sets: str, start: str = MINIMAL, **more: Any
) -> tuple[Case, ...]:
    """Return the cases of the testcase `mine`, which says this behind its start."""
    request = Request(("mine",), testbed="sim", sets=sets, **more)
    return loaded(folder, start + text, request).cases


def mistakes(folder: Path, text: str, *sets: str, start: str = MINIMAL) -> tuple[Problem, ...]:
    """Return what is wrong with the testcase `mine`, which says this behind its start."""
    write(folder, {"testcases/mine.yaml": start + text})
    return problems(library(folder, folder), Request(("mine",), testbed="sim", sets=sets))


def wrong(folder: Path, text: str, *sets: str, start: str = MINIMAL) -> list[str]:
    """Return the same in short."""
    return [problem.what for problem in mistakes(folder, text, *sets, start=start)]


def problems(library: Library, request: Request) -> tuple[Problem, ...]:
    """Return what is wrong with a request, none if it loads."""
    try:
        load(request, library, DRIVERS)
    except SpecError as error:
        return error.problems
    return ()


def planned(capfd: pytest.CaptureFixture[str], testcase: str, *words: str) -> tuple[int, str]:
    """Plan a testcase on the real testbed unless words say where; return the code and one line."""
    code = run_cli(_plan(testcase, words))
    said = capfd.readouterr()
    return code, " ".join(f"{said.out} {said.err}".split())


def plans(capfd: pytest.CaptureFixture[str], testcase: str, *words: str) -> list[dict[str, Any]]:
    """Plan testcases on the real testbed unless words say where; return what programs are told."""
    assert run_cli([*_plan(testcase, words), "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capfd.readouterr().out)
    return found


def _plan(testcase: str, words: tuple[str, ...]) -> list[str]:
    testbed = () if "--testbed" in words else ("--testbed", "local")
    return ["plan", testcase, *testbed, *words]


def see_refused(
    capfd: pytest.CaptureFixture[str], testcase: str, words: Iterable[str], wanted: Iterable[str]
) -> None:
    """See that there is no plan of a testcase with these words, and that all of this is said."""
    code, said = planned(capfd, testcase, *words)
    assert code == 2, said
    for text in wanted:
        assert text in said, said


def shown(problem: Problem) -> str:
    """Render a problem on lines of its own, with files by their name alone."""
    lines = []
    if problem.where:
        where = problem.where
        source = where.source if where.source.startswith("--") else Path(where.source).name
        place = [source, *(str(n) for n in (where.line, where.column) if n is not None)]
        lines.append(f"{':'.join(place)}: {problem.what}")
    else:
        lines.append(problem.what)
    lines += [f"  why: {problem.why}"] if problem.why else []
    lines += [f"  fix: {problem.fix}"] if problem.fix else []
    return "\n".join(lines)
