"""What every switch, generator and driver of VNFs says of itself; their contracts join it."""

from __future__ import annotations

from typing import Any

from vsperf.host.doctor.finding import Check
from vsperf.host.doctor.wants import Want


class DriverContract:
    """Checks that ask a driver for its name and its settings, and start nothing."""

    def test_it_says_what_it_is(self, driver: Any) -> None:
        assert driver.kind, "by which people choose it"
        assert len(driver.summary.splitlines()) == 1, "one line for lists"

    def test_its_settings_are_complete_with_nothing_but_the_kind(self, driver: Any) -> None:
        spec = driver.Spec.model_validate({"kind": driver.kind})
        assert spec.kind == driver.kind
        assert spec.model_dump(exclude_defaults=True) == {"kind": driver.kind}

    def test_what_others_are_told_of_it_is_of_the_kind_that_they_take(self, driver: Any) -> None:
        """These may be left out, and nobody looks at their types where they are used."""
        kinds = {"wants": (frozenset, Want), "checks": (tuple, Check), "sockets": (tuple, str)}
        for name, (container, kind) in kinds.items():
            found = getattr(driver, name, container())
            told = f"`{name}` is a {container.__name__} of {kind.__name__}, and not {found!r}"
            assert isinstance(found, container), told
            assert all(isinstance(one, kind) for one in found), told
