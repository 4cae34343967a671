"""Registration of the alt family's methods, each under its two names.

`starknet_` takes parameters by name or by position, as Starknet's nodes do; `alt_` by name only, as the
specification says.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, Final, TypeAlias, cast

import msgspec

from wsnode.jsonrpc.errors import RpcError, invalid_params, notifications_not_supported
from wsnode.jsonrpc.parameters import NamedParameters
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import COUNT, STRING, Schema
from wsnode.starknet.live.hub import Hub
from wsnode.starknet.live.messages import Family
from wsnode.starknet.rpc import blocks, classes, state, subscriptions
from wsnode.starknet.rpc.errors import (
    block_not_found,
    chain_id_unknown,
    class_hash_not_found,
    contract_not_found,
    invalid_subscription_id,
    no_blocks,
    too_many_blocks_back,
)
from wsnode.starknet.rpc.schemas import (
    CLASS,
    COMPONENTS,
    FELT,
    HEAD,
    HEX,
    SLOT,
    STATE_UPDATES,
    SUBSCRIPTION,
)
from wsnode.starknet.snapshot import Snapshot

SnapshotOf: TypeAlias = Callable[[Any], Snapshot]
"""Returns the alt chain's snapshot of a network's view."""
Handler: TypeAlias = Callable[..., Any]

FAMILIES: Final[tuple[Family, ...]] = ("alt", "starknet")
CONTRACT_ERRORS: Final = (block_not_found(), contract_not_found())


def build_registry(unavailable: Mapping[str, Any] | None = None, *, hub: Hub | None = None) -> Registry:
    """Return the methods of a network with only an alt chain, whose views are snapshots."""
    registry = Registry(unavailable)
    add_methods(registry, lambda view: cast(Snapshot, view), hub)
    return registry


def add_methods(registry: Registry, snapshot_of: SnapshotOf, hub: Hub | None = None) -> None:
    """Register the alt family's methods, which read `snapshot_of(view)`.

    Subscriptions to new heads need a `hub`.
    """
    registry.define(COMPONENTS)
    for family in FAMILIES:
        _add_reading(registry, family, snapshot_of)
        registry.method(f"{family}_specVersion", view=False, by_name=True, result=STRING)(blocks.spec_version)
        if hub is not None:
            _add_subscriptions(registry, family, hub)


def _add_reading(registry: Registry, family: Family, snapshot_of: SnapshotOf) -> None:
    def add(name: str, handler: Handler, **described: Any) -> None:
        struct = _parameters_of(handler)
        decoder = _decoder(family, struct)
        method = registry.method(f"{family}_{name}", by_name=True, decoder=decoder, **described)
        method(_reading(handler, struct, snapshot_of))

    of_contract = partial(add, errors=CONTRACT_ERRORS, contracts=_named_contract)
    of_contract("getClassAt", classes.get_class_at, result=CLASS)
    of_contract("getClassHashAt", classes.get_class_hash_at, result=FELT)
    of_contract("getStorageAt", state.get_storage_at, result=SLOT)
    of_contract("getNonce", state.get_nonce, result=FELT)
    add("getClass", classes.get_class, result=CLASS, errors=(block_not_found(), class_hash_not_found()))
    add("blockNumber", blocks.block_number, result=COUNT, errors=(no_blocks(),))
    add("blockHashAndNumber", blocks.block_hash_and_number, result=HEAD, errors=(no_blocks(),))
    add("chainId", blocks.chain_id, result=HEX, errors=(chain_id_unknown(),))
    add("syncing", blocks.syncing, result={"const": False})
    # The one method with a different form under each name.
    update = state.get_flat_state_update if family == "alt" else state.get_nested_state_update
    add("getStateUpdate", update, result=STATE_UPDATES[family], errors=(block_not_found(),))


def _add_subscriptions(registry: Registry, family: Family, hub: Hub) -> None:
    def add(name: str, handler: Handler, *errors: RpcError, result: Schema) -> None:
        registry.method(
            f"{family}_{name}",
            channel=True,
            decoder=_decoder(family, _parameters_of(handler)),
            result=result,
            errors=(*errors, notifications_not_supported()),
        )(handler)

    subscribe, unsubscribe = subscriptions.handlers(hub, family)
    add("subscribeNewHeads", subscribe, block_not_found(), too_many_blocks_back(), result=SUBSCRIPTION)
    add("unsubscribe", unsubscribe, invalid_subscription_id(), result={"const": True})


class OnlyNamedParameters(NamedParameters):
    """Parameters by name; an array is refused, even an empty one."""

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


def _decoder(family: Family, struct: type[msgspec.Struct] | None) -> NamedParameters | None:
    if struct is None:
        return None
    return OnlyNamedParameters(struct) if family == "alt" else NamedParameters(struct)


def _parameters_of(handler: Handler) -> type[msgspec.Struct] | None:
    arguments = list(inspect.signature(handler).parameters.values())
    return cast("type[msgspec.Struct]", arguments[1].annotation) if len(arguments) > 1 else None


def _reading(handler: Handler, struct: type[msgspec.Struct] | None, snapshot_of: SnapshotOf) -> Handler:
    """Return `handler`, changed to take a network's view."""

    @wraps(handler)
    def read(view: Any, params: Any) -> Any:
        return handler(snapshot_of(view), params)

    @wraps(handler)
    def read_without(view: Any) -> Any:
        return handler(snapshot_of(view))

    return read_without if struct is None else read
