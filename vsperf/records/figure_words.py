"""What each figure of a method means, and each axis of its curves."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

BY_EVENT = {
    "time": "Longest time in which nothing came through, or nobody could connect, after the {}.",
    "lost time": "The same by loss: frames lost after the {}, at the load that was offered.",
    "difference": "Time by loss less time by stamps, after the {}: below 0 frames waited and came "
    "late, above 0 more was lost than in the silence.",
    "lost": "Frames lost after the {}.",
    "failed": "Connections that failed around the {}.",
}
EVENTS = {
    "restart": "restart of the switch",
    "kill": "kill of the switch",
    "reboot": "reboot of VNFs",
}
OF_PACKETS = {
    "p50": "Time there and back that half of a probe's packets did not exceed, {}.",
    "p99": "Time there and back that 99 of 100 of a probe's packets did not exceed, {}.",
    "p999": "Time there and back that 999 of 1,000 of a probe's packets did not exceed, {}.",
    "max": "The longest time there and back of a probe's packet that came back, {}.",
    "lost": "Share of a probe's packets that were sent and never came back, {}.",
    "unsent": "Share of a probe's packets that were due and not sent, as their client did not run, "
    "{}.",
}
WAYS = {
    "loaded": "beside streams",
    "idle": "with nothing beside them",
    "difference": "beside streams less alone",
}
FIGURES: Mapping[str, str] = MappingProxyType(
    {
        "burst": "The longest burst at the highest rate of which no frame is lost, in frames.",
        "implied buffer time": "The burst by its rate: how long the buffer lasts, if nothing were "
        "forwarded meanwhile.",
        "buffer time": "The same without what is forwarded meanwhile.",
        "buffered": "Frames that wait at the end of the longest burst without loss.",
        "slow bursts": "Bursts came slower than the cable carries, so these numbers are other ones "
        "than those of RFC 9004.",
        "tagged latency": "How long one marked frame of each trial was on its way, in the mean of "
        "trials (RFC 2544).",
        "typical latency": "The median over trials of their medians (RFC 8219).",
        "worst case latency": "The median over trials of what 999 of 1,000 frames did not exceed.",
        "mean latency": "The median over trials of the mean of all frames.",
        "trials with loss": "Trials at the throughput in which frames were lost.",
        "addresses": "How many addresses a bridge knows at a time.",
        "learning rate": "New addresses in a second of which a bridge learns all.",
        "kept": "What the most changes of rules leave of the throughput, as a share.",
        "flow setup rate": "New flows in a second that a switch takes without loss.",
        "first frame latency": "How long the first frame of a flow is on its way: its rules are "
        "looked up.",
        "later frame latency": "The same of a later frame, of which a switch knows what to do.",
        "frmol": "Forwarding rate at the highest load (RFC 2889).",
        "mfr": "The highest forwarding rate at any load (RFC 2889).",
        "lossless load": "The higher one of two loads in a row that lose nothing (RFC 2544).",
        "loss at top": "What is lost at the highest load, as a share.",
        "recovery time": "For how long frames are still lost when an overload ends.",
        "overload share": "How much of the overload that was asked for could be offered.",
        "loss ratio": "Frames that were lost, as a share of those that were due.",
        "loss events": "Stretches of seconds in which frames were lost.",
        "latency drift": "By how much frames are longer on their way at the end than at the "
        "beginning; below 0 they are shorter.",
        "cycles drift": "The same of what a frame costs the switch, in cycles of its CPU.",
        "wake up latency": "How long the frame is on its way that ends a silence.",
        "awake latency": "The same of frames right before the silence.",
        "flood arrived": "Share of the flood of SYNs that came through.",
        "memory per connection": "What a switch has more of memory for each connection that it "
        "keeps.",
        "failed connections": "All connections that failed, from first to last.",
        "handshake drift": "By how much handshakes take longer at the end than at the beginning.",
        "entries growth": "Connections that a switch keeps more at the end than after half of the "
        "time, though all are closed.",
        "memory growth": "Memory that a switch has more at the end than after half of the time.",
        "failed requests": "Requests with another status than 2xx, on broken connections, or "
        "answered too late for the program.",
        "waiting requests": "Requests that were due by a clock, and not answered in the end.",
        "total": "What all directions came to together, in the same window as the rate.",
        "datagrams": "Datagrams that arrived in a second, in the slowest direction; of connections "
        "packets of UDP at both ends.",
        "total datagrams": "The same of all directions together.",
        "context switches": "How often clients, servers or switch gave their CPU away or had it "
        "taken, for each gigabit, or thousand requests, that arrived.",
        "ratio": "Of switches in turns, as a share of what the first one comes to: what one "
        "forwards, its latency (median or p99), or, as delivery, what came through of a load.",
        "control": "The ratio of the first switch to itself, deployed once more: where its "
        "interval does not hold 1, nothing else is believed.",
        **{
            f"{event} {name}": text.format(what)
            for event, what in EVENTS.items()
            for name, text in BY_EVENT.items()
        },
        **{
            f"{name} {way}": text.format(what)
            for name, text in OF_PACKETS.items()
            for way, what in WAYS.items()
        },
        "over time": "The same numbers for one stretch of the time after the other.",
        "by load": "What became of each load that was tried.",
        "by share": "Which time what share of the packets did not exceed.",
        "by instance": "What each client and its server came to.",
        "longest over time": "The longest time of a packet in each second.",
        "losses": "The greatest losses: when, for how long, and what kept threads from running "
        "then.",
        "throughput beside changes": "The throughput by how many rules change in a second.",
        "wanted": "Changes of rules in a second that were asked for.",
        "changed": "Changes of rules in a second that the switch took.",
        "passed": "The highest load that passed.",
        "share": "Which part of the whole it is.",
        "offered": "The load that was asked of the switch.",
        "until": "When a stretch of the time ended, from the beginning.",
        "entries": "Connections that a switch keeps.",
        "memory": "Memory that a switch has.",
        "cycles per frame": "What a frame cost the switch, in cycles of its CPU.",
        "kept from running": "For how long threads that poll did not have their CPU, as the kernel "
        "knows.",
    }
)
