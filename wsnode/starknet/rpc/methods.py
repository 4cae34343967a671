"""All methods of the alt family, and how each gets its two names.

`starknet_` takes parameters by name or by position, as Starknet's nodes do; `alt_` by name only, as the
specification says.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

import msgspec

from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.parameters import NamedParameters
from wsnode.jsonrpc.registry import Registry
from wsnode.starknet.live.hub import Hub
from wsnode.starknet.live.messages import Family
from wsnode.starknet.rpc import blocks, classes, state, subscriptions
from wsnode.starknet.snapshot import Snapshot

SnapshotOf: TypeAlias = Callable[[Any], Snapshot]
"""How a network's view gives the alt chain's snapshot."""
Handler: TypeAlias = Callable[..., Any]

FAMILIES: Final[tuple[Family, ...]] = ("alt", "starknet")
METHODS: dict[str, Handler] = {
    "getClassAt": classes.get_class_at,
    "getClass": classes.get_class,
    "getClassHashAt": classes.get_class_hash_at,
    "getStorageAt": state.get_storage_at,
    "getNonce": state.get_nonce,
    "blockNumber": blocks.block_number,
    "blockHashAndNumber": blocks.block_hash_and_number,
    "chainId": blocks.chain_id,
    "syncing": blocks.syncing,
}


def build_registry(unavailable: Mapping[str, Any] | None = None, *, hub: Hub | None = None) -> Registry:
    """Return the methods of a network that has nothing but an alt chain; its views are snapshots."""
    registry = Registry(unavailable)
    add_methods(registry, lambda view: cast(Snapshot, view), hub)
    return registry


def add_methods(registry: Registry, snapshot_of: SnapshotOf, hub: Hub | None = None) -> None:
    """Register the alt family's methods, which read what `snapshot_of` makes of a view.

    With a `hub`, which tells of new blocks, they can be subscribed to.
    """
    for name, handler in METHODS.items():
        _add(registry, f"alt_{name}", handler, snapshot_of)
        _add(registry, f"starknet_{name}", handler, snapshot_of)
    # The one method whose two names answer two forms.
    _add(registry, "alt_getStateUpdate", state.get_flat_state_update, snapshot_of)
    _add(registry, "starknet_getStateUpdate", state.get_nested_state_update, snapshot_of)
    for family in FAMILIES:
        registry.method(f"{family}_specVersion", view=False, by_name=True)(blocks.spec_version)
        if hub is not None:
            _add_subscriptions(registry, hub, family)


class OnlyNamedParameters(NamedParameters):
    """Parameters by name; an array is refused, be it empty."""

    def explain(self, params: bytes) -> Any:
        """Return `params` member by member.

        Raises:
            RpcError: -32602 `Invalid params` with the reason.
        """
        if params.startswith(b"["):
            raise invalid_params("Invalid params", {"reason": "params is an object with named members"})
        return super().explain(params)


def _named_contract(params: Any) -> list[int]:
    return [params.contract_address]


def _add(registry: Registry, name: str, handler: Handler, snapshot_of: SnapshotOf) -> None:
    struct = _parameters_of(handler)
    registry.method(name, by_name=True)(_reading(handler, struct, snapshot_of))
    if struct is not None and "contract_address" in struct.__struct_fields__:
        registry.methods[name].contracts = _named_contract
    if struct is not None and name.startswith("alt_"):
        registry.methods[name].parameters = OnlyNamedParameters(struct)


def _add_subscriptions(registry: Registry, hub: Hub, family: Family) -> None:
    for name, (handler, struct) in subscriptions.handlers(hub, family).items():
        registry.method(f"{family}_{name}", channel=True, by_name=True)(handler)
        if family == "alt":
            registry.methods[f"{family}_{name}"].parameters = OnlyNamedParameters(struct)


def _parameters_of(handler: Handler) -> type[msgspec.Struct] | None:
    arguments = list(inspect.signature(handler).parameters.values())
    return cast("type[msgspec.Struct]", arguments[1].annotation) if len(arguments) > 1 else None


def _reading(handler: Handler, struct: type[msgspec.Struct] | None, snapshot_of: SnapshotOf) -> Handler:
    """Return `handler` for views; the registry reads the parameters' Struct from its annotations."""

    def read(view: Any, params: Any) -> Any:
        return handler(snapshot_of(view), params)

    def read_without(view: Any) -> Any:
        return handler(snapshot_of(view))

    read.__annotations__["params"] = struct
    read.__doc__ = read_without.__doc__ = handler.__doc__
    return read_without if struct is None else read
