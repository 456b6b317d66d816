"""Whether a server took a configuration as it was given. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any


def differences(given: Any, taken: Any, path: str = "") -> Iterator[str]:
    """Yield what was given and is not there; a server may fill in more."""
    if isinstance(given, Mapping):
        keys = taken if isinstance(taken, Mapping) else {}
        for key, value in given.items():
            if key != "choice" or key in keys:  # what is chosen shows in what is there
                yield from differences(value, keys.get(key), f"{path}.{key}" if path else key)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        items = taken if isinstance(taken, Sequence) else []
        if len(items) != len(given):
            yield f"{path}: {len(items)}, not {len(given)}"
            return
        for number, (one, other) in enumerate(zip(given, items, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif not _same(given, taken):
        yield f"{path}: {'nothing' if taken is None else taken}, not {given}"


def _same(given: object, taken: object) -> bool:
    """Whether two values mean the same; letters of addresses may be small or great."""
    if isinstance(given, str) and isinstance(taken, str):
        address = _address(given)
        return given.casefold() == taken.casefold() or (
            address is not None and address == _address(taken)
        )
    return given == taken


def _address(text: str) -> object:
    try:
        return ip_address(text)
    except ValueError:
        return None
