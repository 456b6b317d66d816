"""The words of this field and of vsperf, each explained once: `vsperf explain`, reports, a page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from vsperf.records.figure_words import FIGURES

RATES: Mapping[str, str] = MappingProxyType(
    {
        "NDR": "Non-drop rate: the highest load that passes without loss. It lies in the interval "
        "from the highest load that passed to the lowest that failed. By RFC 9971 a load passes "
        "where most of its time passed (`search.exceed_ratio`), so some trials at it may have lost "
        "frames; a line below the table says how many. With RFC 2544 a single loss fails it.",
        "PDR": "Partial drop rate: the same with a little loss allowed; each case says how much.",
        "throughput": "What RFC 2544 calls the NDR: the highest load at which no frame is lost.",
        "conditional throughput": "What arrived at the lower bound of a goal, per direction. Where "
        "loss is allowed it is a little below that bound. Exports call it `pdr_throughput_fps`.",
        "interval": "A load that passed … one that failed. The truth lies between; a narrower one "
        "takes more trials. Each end is rounded away from the truth: what is at least 4,528,985 is "
        "shown as at least 4.528 M. The load of a trial bounds nothing and is rounded as usual, to "
        "4.529 M. Records and exports have all digits.",
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
        "bit/s": "Bits in a second; kbit/s, Mbit/s and Gbit/s are a thousand, a million and a "
        "billion of them.",
        "limit": "What kept the number from being higher. Where that is not the switch, the "
        "switch may do better.",
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
        "back. What leaves later than it was due, as a port was full or the generator did not run, "
        "has waited before that moment, and no latency of frames has such a wait in it.",
        "p50": "Latency that half of the frames did not exceed.",
        "p99": "Latency that 99 of 100 frames did not exceed.",
        "p99.9": "Latency that 999 of 1,000 frames did not exceed.",
        "delay variation": "How latencies of frames differ from each other: IPDV from one to the "
        "next (RFC 5481), PDV from the least of all.",
    }
)
HOST: Mapping[str, str] = MappingProxyType(
    {
        "host": "The computer that vsperf runs on, and with it the switch, the VNFs and mostly the "
        "generator.",
        "stall": "A time in which the host kept a thread that polls from running.",
        "longest stall": "The longest time between two looks of the generator at its ports.",
        "steal": "Time in which the hypervisor ran somebody else on a CPU of this machine.",
        "clean time": "Time in which nothing kept the generator or the switch from "
        "running: `clean` is its share. A trial is counted in slots of about 3 ms. Left "
        "out are those in which the generator did not run for 100 µs or more, those in "
        "which no frame came for as long if the kernel says that polling threads behind "
        "it did not run for all of such time in the search, and one slot on each side, "
        "whatever they lost. What is left is searched like any other time, until it fills "
        "what the goal asks for; where less than half is left, there is no such answer. "
        "Standards are held against the answer from all time. Of programs it is what others "
        "left of the CPU of which they had most.",
        "slot": "About 3 ms of a trial: tgen counts for each what it sent, what arrived, and "
        "whether it was kept from running. Clean time is made of them.",
        "hypervisor": "What runs virtual machines, and shares the CPUs of a computer among them.",
        "waited": "Ready to run while its CPU ran something else.",
        "jitter": "Stalls and all else by which a host is not the same from one moment to the "
        "next.",
        "distance": "How far the hypervisor has put the CPUs of generator and switch from each "
        "other, by the round trips of a cache line (CPU to CPU). Where it changes during a search, "
        "each distance, near and far, is a regime with an answer of its own.",
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
        "its loss, too. Of connections: a SYN that was answered by a RST.",
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
        "reference DUT": "A forwarder that does known wrong to known frames; generators are tested "
        "against it.",
        "generator": "Sends frames, receives them again, and counts both.",
        "VNF": "Virtual network function: what a switch forwards to, in a VM or a process, such as "
        "a router or a firewall; here one that sends everything back.",
        "VM": "Virtual machine: what QEMU runs. The system in it is its guest.",
        "guest": "The system in a VM: what forwards there as a VNF, or, as a place, runs programs.",
        "KVM": "The kernel's way to run a virtual machine on the processor itself.",
        "TCG": "QEMU's emulation of processors: it works everywhere, and says nothing of speed.",
        "DPDK": "A library by which programs drive ports themselves, past the kernel.",
        "vhost-user": "A port in memory that a switch shares with a VNF, or with the generator.",
        "virtio": "The NIC of a VM, as the VM sees it.",
        "tap": "A network device of the kernel, of which a program has the other end.",
        "AF_XDP": "A socket by which a program takes frames off a device of the kernel, past most "
        "of the kernel.",
        "memif": "A port in memory that two programs of DPDK or VPP share.",
        "NIC": "A network card, of a host or of a VNF.",
        "PMD": "Poll-mode driver: DPDK's way to receive, by a thread that always looks. A PMD "
        "thread of Open vSwitch is such a thread.",
        "switch main": "All threads of a switch but those that poll. They sleep most of the time, "
        "so they may share a CPU; `vsperf plan` says which.",
        "queue": "A ring of frames between two parts. A port may have several, each for a thread.",
        "simple": "OVS-DPDK's match by port alone, where no rule asks for more: such frames need "
        "no cache, and settings of caches change nothing for them.",
        "EMC": "Exact-match cache of OVS-DPDK: the fastest of its caches, for few flows.",
        "SMC": "Signature-match cache of OVS-DPDK: for more flows than the EMC holds.",
        "megaflow": "An entry of OVS's third cache, which stands for all flows that are treated "
        "alike.",
        "upcall": "What a frame costs that no cache of OVS knows: all tables of rules are asked.",
        "vCPU": "A CPU as a guest sees it: a thread of QEMU, which has a CPU of the host to itself "
        "where there are enough. `vnf.vcpus` says how many a guest has.",
        "pinning": "Keeping a thread on one CPU. vsperf pins all that poll, vCPUs, and clients and "
        "servers; `vsperf plan` says where. Whether client and server share a CPU is for "
        "`search.pinning` to say.",
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
        "testbed": "Hosts and links that there are; the one thing that differs between a "
        "laptop and a laboratory.",
        "topology": "The paths of frames through links, switch and what is behind it. p2p: from "
        "port to port. pvp: by a VNF. pvvp: by two in a row. pvpv: by two side by "
        "side. v2v: from one to the other. star: from one port to several.",
        "testcase": "A file that says what is measured; lists in it make several cases.",
        "case": "One concrete point of a testcase: every list expanded, every default filled in.",
        "run": "What one command measured: a folder with its records.",
        "deployment": "What of a case runs: switch, what is behind it, and generator, in a folder "
        "of their own.",
        "journal": "The undo of each step of a deployment, on disk before the step is made: by it "
        "`vsperf clean` takes down what a killed run left.",
        "trial": "Frames sent at one load for one time, and counted.",
        "trials": "How often frames were sent and counted, at one load for one time.",
        "time": "How long the trials of a case took in all. Its run `took` longer.",
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
        "test conditions": "What a case found around itself: calibration, stalls, versions, and "
        "how its parts were really set up.",
        "event": "What is done to the switch or to VNFs in the midst of a trial, such as a "
        "restart.",
        "pacing monitor": "Sees frames leave the generator, and says how evenly they come: "
        "`collect: pacing`.",
        "collector": "Looks at what host and parts did around trials, and is no part of them.",
        "note": "A doubt with which the number stands.",
        "SIMULATED": "Numbers of a model (`--testbed sim`), and of no switch.",
        "suspect": "A doubt with which the number stands, with a reservation.",
        "invalid": "A doubt with which the number is not used.",
    }
)
TABLES: Mapping[str, str] = MappingProxyType(
    {
        "latest": "What the last of several runs found; for RUN, the last run.",
        "curve": "Numbers of a result by another one, such as the loss at each load; `vsperf plot` "
        "draws it.",
        "number": "What a row is about, such as the NDR or a figure of the method.",
        "figure": "A number that a method found beside or in place of a rate, such as a burst.",
        "value": "The figure itself.",
        "measured at, and why": "The load or length at which a figure was found, and why it is no "
        "other.",
        "lowest … highest": "The least and the greatest of what was measured several times.",
        "median": "The one in the middle: as many are less as are more.",
        "least": "The smallest that was seen.",
        "most": "The greatest that was seen.",
        "p90": "What 90 of 100 did not exceed.",
        "result, per direction": "What was found, for frames of one direction; both together carry "
        "twice as many where frames go both ways.",
        "first result": "What the first case of a run came to.",
        "loss allowed": "The loss with which a load still passes for a goal, as a share.",
        "lost": "Frames that were due and did not arrive, of all directions together. A share "
        "beside them is that of the worse direction, which it names: a search goes by it.",
        "away": "How long no frame came after an event, at worst.",
        "switch": "Which switch a row is of, as the testcase calls it.",
        "started": "When a run began, in UTC: so says the `Z` behind the time.",
        "took": "How long a run took, with all that it did beside trials, without interruptions.",
        "cases": "How many cases a run has.",
        "label": "What a user called a run, such as revision=4f2c1ab: `vsperf run --label`.",
        "name": "What something is called on the command line.",
        "title": "What it is, in a line.",
        "tags": "Words that testcases are chosen by: `vsperf run --tag`.",
        "from": "The file that it was found in, and which others of that name it hides.",
        "part": "Switch, VNF or generator of a deployment that is kept.",
        "your generator": "What a generator of your own does to reach a port that is kept open.",
        "repeated": "Which number was measured several times.",
        "µs": "A millionth of a second; ms is a thousandth, ns a billionth.",
        "B": "Bytes; kB and MB count by 1,000, KiB, MiB and GiB by 1,024.",
        "s": "Standard deviation: how far repeats lie from their mean.",
        "s / mean": "The same as a share of the mean.",
        "mean, 95 %": "Where the mean of many repeats lies, in 95 of 100 such tables; it presumes "
        "that they scatter normally, and that no repeat depends on another.",
        "repeats": "How often each side was measured, as A:B.",
        "what differs": "A fact on host, software or settings that sides do not share.",
        "where": "In which cases it differs; empty where it does in all.",
        "A": "The side that all others are held against: the first.",
        "by": "By which means a change was judged: ranks of repeats, scatter, or intervals alone.",
        "change": "By how much a number is another, as a share of the first, and in brackets where "
        "that can lie; ~ is no change that is more than chance, ? nothing to judge by.",
        "forwards": "What each switch came to, over all rounds.",
        "to A": "What it comes to beside the first switch, by turns that follow each other.",
        "95 %": "The interval that holds the truth in 95 of 100 such measurements.",
        "so it is": "What follows: faster, slower, less or more of it, or not to be told apart.",
        "one round": "To how much one round alone is known.",
        "rounds": "How often all switches were deployed anew and measured in turns.",
        "stream": "Frames of one direction, as the generator counts them.",
        "worker": "A thread of the generator.",
        "port": "Where the generator sends and receives.",
        "round trip": "How long a cache line takes from one CPU to another and back.",
        "frame": "Size of the frames, with their checksum (FCS).",
        "per CPU": "The same divided by the CPUs of the generator.",
        "loss-free": "The interval in which the highest load without loss lies.",
        "floor min": "The least latency that there is without a switch.",
        "of": "The thread, port or part that was looked at.",
        "what": "What was counted there.",
        "for a frame": "The same divided by the frames that passed.",
        "for": "What a trial was for: a search, a latency, a warm-up.",
        "said of it": "Doubts about a trial.",
        "noise": "What runs beside a case on purpose: `noise:` in a testcase.",
        "collect": "What is looked at around trials: `collect:` in a testcase.",
        "settled at": "What a load beside the case did before the first trial.",
        "in trials": "What it did while frames were sent.",
        "had a CPU": "The share of the time in which it ran.",
        "heard of in": "In how many trials it said what it did.",
        "died or slackened in": "In which trials it did not do what it had settled at.",
        "quiet": "The case without a load beside it.",
        "set": "When a run became a baseline (UTC).",
        "CPU": "On which CPUs of the host a part runs, by their numbers.",
        "MAC": "The address of a NIC.",
        "frames leave for": "The address to which a NIC of a VNF sends.",
        "plugged into": "What a NIC of a VNF is joined to: a socket or a device.",
        "has to": "What a generator of your own does at a port: it listens, calls, or sends there.",
        "as a device of DPDK": "What a generator that uses DPDK calls the port.",
        "instance": "A client and its server, one stream of several.",
        "direction": "From where to where frames go.",
        "rate": "Of programs: bits or answers in a second while all instances ran. Of switches in "
        "turns: what each came to over all rounds.",
        "received": "What arrived: at a program its data, at a network device its frames with "
        "their headers.",
        "began": "When data began to flow, at the latest, after the instant at which all instances "
        "were to start.",
        "sent again": "Segments of TCP that were sent more than once.",
        "place": "An end of a link, where a program runs.",
        "rxpck/s": "Frames that a network device received in a second, as sar has it.",
        "txpck/s": "Frames that it sent in a second.",
        "rxkB/s": "Kilobytes of 1,024 bytes that a network device received in a second, as sar has "
        "it.",
        "txkB/s": "Those that it sent in a second.",
        "%ifutil": "Share of the speed that a network device says it has, of the busier direction, "
        "as sar has it. One that the kernel alone made says a speed that it does not keep to.",
        "bytes each": "Bytes of a frame that a network device received, in the mean; with offloads "
        "it may be many frames on a cable.",
        "dropped": "Frames that a counter of the switch, or of a network device, says it has "
        "dropped.",
        "checked": "The most that came through any trial, each frame looked at.",
        "scatter": "How far repeats lie apart, as a share.",
        "floor": "Latency at the lightest load: half of the frames did not exceed it.",
        "pacing": "How evenly frames leave the generator: by how much the mean rate was off, and "
        "by how much gaps were.",
        "at": "The load at which latency was measured, by what it refers to.",
    }
)
PROGRAMS: Mapping[str, str] = MappingProxyType(
    {
        "program": "Exchanges data as a service does, such as iperf3: a client with a server.",
        "exchange": "What instances did from one instant on, once; the rate is that of the window "
        "in which all of them ran.",
        "transactions": "Requests that were answered; a client waits for each answer before it "
        "asks again.",
        "mean": "The mean of all transactions of an instance, from a request to its response.",
        "p99 from due": "Time that 99 of 100 requests did not exceed, from when they were due by "
        "the clock, whenever they were sent.",
        "p50 from sent": "Time that half of the requests did not exceed, from when the client came "
        "to send them: what they waited before that, as it was late, is not in it.",
        "p99 from sent": "The same, for 99 of 100 requests.",
        "mean round trip": "The mean of all transactions, from when a request was sent to its "
        "response. None is due while another one waits, so a pause of the path is one of them.",
        "p99 round trip": "Time that 99 of 100 transactions did not exceed, likewise.",
        "probe": "A program that measures how long packets take while others send as much as they "
        "can.",
        "loaded": "Beside streams that send as much as they can.",
        "idle": "The same packets with nothing beside them; of a CPU, that it had nothing to do.",
        "role": "What a program is there for: a client, a server, the probe, the switch, or vsperf "
        "itself.",
        "used by": "Whose CPU time it is: a program, or the roles that run on a CPU.",
        "CPU time": "For how long something ran on CPUs, as the kernel counts it. What the kernel "
        "does for frames is with whoever ran then: the sender, the switch, or, in interrupts, "
        "nobody.",
        "of a CPU": "CPU time as a share of the time that passed.",
        "user": "CPU time in programs themselves.",
        "system": "CPU time in the kernel, as programs called it.",
        "for a request": "CPU time divided by the requests that were answered meanwhile.",
        "for a bit": "CPU time divided by the bits that arrived meanwhile.",
        "gave way": "How often a program gave its CPU away, as it had to wait: voluntary context "
        "switches.",
        "was stopped": "How often a program's CPU was taken away from it: involuntary context "
        "switches.",
        "soft interrupts": "Time in which the kernel does what interrupts have put off, such as "
        "handling frames that came in.",
        "not counted": "Time of a CPU that the kernel counts nowhere: mostly interrupts that came "
        "while it was idle, as its clock stands then.",
        "others": "What a CPU did that no program of this exchange asked for: programs of others, "
        "and the kernel's own work.",
        "cpu per request": "CPU time that a request costs clients, servers and switch together. "
        "Who of them does the work of the network's stack differs by switch; the sum does not.",
        "cpu per request clients": "The same of clients alone.",
        "cpu per request servers": "The same of servers alone.",
        "cpu per request switch": "The same of the switch alone: of its threads, or of a kernel "
        "that forwards its interrupts on the CPUs that do so.",
        "cpu per bit": "CPU time that a bit costs clients, servers and switch together.",
        "cpu per bit clients": "The same of clients alone.",
        "cpu per bit servers": "The same of servers alone.",
        "cpu per bit switch": "The same of the switch alone: of its threads, or of a kernel that "
        "forwards its interrupts on the CPUs that do so.",
        "packets by a clock": "Packets that a probe sends at a fixed interval, whatever became of "
        "those before; each of them is sent back.",
        "packets due": "Packets that were to be sent by the clock in the window.",
        "unsent": "Packets that were due, and whose client was kept from running. Each counts from "
        "when it was due to the answer of the next one.",
        "twice": "Packets that came back once more.",
        "out of order": "Packets that came back after one that was sent later.",
        "p50 from due": "Time that half of the packets did not exceed, from when they were due by "
        "the clock, whenever they were sent.",
        "most from due": "The longest time of a packet, from when it was due by the clock.",
        "failed": "Requests of HTTP with another status than 2xx, on broken connections, or "
        "answered too late for the program; of connections, and of requests by a clock, those that "
        "were begun and did not come to their end in order.",
        "not begun": "Connections, or requests by a clock, that were due and for which the "
        "generator had no time, or no port. They have not failed.",
        "connections": "What became of each connection that was due, of TCP or a flow of UDP: one "
        "outcome for each.",
        "count": "How many they are.",
        "requests": "What became of each request that was due by a clock on connections that are "
        "open: asked, and answered or not; or not, as its connection waited or was gone.",
        "packet rate": "Packets that go over open connections in a second, both ways "
        "together, none of which is lost.",
        "goodput": "Bits of responses that open connections carry in a second, no headers of "
        "frames among them, where each request is answered at once.",
        "request rate": "Requests that are due in a second, each of which is answered at once.",
        "response p99": "From when a request was due to the end of its response, for 99 of 100 of "
        "those that were answered: one whose connection still waited was not asked, and has none. "
        "While the generator did not run nothing was due.",
        "connection rate": "Connections that begin in a second, of which none fails; of UDP each "
        "is a flow from a port of its own, with a request and its response.",
        "concurrent connections": "Connections that are open at the same time, none of which "
        "fails.",
        "handshake p99": "From when the first segment of a connection was due to its answer, for "
        "99 of 100 of those that were answered. While the generator did not run none was due.",
        "first response p99": "From when the first packet of a connection was due to the end of "
        "the first response, for 99 of 100 of those that had one, likewise.",
        "repeated segments": "Segments of TCP that were sent again, since nobody acknowledged "
        "them.",
        "repeated datagrams": "Datagrams of UDP that were sent again, since no response had come.",
        "begun": "Connections whose first SYN was sent.",
        "completed": "Connections with a handshake, all responses right, and an end by both sides.",
        "misanswered": "Whoever answered had another address or port than who was called.",
        "given up": "A connection that was not answered yet when the trial ended.",
        "reset": "A connection that was open, and then ended from outside.",
        "no response": "A connection that was open, and whose request nobody answered.",
        "wrong payload": "A response with other bytes than were to come.",
        "not closed": "A connection whose end nobody acknowledged.",
        "unfinished": "A connection that was under way when the time was over.",
        "asked": "Requests that were sent when they were due.",
        "answered": "Connections, or requests by a clock, that somebody answered.",
        "waiting": "Requests that were due while their connection waited for the response before.",
        "gone": "Requests that were due on a connection that was there no more.",
        "segments": "Packets of TCP, at both ends of connections.",
        "stray": "Segments that belong to no connection of the trial.",
        "damaged": "Segments with a wrong checksum.",
        "disordered": "Segments that came after one that was sent later.",
        "client": "The end that begins connections.",
        "server": "The end that answers them.",
    }
)
VERDICTS: Mapping[str, str] = MappingProxyType(
    {
        "worse": "A number changed for the worse, by more than chance.",
        "better": "A number changed for the better, by more than chance.",
        "no change": "No number changed by more than chance; each that was judged has an interval.",
        "cannot be told": "There is nothing to judge by: single numbers without bounds or repeats, "
        "or lower bounds alone on both sides.",
        "cut": "From this run on something else is measured: other settings, or another machine.",
        "refuted": "A later case disproved what it rested on, so it is measured again.",
        "not run": "The case has not begun.",
        "interrupted": "It began and did not end; `vsperf run --resume` goes on with it.",
        "running": "A process is writing the run.",
        "finished": "The run came to its end, whatever the outcome.",
        "full": "● This resource kept the result from being higher, or may have; ○ it did not; "
        "? that cannot be told.",
        "no answer": "Of a connection: nobody answered its SYN, as often as it was sent. Of a "
        "search: it found no load that holds, or ended before it did.",
        "answer": "Turns that tell how switches stand to each other.",
    }
)
MARKS: Mapping[str, str] = MappingProxyType(
    {
        "✓": "It is so: a standard is complied with, in brackets conditionally; a part is there, a "
        "driver can be used here.",
        "✗": "It is not so: a standard is not complied with; of `vsperf doctor` what would stop a "
        "run.",
        "!": "A doubt that qualifies a number; of `vsperf doctor` what may spoil one.",
        "–": "Nobody knows, or there is no such thing, such as the program of a driver. It never "
        "stands for 0.",
        "≥": "A lower bound: nothing failed that was the switch's fault, so it may do better.",
        "≤": "An upper bound.",
        "±": "How far an estimate can be off: a standard deviation.",
        "×": "How often.",
    }
)
SUBJECTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "rates": RATES,
        "latencies": LATENCIES,
        "host": HOST,
        "frames": FRAMES,
        "parts": PARTS,
        "runs": RUNS,
        "programs": PROGRAMS,
        "tables": TABLES,
        "figures": FIGURES,
        "verdicts": VERDICTS,
        "marks": MARKS,
    }
)


ALSO = MappingProxyType(
    {
        "set (utc)": "set",
        **dict.fromkeys(("kfps", "mfps", "gfps", "kpps", "mpps"), "fps"),
        **dict.fromkeys(("kbit/s", "mbit/s", "gbit/s"), "bit/s"),
        **dict.fromkeys(("ns", "ms"), "µs"),
        **dict.fromkeys(("kb", "mb", "gb", "kib", "mib", "gib"), "B"),
        "l1": "Gbit/s L1",
        "(✓)": "✓",
        "…": "interval",
        "a′": "control",
        "stolen": "steal",
        "numa": "memory node",
        "places": "place",
        "regimes": "regime",
        "cpus": "CPU",
        "vcpus": "vCPU",
        "slots": "slot",
        "simple match": "simple",
        "p999": "p99.9",
        "curves": "curve",
        "ranks": "by",
        "intervals": "by",
        "nothing": "by",
        "free": "full",
        "~": "change",
        "?": "change",
        **dict.fromkeys(("slower", "faster", "not to be told apart"), "so it is"),
        **dict.fromkeys(("less latency", "more latency", "loses more", "loses less"), "so it is"),
        "the same, as it has to be": "control",
        "not the same": "control",
        "●": "full",
        "○": "full",
        **dict.fromkeys(("clean", "undisturbed", "undisturbed time"), "clean time"),
        "near": "regime",
        "far": "regime",
        "host: too busy to tell": "host-too-busy",
        "too busy to tell": "host-too-busy",
        "labels": "label",
        "limited by": "limit",
        **dict.fromkeys(
            (f"{goal}_throughput{unit}" for goal in ("ndr", "pdr") for unit in ("", "_fps")),
            "conditional throughput",
        ),
        **dict.fromkeys(("lowest", "minimum"), "least"),
        **dict.fromkeys(("highest", "maximum"), "most"),
        "stalls": "stall",
        "beside": "noise",
        "beside noise": "noise",
        "judged": "by",
        "begun (utc)": "started",
        "vm": "VNF",
        "frames lost": "lost",
        "switch busy": "busy",
        "instances": "instance",
        "round": "rounds",
        "frames in": "received",
        "frames out": "sent",
        "dropped in": "dropped",
        "dropped out": "dropped",
    }
)
"""Headings that are shorter than the word, or another one for it."""


ENDINGS = re.compile(r"(.+)[ _](?:clean|near|far|slow[ _]bursts|clients|servers|switch|[a-h])")
"""Of figures in several forms: in clean time, in a regime, or of each switch or role."""
IN_TURNS = re.compile(r"(?:latency|p99|delivery)[ _](ratio|control|draw)")


def without_ending(word: str) -> str | None:
    """Return the figure of which another one is a form, such as `ratio` for `ratio_b`, if any."""
    found = ENDINGS.fullmatch(word)
    left = word if found is None else found[1]
    of = IN_TURNS.fullmatch(left)
    return of[1] if of is not None else None if found is None else left


def meaning(word: str) -> str | None:
    """Return what a word means; None where it is none of these."""
    word = ALSO.get(word.lower(), word)
    while not any(word in words for words in SUBJECTS.values()) and (left := without_ending(word)):
        word = ALSO.get(left.lower(), left)
    return next((words[word] for words in SUBJECTS.values() if word in words), None)
