"""Package vsperf; tool configuration lives in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent


class BuildWithSpecifications(build_py):  # type: ignore[misc]  # setuptools ships no types
    """Put conf/ and testcases/ into the wheel, where `vsperf.spec.lookup` finds them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # an editable install reads them from the checkout
        for folder in ("conf", "testcases"):
            target = Path(self.build_lib) / "vsperf" / "_data" / folder
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(HERE / folder, target)


requirements = (HERE / "requirements.in").read_text().splitlines()

setup(
    name="vsperf",
    version="0.1.0",
    description="Benchmarks virtual switches, and says how far each number can be trusted",
    long_description=(HERE / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(include=["vsperf", "vsperf.*"]),
    package_data={
        "vsperf": ["py.typed"],
        "vsperf.figures.published": ["*.yaml"],
        "vsperf.report": ["templates/*"],
        "vsperf.results": ["templates/*"],
    },
    install_requires=[line for line in requirements if line and not line.startswith("#")],
    extras_require={
        "interactive": ["plotly>=6"],
        "otg": ["snappi>=1.62"],
        "spirent": ["stcrestclient>=1.9.9"],
        "trex": ["pyzmq>=27"],
        "vpp": ["vpp-papi>=2.3"],
    },
    cmdclass={"build_py": BuildWithSpecifications},
    entry_points={
        "console_scripts": ["vsperf = vsperf.__main__:main"],
        "vsperf.vswitches": [
            "sim = vsperf.vswitches.sim:SimulatedSwitch",
            "external = vsperf.vswitches.external:ExternalSwitch",
            "ovs-dpdk = vsperf.vswitches.ovs.dpdk.driver:OvsDpdk",
            "ovs = vsperf.vswitches.ovs.plain.driver:Ovs",
            "vpp = vsperf.vswitches.vpp.driver:Vpp",
            "testpmd = vsperf.vswitches.testpmd.driver:TestpmdSwitch",
            "none = vsperf.vswitches.none:NoSwitch",
            "linux-bridge = vsperf.vswitches.linux_bridge.driver:LinuxBridge",
        ],
        "vsperf.vnfs": [
            "sim = vsperf.vnfs.sim:SimulatedVnf",
            "process = vsperf.vnfs.process.driver:ProcessVnf",
            "qemu = vsperf.vnfs.qemu.driver:Qemu",
        ],
        "vsperf.methods": [
            "mlr = vsperf.methods.mlr:MlrSearch",
            "rfc2544 = vsperf.methods.rfc2544:Rfc2544Search",
            "tst009 = vsperf.methods.tst009:Tst009Search",
            "fixed = vsperf.methods.fixed:FixedLoad",
            "loss = vsperf.methods.loss:FrameLossRate",
            "back2back = vsperf.methods.back2back:BackToBack",
            "reset = vsperf.methods.reset:ResetTime",
            "forwarding = vsperf.methods.forwarding:ForwardingRate",
            "recovery = vsperf.methods.recovery:SystemRecovery",
            "latency = vsperf.methods.latency:LatencyByTag",
            "soak = vsperf.methods.soak:Soak",
            "churn = vsperf.methods.churn:RuleChurn",
            "flow_setup = vsperf.methods.flow_setup:FlowSetup",
            "learning = vsperf.methods.learning:AddressLearning",
            "caching = vsperf.methods.caching:AddressCaching",
            "broadcast = vsperf.methods.broadcast:BroadcastForwarding",
            "wake_up = vsperf.methods.wake_up:WakeUp",
            "paired = vsperf.methods.paired:PairedTurns",
        ],
        "vsperf.collectors": [
            "proc = vsperf.collectors.proc:Proc",
            "network = vsperf.collectors.network:Network",
            "ovs = vsperf.collectors.ovs:OvsInsides",
            "vpp = vsperf.collectors.vpp:VppInsides",
            "guest = vsperf.collectors.guest:Guest",
            "command = vsperf.collectors.command:Command",
            "perf = vsperf.collectors.perf:Perf",
            "switch-trace = vsperf.collectors.switch_trace:SwitchTrace",
            "witness = vsperf.collectors.witness:Witness",
        ],
        "vsperf.exports": [
            "csv = vsperf.export.csv_tables:CsvTables",
            "csv-like-vsperf = vsperf.export.like_vsperf:LikeVsperf",
            "parquet = vsperf.export.parquet:ParquetTables",
            "json = vsperf.export.json_document:JsonDocument",
            "junit = vsperf.export.junit:JunitReport",
            "openmetrics = vsperf.export.time_series:OpenMetrics",
            "influx = vsperf.export.time_series:InfluxLines",
        ],
        "vsperf.figures": [
            "throughput = vsperf.figures.throughput:PLOT",
            "intervals = vsperf.figures.intervals:PLOT",
            "flows = vsperf.figures.scaling:FLOWS",
            "workers = vsperf.figures.scaling:WORKERS",
            "repeats = vsperf.figures.repeats:PLOT",
            "latency = vsperf.figures.latency_sizes:PLOT",
            "percentiles = vsperf.figures.latency_case:PERCENTILES",
            "latency-load = vsperf.figures.latency_case:LOADS",
            "search = vsperf.figures.trials:SEARCH",
            "loss = vsperf.figures.trials:LOSS",
            "cycles = vsperf.figures.work:CYCLES",
            "caches = vsperf.figures.work:CACHE_SPLIT",
            "buffer = vsperf.figures.buffer:PLOT",
            "buffer-runs = vsperf.figures.buffer:RUNS",
            "seconds = vsperf.figures.seconds:PLOT",
            "stalls = vsperf.figures.stalls:PLOT",
            "series = vsperf.figures.series:PLOT",
            "curves = vsperf.figures.curves:PLOT",
            "topology = vsperf.figures.topology:PLOT",
            "ratios = vsperf.figures.ratios:PLOT",
            "trend = vsperf.figures.trend:PLOT",
            "noise = vsperf.figures.noise:PLOT",
            "noise-levels = vsperf.figures.noise:LEVELS",
            "noise-latency = vsperf.figures.noise:LATENCY",
        ],
        "vsperf.happenings": [
            "restart-switch = vsperf.engine.happenings:RestartSwitch",
            "kill-switch = vsperf.engine.happenings:KillSwitch",
            "reboot-machines = vsperf.engine.happenings:RebootMachines",
        ],
        "vsperf.loadgens": [
            "memory = vsperf.loadgens.memory:MemoryLoad",
            "stress = vsperf.loadgens.stress:StressLoad",
            "stress-vm = vsperf.loadgens.stress_vm:GuestStressLoad",
            "memory-vm = vsperf.loadgens.memory_vm:GuestMemoryLoad",
            "command = vsperf.loadgens.command:CommandLoad",
        ],
        "vsperf.trafficgens": [
            "sim = vsperf.trafficgens.sim:SimulatedGenerator",
            "tgen = vsperf.trafficgens.tgen.driver:TgenGenerator",
            "otg = vsperf.trafficgens.otg.driver:OtgGenerator",
            "testpmd = vsperf.trafficgens.testpmd.driver:TestpmdGenerator",
            "trex = vsperf.trafficgens.trex.driver:TrexGenerator",
            "xena = vsperf.trafficgens.xena.driver:XenaGenerator",
            "spirent = vsperf.trafficgens.spirent.driver:SpirentGenerator",
            "ixnetwork = vsperf.trafficgens.ixnetwork.driver:IxnetworkGenerator",
        ],
    },
)
