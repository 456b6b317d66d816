"""Sessions of an API server: ours is known by its name, which is the deployment's."""

from __future__ import annotations

from typing import Any

from vsperf.errors import ComponentError
from vsperf_chassis.ixnetwork.client import Client

SESSIONS = "/api/v1/sessions"
NAMES = "/ixnetworkweb/api/v1/sessions"
"""Where an API server on Linux names them; on Windows there is one for all, without a name."""
KIND = {"applicationType": "ixnrest"}
NAME = "sessionName"


def make(client: Client) -> str:
    """Make a session; return its path."""
    number = client.post(SESSIONS, KIND).get("id")
    if number is None:
        raise ComponentError(f"IxNetwork at {client.address} makes no session")
    return f"{SESSIONS}/{number}"


def begin(client: Client, path: str, owner: str) -> None:
    """Give a session a name, by which it is found after a kill, and start it."""
    client.change(f"{NAMES}/{path.rpartition('/')[2]}", {NAME: owner})
    if find(client, owner) != path:
        raise ComponentError(
            f"IxNetwork at {client.address} gives its sessions no names",
            why="what a killed run leaves could not be told from what others have",
            fix="use an API server on Linux",
        )
    client.run(f"{path}/operations/start", KIND)


def find(client: Client, owner: str) -> str | None:
    """Return the path of the session with a name; None if there is none."""
    found: list[dict[str, Any]] = client.objects(SESSIONS)
    ours = [one for one in found if one.get(NAME) == owner]
    return f"{SESSIONS}/{ours[0]['id']}" if ours else None


def end(client: Client, path: str) -> None:
    """End a session and remove it, with all that it has."""
    client.run(f"{path}/operations/stop?deleteAfterStop=true", {})
