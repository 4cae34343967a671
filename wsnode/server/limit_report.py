"""`rpc_limits`: every limit in force for the caller, with its current use."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from wsnode.jsonrpc.schema import COUNT, STRING, Schema, either, list_of, mapping_of, record
from wsnode.server.access.api_keys import KeyLimits
from wsnode.server.access.router import Caller, Network
from wsnode.server.limits import Limits

_NUMBER: Final[Schema] = {"type": "number"}
_NAMES: Final = list_of(STRING)


def _key_members() -> dict[str, Schema]:
    """Return the schemas of a key's limits; the report has only limits that are set."""
    properties = msgspec.json.schema(KeyLimits)["$defs"][KeyLimits.__name__]["properties"]
    return {name: each.get("anyOf", [each])[0] for name, each in properties.items()}


_KEY: Final = record({"name": STRING}, _key_members())
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
    """Limits as `rpc_limits` reports them: `limits` of the whole node, `own` of this process, and the number
    of processes.
    """

    limits: Limits
    own: Limits
    processes: int

    def report(self) -> dict[str, Any]:
        """Return the node's limits as `rpc_limits` shows them, with this process's if there are several."""
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
        if caller.api_key is not None:
            key = {"name": caller.api_key.name, **msgspec.to_builtins(caller.api_key.limits)}
            report |= {"key": key, "usage": caller.api_key.usage()}
        if caller.quota is not None:
            report["connection"] = {"subscriptions": caller.quota.used}
        return report
