"""The methods that a case can have, for tests that load no plug-ins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vsperf.methods.back2back import BackToBack
from vsperf.methods.base import Method
from vsperf.methods.broadcast import BroadcastForwarding
from vsperf.methods.caching import AddressCaching
from vsperf.methods.churn import RuleChurn
from vsperf.methods.fixed import FixedLoad
from vsperf.methods.flow_setup import FlowSetup
from vsperf.methods.forwarding import ForwardingRate
from vsperf.methods.latency import LatencyByTag
from vsperf.methods.learning import AddressLearning
from vsperf.methods.loss import FrameLossRate
from vsperf.methods.mlr import MlrSearch
from vsperf.methods.paired import PairedTurns
from vsperf.methods.recovery import SystemRecovery
from vsperf.methods.reset import ResetTime
from vsperf.methods.rfc2544 import Rfc2544Search
from vsperf.methods.soak import Soak
from vsperf.methods.tst009 import Tst009Search
from vsperf.methods.wake_up import WakeUp

METHODS: dict[str, type[Method]] = {
    "paired": PairedTurns,
    "mlr": MlrSearch,
    "rfc2544": Rfc2544Search,
    "tst009": Tst009Search,
    "fixed": FixedLoad,
    "loss": FrameLossRate,
    "back2back": BackToBack,
    "reset": ResetTime,
    "forwarding": ForwardingRate,
    "recovery": SystemRecovery,
    "latency": LatencyByTag,
    "soak": Soak,
    "churn": RuleChurn,
    "flow_setup": FlowSetup,
    "learning": AddressLearning,
    "caching": AddressCaching,
    "broadcast": BroadcastForwarding,
    "wake_up": WakeUp,
}


def method_of(settings: Mapping[str, Any]) -> Method:
    """Return the method that settings describe."""
    return METHODS[settings["kind"]].model_validate(settings)
