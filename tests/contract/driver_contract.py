"""What every switch, generator and driver of VNFs says of itself; their contracts join it."""

from __future__ import annotations

from typing import Any


class DriverContract:
    """Checks that ask a driver for its name and its settings, and start nothing."""

    def test_it_says_what_it_is(self, driver: Any) -> None:
        assert driver.kind, "by which people choose it"
        assert len(driver.summary.splitlines()) == 1, "one line for lists"

    def test_its_settings_are_complete_with_nothing_but_the_kind(self, driver: Any) -> None:
        spec = driver.Spec.model_validate({"kind": driver.kind})
        assert spec.kind == driver.kind
        assert spec.model_dump(exclude_defaults=True) == {"kind": driver.kind}
