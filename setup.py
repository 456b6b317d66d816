"""Package vsperf; tool configuration lives in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent


class BuildWithSpecifications(build_py):  # type: ignore[misc]  # setuptools ships no types
    """Put conf/ and testcases/ into the wheel, where `vsperf.config.lookup` finds them."""

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
        "vsperf.config": ["outside.yaml"],
        "vsperf.output.figures.published": ["*.yaml"],
        "vsperf.output.report": ["templates/*"],
        "vsperf.output": ["templates/*"],
    },
    install_requires=[line for line in requirements if line and not line.startswith("#")],
    extras_require={
        "interactive": ["plotly>=6"],
        "otg": ["snappi>=1.62"],
        "trex": ["pyzmq>=27"],
        "vpp": ["vpp-papi>=2.3"],
    },
    cmdclass={"build_py": BuildWithSpecifications},
    entry_points={
        "console_scripts": ["vsperf = vsperf.__main__:main"],
        "vsperf.vswitches": [
            "sim = vsperf.drivers.vswitches.sim:SimulatedSwitch",
            "external = vsperf.drivers.vswitches.external:ExternalSwitch",
            "ovs-dpdk = vsperf.drivers.vswitches.ovs.dpdk.driver:OvsDpdk",
            "ovs = vsperf.drivers.vswitches.ovs.plain.driver:Ovs",
            "vpp = vsperf.drivers.vswitches.vpp.driver:Vpp",
            "testpmd = vsperf.drivers.vswitches.testpmd.driver:TestpmdSwitch",
            "none = vsperf.drivers.vswitches.none:NoSwitch",
            "linux-bridge = vsperf.drivers.vswitches.linux_bridge.driver:LinuxBridge",
            "nftables = vsperf.drivers.vswitches.nftables.driver:Nftables",
            "ipvs = vsperf.drivers.vswitches.ipvs.driver:Ipvs",
            "dpvs = vsperf.drivers.vswitches.dpvs.driver:Dpvs",
            "haproxy = vsperf.drivers.vswitches.proxy.haproxy.driver:Haproxy",
            "nginx-stream = vsperf.drivers.vswitches.proxy.nginx.driver:NginxStream",
        ],
        "vsperf.vnfs": [
            "sim = vsperf.drivers.vnfs.sim:SimulatedVnf",
            "process = vsperf.drivers.vnfs.process.driver:ProcessVnf",
            "qemu = vsperf.drivers.vnfs.qemu.driver:Qemu",
        ],
        "vsperf.programs": [
            "iperf = vsperf.drivers.programs.iperf.driver:Iperf",
            "iperf3 = vsperf.drivers.programs.iperf3.driver:Iperf3",
            "netperf = vsperf.drivers.programs.netperf.driver:Netperf",
            "wrk = vsperf.drivers.programs.wrk.driver:Wrk",
            "wrk2 = vsperf.drivers.programs.wrk2.driver:Wrk2",
            "h2load = vsperf.drivers.programs.h2load.driver:H2load",
        ],
        "vsperf.probes": [
            "irtt = vsperf.drivers.programs.irtt.driver:Irtt",
        ],
        "vsperf.methods": [
            "mlr = vsperf.methods.mlr:MlrSearch",
            "rfc2544 = vsperf.methods.rfc2544:Rfc2544Search",
            "tst009 = vsperf.methods.tst009:Tst009Search",
            "fixed = vsperf.methods.fixed:FixedLoad",
            "loss = vsperf.methods.loss:FrameLossRate",
            "back2back = vsperf.methods.back2back:BackToBack",
            "reconnect = vsperf.methods.reconnect:Reconnect",
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
            "stream = vsperf.methods.stream:Stream",
            "rr = vsperf.methods.transactions:Transactions",
            "crr = vsperf.methods.transactions:Connections",
            "http = vsperf.methods.http:Http",
            "latency_under_load = vsperf.methods.latency_under_load:LatencyUnderLoad",
            "connection_soak = vsperf.methods.connection_soak:ConnectionSoak",
            "cps = vsperf.methods.connection_search:ConnectionRate",
            "cc = vsperf.methods.connection_search:ConcurrentConnections",
            "goodput = vsperf.methods.request_search:Goodput",
            "pps = vsperf.methods.request_search:PacketRate",
        ],
        "vsperf.collectors": [
            "proc = vsperf.drivers.collectors.proc:Proc",
            "network = vsperf.drivers.collectors.network:Network",
            "ovs = vsperf.drivers.collectors.ovs:OvsInsides",
            "vpp = vsperf.drivers.collectors.vpp:VppInsides",
            "guest = vsperf.drivers.collectors.guest:Guest",
            "command = vsperf.drivers.collectors.command:Command",
            "perf = vsperf.drivers.collectors.perf:Perf",
            "switch-trace = vsperf.drivers.collectors.switch_trace:SwitchTrace",
            "pacing = vsperf.drivers.collectors.pacing:PacingMonitor",
        ],
        "vsperf.exports": [
            "csv = vsperf.output.export.csv_tables:CsvTables",
            "csv-like-vsperf = vsperf.output.export.like_vsperf:LikeVsperf",
            "parquet = vsperf.output.export.parquet:ParquetTables",
            "json = vsperf.output.export.json_document:JsonDocument",
            "junit = vsperf.output.export.junit:JunitReport",
            "openmetrics = vsperf.output.export.time_series:OpenMetrics",
            "prometheus = vsperf.output.export.time_series:PrometheusText",
            "influx = vsperf.output.export.time_series:InfluxLines",
        ],
        "vsperf.figures": [
            "throughput = vsperf.output.figures.throughput:PLOT",
            "intervals = vsperf.output.figures.intervals:PLOT",
            "flows = vsperf.output.figures.scaling:FLOWS",
            "workers = vsperf.output.figures.scaling:WORKERS",
            "repeats = vsperf.output.figures.repeats:PLOT",
            "latency = vsperf.output.figures.latency_sizes:PLOT",
            "percentiles = vsperf.output.figures.latency_case:PERCENTILES",
            "latency-load = vsperf.output.figures.latency_case:LOADS",
            "search = vsperf.output.figures.trials:SEARCH",
            "loss = vsperf.output.figures.trials:LOSS",
            "cycles = vsperf.output.figures.work:CYCLES",
            "caches = vsperf.output.figures.work:CACHE_SPLIT",
            "cpu-cost = vsperf.output.figures.cpu_cost:CPU_COST",
            "buffer = vsperf.output.figures.buffer:PLOT",
            "buffer-runs = vsperf.output.figures.buffer:RUNS",
            "seconds = vsperf.output.figures.seconds:PLOT",
            "stalls = vsperf.output.figures.stalls:PLOT",
            "series = vsperf.output.figures.series:PLOT",
            "curves = vsperf.output.figures.curves:PLOT",
            "topology = vsperf.output.figures.topology:PLOT",
            "ratios = vsperf.output.figures.ratios:PLOT",
            "turns = vsperf.output.figures.turns:PLOT",
            "trend = vsperf.output.figures.trend:PLOT",
            "noise = vsperf.output.figures.noise:PLOT",
            "noise-levels = vsperf.output.figures.noise:LEVELS",
            "noise-latency = vsperf.output.figures.noise:LATENCY",
        ],
        "vsperf.events": [
            "restart-switch = vsperf.engine.events:RestartSwitch",
            "kill-switch = vsperf.engine.events:KillSwitch",
            "reboot-vnfs = vsperf.engine.events:RebootVnfs",
        ],
        "vsperf.loads": [
            "memory = vsperf.drivers.loads.memory:MemoryLoad",
            "stress = vsperf.drivers.loads.stress:StressLoad",
            "stress-vm = vsperf.drivers.loads.stress_vm:GuestStressLoad",
            "memory-vm = vsperf.drivers.loads.memory_vm:GuestMemoryLoad",
            "command = vsperf.drivers.loads.command:CommandLoad",
        ],
        "vsperf.generators": [
            "sim = vsperf.drivers.generators.sim:SimulatedGenerator",
            "tgen = vsperf.drivers.generators.tgen.driver:TgenGenerator",
            "otg = vsperf.drivers.generators.otg.driver:OtgGenerator",
            "testpmd = vsperf.drivers.generators.testpmd.driver:TestpmdGenerator",
            "trex = vsperf.drivers.generators.trex.driver:TrexGenerator",
            "dperf = vsperf.drivers.generators.dperf.driver:DperfGenerator",
        ],
    },
)
