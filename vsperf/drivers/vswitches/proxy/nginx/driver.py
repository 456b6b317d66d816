"""The driver: nginx passes TCP on by its module `stream`, process by process on CPUs of its own.

That module counts nothing which could be asked: what is known of connections is the kernel's.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from vsperf.config.connections import SERVICE_PORT
from vsperf.drivers.programs.find import PackagedProgram, said_by
from vsperf.drivers.vswitches.proxy.driver import ProxySwitch, proxy_check
from vsperf.drivers.vswitches.proxy.layout import (
    CONNECT_S,
    QUEUE,
    Design,
    ProxySpec,
    configuration_file,
)
from vsperf.drivers.vswitches.proxy.running import InstalledProxy
from vsperf.errors import NotReadyError
from vsperf.records.run import Placeholder

NAME = "nginx"
NGINX = PackagedProgram(
    NAME,
    "apt-get install nginx libnginx-mod-stream",
    "-v",
    r"nginx version: nginx/(\d+(?:\.\d+)*)",
    "vswitch.path",
)
BUILT = re.compile(r" --with-stream(?P<apart>=dynamic)?(?=\s|$)")
MODULES = re.compile(r" --modules-path=(\S+)")
MODULE = "ngx_stream_module.so"
READS_E = (1, 19, 5)
"""The first version with `-e`: others open the log of the system's own nginx first."""
MAYBE_APART = "# load_module of the file, where this nginx has its module stream apart"


class NginxSpec(ProxySpec):
    """Settings of nginx as a proxy."""

    kind: Literal["nginx-stream"]

    @property
    def room(self) -> int:
        """The same of each process."""
        return self.connections * self.worker_count


def find(spec: ProxySpec | None) -> InstalledProxy:
    """Return where it is; raise `NotReadyError` where it is missing, or passes no TCP on."""
    found = NGINX.find(None if spec is None else spec.path)
    if tuple(map(int, found.version.split("."))) < READS_E:
        raise NotReadyError(
            f"nginx {found.version} cannot be told where it writes what goes wrong",
            why="versions before 1.19.5 know no -e, and write into the log of the system's own",
            fix=f"name a later one: --set {NGINX.setting}=PATH",
        )
    built = said_by((found.path, "-V"), NGINX.setting)
    return InstalledProxy(found.path, found.version, module_of(built, found.path))


def module_of(built: str, program: str) -> str | None:
    """Return the file of its module, by how it says it was built; None where it is a part of it."""
    stream, folder = BUILT.search(built), MODULES.search(built)
    module = None
    if stream is not None and stream["apart"] is None:
        return None
    if stream is not None and folder is not None:
        module = Path(folder[1]) / MODULE
        if module.is_file():
            return str(module)
    raise NotReadyError(
        f"{program} passes no TCP on",
        why="it was built without its module stream"
        if module is None
        else f"its module stream is not installed: there is no {module}",
        fix=f"{NGINX.install}, or name another one: --set vswitch.path=PATH",
    )


class NginxStream(ProxySwitch):
    """Deploys nginx."""

    kind = "nginx-stream"
    program = NAME
    summary = (
        "nginx as a load balancer of TCP: it ends each connection, and makes another to a server"
    )
    Spec = NginxSpec
    checks = (proxy_check(NAME, NginxSpec, find),)
    leads = True

    @classmethod
    def find(cls, spec: ProxySpec | None) -> InstalledProxy:
        return find(spec)

    def words(self, program: str) -> tuple[str, ...]:
        return (
            program,
            *("-e", "stderr"),
            *("-p", str(Placeholder.RUN)),
            *("-c", configuration_file(NAME)),
        )

    def configuration(self, design: Design, found: InstalledProxy | None) -> tuple[str, ...]:
        spec, shared = design.spec, " reuseport" if len(design.cpus) > 1 else ""
        return (
            *_loading(found),
            "daemon off;",
            "user root;",
            f"pid {NAME}.pid;",
            # Anything less and it writes a line for each connection that it cannot make.
            "error_log stderr emerg;",
            f"worker_processes {len(design.cpus)};",
            f"worker_cpu_affinity {' '.join(f'{1 << cpu:b}' for cpu in design.cpus)};",
            f"worker_rlimit_nofile {spec.files};",
            f"events {{ worker_connections {spec.files}; }}",
            "stream {",
            "    upstream servers {",
            *(f"        server {server} max_fails=0;" for server in design.servers),
            "    }",
            "    server {",
            f"        listen {design.service}:{SERVICE_PORT} backlog={QUEUE}{shared};",
            "        proxy_pass servers;",
            f"        proxy_connect_timeout {CONNECT_S}s;",
            f"        proxy_timeout {spec.idle.ns // 1_000_000}ms;",
            "    }",
            "}",
        )


def _loading(found: InstalledProxy | None) -> tuple[str, ...]:
    if found is None:
        return (MAYBE_APART,)
    return () if found.module is None else (f"load_module {found.module};",)
