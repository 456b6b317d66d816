"""A contract of import-linter: no driver imports another. Entry points say which there are."""

from __future__ import annotations

from importlib.metadata import distribution

from grimp import ImportGraph
from importlinter.contracts.independence import IndependenceContract
from importlinter.domain import fields
from importlinter.domain.contract import ContractCheck
from importlinter.domain.imports import ModuleExpression

GROUPS = (
    *("vsperf.vswitches", "vsperf.vnfs", "vsperf.generators"),
    *("vsperf.loads", "vsperf.collectors", "vsperf.programs", "vsperf.probes"),
)


class IndependentDrivers(IndependenceContract):
    """Takes the drivers of this package from its entry points: a new one is held to it at once."""

    type_name = "independent_drivers"
    modules = fields.SetField(subfield=fields.ModuleExpressionField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look for imports of one driver by another, whatever lies between them."""
        self.modules = {ModuleExpression(home) for home in homes()}  # type: ignore[assignment]
        return super().check(graph, verbose)


def homes() -> set[str]:
    """Return the module or the package that each driver lives in."""
    offered = distribution("vsperf").entry_points
    own = (entry.module for entry in offered if entry.group in GROUPS)
    return {".".join(module.split(".")[:4]) for module in own}
