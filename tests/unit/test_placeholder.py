"""What a plan leaves open is filled in once, and nothing that a user wrote ever is."""

from __future__ import annotations

import json

import pytest

from vsperf.record.placeholder import Placeholder, fill_in, shown
from vsperf.record.plan import Endpoint, Step

KNOWN = {Placeholder.RUN: "/run/x", Placeholder.NAME: "x", Placeholder.TAP: "vsp0"}


def test_placeholders_are_filled_in_wherever_they_stand_in_a_text() -> None:
    text = f"path={Placeholder.RUN}/a.sock,name={Placeholder.NAME}-a{Placeholder.TAP}"
    assert fill_in(text, KNOWN) == "path=/run/x/a.sock,name=x-avsp0"


@pytest.mark.parametrize("text", ["/x/RUN/vmlinuz", "RUN", "NAME TAP", "Placeholder.RUN", "\0A\0"])
def test_no_word_of_a_text_is_one(text: str) -> None:
    assert fill_in(text, KNOWN) == text


def test_what_stands_in_place_of_one_is_not_looked_at_again() -> None:
    known = {**KNOWN, Placeholder.RUN: f"/home/{Placeholder.NAME}"}
    assert fill_in(str(Placeholder.RUN), known) == f"/home/{Placeholder.NAME}"


def test_people_and_records_are_shown_words() -> None:
    path = f"{Placeholder.RUN}/phy0.sock"
    assert shown(path) == "RUN/phy0.sock"
    step = Step(component="vswitch", action=path, argv=("serve", path), lines=(path,))
    assert (step.action, step.argv, step.lines) == (
        "RUN/phy0.sock",
        ("serve", "RUN/phy0.sock"),
        ("RUN/phy0.sock",),
    )
    endpoint = Endpoint(link="phy0", kind="vhost-user", address=path)
    assert endpoint.address == path, "a deployment fills it in"
    assert json.loads(endpoint.model_dump_json())["address"] == "RUN/phy0.sock"
