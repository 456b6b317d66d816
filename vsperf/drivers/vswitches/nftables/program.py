"""The program `nft`, by which rules are written, in a network of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.netns import entering
from vsperf.host.software import version_text
from vsperf.trust.programs import FOLDERS_OF_ROOT, program_path
from vsperf.waits import how_it_ended, run

NAME = "nft"
READING = (NAME, "-f", "-")
ALONE = ("unshare", "--net", "--")
PATIENCE_S = 30.0
TRIED = """table ip vsperf {
	counter refused {
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		counter name "refused" drop
	}
	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		tcp dport 80 dnat to numgen inc mod 2 map { 0 : 198.19.0.1, 1 : 198.19.0.2 }
	}
	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		oifname "lo" snat to 198.19.255.254
	}
}
"""
"""Rules that have all that any rules of ours take of a kernel."""


@dataclass(frozen=True, slots=True)
class Nft:
    """The program, by its whole path."""

    path: str

    @classmethod
    def find(cls) -> Nft:
        """Return where it is; raise `NotReadyError` where it is not installed."""
        found = program_path(NAME) or program_path(NAME, {"PATH": FOLDERS_OF_ROOT})
        if found is None:
            raise NotReadyError(
                f"the program {NAME} is not installed",
                why="it tells the kernel which connections pass, and what becomes of their "
                "addresses",
                fix="apt-get install nftables",
            )
        return cls(found)

    def version(self) -> str:
        """Return what it says of its version."""
        return version_text((self.path, "--version"), self.path)

    def require_kernel(self) -> None:
        """Raise `NotReadyError` where the kernel does not take such rules; nobody else sees it."""
        try:
            self._read(ALONE, TRIED)
        except ComponentError as error:
            raise NotReadyError(
                "this kernel does not take rules that track connections and rewrite addresses",
                why=error.problems[0].why,
                fix="take a kernel with nftables, connection tracking and NAT, as those of "
                "distributions have them: modprobe nf_tables nft_ct nft_nat nft_numgen",
            ) from error

    def read(self, network: str, rules: str) -> None:
        """Tell the kernel rules for a network: all of them, or where one is refused none."""
        self._read(entering(network), rules)

    def _read(self, before: Sequence[str], rules: str) -> None:
        try:
            done = run((*before, self.path, *READING[1:]), PATIENCE_S, given=rules)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ComponentError(
                f"{self.path} cannot be run", why=str(error), fix="see `vsperf doctor`, line `nft`"
            ) from error
        if done.returncode != 0:
            words = done.stderr.strip().splitlines() or [f"it {how_it_ended(done.returncode)}"]
            raise ComponentError(
                "the rules of nftables were refused",
                why=words[0],
                fix="`vsperf plan` prints them; the kernel may lack nf_tables, nf_nat or "
                "nf_conntrack, which `vsperf doctor` tries (`nft`)",
            )
