"""What the Tab key offers: words that a shell takes as they are, and nothing that steers it.

Names of testcases, runs and cases are those of files and records, which may be anybody's. A shell
puts what is offered into the command line without quotes, and carries it out with the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from vsperf.trust.printable import printable

PLAIN = "plain"
"""The type of an item that is offered as it is; of others the shell itself looks for files."""
WORD = re.compile(r"[\w@%+=:,./-]+")
"""What stands for itself in each shell, and in what click tells it."""


def fit(items: list[CompletionItem]) -> Iterator[CompletionItem]:
    """Yield what may be offered, each with its explanation in one line."""
    for item in items:
        if item.type == PLAIN and not WORD.fullmatch(item.value):
            continue
        told = " ".join(printable(item.help).split()) if item.help else None
        yield CompletionItem(item.value, type=item.type, help=told)


class _Fit(ShellComplete):
    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        return list(fit(super().get_completions(args, incomplete)))


def offer_fit_words() -> None:
    """Have each shell be told what is fit, whichever command is completed."""
    for known in (BashComplete, ZshComplete, FishComplete):
        add_completion_class(type(known.__name__, (_Fit, known), {}))
