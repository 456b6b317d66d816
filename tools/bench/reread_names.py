"""What is read again of which method, by the names that records have for it, and what is not."""

from __future__ import annotations

import re
from collections.abc import Mapping

EACH = r"(_clients|_servers|_switch)?"
SWITCHED = r"context_switches_(clients|servers|switch)"
OF_BITS = rf"rate|total|cpu_per_bit{EACH}|{SWITCHED}"
OF_REQUESTS = rf"rate|total|cpu_per_request{EACH}|{SWITCHED}"
TURNS = rf"mean_round_trip|p99_round_trip|{OF_REQUESTS}"
AGAIN = "repeated_(segments|datagrams)|flood_arrived"
OPENED = f"handshake_p99|first_response_p99|{AGAIN}"
ASKED = f"request_rate|response_p99|{AGAIN}"
PART = "_clean|_near|_far"
FIGURES: Mapping[str, str] = {
    "back2back": r"burst|(implied_buffer_time|buffer_time|buffered)(_slow_bursts)?",
    "broadcast": "typical_latency|worst_case_latency|trials_with_loss",
    "caching": "addresses",
    "cc": f"concurrent_connections|memory_per_connection|{OPENED}",
    "churn": "kept",
    "connection_soak": "failed_connections|handshake_drift|entries_growth|memory_growth",
    "cps": f"connection_rate({PART})?|{OPENED}",
    "crr": TURNS,
    "fixed": "loss",
    "flow_setup": "flow_setup_rate|(first|later)_frame_latency",
    "forwarding": "mfr|frmol",
    "goodput": f"goodput({PART})?|{ASKED}",
    "http": rf"p(50|99)_from_(due|sent)|(failed|waiting)_requests|{OF_REQUESTS}",
    "latency": "(tagged|typical|worst_case|mean)_latency|delay_variation|trials_with_loss",
    "latency_under_load": r"(p50|p99|p999|max)_(idle|loaded|difference)|rate"
    r"|(lost|unsent)_(idle|loaded)",
    "learning": "learning_rate",
    "loss": "lossless_load|loss_at_top",
    "paired": r"((latency|p99|delivery)_)?(ratio_[b-h]|control)|(rate|lost|latency|p99)_[a-h]"
    r"|((latency|p99)_)?draw_[a-h]",
    "pps": f"packet_rate({PART})?|{ASKED}",
    "reconnect": r"[a-z]+_(time|failed)",
    "recovery": "recovery_time|overload_share",
    "reset": r"[a-z]+_(time|lost_time|difference|lost)",
    "rr": TURNS,
    "soak": "lost|loss_ratio|loss_events|latency_drift|cycles_drift",
    "stream": rf"(total_)?datagrams|repeated_segments|sent|lost|{OF_BITS}",
    "wake_up": "wake_up_latency|awake_latency|lost",
}
"""By kind of method, the names of figures that are read again; that of each load is its loss."""
CURVES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("stream", "rr", "crr", "http"), ("over_time", "by_instance")),
    **dict.fromkeys(("cps", "cc", "pps", "goodput"), ("by_load",)),
    "churn": ("throughput_beside_changes",),
    "connection_soak": ("over_time",),
    "latency_under_load": ("by_share", "longest_over_time", "over_time", "by_instance"),
    "soak": ("over_time", "losses"),
}
READ = frozenset(
    {
        *("goals", "loads", "figures", "curves", "round_trips_ns"),
        *("goal", "lower_fps", "upper_fps", "throughput_fps", "clean", "regimes", "draws", "made"),
        *("share", "regime", "least_ns", "most_ns", "deployment"),
        *("load_fps", "trials", "passed", "worst_loss_ratio", "short_ratio", "outages_ns"),
        *("name", "value", "lower", "upper", "spread", "runs", "minimum", "maximum", "deviation"),
        *("points", "limit", "reason", "flags"),
    }
)
"""What is read again of an answer, by the names that records have for it; limits, counts in reasons
and flags of goals, loads and cases, as far as they follow from trials (`reread_verdicts.py`)."""
UNTOLD: Mapping[str, str] = {
    "spoiled": "it says which trial was asked for and not had",
    "complete": "no trial says what was left to do when the time ended",
    "at": "it is a sentence",
    **dict.fromkeys(("asked", "loss_ratio"), "it is a setting"),
    **dict.fromkeys(("unit", "x", "columns"), "it says what a number is, which is no trial's"),
    "view": "which part of the time deployments are told from is chosen by rules that judge them",
}
"""What is printed of an answer and is not read again, and why."""


def reads(kind: str, name: str) -> bool:
    """Whether a figure of a method is read again; one that no trial tells is in `UNTOLD`."""
    return re.fullmatch(FIGURES.get(kind, ""), name) is not None
