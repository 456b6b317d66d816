"""`vsperf otg`: the traffic generator for scripts of the Open Traffic Generator model."""

from __future__ import annotations

from pathlib import Path

import click

from vsperf.cli.tgen_options import process_options
from vsperf.drivers.generators.tgen.command import Options
from vsperf.errors import ExitCode, UsageError
from vsperf.stop import forget_stop

LOCAL = "127.0.0.1:8443"


@click.group(epilog="Example:\n\n\b\n  vsperf otg serve --port p1=net_af_packet0,iface=veth0\n")
def command() -> None:
    """Let scripts of the Open Traffic Generator model drive tgen."""


@command.command(
    short_help="Answer snappi's HTTP interface until Ctrl-C",
    epilog="Examples:\n\n\b\n"
    "  vsperf otg serve --port p1=net_ring0 --no-hugepages\n"
    "  vsperf otg serve --port p1=net_af_packet0,iface=veth0\n"
    "  vsperf otg serve --port p1=vhost-user:/run/p0 --port p2=pci:0000:3b:00.0\n",
)
@click.option(
    "--port",
    "ports",
    multiple=True,
    required=True,
    metavar="LOCATION=DEVICE",
    help="A port: what scripts call its location, and the device as DPDK's --vdev takes it, or "
    "KIND:ADDRESS, such as pci:0000:3b:00.0 or vhost-user:/run/p0; repeatable.",
)
@click.option(
    "--listen",
    default=LOCAL,
    show_default=True,
    metavar="ADDRESS:PORT",
    help="Where to listen. Whoever can reach it can send frames, unless there is a password.",
)
@click.option(
    "--password-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Answer only who brings the password on the first line of this file: "
    'location="http://otg:PASSWORD@127.0.0.1:8443".',
)
@click.option("--burst", type=click.IntRange(1, 64), default=32, help="Most frames back to back.")
@click.option(
    "--check-payload/--no-check-payload",
    default=True,
    show_default=True,
    help="Look at all bytes behind the headers of what arrives, and not only at tgen's mark.",
)
@process_options
def serve(
    ports: tuple[str, ...],
    listen: str,
    password_file: Path | None,
    burst: int,
    check_payload: bool,
    options: Options,
) -> int:
    """Answer requests of the Open Traffic Generator model, and send frames for them.

    Scripts connect with snappi.api(location="http://127.0.0.1:8443"). What tgen cannot do is
    refused, with the path in the model. Ctrl-C ends it, and nothing is left.
    """
    from vsperf.otg.password import password_in
    from vsperf.otg.serve import Location, Serving, serving

    password = password_in(password_file) if password_file else None
    served = Serving(burst, password, check_payload, click.echo)
    locations = [Location.of(text) for text in ports]
    up = False
    try:
        with serving(locations, options, listening_at(listen), served) as server:
            up = True
            named = ", ".join(one.name for one in locations)
            click.echo(f"listening on {server.url}, with the ports {named}; Ctrl-C ends it")
            server.serve()
    except KeyboardInterrupt:
        if not up:
            raise
        forget_stop()
    return ExitCode.OK


def listening_at(text: str) -> tuple[str, int]:
    """Return the address and the port that somebody names."""
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535 or not host:
        raise UsageError(f"{text!r} is no ADDRESS:PORT", fix=f"such as --listen {LOCAL}")
    return host, int(port)
