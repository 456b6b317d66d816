"""The words of this field and of vsperf, each explained once: `vsperf explain`, reports, a page."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RATES: Mapping[str, str] = MappingProxyType(
    {
        "NDR": "Non-drop rate: the highest load that passes without loss. It lies in the interval "
        "from the highest load that passed to the lowest that failed.",
        "PDR": "Partial drop rate: the same with a little loss allowed; each case says how much.",
        "throughput": "What RFC 2544 calls the NDR: the highest load at which no frame is lost.",
        "interval": "A load that passed … one that failed. The truth lies between; a narrower one "
        "takes more trials.",
        "load": "Frames per second that are sent into the switch, in each direction.",
        "forwarding rate": "What comes through at a load, whatever is lost of it (RFC 2889).",
        "through": "What came through of a load that was given.",
        "loss": "Frames that were due and did not arrive, as a share of those that were due. What "
        "was not sent counts as lost. A search goes by the worse direction.",
        "line rate": "All frames that a link can carry, each with preamble and gap: 14.88 Mfps of "
        "64 B at 10 Gbit/s.",
        "% line": "Share of all that the cable can carry of such frames. Ports in memory have no "
        "cable, so there is no such share.",
        "Gbit/s L1": "Bits per second as a cable carries them: each frame with preamble and gap.",
        "L2": "Gigabits per second of the frames alone.",
        "fps": "Frames per second; kfps are thousands, and Mfps millions of them.",
        "limit": "What kept the number from being higher. Where that is not the switch, the "
        "switch may do better.",
        "limited by": "The same as limit.",
        "cap": "The most that the generator was seen to do without a switch, on the same CPUs and "
        "ports. Nothing above it is offered.",
        "draw": "What one deployment happens to get, such as where its buffers lie in memory. The "
        "same switch deployed twice differs from itself by that, for as long as it lives. What "
        "is measured on one deployment is one draw, however narrow its interval: search.draws "
        "asks what was found on further ones, and each repeat of a case is a draw, too.",
        "regime": "A state in which a virtual machine stays for seconds, and with it the rate of "
        "its switch: how far the hypervisor has put the CPUs of generator and switch from each "
        "other. A cache line goes from one to the other and back before and after each trial. "
        "There are two regimes, near and far, where these round trips fall into two groups with a "
        "gap of twice the time or more between them, the widest one, and two trials or more on "
        "each side. A trial that began in one and ended in the other is of none. Each goal is "
        "answered once more from the trials of each, in clean time where it is known; the share "
        "of the time counts trials and the waits before them. Standards are held against the "
        "answer from all trials.",
        "back-to-back": "Frames sent with the least gap there is. The longest such burst without "
        "loss tells how large the buffer is (RFC 9004).",
    }
)
LATENCIES: Mapping[str, str] = MappingProxyType(
    {
        "latency": "From the moment at which a frame leaves the generator to that at which it is "
        "back.",
        "p50": "Latency that half of the frames did not exceed.",
        "p99": "Latency that 99 of 100 frames did not exceed.",
        "p99.9": "Latency that 999 of 1,000 frames did not exceed.",
        "delay variation": "How latencies of frames differ from each other: IPDV from one to the "
        "next (RFC 5481), PDV from the least of all.",
    }
)
MACHINE: Mapping[str, str] = MappingProxyType(
    {
        "stall": "A time in which the machine kept a thread that polls from running.",
        "longest stall": "The longest time between two looks of the generator at its ports.",
        "steal": "Time in which the hypervisor ran somebody else on a CPU of this machine.",
        "clean time": "Time in which nothing kept the generator or the switch from "
        "running: `clean` is its share. A trial is counted in slots of about 3 ms. Left "
        "out are those in which the generator did not run for 100 µs or more, those in "
        "which no frame came for as long if the kernel says that polling threads behind "
        "it did not run for all of such time in the search, and one slot on each side, "
        "whatever they lost. What is left is searched like any other time, until it fills "
        "what the goal asks for; where less than half is left, there is no such answer. "
        "Standards are held against the answer from all time.",
        "jitter": "Stalls and all else by which a machine is not the same from one moment to the "
        "next.",
        "CPU to CPU": "How long a cache line takes from the generator's CPU to the switch's and "
        "back. Where it changes, the hypervisor has moved a CPU.",
    }
)
FRAMES: Mapping[str, str] = MappingProxyType(
    {
        "frame size": "Bytes of a frame with its checksum (FCS), without preamble and gap.",
        "IMIX": "A mix of frame sizes in given shares, as the Internet has them.",
        "flow": "Frames that a switch treats alike: of the same addresses and ports.",
        "due": "Frames that the load asks for: sent, refused and not sent together.",
        "sent": "Frames that the switch's port took.",
        "refused": "Frames that were offered, and that the switch did not take from its full ring: "
        "its loss, too.",
        "not sent": "Frames that the generator was too slow to offer. They count as lost.",
        "arrived": "Frames that came back.",
        "dropped by the switch": "Frames that a counter of the switch says it has dropped.",
        "unexplained": "Sent, not arrived, and dropped by nobody who counts. It should be 0.",
        "path check": "A few frames in each direction before anything is measured: silence is no "
        "overload.",
        "warm-up": "A first trial that fills the switch's caches, and is not looked at.",
    }
)
PARTS: Mapping[str, str] = MappingProxyType(
    {
        "device under test": "The switch, `dut` in short, with all that lies behind it.",
        "generator": "Sends frames, receives them again, and counts both.",
        "VNF": "Virtual network function: what a switch forwards to, in a virtual machine or a "
        "process, such as a router or a firewall; here one that sends everything back.",
        "vhost-user": "A port in memory that a switch shares with a virtual machine, or with the "
        "generator.",
        "virtio": "The network card of a virtual machine, as the machine sees it.",
        "tap": "A network device of the kernel, of which a program has the other end.",
        "AF_XDP": "A socket by which a program takes frames off a device of the kernel, past most "
        "of the kernel.",
        "memif": "A port in memory that two programs of DPDK or VPP share.",
        "NIC": "A network card.",
        "PMD": "Poll-mode driver: DPDK's way to receive, by a thread that always looks. A PMD "
        "thread of Open vSwitch is such a thread.",
        "queue": "A ring of frames between two parts. A port may have several, each for a thread.",
        "EMC": "Exact-match cache of OVS-DPDK: the fastest of its caches, for few flows.",
        "SMC": "Signature-match cache of OVS-DPDK: for more flows than the EMC holds.",
        "megaflow": "An entry of OVS's third cache, which stands for all flows that are treated "
        "alike.",
        "upcall": "What a frame costs that no cache of OVS knows: all tables of rules are asked.",
        "hugepages": "Memory in pages of 2 MB or 1 GB, so that looking an address up costs less.",
        "memory node": "CPUs and the memory that is near to them (NUMA).",
        "LLC": "Last-level cache of a processor, which its cores share.",
        "busy": "Share of its time in which a thread of the switch found frames to work on.",
        "cycles/frame": "What a frame cost the switch, in cycles of its CPU.",
        "answered by": "Which cache of the switch knew what to do with frames.",
    }
)
RUNS: Mapping[str, str] = MappingProxyType(
    {
        "testbed": "Machines and links that there are; the one thing that differs between a "
        "laptop and a laboratory.",
        "topology": "The paths of frames through links, switch and what is behind it. p2p: from "
        "port to port. pvp: by a virtual machine. pvvp: by two in a row. pvpv: by two side by "
        "side. v2v: from one to the other.",
        "testcase": "A file that says what is measured; lists in it make several cases.",
        "case": "One concrete point of a testcase: every list expanded, every default filled in.",
        "run": "What one command measured: a folder with its records.",
        "trial": "Frames sent at one load for one time, and counted.",
        "trials": "How often frames were sent and counted, at one load for one time.",
        "time": "For how long frames were sent in all.",
        "method": "What a case is asked, and how: a search, bursts, a soak …",
        "search": "A method that tries one load after another until it knows the highest.",
        "goal": "What a search looks for, such as NDR and PDR: a loss that is allowed.",
        "preset": "How exact, and so how long: quick, standard, or as a standard asks.",
        "calibration": "What generator and CPUs do before there is a switch.",
        "repeat": "The same case once more, on a deployment of its own: another draw.",
        "baseline": "A name for a run that others are held against.",
        "criterion": "A bound that `expect:` sets to a number; missed, the case is a FAIL.",
        "compliance": "Which standards a result satisfies, and what deviates.",
        "outcome": "PASS: it was measured, and no criterion was missed. FAIL: one was. INVALID and "
        "ERROR: there is no number.",
        "functional only": "It works, and its rate says nothing: guests are emulated, or parts "
        "share a CPU.",
        "soak": "One load for minutes or hours, to see whether anything is ever lost.",
        "background load": "What runs beside a case on purpose: `noise:` in a testcase.",
        "collector": "Looks at what machine and parts did around trials, and is no part of them.",
        "note": "A doubt with which the number stands.",
        "suspect": "A doubt with which the number stands, with a reservation.",
        "invalid": "A doubt with which the number is not used.",
    }
)
SUBJECTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "rates": RATES,
        "latencies": LATENCIES,
        "machine": MACHINE,
        "frames": FRAMES,
        "parts": PARTS,
        "runs": RUNS,
    }
)


ALSO = MappingProxyType({"clean": "clean time"})
"""Headings that are shorter than the word."""


def meaning(word: str) -> str | None:
    """Return what a word means; None where it is none of these."""
    word = ALSO.get(word, word)
    return next((words[word] for words in SUBJECTS.values() if word in words), None)
