"""The program `nft`, by which rules are written, in a network of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vsperf.drivers.vswitches.rule_programs import RuleProgram


@dataclass(frozen=True, slots=True)
class Nft(RuleProgram):
    """It takes all rules that it reads, or where one is refused none."""

    NAME: ClassVar[str] = "nft"
    READING: ClassVar[tuple[str, ...]] = ("nft", "-f", "-")
    DRIVER: ClassVar[str] = "vswitch.kind=nftables"
    PACKAGE: ClassVar[str] = "nftables"
    PURPOSE: ClassVar[str] = (
        "it tells the kernel which connections pass, and what becomes of their addresses"
    )
    RULES: ClassVar[str] = "rules that track connections and rewrite addresses"
    DO: ClassVar[str] = "tracks connections by its rules"
    KERNEL: ClassVar[str] = (
        "take a kernel with nftables, connection tracking and NAT, as those of distributions have "
        "them: modprobe nf_tables nft_ct nft_nat nft_numgen"
    )
    TRIED: ClassVar[str] = """table ip vsperf {
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
