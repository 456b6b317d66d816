"""Caps of the generator that later ones show to have fallen: what went by them does not stand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from vsperf.human import human_fps
from vsperf.record.host import Calibration

ABSURD = 6
"""So many times less is no other machine, but one that did not run: a hypervisor that moves CPUs
changes rates by up to a factor of two, and modifiers of frames by less than that."""
WITHDRAWN = (
    "its answer does not stand, as the machine kept the generator from running when it was seen "
    "what that can do without a switch"
)


def fallen(found: Calibration, before: Sequence[Calibration]) -> str | None:
    """Say so if a cap is absurdly far below one that was found on the same CPUs.

    Frames that are longer may be fewer by as much; in bits no size of frames is so much slower.
    """
    for one in before:
        longer = max(Fraction(1), Fraction(found.frame_size, max(1, one.frame_size)))
        if found.cap_fps * longer * ABSURD < one.cap_fps:
            return (
                f"{human_fps(found.cap_fps)} with frames of {found.frame_size} bytes came back, "
                f"after {human_fps(one.cap_fps)} with {one.frame_size}"
            )
    return None


def calibration_in(line: bytes | str) -> Calibration | None:
    """Return the cap in a line of a case that is over; None of one without, or that is damaged.

    No more than it is looked at.
    """
    if b"cap_fps" not in (line.encode() if isinstance(line, str) else line):
        return None
    try:
        return Calibration.model_validate(json.loads(line)["surroundings"]["calibration"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def place_of(spec: Mapping[str, Any]) -> str:
    """Name what the specifications of two cases share whose caps can be held against each other."""
    traffic = spec.get("traffic")
    told = traffic if isinstance(traffic, Mapping) else {}
    parts = [spec.get("generator"), told.get("direction"), told.get("flows")]
    return json.dumps(parts, sort_keys=True)


def refuted(caps: Mapping[str, tuple[str, Calibration]]) -> dict[str, str]:
    """Return by case which caps of a run have fallen, by what others found at the same place.

    Given are the places and caps by case. CPUs and ports have to be the same as well.
    """
    places: dict[tuple[object, ...], list[Calibration]] = {}
    for place, one in caps.values():
        places.setdefault((place, one.cpus, one.method), []).append(one)
    found = {}
    for key, (place, one) in caps.items():
        doubt = fallen(one, places[place, one.cpus, one.method])
        if doubt is not None:
            found[key] = f"{WITHDRAWN}: {doubt}"
    return found
