"""The loader and the planner: whatever is written, they answer with cases or with `SpecError`."""

from __future__ import annotations

import json
import random
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from attacks.apart import REFUSED, TAKEN, apart
from attacks.damage import any_text, any_value, damaged_bytes, damaged_tree
from attacks.worker import Fuzzer
from vsperf.config.document import document_model, settable_paths
from vsperf.config.loader import Request, load
from vsperf.config.lookup import Folder, Library
from vsperf.engine.run import plan_cases
from vsperf.errors import SpecError, VsperfError
from vsperf.plugins import Plugins

CHECKOUT = Path(__file__).parents[2]
MOST_TAKEN = 4
FILES = ("fuzz.yaml", "fuzz.suite.yaml")
"""The same text, as a testcase and as a suite of them."""
NAMES = (
    *("phy2phy_tput", "pvp_tput", "pvpv_tput", "phy2phy_burst", "pvp_vhost_reconnect"),
    *("places_tcp_stream", "places_http_open", "places_latency_under_load", "places_vm_to_vm_rr"),
    *("phy2phy_cps", "lb_cps", "nat_goodput", "phy2phy_paired"),
)


class Loading(Fuzzer):
    """Files and options around the project's own library."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plugins = Plugins.load()
        self.paths = settable_paths(self.plugins.specs())
        self.library = Library((Folder(folder, "a folder"), Folder(CHECKOUT, "built-in")), folder)
        files = [*(CHECKOUT / "conf").rglob("*.yaml"), *(CHECKOUT / "testcases").rglob("*.yaml")]
        self.texts = [file.read_bytes() for file in sorted(files)]
        for name in NAMES:  # models of documents are made once, so that no child has to
            for testbed in ("sim", "local"):
                with suppress(SpecError):
                    load(Request((name,), testbed=testbed), self.library, self.plugins.specs())
        document_model(self.plugins.specs()).model_rebuild()

    def __call__(self, chance: random.Random) -> list[str]:
        data = self._file(chance)
        for name in FILES:
            (self.folder / name).write_bytes(data)
        request = self._request(chance)
        ended = apart(lambda: self._answer(request))
        self.taken += ended.code == TAKEN
        return ended.problems({TAKEN, REFUSED})

    def _file(self, chance: random.Random) -> bytes:
        text = chance.choice(self.texts)
        match chance.randrange(4):
            case 0:
                return damaged_bytes(text, chance)
            case 1:
                tree = damaged_tree(yaml.safe_load(text), chance, chance.choice([8, 30]))
                return json.dumps(tree).encode()
            case 2:
                return json.dumps(self._with_path(chance)).encode()
            case _:
                return any_text(chance, 40).encode("utf-8", "surrogatepass")

    def _with_path(self, chance: random.Random) -> dict[str, Any]:
        """Return a testcase with any value at a place where one may be written."""
        document: dict[str, Any] = {"name": "fuzz", "topology": "p2p", "traffic": {}}
        here = document
        *keys, last = self._path(chance).split(".")
        for key in keys:
            inner = here.get(key)
            here[key] = here = dict(inner) if isinstance(inner, dict) else {}
        here[last] = any_value(chance)
        return document

    def _path(self, chance: random.Random) -> str:
        return chance.choice(self.paths).replace("NAME", chance.choice(["ndr", "phy0", "vm1"]))

    def _request(self, chance: random.Random) -> Request:
        name = chance.choice(NAMES)
        testbed = chance.choice(["sim", "local", None])
        sets = tuple(
            f"{self._path(chance)}={any_text(chance, 3)}" if chance.random() < 0.8
            else any_text(chance)
            for _ in range(chance.choice([0, 0, 1, 1, 2]))
        )  # fmt: skip
        match chance.randrange(6):
            case 0:
                return Request((f"./{chance.choice(FILES)}",), testbed=testbed, sets=sets)
            case 1:
                return Request((name,), testbed=testbed, conf=(Path("fuzz.yaml"),), sets=sets)
            case 2:
                return Request((name,), testbed="./fuzz.yaml", sets=sets)
            case 3:
                return Request((name,), testbed=testbed, preset="./fuzz.yaml", sets=sets)
            case 4:
                words = tuple(any_text(chance, 2) for _ in range(2))
                return Request(words, words[:1], any_text(chance, 1), repeat=chance.randint(-1, 3))
            case _:
                return Request((name,), testbed=testbed, sets=sets)

    def _answer(self, request: Request) -> int:
        """Load and plan; anything but an answer is a traceback."""
        try:
            cases = load(request, self.library, self.plugins.specs()).cases
        except SpecError as error:
            assert error.problems
            for problem in error.problems:
                assert problem.what
                json.dumps([problem.what, problem.why, problem.fix]).encode()
                assert problem.where is None or (problem.where.line or 1) >= 1
            return REFUSED
        assert cases
        try:
            plan_cases(cases[:MOST_TAKEN], self.plugins)
        except VsperfError as error:
            sys.stdout.write(repr(error))
            return REFUSED
        return TAKEN


def fuzzer(folder: Path) -> Fuzzer:
    """Return the fuzzer of this module."""
    return Loading(folder)
