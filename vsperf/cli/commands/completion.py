"""`vsperf completion`: names of testcases, testbeds, runs and settings at the Tab key."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog="Examples:\n\n\b\n"
    '  eval "$(vsperf completion bash)"          # this shell\n'
    "  vsperf completion bash >> ~/.bashrc       # every new one\n"
    "  vsperf completion fish > ~/.config/fish/completions/vsperf.fish\n"
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script for bash, zsh or fish."""
    from vsperf.cli.main import COMPLETE, cli

    kind = get_completion_class(shell)
    assert kind is not None  # all of SHELLS are known to click
    click.echo(kind(cli, {}, "vsperf", COMPLETE).source())
