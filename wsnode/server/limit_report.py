"""`rpc_limits`: every limit in force for the caller, and its current use."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from wsnode.jsonrpc.schema import BOOLEAN, COUNT, STRING, Schema, either, list_of, mapping_of, record
from wsnode.server.access.directory import Caller, Network
from wsnode.server.limits import Limits

_NUMBER: Final[Schema] = {"type": "number"}
_NAMES: Final = list_of(STRING)
_KEY: Final = record(
    {"name": STRING},
    {
        **dict.fromkeys(("requests_per_second", "burst"), _NUMBER),
        "credits": mapping_of(_NUMBER),
        **dict.fromkeys(("connections", "subscriptions"), COUNT),
        **dict.fromkeys(("methods", "contracts", "origins"), _NAMES),
        "forwarding": BOOLEAN,
    },
)
_REPORT: Final = record(
    {
        "server": mapping_of(either({"type": ["number", "null"]}, _NAMES)),
        "methods": mapping_of({"type": ["number", "null"]}),
    },
    {
        "key": _KEY,
        "usage": record(dict.fromkeys(("current_rps", "connections", "subscriptions"), COUNT)),
        "connection": record({"subscriptions": COUNT}),
        "workers": record({"processes": COUNT, "limits": mapping_of(_NUMBER)}),
    },
)


class NodeLimits(NamedTuple):
    """The limits of a node, and those of this one of its processes."""

    limits: Limits
    own: Limits
    processes: int

    def report(self) -> dict[str, Any]:
        """Return both as `rpc_limits` shows them."""
        limits = msgspec.to_builtins(self.limits)
        if self.processes == 1:
            return {"server": limits}
        own = {name: value for name, value in msgspec.to_builtins(self.own).items() if value != limits[name]}
        return {"server": limits, "workers": {"processes": self.processes, "limits": own}}


def register_limits(network: Network, current: Callable[[], NodeLimits]) -> None:
    """Register `rpc_limits` for `network`, unless it has a method of that name."""
    if "rpc_limits" in network.registry.methods:
        return

    @network.registry.method("rpc_limits", caller=True, result=_REPORT)
    def rpc_limits(caller: Caller) -> dict[str, Any]:
        """Return the server's, the methods' and the key's limits, and the key's and connection's usage."""
        report = {**current().report(), "methods": dict(network.limits)}
        if caller.grant is not None:
            key = {"name": caller.grant.name, **msgspec.to_builtins(caller.grant.limits)}
            report |= {"key": key, "usage": caller.grant.usage()}
        if caller.allowance is not None:
            report["connection"] = {"subscriptions": caller.allowance.used}
        return report
