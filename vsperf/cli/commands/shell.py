"""`vsperf shell`: type commands in a VNF of a deployment that is up."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vsperf.cli.vnf_shell import connected, shown
from vsperf.errors import UsageError
from vsperf.host.dead import StandingDeployment, standing_deployments
from vsperf.trust import trusted
from vsperf.waits import lines

SUFFIX = ".shell"


def complete_vnf(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the VNFs that are up."""
    names = {name for one in standing_deployments() for name in vnfs_of(one)}
    return sorted(name for name in names if name.startswith(incomplete))


def complete_deployment(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the deployments that are up."""
    return [one.name for one in standing_deployments() if one.name.startswith(incomplete)]


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Examples:\n\n\b\n"
    "  vsperf shell vm1                       # interactive; Ctrl-] leaves\n"
    "  vsperf shell vm1 ip addr\n"
    "  vsperf shell vm1 'dmesg | tail -5'\n"
    "  echo 'cat /proc/interrupts' | vsperf shell vm1\n",
)
@click.option(
    "--deployment",
    metavar="NAME",
    shell_complete=complete_deployment,
    help="Which deployment, when there are several: its folder's name or the run's id.",
)
@click.argument("vnf", shell_complete=complete_vnf)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND...]")
def command(deployment: str | None, vnf: str, words: tuple[str, ...]) -> int:
    """Open the shell of VNF, or run COMMAND in it and end with its exit code.

    VNF is vm1, vm2, … of a deployment that is up: during a run, `vsperf deploy`, or after
    --keep. COMMAND goes to the VNF's shell as it is, and reads nothing. Without COMMAND, and
    when nothing is typed at a terminal, it is read from the standard input.
    """
    path = _socket(vnf, deployment)
    if not words and sys.stdin.isatty():
        click.echo(f"{vnf} of {path.parent.name}; Ctrl-] leaves", err=True)
        with shown(editing=True) as write, connected(vnf, path) as shell:
            shell.talk(sys.stdin.fileno(), write)
        click.echo("", err=True)
        return 0
    text = " ".join(words) or "\n".join(lines(sys.stdin)).strip()
    if not text:
        raise UsageError("there is no command to run", fix="vsperf shell vm1 ip addr")
    with shown() as write, connected(vnf, path) as shell:
        return shell.run(text, write)


def vnfs_of(deployment: StandingDeployment) -> tuple[str, ...]:
    """Return the VNFs of a deployment that have a shell."""
    try:
        with trusted.opened(deployment.folder) as folder:
            names = [name for name in folder.names() if name.endswith(SUFFIX)]
    except OSError:
        return ()
    return tuple(name.removesuffix(SUFFIX) for name in names)


def _socket(vnf: str, wanted: str | None) -> Path:
    """Return the socket of a VNF's shell in the one deployment that is meant."""
    all_found = standing_deployments()
    if not all_found:
        raise UsageError("no deployment is up", fix="vsperf deploy pvp_tput, in another terminal")
    found = [one for one in all_found if wanted in (None, one.name, one.owner.purpose)]
    if not found:
        raise UsageError(f"there is no deployment {wanted!r}", fix=f"one of: {_listed(all_found)}")
    having = [one for one in found if vnf in vnfs_of(one)]
    if not having:
        raise UsageError(
            f"no deployment has a VNF {vnf!r} with a shell",
            why="; ".join(f"{one.name} has {_names(one)}" for one in found),
            fix="a VNF has one when vsperf's agent runs in it: not a process, and not a "
            "guest from an image of your own",
        )
    if len(having) > 1:
        raise UsageError(
            f"several deployments have a VNF {vnf}",
            why=_listed(having),
            fix=f"vsperf shell --deployment {having[0].name} {vnf}",
        )
    return having[0].folder / f"{vnf}{SUFFIX}"


def _names(deployment: StandingDeployment) -> str:
    return ", ".join(vnfs_of(deployment)) or "none"


def _listed(deployments: list[StandingDeployment] | tuple[StandingDeployment, ...]) -> str:
    return ", ".join(f"{one.name} ({one.owner.purpose})" for one in deployments)
