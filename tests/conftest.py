"""What all tests share: parts that a test may require, and that integration tests leave no trace.

`VSPERF_CI_REQUIRE` names parts of the machine that must be there, separated by commas, or `all`.
A test that misses one of them fails; without the variable it is skipped, and says why. Parts that
no package of the distribution brings have to be named: `all` does not mean them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import assertions  # noqa: F401 - before all that it is about
import debian_trees
import named_programs
import pytest
import tgen_programs
from dperf_cases import DPERF_VARIABLE, dperf_program
from dpvs_cases import DPVS_VARIABLE, dpvs_install
from hypothesis import settings
from lanes import Lanes
from leave_no_trace import Places, adopt_orphans, children, left_behind, own_workspaces, snapshot
from loopbacks import tgen_dut
from machine_lock import machine_to_oneself
from running import add_options, install
from trex_cases import TREX_VARIABLE, trex_install
from vpp_cases import VPP_VARIABLE, vpp_install

from vsperf.drivers.generators.dperf.driver import find as find_dperf
from vsperf.drivers.generators.dperf.plan import DperfSpec
from vsperf.drivers.generators.tgen.process import TGEN
from vsperf.drivers.generators.trex.driver import require_program
from vsperf.drivers.loads.patterns import MEMORY_LOAD
from vsperf.drivers.vswitches.dpvs.driver import find_programs as find_dpvs
from vsperf.drivers.vswitches.dpvs.layout import DpvsSpec
from vsperf.drivers.vswitches.ipvs.driver import Ipvsadm
from vsperf.drivers.vswitches.linux_bridge.netlink import require_bridges
from vsperf.drivers.vswitches.nftables.driver import Nft
from vsperf.drivers.vswitches.ovs.programs import find_programs
from vsperf.drivers.vswitches.proxy.haproxy import driver as haproxy
from vsperf.drivers.vswitches.proxy.nginx import driver as nginx_stream
from vsperf.drivers.vswitches.rule_programs import RuleProgram
from vsperf.drivers.vswitches.vpp.programs import find_programs as find_vpp
from vsperf.errors import NotReadyError
from vsperf.host.tuntap import DEVICE
from vsperf.qemu.host import PROGRAM
from vsperf.qemu.image import find_image

HERE = Path(__file__).parent
REPOSITORY = HERE.parent
collect_ignore = ["outside"]
"""A package of its own, whose tests run where it is installed (`test_tutorial.py`)."""
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")
"""Print as into a pipe, whoever runs the tests. Readline, which pytest loads, puts it there behind
Python's back, and so workers of xdist have it."""
settings.register_profile("vsperf", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("brief", derandomize=True, deadline=None, max_examples=10)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("vsperf")


def _program(name: str) -> str | None:
    return None if shutil.which(name) else f"the program {name} is not installed"


def _checkout() -> str | None:
    if _program("git"):
        return _program("git")
    return None if (REPOSITORY / ".git").exists() else "this is no git checkout"


def _tgen() -> str | None:
    try:
        TGEN.find()
    except NotReadyError as error:
        return str(error)
    return None


def _memory_load() -> str | None:
    try:
        MEMORY_LOAD.find()
    except NotReadyError as error:
        return str(error)
    return None


def _tgen_dut() -> str | None:
    return _tgen() or (None if tgen_dut().is_file() else f"there is no {tgen_dut()}")


def _hugepages() -> str | None:
    pool = Path("/proc/sys/vm/nr_hugepages")
    if not pool.exists():
        return "this kernel has no hugepages"
    return None if os.access(pool, os.W_OK) else "hugepages cannot be reserved by this user"


def _namespaces() -> str | None:
    for name in ("unshare", "nsenter", "ip"):
        if reason := _program(name):
            return reason
    made = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return None if made.returncode == 0 else "this user cannot make a network namespace"


def _ovs_dpdk() -> str | None:
    try:
        find_programs(None)
    except NotReadyError as error:
        return str(error)
    return None if os.geteuid() == 0 else "only root can run it"


def _vpp() -> str | None:
    try:
        find_vpp(vpp_install())
    except NotReadyError as error:
        return f"{error} ({VPP_VARIABLE} names a folder that it is installed under)"
    return None if os.geteuid() == 0 else "only root can run it"


def _trex() -> str | None:
    install = trex_install()
    if install is None:
        return f"no {TREX_VARIABLE} names the folder of an installed TRex"
    try:
        require_program(install)
    except NotReadyError as error:
        return str(error)
    return None if os.geteuid() == 0 else "only root can run it"


def _dperf() -> str | None:
    program = dperf_program()
    if program is None:
        return f"no {DPERF_VARIABLE} names the folder of a dperf"
    try:
        find_dperf(DperfSpec(kind="dperf", path=str(program)))
    except NotReadyError as error:
        return str(error)
    return None if os.geteuid() == 0 else "only root can run it"


def _dpvs() -> str | None:
    install = dpvs_install()
    if install is None:
        return f"no {DPVS_VARIABLE} names the folder of a DPVS"
    try:
        find_dpvs(DpvsSpec(kind="dpvs", install=install))
    except NotReadyError as error:
        return str(error)
    return _taps()


def _ovs() -> str | None:
    try:
        find_programs(None, dpdk=False)
    except NotReadyError as error:
        return str(error)
    return _taps()


def _taps() -> str | None:
    if os.geteuid() != 0:
        return "only root can make taps"
    return None if DEVICE.exists() else f"there is no {DEVICE}"


def _bridges() -> str | None:
    try:
        require_bridges()
    except NotReadyError as error:
        return error.problems[0].what
    return _taps()


def _rules(program: type[RuleProgram]) -> str | None:
    if reason := _taps():
        return reason
    try:
        program.find().require_kernel()
    except NotReadyError as error:
        return error.problems[0].what
    return None


def _proxy(find: Callable[[None], object]) -> str | None:
    try:
        find(None)
    except NotReadyError as error:
        return str(error)
    return None


def _guests() -> str | None:
    if reason := _program(PROGRAM):
        return reason
    try:
        find_image()
    except NotReadyError as error:
        return str(error)
    return None


PROGRAMS = (
    *(
        "busybox",
        "chromium",
        "cpio",
        "dpdk-testpmd",
        "dpkg-deb",
        "gcc",
        "ldd",
        "make",
        "qemu-img",
        "setpriv",
        "strace",
    ),
    *("h2load", "iperf", "iperf3", "irtt", "nginx", "perf", "stress-ng", "tc", "tshark", "wrk"),
    "zstd",
)
PARTS: dict[str, Callable[[], str | None]] = {
    **{name: partial(_program, name) for name in PROGRAMS},
    "checkout": _checkout,
    "root": lambda: None if os.geteuid() == 0 else "this is not root",
    "two-cpus": lambda: None if len(os.sched_getaffinity(0)) > 1 else "there is one CPU only",
    "hugepages": _hugepages,
    "namespaces": _namespaces,
    "tgen": _tgen,
    "tgen-dut": _tgen_dut,
    "memory-load": _memory_load,
    "ovs": _ovs,
    "ovs-dpdk": _ovs_dpdk,
    "dperf": _dperf,
    "dpvs": _dpvs,
    "trex": _trex,
    "vpp": _vpp,
    "guests": _guests,
    **{name: partial(named_programs.why_not, name) for name in named_programs.NAMED},
    "bridges": _bridges,
    "nftables": partial(_rules, Nft),
    "ipvs": partial(_rules, Ipvsadm),
    "haproxy": partial(_proxy, haproxy.find),
    "nginx-stream": partial(_proxy, nginx_stream.find),
    "taps": _taps,
    "xdp": lambda: None,  # only a port that is opened can tell
    "pip": lambda: None if find_spec("pip") else "pip is not installed",
    "setuptools": lambda: None if find_spec("setuptools") else "setuptools is not installed",
    "tgen-programs": tgen_programs.why_not,
    "debian-trees": debian_trees.why_not,
    "otg-clients": lambda: None,  # only who installs one can tell
}
"""What tests may require: a name, and a probe that says why it is missing, or None."""
UNPACKAGED = frozenset({"dperf", "dpvs", "ipvs", "trex", "vpp", *named_programs.NAMED})
"""Parts that have to be built or fetched from elsewhere, so that no machine just has them; and what
its kernel has or has not."""

FOR_EVER_S = 60
"""What does not wait at all is done long before, however busy the machine is."""
Require = Callable[[str], None]
SHARED = "shared"
"""The fixture by which a module hands on what it has started once: `kept.py`."""


def not_here(part: str, reason: str) -> NoReturn:
    """Skip the test that is running, for it misses a part; fail it where the part is required."""
    wanted = set(os.environ.get("VSPERF_CI_REQUIRE", "").split(","))
    if part in wanted or ("all" in wanted and part not in UNPACKAGED):
        pytest.fail(f"VSPERF_CI_REQUIRE asks for it, but {part}: {reason}", pytrace=False)
    pytest.skip(f"{part}: {reason}")


@pytest.fixture(name="require", scope="session")
def fixture_require() -> Require:
    """Return the function with which a test says what it cannot do without."""

    def require(part: str) -> None:
        if reason := PARTS[part]():
            not_here(part, reason)

    return require


@pytest.fixture(name="never_waits")
def fixture_never_waits() -> Iterator[None]:
    """Fail a test whose code waits for ever, such as for somebody at a pipe, and wait no more."""

    def fail(*_: object) -> None:
        pytest.fail("it waits for ever")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(FOR_EVER_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(name="repository", scope="session")
def fixture_repository() -> Path:
    """Return the folder of the checkout."""
    return REPOSITORY


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a misspelt part: it would silently require nothing."""
    named = set(filter(None, os.environ.get("VSPERF_CI_REQUIRE", "").split(",")))
    if unknown := named - {*PARTS, "all"}:
        raise pytest.UsageError(
            f"VSPERF_CI_REQUIRE names {', '.join(sorted(unknown))}; "
            f"known parts are all, {', '.join(sorted(PARTS))}"
        )
    adopt_orphans()
    install(config)
    # Programs that tests start buffer their output, and are compiled once, as a user's are.
    for name in ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"):
        os.environ.pop(name, None)
    # Tests of real parts run on machines that others use, this very suite among them.
    os.environ["VSPERF_ANYWAY"] = "1"
    # A shell starts what runs in the background with this signal ignored, and programs inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes:
    """Give tests that need the machine a lane of their own."""
    return Lanes(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the quick tests first: those that need the machine take most of the time."""
    items.sort(key=_needs_machine)


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not run and why, also when all else passed."""
    reasons = Counter(_reason(report) for report in terminalreporter.getreports("skipped"))
    if not reasons:
        return
    terminalreporter.section("not run on this machine")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5} {'test' if count == 1 else 'tests'}: {reason}")


def _reason(report: pytest.TestReport) -> str:
    words = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return str(words).removeprefix("Skipped: ")


@pytest.fixture(scope="module", autouse=True)
def _module_alone_on_the_machine(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep the machine between the tests of a module that all need it: they may share what runs."""
    with machine_to_oneself() if _needs_machine(request.node) else nullcontext():
        yield


@pytest.fixture(autouse=True)
def _alone_on_the_machine(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let tests that need whole CPUs run one after the other, whoever runs them."""
    kept = _needs_machine(request.node.getparent(pytest.Module))
    with machine_to_oneself() if _needs_machine(request.node) and not kept else nullcontext():
        yield


def _needs_machine(node: pytest.Item | pytest.Collector) -> bool:
    return node.get_closest_marker("machine") is not None


@pytest.fixture(autouse=True)
def _no_trace(request: pytest.FixtureRequest, _alone_on_the_machine: None) -> Iterator[None]:
    """Fail an integration test that leaves a process, socket, link or the like behind.

    Unit tests touch nothing of the kind; but their deployments are folders where a user's are. What
    is shared stands from one test to the next, and is asked when it ends, as those of a contract.
    """
    if request.path.is_relative_to(HERE / "unit"):
        yield from _watch(request, own_workspaces)
        return
    if not request.path.is_relative_to(HERE / "integration") or SHARED in request.fixturenames:
        yield
        return
    own: Path = request.getfixturevalue("tmp_path")
    # What fixtures of the whole module run is looked at when the module ends.
    yield from _watch(request, partial(snapshot, Places(), own, children()))


@pytest.fixture(scope="module", autouse=True)
def _module_leaves_no_trace(
    request: pytest.FixtureRequest, _module_alone_on_the_machine: None
) -> Iterator[None]:
    """Fail integration tests whose common fixtures leave something behind."""
    if not request.path.is_relative_to(HERE / "integration"):
        yield
        return
    yield from _watch(request, partial(snapshot, Places()))


@pytest.fixture(scope="module", autouse=True)
def _module_has_its_parts(
    request: pytest.FixtureRequest, require: Require, _module_leaves_no_trace: None
) -> None:
    """Skip a module that misses a part which it names, before its own fixtures want that."""
    _require_marked(request.node, require)


@pytest.fixture(autouse=True)
def _has_its_parts(request: pytest.FixtureRequest, require: Require, _no_trace: None) -> None:
    """Skip a test that misses a part which it names."""
    _require_marked(request.node, require)


def _require_marked(node: pytest.Item | pytest.Collector, require: Require) -> None:
    for mark in node.iter_markers("needs"):
        for part in mark.args:
            require(part)


def _watch(request: pytest.FixtureRequest, look: Callable[[], frozenset[str]]) -> Iterator[None]:
    before = look()
    yield
    left = left_behind(before, look)
    if left and not _needs_machine(request.node):
        # It may be what a test beside it has just made: look again when there is none.
        with machine_to_oneself():
            left = left_behind(before, look)
    if left:
        pytest.fail("the test left behind:\n  " + "\n  ".join(left), pytrace=False)
