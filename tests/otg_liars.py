"""Servers of the OTG model that lie about what they send and count."""

from __future__ import annotations

from typing import Any

from otg_fakes import FRAMES, FakeGenerator


class OverCounts(FakeGenerator):
    """Tells that more arrived than was sent."""

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        found = super().flow(flow)
        return {**found, "frames_rx": str(int(found["frames_tx"]) * 2)}

    def ports(self) -> list[dict[str, Any]]:
        return []


class NeverRests(FakeGenerator):
    """Counts on for as long as somebody looks."""

    readings = 0

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        self.readings += 1
        return {**super().flow(flow), "frames_rx": str(self.readings)}

    def ports(self) -> list[dict[str, Any]]:
        return []


class OnePercentMore(FakeGenerator):
    """Sends one per cent more than it was asked to, and says so."""

    def sent(self, flow: dict[str, Any]) -> int:
        return super().sent(flow) * 101 // 100


class SecretlyMore(FakeGenerator):
    """The same, but only its ports show it."""

    def ports(self) -> list[dict[str, Any]]:
        return [
            {**one, "frames_tx": str(int(one["frames_tx"]) * 110 // 100)} for one in super().ports()
        ]


class Hides(FakeGenerator):
    """Tells that all arrived, and its port counted fewer."""

    def ports(self) -> list[dict[str, Any]]:
        return [{**one, "frames_rx": str(int(one["frames_rx"]) // 2)} for one in super().ports()]


class Resets(FakeGenerator):
    """Begins to count anew in mid-trial."""

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        found = super().flow(flow)
        if found["transmit"] == "stopped" and self.began is not None:
            found |= {"frames_tx": "7", "frames_rx": "7"}
        return found


class GivesUp(FakeGenerator):
    """Ends by itself after a few frames."""

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        return {**super().flow(flow), "transmit": "stopped"}

    def sent(self, flow: dict[str, Any]) -> int:
        return min(7, super().sent(flow))


class Rushes(FakeGenerator):
    """Sends the right number of frames in a tenth of their time."""

    def sent(self, flow: dict[str, Any]) -> int:
        return super().sent({**flow, "rate": {"pps": int(flow["rate"]["pps"]) * 10}})


class HasNoLink(FakeGenerator):
    """Counts frames as sent that went nowhere."""

    def ports(self) -> list[dict[str, Any]]:
        return [{**one, "link": "down"} for one in super().ports()]


class LosesTheLink(FakeGenerator):
    """The same from some moment on."""

    def ports(self) -> list[dict[str, Any]]:
        state = "up" if self.began is None else "down"
        return [{**one, "link": state} for one in super().ports()]


class ForgetsArrivals(FakeGenerator):
    """Counters of what arrived fall between two readings."""

    readings = 0

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        self.readings += 1
        return {**super().flow(flow), "frames_rx": str(max(0, FRAMES - self.readings))}


class Becomes(FakeGenerator):
    """Answers with another version after a while."""

    def answer(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        found = super().answer(path, body)
        if self.asked.count("/capabilities/version") > 1 and path == "/capabilities/version":
            found["app_version"] = "another"
        return found


class NeverStops(FakeGenerator):
    """Counts on, whatever it is told."""

    def sent(self, flow: dict[str, Any]) -> int:
        return 1

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        return {**super().flow(flow), "transmit": "started"}


class TooSlow(FakeGenerator):
    """Sends at half of the rate."""

    def sent(self, flow: dict[str, Any]) -> int:
        half = {**flow, "rate": {"pps": int(flow["rate"]["pps"]) // 10}}
        return super().sent(half)


class AnswersLate(FakeGenerator):
    """Is honest, and takes a while for each answer."""

    def answer(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        found = super().answer(path, body)
        self.time.sleep(0.3)
        return found


class CountsNowAndThen(FakeGenerator):
    """Is honest, and tells what it counted at the last even second."""

    def looked_at(self) -> float:
        return self.time.now() // 2 * 2


class ChangesItsMind(FakeGenerator):
    """Tells other figures of a trial when it is over."""

    changed = False

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        found = super().flow(flow)
        return {**found, "frames_rx": "190"} if self.changed else found
