"""`vsperf shell`: type commands in a machine of a deployment that is up."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vsperf.cli.foreign_words import shown
from vsperf.cli.machine_shell import connected
from vsperf.errors import UsageError
from vsperf.host.standing import StandingDeployment, standing_deployments
from vsperf.trust import trusted
from vsperf.waits import lines

SUFFIX = ".shell"


def complete_machine(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the machines that are up."""
    names = {name for one in standing_deployments() for name in machines_of(one)}
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
@click.argument("machine", shell_complete=complete_machine)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND...]")
def command(deployment: str | None, machine: str, words: tuple[str, ...]) -> int:
    """Open the shell of MACHINE, or run COMMAND in it and end with its exit code.

    MACHINE is vm1, vm2, … of a deployment that is up: during a run, `vsperf deploy`, or after
    --keep. COMMAND goes to the machine's shell as it is, and reads nothing. Without COMMAND, and
    when nothing is typed at a terminal, it is read from the standard input.
    """
    path = _socket(machine, deployment)
    if not words and sys.stdin.isatty():
        click.echo(f"{machine} of {path.parent.name}; Ctrl-] leaves", err=True)
        with shown(editing=True) as write, connected(machine, path) as shell:
            shell.talk(sys.stdin.fileno(), write)
        click.echo("", err=True)
        return 0
    text = " ".join(words) or "\n".join(lines(sys.stdin)).strip()
    if not text:
        raise UsageError("there is no command to run", fix="vsperf shell vm1 ip addr")
    with shown() as write, connected(machine, path) as shell:
        return shell.run(text, write)


def machines_of(deployment: StandingDeployment) -> tuple[str, ...]:
    """Return the machines of a deployment that have a shell."""
    try:
        with trusted.opened(deployment.folder) as folder:
            names = [name for name in folder.names() if name.endswith(SUFFIX)]
    except OSError:
        return ()
    return tuple(name.removesuffix(SUFFIX) for name in names)


def _socket(machine: str, wanted: str | None) -> Path:
    """Return the socket of a machine's shell in the one deployment that is meant."""
    all_found = standing_deployments()
    if not all_found:
        raise UsageError("no deployment is up", fix="vsperf deploy pvp_tput, in another terminal")
    found = [one for one in all_found if wanted in (None, one.name, one.owner.purpose)]
    if not found:
        raise UsageError(f"there is no deployment {wanted!r}", fix=f"one of: {_listed(all_found)}")
    having = [one for one in found if machine in machines_of(one)]
    if not having:
        raise UsageError(
            f"no deployment has a machine {machine!r} with a shell",
            why="; ".join(f"{one.name} has {_names(one)}" for one in found),
            fix="a machine has one when vsperf's agent runs in it: not a process, and not a "
            "guest from an image of your own",
        )
    if len(having) > 1:
        raise UsageError(
            f"several deployments have a machine {machine}",
            why=_listed(having),
            fix=f"vsperf shell --deployment {having[0].name} {machine}",
        )
    return having[0].folder / f"{machine}{SUFFIX}"


def _names(deployment: StandingDeployment) -> str:
    return ", ".join(machines_of(deployment)) or "none"


def _listed(deployments: list[StandingDeployment] | tuple[StandingDeployment, ...]) -> str:
    return ", ".join(f"{one.name} ({one.owner.purpose})" for one in deployments)
