"""Programs do not run where vsperf was called, and find what users named from there."""

import os
from pathlib import Path

import pytest

from vsperf.guests.image import image_folder
from vsperf.host.own_program import OwnProgram
from vsperf.host.places import VARIABLE, runtime_folder
from vsperf.host.process import managed
from vsperf.host.workspace import workspace
from vsperf.otg.serve import Location
from vsperf.programs import program_path, whole
from vsperf.record.placeholder import Placeholder
from vsperf.trafficgens.dpdk_ports import device_port
from vsperf.trafficgens.tgen.command import Options
from vsperf.waits import run


@pytest.fixture(name="here")
def fixture_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder in which vsperf was called, with a program in it."""
    (folder := tmp_path / "here").mkdir()
    (program := folder / "says-where").write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)
    monkeypatch.chdir(folder)
    return folder


def test_what_a_deployment_starts_runs_in_its_folder(here: Path, tmp_path: Path) -> None:
    with (
        workspace("a test", tmp_path / "run") as place,
        managed(["./says-where"], name="program", workspace=place) as program,
    ):
        assert program.await_end(30.0)
        assert program.log.read_text() == f"{place.folder}\n"


def test_words_of_the_users_own_are_taken_where_the_user_is(here: Path, tmp_path: Path) -> None:
    with (
        workspace("a test", tmp_path / "run") as place,
        managed(["./says-where"], name="own", workspace=place, folder=here) as program,
    ):
        assert program.await_end(30.0)
        assert program.log.read_text() == f"{here}\n"


@pytest.mark.parametrize("named", ["./says-where", "says-where"])
def test_a_question_is_asked_in_no_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    assert run([named], 30.0).stdout == "/\n"


def test_a_program_is_known_by_its_whole_path(here: Path) -> None:
    environment = {"PATH": ".", "VSPERF_X": "says-where"}
    assert program_path("says-where", environment) == str(here / "says-where")
    assert program_path("says-nothing", environment) is None
    assert OwnProgram("x", "a test").find(environment, here) == here / "says-where"
    assert OwnProgram("says-where", "a test").find(environment, here) == here / "says-where"


def test_what_users_name_is_named_wholly(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert whole("image") == str(here / "image")
    assert image_folder({"VSPERF_GUEST": "guest"}) == here / "guest"
    monkeypatch.setenv(VARIABLE, "run")
    assert runtime_folder() == here / "run"


def test_devices_of_dpdk_name_their_files_wholly(here: Path) -> None:
    assert device_port("net_pcap0,rx_pcap=in,tx_pcap=/out").device == (
        f"net_pcap0,rx_pcap={here}/in,tx_pcap=/out"
    )
    assert device_port("net_virtio_user0,path=p,queues=1").device == (
        f"net_virtio_user0,path={here}/p,queues=1"
    )
    in_the_deployment = f"net_virtio_user0,path={Placeholder.RUN}/p"
    for device in ("net_ring0", "net_af_packet0,iface=veth0", in_the_deployment):
        assert device_port(device).device == device
    assert f"path={here}/p0," in Location.of("p1=vhost-user:p0").port(0, Options()).device
