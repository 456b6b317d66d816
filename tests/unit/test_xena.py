"""The Xena driver against a chassis of our own making: trials, other people's ports, and liars.

No test runs against a chassis. The words and the numbers of values in each answer are held against
the vendor's own library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from chassis_cases import (
    SHORT,
    WAYS,
    chassis_case,
    expected,
    fixture_runtime,
    hurry,
    judged,
    ports_at,
    release,
    see_through,
    told,
)
from places import PLACEMENT, refused, room, started_generator
from switch_cases import switch_case
from vsperf_chassis.xena import chassis as spoken
from vsperf_chassis.xena.driver import XenaGenerator, XenaSpec
from xena_server import FAULTS, XenaServer, xena_server

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.demands import refusals
from vsperf.drivers.generators.base import TrialRequest
from vsperf.errors import ComponentError, NotReadyError, UsageError, VsperfError
from vsperf.host.dead import DeadDeployment
from vsperf.host.undo import ReleaseChassis, owner_name
from vsperf.host.undo_base import Reach
from vsperf.host.workspace import LeftBehindError
from vsperf.records.flags import Flag

LOOKED_FOR = {"throughput_duration": "1s", "throughput_sum": "1s"}

ENDPOINTS = ports_at("0/0", "0/1")

__all__ = ["fixture_runtime"]


@pytest.fixture(name="chassis")
def fixture_chassis(monkeypatch: pytest.MonkeyPatch) -> Iterator[XenaServer]:
    hurry(monkeypatch)
    with xena_server() as server:
        yield server


def case_of(address: str | None, traffic: dict[str, Any] | None = None, **more: Any) -> CaseSpec:
    """Return a case whose generator is at an address."""
    generator = XenaSpec.model_validate({"kind": "xena", "chassis": address, **more})
    return chassis_case(generator, traffic)


def started(
    case: CaseSpec, ways: tuple[tuple[str, str], ...] = WAYS
) -> AbstractContextManager[Any]:
    return started_generator(XenaGenerator(), case, ENDPOINTS, ways)


def test_a_trial_sends_exactly_what_it_was_asked_to_and_counts_it_by_direction(
    chassis: XenaServer,
) -> None:
    case = case_of(chassis.address)
    with started(case) as session:
        for _ in range(2):  # each is counted from zero
            counts = session.run(SHORT)
            assert [way.name for way in counts.directions] == ["phy0 to phy1", "phy1 to phy0"]
            for way in counts.directions:
                assert way.intended_frames == way.sent_frames == way.received_frames == 100
                assert (way.corrupted_frames, way.duplicate_frames) == (0, None)
            assert counts.settled
            assert judged(counts, case) == (Flag.UNTIMED,)
        assert session.facts()["serial"] == 1234567
    assert chassis.owners == ["", "", "", ""]


def test_what_is_lost_is_lost(chassis: XenaServer) -> None:
    chassis.fault = "lossy"
    case = case_of(chassis.address)
    with started(case) as session:
        assert [way.lost_frames for way in session.run(SHORT).directions] == [10, 10]


def test_what_a_port_does_not_count_is_missing_and_never_0(chassis: XenaServer) -> None:
    chassis.fault = "uncounted"
    case = case_of(chassis.address)
    with started(case) as session:
        for way in session.run(SHORT).directions:
            assert (way.received_frames, way.corrupted_frames, way.reordered_frames) == (
                *(100, None, None),
            )


LIES: dict[str, Flag | str] = {
    "over-count": Flag.RX_EXCEEDS_TX,
    "one-percent-more": Flag.OVERSENT,
    "never-rests": Flag.COUNTERS_MOVING,
    "hang": "does not answer",
    "hang-up": "does not answer",
    "reset": "counters of",
    "never-clears": "does not clear",
    "slow": "still sends",
    "loses-a-port": "mallory",
    "another-version": "another version",
    "below-zero": "says -1 where it counts frames",
}


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "lossy"])
def test_a_liar_gives_a_flag_or_an_error_and_never_a_number(
    chassis: XenaServer, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(chassis.address)
    with started(case) as session:
        session.run(SHORT)
        chassis.fault = fault
        with monkeypatch.context() as patched:
            if fault in {"hang", "hang-up"}:  # all others answer, however late
                patched.setattr(spoken, "ANSWER_S", 0.5)
            see_through(LIES[fault], session, case)
        chassis.fault = ""
    assert "vsp" not in "".join(chassis.owners)  # released, by another connection if need be


def test_a_port_of_somebody_else_is_left_to_them_by_name(chassis: XenaServer) -> None:
    chassis.ports["0/1"].owner, chassis.ports["0/1"].connection = "mallory", "theirs"
    refused(NotReadyError, started(case_of(chassis.address)), "mallory")
    assert chassis.owners == ["", "mallory", "", ""]
    assert not any("RELINQUISH" in line for line in chassis.heard)


def test_no_password_is_read_where_somebody_could_lead_to_another_file(
    chassis: XenaServer, tmp_path: Path
) -> None:
    """A link in its place would send the first line of a file of root's over the network."""
    shared, secret = tmp_path / "shared", tmp_path / "secret"
    shared.mkdir()
    shared.chmod(0o777)
    secret.write_text("xena\n")
    for file in (shared / "password", shared / "link"):
        if file.name == "link":
            file.symlink_to(secret)
        else:
            file.write_text("xena\n")
        case = case_of(chassis.address, password_file=str(file))
        refused(NotReadyError, started(case), "password of the chassis cannot be read")


def test_a_wrong_password_is_said_without_showing_it_and_nothing_stays_to_be_released(
    chassis: XenaServer, tmp_path: Path, runtime: Path
) -> None:
    file = tmp_path / "password"
    file.write_text("not this one\n")
    case = case_of(chassis.address, password_file=str(file))
    error = refused(VsperfError, started(case))
    assert "password was not accepted" in error.with_why
    assert "not this one" not in error.with_why
    assert not runtime.exists()


def test_who_is_not_there_is_an_error_with_a_way_out_and_nothing_stays_to_be_released(
    runtime: Path,
) -> None:
    refused(ComponentError, started(case_of("127.0.0.1:1")), "cannot be reached")
    assert not runtime.exists()


def promise(address: str, owner: str) -> ReleaseChassis:
    """Return what a journal promises of a port."""
    return ReleaseChassis(dialect="xena", chassis=address, owner=owner, ports=("0/0",))


class TestUndo:
    """What a killed run has reserved is released by a program, under the run's name alone."""

    def test_the_program_releases_what_a_dead_connection_holds(self, chassis: XenaServer) -> None:
        chassis.ports["0/0"].owner, chassis.ports["0/0"].connection = "vspdead0", "gone"
        chassis.ports["0/1"].owner, chassis.ports["0/1"].connection = "mallory", "theirs"
        for _ in range(2):  # an undo may be carried out twice
            release("xena", chassis.address, "vspdead0", "0/0", "0/1")
            assert chassis.owners == ["", "mallory", "", ""]

    def test_who_does_not_answer_stays_to_be_released(self) -> None:
        undo = promise("127.0.0.1:1", "vspdead0")
        with pytest.raises(OSError, match="cannot be reached"):
            undo.carry_out()
        assert undo.outlives_boot

    @pytest.mark.parametrize("answers_again", [False, True])
    def test_who_is_gone_for_good_can_be_forgotten_and_who_answers_again_is_not(
        self, chassis: XenaServer, runtime: Path, answers_again: bool
    ) -> None:
        chassis.fault = "gone"
        with pytest.raises(LeftBehindError) as error, room("a test") as place:
            owner = owner_name(place.name)
            chassis.ports["0/0"].owner, chassis.ports["0/0"].connection = owner, "gone"
            place.journal.planned(promise(chassis.address, owner))
        assert f"vsperf clean --forget {place.name}" in error.value.with_why
        chassis.fault = "" if answers_again else "gone"
        dead, forgotten = DeadDeployment(place.folder, place.owner, ()), list[str]()
        assert dead.take_down(forgetting=forgotten.append) == ()
        assert not runtime.exists()
        left = f"ports 0/0 of {chassis.address} stay reserved under the name {owner} "
        assert [said.startswith(left) for said in forgotten] == ([] if answers_again else [True])
        assert chassis.owners[0] == ("" if answers_again else owner)

    def test_no_deployment_can_promise_it_for_another_one(self) -> None:
        with room("a test") as place:
            reach = Reach(place.folder)
            undo = promise("192.0.2.7", owner_name(place.name))
            assert undo.is_within(reach)
            assert not undo.model_copy(update={"owner": "mallory"}).is_within(reach)
            assert not undo.model_copy(update={"ports": ("--help",)}).is_within(reach)


class TestPlan:
    """What is refused before anything is reserved."""

    def test_it_says_which_ports_it_will_reserve(self) -> None:
        steps = XenaGenerator().plan(case_of("192.0.2.7"), ENDPOINTS, PLACEMENT)
        assert "0/0 (phy0), 0/1 (phy1)" in steps[0].action

    @pytest.mark.parametrize(
        ("traffic", "lacking"),
        [
            ({"layer3": "ipv6", "frame_size": "128B"}, Ability.IPV6),
            ({"mpls": [3], "frame_size": "128B"}, Ability.MPLS),
            ({"broadcasts": "1%"}, Ability.SOME_BROADCASTS),
            ({"flow_order": "shuffled", "flows": 8}, Ability.SHUFFLED),
        ],
    )
    def test_frames_that_nobody_built_are_refused(
        self, traffic: dict[str, Any], lacking: Ability
    ) -> None:
        case = case_of("192.0.2.7", traffic)
        (problem,) = refusals(case, XenaGenerator().capabilities(case), 2)
        assert lacking.words in problem.what

    @pytest.mark.parametrize(
        ("search", "lacking"),
        [
            ({"kind": "learning"}, Ability.BRIEF),
            ({"kind": "loss", "duration": "1s"}, None),
            (
                {"kind": "reset", "throughput": "1Mfps", **LOOKED_FOR, "duration": "9s"},
                Ability.SILENCE,
            ),
        ],
    )
    def test_methods_that_need_more_than_plain_trials_are_refused_by_what_they_need(
        self, search: dict[str, Any], lacking: Ability | None
    ) -> None:
        case = switch_case("external", search=search)
        generator = XenaSpec.model_validate({"kind": "xena", "chassis": "192.0.2.7"})
        asked = case.model_copy(update={"generator": generator})
        found = refusals(asked, XenaGenerator().capabilities(asked), 2)
        wanted = [] if lacking is None else [f"generator xena cannot {lacking.words}"]
        assert [problem.what for problem in found] == wanted

    def test_a_place_of_another_vendor_is_refused(self) -> None:
        wrong = (ENDPOINTS[0], ENDPOINTS[1].model_copy(update={"address": "//10.0.0.1/1/1"}))
        with pytest.raises(UsageError, match="no Xena chassis has"):
            XenaGenerator().plan(case_of("192.0.2.7"), wrong, PLACEMENT)

    def test_two_streams_of_one_port_are_refused(self) -> None:
        ways = (("phy0", "phy1"), ("phy0", "phy1"))
        refused(UsageError, started(case_of("192.0.2.7"), ways), "one stream from each port")

    def test_nobody_guesses_where_it_is(self) -> None:
        with pytest.raises(UsageError, match="nobody says where"):
            XenaGenerator().plan(case_of(None), ENDPOINTS, PLACEMENT)

    def test_the_vendors_search_is_not_to_be_had(self) -> None:
        with pytest.raises(ValueError, match="vsperf"):
            case_of("192.0.2.7", search="vendor")


# The vendor's library asks typing in a way that Python 3.13 calls deprecated.
@pytest.mark.filterwarnings(
    "ignore:Failing to pass a value to the 'type_params':DeprecationWarning"
)
class TestWords:
    """Each command that is sent is one of the vendor's, with as many values as theirs has."""

    @pytest.fixture
    def heard(self, chassis: XenaServer) -> list[str]:
        traffic = {"flows": 70_000, "vlans": [7], "frame_size": "128B"}
        case = case_of(chassis.address, traffic)
        with started(case) as session:
            session.run(TrialRequest(load_fps=2_000, duration_ns=50_000_000))
            session.facts()
        return chassis.heard

    def test_commands_and_their_values_are_the_vendors(self, heard: list[str]) -> None:
        commands = vendor_commands()
        for line in heard:
            found = re.fullmatch(r"(?:\d+/\d+ )?(\w+)(?: \[[\d,]+\])?(?: (.*))?", line)
            assert found is not None, line
            word, rest = found.groups()
            assert word in commands, line
            if rest in (None, "?"):
                continue
            fields = setting_fields(commands[word])
            if fields is not None:
                assert len(rest.split()) == fields, line

    def test_they_are_those_of_the_golden_conversation(self, heard: list[str]) -> None:
        assert told(heard) == expected("xena")

    def test_answers_have_as_many_values_as_the_vendors(self) -> None:
        commands = vendor_commands()
        for word, least in (("PT_STREAM", 4), ("PR_TPLDTRAFFIC", 4), ("PR_TPLDERRORS", 4)):
            found = commands[word].GetDataAttr.__annotations__
            assert len(found) == least
        assert list(commands["PR_TPLDERRORS"].GetDataAttr.__annotations__)[2:] == [
            "misorder_by_seq",
            "payload_err_packets",
        ]

    def test_streams_differ_as_flows_do(self, heard: list[str]) -> None:
        """70 000 flows are 35 000 sources, one after the other, and two destinations."""
        lines = [line for line in heard if line.startswith("0/0 PS_MODIFIER")]
        assert lines == [
            "0/0 PS_MODIFIERCOUNT [0] 2",
            "0/0 PS_MODIFIER [0,0] 32 0xFFFF0000 INC 1",
            "0/0 PS_MODIFIERRANGE [0,0] 1 1 35000",
            "0/0 PS_MODIFIER [0,1] 36 0xFFFF0000 INC 35000",
            "0/0 PS_MODIFIERRANGE [0,1] 1 1 2",
        ]
        assert "0/0 PS_HEADERPROTOCOL [0] ETHERNET VLAN IP UDP" in heard


def vendor_commands() -> dict[str, Any]:
    """Return the vendor's classes, by the word of their command."""
    found: dict[str, Any] = {}
    for module in ("c", "p", "ps", "pt", "pr"):
        found |= vars(import_module(f"xoa_driver.internals.commands.{module}_commands"))
    return found


def setting_fields(command: Any) -> int | None:
    """Return how many values set a command; None where it is a list of any length."""
    annotations = command.SetDataAttr.__annotations__
    lists = any("List" in str(kind) for kind in annotations.values())
    return None if lists else len(annotations)
