"""Who answers clients of HTTP: nginx, where it is, what it is told, and how it failed.

In its place can be a server in user space (`user_space.py`), where the settings say so.

All that it reads and writes is in the folder that it is run in, and it listens at the address of
its place alone. It stays in the foreground and writes what goes wrong where vsperf reads it; of
requests it writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs import user_space
from vsperf.drivers.programs.base import (
    InstalledProgram,
    Program,
    ProgramSpec,
    Rendezvous,
    Said,
    Told,
    ended_early,
    problem_of,
    quotable,
    settings_of,
)
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.errors import NotReadyError
from vsperf.methods.exchanges import ExchangeAsked

PROGRAM = "nginx"
NGINX = PackagedProgram(
    PROGRAM,
    "apt-get install nginx",
    "-v",
    r"nginx version: nginx/(\d+(?:\.\d+)*)",
    "program.server",
)
USE = "for requests of HTTP between places"
OBJECT = "object"
"""What clients ask for, and the file that it is in where it is long."""
MOST_INLINE = 1024
"""Bytes of a body that stands in its settings; a longer one is read from a file, and sent by it."""
LEAST_BACKLOG = 511
OWN_CONNECTIONS = 64
"""That a worker may have beside those of clients, such as where it listens."""
CONFIGURATION = """\
daemon off;
user root;
pid nginx.pid;
error_log stderr error;
worker_processes {workers};
worker_rlimit_nofile {files};
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    default_type text/plain;
    sendfile on;
    open_file_cache max=8 inactive=1d;
    keepalive_timeout {kept};
    keepalive_requests 1000000000;
    reset_timedout_connection on;
    client_body_temp_path temp-body;
    proxy_temp_path temp-proxy;
    fastcgi_temp_path temp-fastcgi;
    uwsgi_temp_path temp-uwsgi;
    scgi_temp_path temp-scgi;
    server {{
        listen {address}:{port}{shared} backlog={backlog};
        location = /{object} {{ {answer}; }}
    }}
}}
"""
DIED = re.compile(r"^.*\[(?:alert|emerg)\].*$", re.MULTILINE)
"""What it says where a worker of it died, or where it could not begin."""


class HttpSpec(ProgramSpec):
    """Settings of a client of HTTP."""

    server: str | None = None
    """The nginx that answers it; the one in $PATH when not given."""
    stack: Literal["kernel", "user-space"] = "kernel"
    """Whose stack answers: the kernel's, by nginx, or one in user space, by a server that polls on
    one CPU; `server` is of no matter then."""

    @property
    def OWN_STACK(self) -> bool:
        return self.stack == "user-space"


def find(
    client: PackagedProgram, spec: HttpSpec | None, search: str | None = None
) -> InstalledProgram:
    """Return where a client of HTTP is, together with the nginx that answers it.

    Where both are missing, both are told: whoever installs one would meet the other next.
    """
    if spec is not None and spec.OWN_STACK:
        asks, path = client.of(spec, search), str(user_space.TGEN.find())
        return replace(asks, version=f"{asks.version} with a server in user space", server=path)
    try:
        asks = client.of(spec, search)
    except NotReadyError as error:
        try:
            _find_server(spec, search)
        except NotReadyError as other:
            error.problems += other.problems
        raise
    answers = _find_server(spec, search)
    return replace(
        asks, version=f"{asks.version} with nginx {answers.version}", server=answers.path
    )


def _find_server(spec: HttpSpec | None, search: str | None) -> InstalledProgram:
    return NGINX.find(None if spec is None else spec.server, search)


def _settings(meet: Rendezvous) -> str:
    """Return the name of its settings, by which people tell one from another."""
    return f"nginx-{meet.port}.conf"


def url(meet: Rendezvous) -> str:
    """Return what clients ask for."""
    return f"http://{meet.address}:{meet.port}/{OBJECT}"


def wrong_with(server: Said) -> str:
    """Return what is wrong with it: it goes on until it is ended; empty where nothing is."""
    worst = DIED.search(server.text)
    words = f": {quotable(worst[0])}" if worst else ""
    if early := ended_early(server):
        return f"{early}{words}"
    return f"its server says{words}" if worst else ""


class Client(Program):
    """What all drivers have in common whose client asks nginx."""

    SERVER_ENDS = False
    SERVER = PROGRAM
    asks: ClassVar[PackagedProgram]
    """The client."""

    def find(self, case: CaseSpec) -> InstalledProgram:
        return find(self.asks, settings_of(case, HttpSpec))

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        """Return its settings, and the object that it is asked for where that is long.

        Its workers are root, as the folder of a deployment is nobody else's: it listens in a
        network that nobody else is in.
        """
        if settings_of(case, HttpSpec).OWN_STACK:
            return {}
        inline = asked.response_bytes <= MOST_INLINE
        body = "x" * asked.response_bytes
        settings = CONFIGURATION.format(
            workers=asked.workers,
            files=2 * (asked.connections + OWN_CONNECTIONS),
            connections=asked.connections + OWN_CONNECTIONS,
            kept=0 if asked.traffic == "http-crr" else "1d",
            address=meet.address,
            port=meet.port,
            shared=" reuseport" if asked.workers > 1 else "",
            backlog=max(LEAST_BACKLOG, asked.connections),
            object=OBJECT,
            answer=f'return 200 "{body}"' if inline else "root .",
        )
        name = _settings(meet)
        return {name: settings} if inline else {name: settings, OBJECT: body}

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """Return how it is run, in the folder with its files; a plan calls it by its name alone."""
        if settings_of(case, HttpSpec).OWN_STACK:
            serving = user_space.TGEN.planned() if program == PROGRAM else program
            return user_space.words(case, serving, asked, meet)
        return (program, "-e", "stderr", "-p", ".", "-c", _settings(meet))

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        """Return what a client says, or what is wrong with either end."""
        if problem := problem_of(client, wrong_with(server)):
            return Told(problem=problem)
        try:
            return self.answered(asked, client)
        except ValueError as error:
            return Told(problem=str(error))

    def answered(self, asked: ExchangeAsked, client: Said) -> Told:
        """Return what a client says that ended; `ValueError` with what is wrong with it."""
        raise NotImplementedError
