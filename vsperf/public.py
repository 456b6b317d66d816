"""The names that a package outside of vsperf may import; all others change without a word.

By what they are for, and the module that they are in. A page is made of it (`make docs`), and a
test holds the package of the pages on additions to it.
"""

from __future__ import annotations

from collections.abc import Mapping

Names = tuple[str, ...]

PUBLIC: Mapping[str, Mapping[str, Names]] = {
    "What a driver is told": {
        "vsperf.config.base": ("DriverSpec",),
        "vsperf.drivers.settings": ("own_settings",),
        "vsperf.config.case": ("CaseSpec",),
        "vsperf.config.flows": ("counts", "link_mac"),
        "vsperf.config.method": ("RESTARTED", "MADE_TO_FORGET", "GIVEN_OTHER_RULES"),
        "vsperf.config.modify": ("Modify",),
        "vsperf.config.traffic": ("TrialPolicy",),
        "vsperf.config.wiring": ("load_share",),
        "vsperf.quantities.unit": ("Unit",),
        "vsperf.quantities.units": (
            *("NANOSECONDS", "Count", "CpuSet", "Duration", "FrameSize", "LinkSpeed", "Rate"),
            "Ratio",
        ),
        "vsperf.quantities.byte_units": ("ByteRate", "ByteSize"),
    },
    "What it plans": {
        "vsperf.host.cpus": ("CpuNeed", "Needs"),
        "vsperf.records.run": ("Endpoint", "Placeholder", "Placement", "Step", "Wire"),
    },
    "What it changes of the machine, and takes back": {
        "vsperf.host.workspace": ("Workspace", "require_short"),
        "vsperf.host.process": ("Managed", "managed", "written"),
        "vsperf.host.threads": ("LCORES", "Polling"),
        "vsperf.host.networks": ("private_network", "hand_over"),
        "vsperf.host.taps": ("tap",),
        "vsperf.host.undo": (
            *("BindDriver", "ContinueProcess", "EndMarked", "KillProcess", "ReleaseChassis"),
            *("RemoveNetwork", "RemoveTap", "RemoveVeth", "ReturnHugepages", "SweepDpdk"),
            *("SweepSharedMemory", "owner_name"),
        ),
        "vsperf.host.files": ("integer",),
        "vsperf.stop": ("raise_if_stopped",),
        "vsperf.waits": ("aside", "received", "run", "sent", "sleep"),
        "vsperf.trust.answers": ("BoundedRequests", "body_of"),
        "vsperf.trust.own_python": ("module", "script"),
        "vsperf.trust.printable": ("printable",),
        "vsperf.trust.trusted": ("DistrustedError", "callers", "opened_file", "why_not"),
    },
    "What it says when something is wrong": {
        "vsperf.errors": (
            *("ComponentError", "DiedError", "NotReadyError", "UsageError", "VsperfError"),
        ),
        "vsperf.host.doctor.finding": (
            *("Answer", "Check", "Group", "Host", "absent", "failure", "ok", "unknown"),
            "warning",
        ),
        "vsperf.host.doctor.wants": ("POLLING_SWITCH", "Want"),
    },
    "A switch": {
        "vsperf.drivers.vswitches.base": (
            *("Filters", "HeldStill", "Routes", "Rules", "RunningSwitch", "SwitchPlan", "VSwitch"),
            "wire_of",
        ),
        "vsperf.drivers.vswitches.forwarding": ("groups", "onward", "partners"),
        "vsperf.drivers.vswitches.ports": (
            *("Place", "device_endpoint", "far_end", "link_endpoint", "places_of", "tap_endpoint"),
            *("tap_of", "vhost_endpoint", "vhost_socket", "vhost_wire", "VhostRole"),
        ),
        "vsperf.host.veths": ("FarEnd", "veth"),
        "vsperf.records.switch": (
            *("AddressCounts", "ConnectionCounters", "PmdCounters", "PortCounters"),
            *("StageCounters", "SwitchCounters"),
        ),
    },
    "A generator": {
        "vsperf.config.abilities": ("Ability", "Capabilities"),
        "vsperf.drivers.generators.base": (
            *("GeneratorSession", "OnSample", "TrafficGenerator", "TrialRequest", "Unmeasured"),
        ),
        "vsperf.drivers.generators.directions": ("check_directions",),
        "vsperf.drivers.generators.streams": (
            *("ETHERNET", "FCS", "IPV4", "TAG", "Field", "fields_of", "header_of"),
        ),
        "vsperf.records.trial": (
            *("Direction", "Headers", "RateStep", "Sample", "StepCounts", "TrialCounts"),
        ),
    },
    "VNFs": {
        "vsperf.drivers.vnfs.base": ("HeldVnfs", "RunningVnfs", "Vnf"),
        "vsperf.drivers.vnfs.group": ("Group", "Member"),
        "vsperf.records.switch": ("NicCounters", "VnfCounters"),
    },
    "A program": {
        "vsperf.drivers.programs.base": (
            *(
                "InstalledProgram",
                "KnownFault",
                "Program",
                "ProgramSpec",
                "Rendezvous",
                "Said",
                "Told",
                "ended_early",
            ),
            *("problem_of", "settings_of"),
        ),
        "vsperf.drivers.programs.find": ("PackagedProgram",),
        "vsperf.methods.exchanges": ("ExchangeAsked",),
        "vsperf.records.exchange": ("ECHO", "Failures", "Interval", "RoundTrips", "Traffic"),
        "vsperf.records.packets": ("Packets",),
    },
    "A collector": {
        "vsperf.drivers.collectors.asked": ("Asked",),
        "vsperf.drivers.collectors.base": (
            *("COMPONENT", "Asking", "AtPorts", "Collector", "Hearing", "OwnTrialsSpec", "Parts"),
            *("RunningCollector", "Seat"),
        ),
        "vsperf.records.series": ("Nature", "Quantity", "Sample"),
    },
    "A load": {
        "vsperf.config.noise": ("NoiseSpec",),
        "vsperf.drivers.loads.base": (
            *("LoadGenerator", "RunningLoad", "cpu_of", "names_of", "needs_of", "settings_of"),
        ),
        "vsperf.drivers.loads.cpu_time": ("cpu_time",),
        "vsperf.drivers.loads.programs": ("Instance", "started"),
    },
    "A method": {
        "vsperf.methods.base": ("Bench", "Method", "PLAIN", "TrialOptions"),
        "vsperf.methods.compliance": ("Findings",),
        "vsperf.methods.sweep": ("LoadSweep",),
        "vsperf.search.base": ("Budget", "BudgetExhausted", "Loads"),
        "vsperf.records.result": (
            *("Compliance", "Curve", "Figure", "Level", "Limit", "LoadResult", "SearchResult"),
            "Standard",
        ),
        "vsperf.records.trial": ("Purpose", "Trial"),
    },
    "What is done in the middle of a trial": {
        "vsperf.engine.events": ("EventAction", "Parts"),
    },
    "An export or a figure": {
        "vsperf.analysis.answers": ("headlines",),
        "vsperf.output.export.base": ("Format", "Watch", "all_cases", "text_of"),
        "vsperf.output.figures.drawing": (
            *("Axis", "Bars", "Boxes", "Drawing", "Intervals", "Line", "Panel", "Point", "Points"),
            "Spans",
        ),
        "vsperf.output.figures.groups": ("Evidence", "caption", "evidence_of_trials"),
        "vsperf.output.figures.plot": ("Options", "Plot", "Scope"),
        "vsperf.records.files.view": ("CaseView", "RunView"),
    },
}
