"""What dperf says, laid out as it prints it, and a program that does nothing but say it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

ROWS = (
    *("pktRx pktTx bitsRx bitsTx dropTx", "tcpRx tcpTx udpRx udpTx", "arpRx arpTx icmpRx icmpTx"),
    *("tosRx otherRx badRx", "synRx synTx finRx finTx rstRx rstTx", "synRt finRt ackRt pushRt"),
    *("tcpDrop udpDrop ackDup", "skOpen skClose skCon skErr"),
)
"""Counters as dperf 1.9.0 prints them for TCP, row by row, by the formats in its net_stats.c."""
ERRORS = (
    *("dropTx", "badRx", "rstRx", "rstTx", "synRt", "finRt", "ackRt", "pushRt", "tcpDrop"),
    *("udpDrop", "ackDup", "skErr", "httpErr", "ierrors", "oerrors", "imissed"),
)
"""These are printed in colour where they are not 0."""
OF_TCP, OF_HTTP = "tcpReq tcpRsp", "httpGet httpPost http2XX httpErr"
PORTS = "ierrors oerrors imissed"


def total(**counts: int) -> str:
    """Return what it prints at its end."""
    return f"Total Numbers:\n{_counters(counts)}-----------------------\n"


def second(number: int, busy: int = 0, **counts: int) -> str:
    """Return what it prints each second."""
    return f"\nseconds {number:<18} cpuUsage {busy:<4}\n{_counters(counts)}"


def _counters(counts: Mapping[str, int]) -> str:
    kind = OF_HTTP if any(name in counts for name in OF_HTTP.split()) else OF_TCP
    rows = [[*row.split()] for row in (*ROWS, kind, PORTS)]
    known = {name for row in rows for name in row}
    assert known.issuperset(counts), counts.keys() - known
    lines = []
    for row in rows:
        cells = (f"{name:<7} {_shown(name, counts.get(name, 0))}" for name in row)
        times = " rtt(us) 101.3     " if "skErr" in row else ""
        lines.append(f"{' '.join(cells)}{times}\n")
    return "".join(lines) + "\n"


def _shown(name: str, count: int) -> str:
    text = f"{count:,}"
    padding = " " * (18 - len(text))
    return f"\x1b[41;37m{text}\x1b[0m{padding}" if count and name in ERRORS else text + padding


def in_order(connections: int, **others: int) -> dict[str, int]:
    """Return the counters of either end where all is well: three packets each way for each."""
    names = ("skOpen", "skClose", "synRx", "synTx", "finRx", "finTx", "tcpReq", "tcpRsp")
    packets = ("pktRx", "pktTx", "tcpRx", "tcpTx")
    return {
        **dict.fromkeys(names, connections),
        **dict.fromkeys(packets, 3 * connections),
        **others,
    }


ASKED = """#!/bin/sh
case "$1" in
-v) echo {version}; exit;;
-t) number=$(grep -n -m1 '^{refused} ' "$3" | cut -d: -f1)
    [ -z "$number" ] || {{ echo "line $number: error"; exit 1; }}
    echo Config file OK; exit;;
esac
exec "{python}" "{says}" "$2"
"""
"""What is waited for by a clock is answered without Python, which may take its time to start."""
SAYS = """
import sys, time
sys.path[:0] = [{path!r}]
from dperf_answers import in_order, second, total
words = dict(line.strip().partition(" ")[::2] for line in open(sys.argv[1]))
if words["mode"] == "server":
    for number in range(10**6):
        print(second(number, **(in_order(7) if number == 0 else {{}})), flush=True)
        time.sleep(0.02)
print("".join(second(number, 40, **in_order(5)) for number in range(2)))
print("" if {cut!r} else total(**in_order(int(words["cps"]))), flush=True)
sys.exit({code})
"""


def fake_dperf(
    folder: Path, *, version: str = "1.9.0", refused: str = "none", cut: bool = False, code: int = 0
) -> Path:
    """Write a program that says what dperf would say, and opens nothing.

    It refuses the line of its file that begins with the word `refused`.
    """
    program, says = folder / "dperf", folder / "says.py"
    asked = {"version": version, "refused": refused, "python": sys.executable, "says": says}
    program.write_text(ASKED.format(**asked))
    says.write_text(SAYS.format(path=str(Path(__file__).parent), cut=cut, code=code))
    program.chmod(0o755)
    return program
