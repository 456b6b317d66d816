"""What a trial of tgen found, as rows for people. Pure; what is not known is a dash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vsperf.quantities.human import human_fps, human_ns, human_share
from vsperf.quantities.units import NANOSECONDS

UNKNOWN = "–"
SHORT = 0.001
"""What is not sent of a stream, as a share, beyond which its rate was not reached."""
PERCENTILES = ("50", "90", "99", "99.9", "99.99")
COUNTERS = (
    ("intended", "intended"),
    ("sent", "sent"),
    ("unsent", "unsent"),
    ("received", "received"),
    ("lost on the way", "lost"),
    ("duplicates", "duplicates"),
    ("reordered", "reordered"),
    ("… greatest extent", "reorder_extent"),
    ("too late to tell", "beyond_window"),
    ("corrupted", "corrupted"),
    ("misrouted", "misrouted"),
    ("wrong size", "wrong_size"),
)
UNMARKED = (("sent without a mark", "unmarked"), ("… received", "unmarked_received"))
"""Of files that are replayed."""
PORT_COUNTERS = (
    ("foreign frames", "foreign"),
    ("requests answered", "answered"),
    ("frames of other trials", "stale"),
    ("corrupted beyond recognition", "corrupted"),
    ("bursts not taken whole", "transmit_retries"),
    ("polls that came back full", "receive_full_polls"),
    ("short of buffers", "no_buffers"),
    ("missed by the device", "missed"),
    ("errors of the device", "device_errors"),
)

Row = tuple[str, tuple[str, ...]]
Json = Mapping[str, Any]


def stream_rows(streams: Sequence[Json]) -> list[Row]:
    """Return one row per quantity, with one cell per stream."""
    replays = any("unmarked" in stream for stream in streams)
    counters = COUNTERS + (UNMARKED if replays else ())
    rows = [_row(label, streams, _counter(key)) for label, key in counters]
    rows.insert(2, _row("… rate", streams, _sent_rate))
    for section, title in (("latency", "latency"), ("variation", "IPDV")):
        if any(section in stream for stream in streams):
            rows += _histogram_rows(title, [stream.get(section, {}) for stream in streams])
    if any("pdv_ns" in stream.get("latency", {}) for stream in streams):
        rows.append(_row("PDV p99.9", streams, lambda s: _percentile(s, "pdv_ns", "99.9")))
    return rows


def short(names: Sequence[str], streams: Sequence[Json]) -> list[str]:
    """Say of which streams less was sent than was asked for, and how much less."""
    found = []
    for name, stream in zip(names, streams, strict=True):
        intended, unsent = stream.get("intended") or 0, stream.get("unsent") or 0
        if unsent > SHORT * intended:
            share = human_share(unsent / intended)
            found.append(
                f"the rate was not reached: {name} sent {_sent_rate(stream)}, and {share} of its "
                "frames never; `vsperf tgen calibrate` says what the generator can do here"
            )
    return found


def port_rows(ports: Sequence[Json]) -> list[Row]:
    """Return the rows of what ports say, all zeros left out."""
    shown = [(label, key) for label, key in PORT_COUNTERS if any(port.get(key) for port in ports)]
    return [_row(label, ports, _counter(key)) for label, key in shown]


def worker_rows(workers: Sequence[Json]) -> list[Row]:
    """Return what each worker knows of itself."""
    rows = [
        _row("busy", workers, _busy),
        _row("longest gap", workers, _time("longest_gap_ns")),
        _row("gaps over 10 µs", workers, _counter("gaps_over_10us")),
    ]
    errors = [worker.get("departure_error", {}) for worker in workers]
    if any(error.get("count") for error in errors):
        rows += _histogram_rows("pacing error", errors)
    return rows


def worker_names(workers: Sequence[Json]) -> list[str]:
    """Return what to call the workers."""
    return [f"CPU {worker['cpu']}" if "cpu" in worker else "worker" for worker in workers]


def gap_rows(workers: Sequence[Json]) -> list[Row]:
    """Return the rows of a `stalls` result."""
    gaps = [worker["gaps"] for worker in workers]
    return [_row("gaps", gaps, _counter("count")), *_histogram_rows("gap", gaps)]


def roundtrip_rows(results: Sequence[Json]) -> list[Row]:
    """Return a row per measurement: minimum, p50, p90 and maximum of a round trip."""
    cells = (_time("min_ns"), _share("50"), _share("90"), _time("max_ns"))
    return [
        (str(number), tuple(cell(result) for cell in cells))
        for number, result in enumerate(results, start=1)
    ]


def live_rows(event: Json, before: Json | None) -> list[Row]:
    """Return sent and received of each stream, with the rates since the last event."""
    streams: Sequence[Json] = event["streams"]
    span_ns = event["elapsed_ns"] - (before["elapsed_ns"] if before else 0)
    earlier: Sequence[Json] = before["streams"] if before else [{} for _ in streams]

    def rates(key: str) -> tuple[str, ...]:
        return tuple(
            human_fps((now[key] - then.get(key, 0)) * NANOSECONDS / span_ns) if span_ns else UNKNOWN
            for now, then in zip(streams, earlier, strict=True)
        )

    return [
        ("sent", tuple(f"{stream['sent']:,}" for stream in streams)),
        ("… now", rates("sent")),
        ("received", tuple(f"{stream['received']:,}" for stream in streams)),
        ("… now", rates("received")),
        ("under way or lost", tuple(f"{max(0, s['sent'] - s['received']):,}" for s in streams)),
    ]


def _histogram_rows(title: str, histograms: Sequence[Json]) -> list[Row]:
    rows = [_row(f"{title} minimum", histograms, _time("min_ns"))]
    rows.append(_row("… mean", histograms, _time("mean_ns")))
    for percentile in PERCENTILES:
        rows.append(_row(f"… p{percentile}", histograms, _share(percentile)))
    rows.append(_row("… maximum", histograms, _time("max_ns")))
    return rows


def _row(label: str, items: Sequence[Json], cell: Callable[[Json], str]) -> Row:
    return label, tuple(cell(item) for item in items)


def _counter(key: str) -> Callable[[Json], str]:
    return lambda item: f"{item[key]:,}" if key in item else UNKNOWN


def _time(key: str) -> Callable[[Json], str]:
    return lambda item: human_ns(item[key]) if key in item else UNKNOWN


def _share(percentile: str) -> Callable[[Json], str]:
    return lambda item: _percentile({"latency": item}, "percentiles_ns", percentile)


def _percentile(stream: Json, section: str, percentile: str) -> str:
    found = stream.get("latency", {}).get(section, {}).get(percentile)
    return UNKNOWN if found is None else human_ns(found)


def _sent_rate(stream: Json) -> str:
    """Return the rate from first to last frame: n frames have n - 1 distances."""
    span_ns = stream.get("sending_ns")
    return human_fps((stream["sent"] - 1) * NANOSECONDS / span_ns) if span_ns else UNKNOWN


def _busy(worker: Json) -> str:
    return f"{worker['busy_ppm'] / 10_000:.1f} %" if "busy_ppm" in worker else UNKNOWN
