"""Registration of the Starknet family's methods, each under its two names.

`starknet_` takes parameters by name or by position, as Starknet's nodes do; `alt_` by name only, as the
specification says.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, Final, TypeAlias, cast

import msgspec

from wsnode.jsonrpc.errors import RpcError, invalid_params, limit_exceeded, notifications_not_supported
from wsnode.jsonrpc.parameters import NamedDecoder
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import COUNT, STRING, Schema
from wsnode.starknet.events import MAX_BLOCKS, MAX_BYTES
from wsnode.starknet.followed import (
    FORWARDED_SECONDS,
    MAX_FORWARDED,
    MAX_FORWARDED_BYTES,
    MAX_PROVING,
    MAX_SENT_BYTES,
    SENT_SECONDS,
)
from wsnode.starknet.live.hub import StarknetHub
from wsnode.starknet.live.messages import Family
from wsnode.starknet.proofs.prover import MAX_VALUES, PROVED_BLOCKS, StateProver
from wsnode.starknet.rpc import events, state, transactions
from wsnode.starknet.rpc.errors import (
    block_not_found,
    chain_id_unknown,
    class_hash_not_found,
    contract_not_found,
    invalid_continuation_token,
    invalid_subscription_id,
    invalid_transaction_index,
    no_blocks,
    page_size_too_big,
    proof_too_old,
    too_many_blocks_back,
    too_many_keys,
    too_many_senders,
    transaction_hash_not_found,
    transactions_unavailable,
    unprovable_state,
)
from wsnode.starknet.rpc.events import MAX_EVENTS
from wsnode.starknet.rpc.forwarded.methods import FORWARDING_ERRORS, add_forwarded
from wsnode.starknet.rpc.forwarded.params import MAX_FORWARDED_FELTS, MAX_FORWARDED_TRANSACTIONS
from wsnode.starknet.rpc.forwarded.schemas import FORWARDED_COMPONENTS
from wsnode.starknet.rpc.params import MAX_ADDRESSES, MAX_CONTRACTS, MAX_PROVED_KEYS
from wsnode.starknet.rpc.schemas import (
    BLOCK_WITH_RECEIPTS,
    BLOCK_WITH_TX_HASHES,
    BLOCK_WITH_TXS,
    CLASS,
    COMPONENTS,
    EVENTS_CHUNK,
    FELT,
    HEAD,
    HEX,
    PLACED_RECEIPT,
    PROOF_COMPONENTS,
    SLOT,
    STATE_UPDATES,
    STORAGE_PROOF,
    SUBSCRIPTION,
    TRANSACTION_COMPONENTS,
    TRANSACTION_STATUS,
    TRANSACTION_WITH_HASH,
)
from wsnode.starknet.rpc.state import storage_proof_handler
from wsnode.starknet.rpc.subscription_params import MAX_SENDERS
from wsnode.starknet.rpc.subscriptions import (
    MAX_BLOCKS_BACK,
    MAX_PARAMETERS,
    MAX_PARAMETERS_A_CONNECTION,
    StarknetSubscriptionMethods,
)
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.storage.event_bloom import MAX_KEYS

SnapshotOf: TypeAlias = Callable[[Any], StarknetSnapshot]
"""Function that returns the Starknet chain's snapshot of a network's view."""
Handler: TypeAlias = Callable[..., Any]

FAMILIES: Final[tuple[Family, ...]] = ("alt", "starknet")
CONTRACT_ERRORS: Final = (block_not_found(), contract_not_found())
SUBSCRIBE_ERRORS: Final = (transactions_unavailable(0), limit_exceeded("subscription limit exceeded"))
BLOCK_ERRORS: Final = (block_not_found(), transactions_unavailable(0))


STARKNET_LIMITS: Final = {
    "starknet_events": MAX_EVENTS,
    "starknet_events_blocks": MAX_BLOCKS,
    "starknet_events_bytes": MAX_BYTES,
    "starknet_events_addresses": MAX_ADDRESSES,
    "starknet_events_keys": MAX_KEYS,
    "starknet_state_update_contracts": MAX_CONTRACTS,
    "starknet_proof_keys": MAX_PROVED_KEYS,
    "starknet_proof_blocks": PROVED_BLOCKS,
    "starknet_proof_values": MAX_VALUES,
    "starknet_forwarded_calls": MAX_FORWARDED,
    "starknet_forwarded_bytes": MAX_FORWARDED_BYTES,
    "starknet_forwarded_seconds": FORWARDED_SECONDS,
    "starknet_forwarded_transactions": MAX_FORWARDED_TRANSACTIONS,
    "starknet_forwarded_felts": MAX_FORWARDED_FELTS,
    "starknet_sent_seconds": SENT_SECONDS,
    "starknet_sent_bytes": MAX_SENT_BYTES,
    "starknet_proving": MAX_PROVING,
    "starknet_subscription_blocks_back": MAX_BLOCKS_BACK,
    "starknet_subscription_senders": MAX_SENDERS,
    "starknet_subscriptions_parameters": MAX_PARAMETERS,
    "starknet_subscriptions_parameters_per_connection": MAX_PARAMETERS_A_CONNECTION,
}
"""Bounds of the methods, as `rpc_limits` shows them; no setting changes them."""


def build_registry(
    unavailable: Mapping[str, Any] | None = None,
    *,
    hub: StarknetHub | None = None,
    prover: StateProver | None = None,
) -> Registry:
    """Return the methods of a network with only a Starknet chain, whose views are snapshots."""
    registry = Registry(unavailable)
    add_methods(registry, lambda view: cast(StarknetSnapshot, view), hub, prover)
    return registry


def add_methods(
    registry: Registry,
    snapshot_of: SnapshotOf,
    hub: StarknetHub | None = None,
    prover: StateProver | None = None,
) -> None:
    """Register the Starknet family's methods, which read `snapshot_of(view)`.

    Subscriptions need a `hub`, storage proofs a `prover`.
    """
    registry.define(COMPONENTS | TRANSACTION_COMPONENTS | PROOF_COMPONENTS | FORWARDED_COMPONENTS)
    for family in FAMILIES:
        _add_reading(registry, family, snapshot_of, prover)
        add_forwarded(registry, family, snapshot_of, partial(_decoder, family))
        if hub is not None:
            _add_subscriptions(registry, family, hub)


def _add_reading(
    registry: Registry, family: Family, snapshot_of: SnapshotOf, prover: StateProver | None
) -> None:
    def add(name: str, handler: Handler, **described: Any) -> None:
        struct = _parameters_of(handler)
        decoder = _decoder(family, struct)
        method = registry.method(f"{family}_{name}", by_name=True, decoder=decoder, **described)
        method(_reading(handler, struct, snapshot_of))

    of_contract = partial(add, errors=CONTRACT_ERRORS, contracts=_named_contract)
    of_contract("getClassAt", state.get_class_at, result=CLASS)
    of_contract("getClassHashAt", state.get_class_hash_at, result=FELT)
    of_contract("getStorageAt", state.get_storage_at, result=SLOT)
    of_contract("getNonce", state.get_nonce, result=FELT)
    add("getClass", state.get_class, result=CLASS, errors=(block_not_found(), class_hash_not_found()))
    add("blockNumber", transactions.block_number, result=COUNT, errors=(no_blocks(),))
    add("blockHashAndNumber", transactions.block_hash_and_number, result=HEAD, errors=(no_blocks(),))
    add("chainId", transactions.chain_id, result=HEX, errors=(chain_id_unknown(),))
    add("specVersion", transactions.spec_version, result=STRING)
    add("syncing", transactions.syncing, result={"const": False})
    for name, handler, result in (
        ("getBlockWithTxHashes", transactions.get_block_with_tx_hashes, BLOCK_WITH_TX_HASHES),
        ("getBlockWithTxs", transactions.get_block_with_txs, BLOCK_WITH_TXS),
        ("getBlockWithReceipts", transactions.get_block_with_receipts, BLOCK_WITH_RECEIPTS),
        ("getBlockTransactionCount", transactions.get_block_transaction_count, COUNT),
    ):
        add(name, handler, result=result, errors=BLOCK_ERRORS)
    add(
        "getTransactionByBlockIdAndIndex",
        transactions.get_transaction_by_block_id_and_index,
        result=TRANSACTION_WITH_HASH,
        errors=(*BLOCK_ERRORS, invalid_transaction_index()),
    )
    of_transaction = partial(add, errors=(transaction_hash_not_found(),))
    of_transaction("getTransactionByHash", transactions.get_transaction_by_hash, result=TRANSACTION_WITH_HASH)
    of_transaction("getTransactionReceipt", transactions.get_transaction_receipt, result=PLACED_RECEIPT)
    add(
        "getTransactionStatus",
        transactions.get_transaction_status,
        result=TRANSACTION_STATUS,
        errors=(transaction_hash_not_found(), *FORWARDING_ERRORS),
    )
    add(
        "getEvents",
        events.get_events,
        result=EVENTS_CHUNK,
        errors=(*BLOCK_ERRORS, page_size_too_big(), invalid_continuation_token(), too_many_keys()),
        contracts=_named_emitters,
    )
    if prover is not None:
        add(
            "getStorageProof",
            storage_proof_handler(prover),
            result=STORAGE_PROOF,
            errors=(
                block_not_found(),
                proof_too_old(),
                unprovable_state(""),
                limit_exceeded("too many values wait for proofs"),
            ),
            contracts=_named_proved,
        )
    # getStateUpdate is the only method whose result differs between the two families.
    update = state.get_flat_state_update if family == "alt" else state.get_nested_state_update
    add("getStateUpdate", update, result=STATE_UPDATES[family], errors=(block_not_found(),))


def _add_subscriptions(registry: Registry, family: Family, hub: StarknetHub) -> None:
    def add(name: str, handler: Handler, *errors: RpcError, result: Schema) -> None:
        registry.method(
            f"{family}_{name}",
            channel=True,
            decoder=_decoder(family, _parameters_of(handler)),
            result=result,
            errors=(*errors, notifications_not_supported()),
        )(handler)

    methods = StarknetSubscriptionMethods(hub, family)
    of_blocks = (block_not_found(), too_many_blocks_back())
    of_transactions = (*of_blocks, too_many_senders(), *SUBSCRIBE_ERRORS)
    for name, handler, errors in (
        ("subscribeNewHeads", methods.subscribe_new_heads, of_blocks),
        ("subscribeEvents", methods.subscribe_events, (*of_blocks, too_many_keys(), *SUBSCRIBE_ERRORS)),
        ("subscribeNewTransactions", methods.subscribe_new_transactions, of_transactions),
        ("subscribeNewTransactionReceipts", methods.subscribe_new_transaction_receipts, of_transactions),
        ("subscribeTransactionStatus", methods.subscribe_transaction_status, SUBSCRIBE_ERRORS),
    ):
        add(name, handler, *errors, result=SUBSCRIPTION)
    add("unsubscribe", methods.unsubscribe, invalid_subscription_id(), result={"const": True})


class OnlyNamedParameters(NamedDecoder):
    """Decoder of parameters that are given by name; an array is refused, even an empty one."""

    def explain(self, params: bytes) -> Any:
        if params.startswith(b"["):
            raise invalid_params("Invalid params", {"reason": "params is an object with named members"})
        return super().explain(params)


def _named_contract(params: Any) -> list[int]:
    return [int.from_bytes(params.contract_address, "big")]


def _named_emitters(params: Any) -> list[int] | None:
    return [int.from_bytes(address, "big") for address in params.filter.address or ()] or None


def _named_proved(params: Any) -> list[int] | None:
    named = [*params.contract_addresses, *(address for address, _ in params.contracts_storage_keys)]
    return [int.from_bytes(address, "big") for address in named] or None


def _decoder(family: Family, struct: type[msgspec.Struct] | None) -> NamedDecoder | None:
    if struct is None:
        return None
    return OnlyNamedParameters(struct) if family == "alt" else NamedDecoder(struct)


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
