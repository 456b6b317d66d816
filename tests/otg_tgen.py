"""A tgen for the OTG server that sends nothing, and whose frames all arrive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.drivers.generators.tgen.client import TgenError

PORTS = 2


@dataclass
class Echo:
    """Takes what tgen takes, and has sent all of it when somebody looks again."""

    streams: list[dict[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """What it was asked for, as long as somebody looks at it."""
    trial: dict[str, Any] | None = None
    listened: dict[int, dict[str, Any]] = field(default_factory=dict)
    """What is captured, by the number of the port."""
    heard: bytes = b"two frames"
    beyond: int = 0
    """Frames that came and had no room."""
    hear: Callable[[Mapping[str, Any]], None] = print

    def listen(self, hear: Callable[[Mapping[str, Any]], None]) -> None:
        self.hear = hear

    def alive(self) -> bool:
        return True

    def ask(self, verb: str, **said: Any) -> dict[str, Any]:
        self.asked.append((verb, said))
        match verb:
            case "configure":
                self.streams = said["streams"]
                return {"streams": len(self.streams)}
            case "trial":
                self.trial = said
            case "stop":
                if self.trial is None:
                    raise TgenError("stop", "idle", "nothing runs", None)
                self._end()
            case "live":
                if self.trial is not None:
                    self._end()
                return {"state": "idle"}
            case "listen" if said.get("on", True):
                Path(said["path"]).touch()
                self.listened[said["port"]] = said
            case "listen":
                if said["port"] not in self.listened:
                    raise TgenError("listen", "idle", "nobody listens", None)
                path = Path(self.listened.pop(said["port"])["path"])
                path.write_bytes(self.heard)
                return {"on": False, "frames": 2, "heard": 2 + self.beyond}
            case "ports":
                return {"ports": [{"port": n, "link_up": True} for n in range(PORTS)]}
        return {}

    def _end(self) -> None:
        assert self.trial is not None
        streams = [
            self._counted(*one) for one in zip(self.streams, self.trial["frames"], strict=True)
        ]
        ports = [{"port": number, "foreign": 0} for number in range(PORTS)]
        self.trial = None
        result = {"elapsed_ns": 10**15, "streams": streams, "ports": ports, "workers": []}
        self.hear({"event": "trial-done", "result": result})

    def _counted(self, stream: dict[str, Any], frames: int) -> dict[str, Any]:
        size = stream.get("size") or Path(stream["replay"]).stat().st_size
        none = ("misrouted", "misrouted_bytes", "corrupted", "corrupted_bytes", "lost")
        return {
            "sent": frames,
            "sent_bytes": frames * size,
            "received": frames,
            "received_bytes": frames * size,
            "arrived": {str(stream["receive_port"]): frames},
            "sending_ns": 1,
            **dict.fromkeys(none, 0),
        }
