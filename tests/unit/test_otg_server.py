"""The HTTP side of `vsperf otg serve`: whom it answers, and what it makes of requests."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import snappi
from otg_servers import ask
from serving import answering

from vsperf.errors import NotReadyError
from vsperf.otg.generator import Generator
from vsperf.otg.password import password_in
from vsperf.otg.server import OtgServer, listening

PASSWORD = "correct horse battery"


class Idle:
    """A tgen that lives, and has nothing to do."""

    def listen(self, hear: Any) -> None:
        pass

    def alive(self) -> bool:
        return True


@contextmanager
def serving(folder: Path, password: str | None = None) -> Iterator[OtgServer]:
    """Have a server answer whose generator has no ports."""
    generator = Generator(cast("Any", Idle()), {}, folder)
    with listening(("127.0.0.1", 0), generator, password) as server, answering(server):
        yield server


@pytest.fixture(name="url")
def fixture_url(tmp_path: Path) -> Iterator[str]:
    """Where a server is that asks for no password."""
    with serving(tmp_path) as server:
        yield server.url


class TestPassword:
    """Asked for in the way that clients of the model bring it: in the location."""

    def test_a_client_of_the_model_brings_it_in_the_location(self, tmp_path: Path) -> None:
        with serving(tmp_path, PASSWORD) as server:
            said = "otg:" + PASSWORD.replace(" ", "%20")
            api = snappi.api(location=server.url.replace("://", f"://{said}@"), version_check=True)
            assert len(api.get_config().ports) == 0
            api.set_config(api.config())

    @pytest.mark.parametrize(
        "said",
        [
            "",
            "Basic",
            "Basic !!",
            "Basic Og==",
            "Bearer Y29ycmVjdA==",
            "Basic b3RnOndyb25n",
            "\xff",
        ],
    )
    def test_nobody_else_is_answered(self, said: str, tmp_path: Path) -> None:
        with serving(tmp_path, PASSWORD) as server:
            for method, path in (("GET", "/config"), ("POST", "/control/state"), ("GET", "/x")):
                status, answer = ask(server.url, method, path, Authorization=said)
                assert status == 401
                assert "asks for a password" in answer["errors"][0]

    def test_it_stands_alone_in_a_file_that_nobody_else_can_read(self, tmp_path: Path) -> None:
        file = tmp_path / "password"
        file.write_text(f"{PASSWORD}\n# of the rack\n")
        file.chmod(0o600)
        assert password_in(file) == PASSWORD
        file.chmod(0o640)
        with pytest.raises(NotReadyError, match="others can read the password"):
            password_in(file)

    @pytest.mark.parametrize("content", [b"", b"short\n", b"with\x1bescape\n", b"\xff" * 9])
    def test_what_is_none_is_an_error(self, content: bytes, tmp_path: Path) -> None:
        file = tmp_path / "password"
        file.write_bytes(content)
        file.chmod(0o600)
        with pytest.raises(NotReadyError, match="password"):
            password_in(file)

    def test_one_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(NotReadyError, match="cannot be read"):
            password_in(tmp_path / "none")
