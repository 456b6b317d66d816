"""The command line: any arguments end with an exit code that is documented, never a traceback."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import click

from attacks.apart import vsperf
from attacks.damage import any_text
from attacks.worker import Fuzzer
from vsperf.cli.main import COMMANDS, cli
from vsperf.config.document import settable_paths
from vsperf.errors import ExitCode
from vsperf.plugins import Plugins

VALUES = (
    "phy2phy_tput", "phy2phy_*", "pvp_tput", "tag:smoke", "latest", "sim", "local", "quick", "json",
    "process", "qemu", "trafficgen", "1", "0", "-1", "64B", "1s", "results", ".", "x.yaml", "--",
    "net_ring0", "net_null0,net_null1", "1Mfps", "10%", "PASS", "2026-11-01", "testcases", "bash",
    "exit-codes", "5", "emulated", "vm1", "uname -a", "", "-", "=", "\x1b[31m",
)  # fmt: skip


class Commands(Fuzzer):
    """Arguments for all commands, most of which nearly fit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands = dict(_commands())
        self.paths = settable_paths(Plugins.load().specs())

    def __call__(self, chance: random.Random) -> list[str]:
        arguments = self._arguments(chance)
        ended = vsperf(*arguments, folder=self.folder)
        self.taken += ended.code == ExitCode.OK
        return [f"{problem}, after {arguments}" for problem in ended.problems()]

    def _arguments(self, chance: random.Random) -> list[str]:
        words = chance.choice([*self.commands])
        found = list(words)
        options = [
            name for part in self.commands[words].params for name in part.opts if name[0] == "-"
        ]
        for _ in range(chance.randrange(5)):
            kind = chance.random()
            if options and kind < 0.5:
                found.append(chance.choice(options))
            elif kind < 0.55:
                found.append(f"--set={chance.choice(self.paths)}={any_text(chance, 2)}")
            elif kind < 0.9:
                found.append(chance.choice(VALUES))
            else:
                found.append(any_text(chance, 4))
        if chance.random() < 0.1:
            chance.shuffle(found)
        return [argument.replace("\0", "0") for argument in found]


def _commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield all commands by their words, those of groups included."""
    with click.Context(cli) as context:
        for name in COMMANDS:
            command = cli.get_command(context, name)
            assert command is not None
            yield (name,), command
            if isinstance(command, click.Group):
                for inner in command.commands.values():
                    yield (name, str(inner.name)), inner


def fuzzer(folder: Path) -> Fuzzer:
    """Return the fuzzer of this module."""
    return Commands(folder)
