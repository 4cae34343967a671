"""The first argument of eth_simulateV1: blocks of calls and how they run, with geth's errors."""

from collections.abc import Callable
from itertools import chain
from typing import Any, Final, TypeVar

import msgspec

from wsnode.ethereum.codes import CLIENT_LIMIT
from wsnode.ethereum.rpc.calls.call_object import (
    CallObject,
    check_accesses,
    decode_call_object,
)
from wsnode.ethereum.rpc.calls.overrides import (
    NO_BLOCK_OVERRIDES,
    NO_STATE_OVERRIDES,
    BlockOverrides,
    StateOverrides,
    check_account_names,
    check_block_names,
    check_overrides,
    decode_block_overrides,
    decode_state_overrides,
)
from wsnode.ethereum.rpc.calls.schemas import MAX_BLOCKS, MAX_CALLS, MAX_CALLS_OF_ALL, SIMULATION
from wsnode.ethereum.rpc.common.decoding import ARGUMENT, decode_array, field, kind, mismatch
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError

_Value = TypeVar("_Value")

_OPTIONS: Final = ("traceTransfers", "validation", "returnFullTransactions")
_BLOCKS: Final = "BlockStateCalls"


class SimulatedBlock(msgspec.Struct, frozen=True, gc=False):
    """Block to simulate: its calls in order, and overrides of its header and of the state before it."""

    block_overrides: BlockOverrides = NO_BLOCK_OVERRIDES
    state_overrides: StateOverrides = NO_STATE_OVERRIDES
    calls: list[CallObject] = []


class SimulationObject:
    """Sequence of blocks to simulate (`blockStateCalls`), and options of the run: `traceTransfers`,
    `validation`, `returnFullTransactions`.
    """

    __slots__ = ("blocks", "full_transactions", "trace_transfers", "validation")

    def __init__(
        self,
        blocks: list[SimulatedBlock],
        *,
        trace_transfers: bool = False,
        validation: bool = False,
        full_transactions: bool = False,
    ) -> None:
        self.blocks = blocks
        self.trace_transfers = trace_transfers
        self.validation = validation
        self.full_transactions = full_transactions


def decode_simulation(value: Any) -> SimulationObject:
    """Return the simulation that a JSON object describes; names match in any case.

    Unknown ones are ignored, except in overrides.

    Raises:
        ValueError: A member is malformed.
        RpcError: It has too many blocks or calls.
    """
    members = _members(value, "ethapi.simOpts", ARGUMENT)
    place = field("simOpts", _BLOCKS)
    blocks = decode_array(members.get(_BLOCKS.lower(), []), "[]ethapi.simBlock", place)
    _check_size(blocks)
    transfers, validation, full = (_flag(members.get(name.lower(), False), name) for name in _OPTIONS)
    return SimulationObject(
        [_block(item, place) for item in blocks],
        trace_transfers=transfers,
        validation=validation,
        full_transactions=full,
    )


def _check_size(blocks: list[Any]) -> None:
    """Check the number of blocks, of calls, and of items in these, before any is decoded."""
    if len(blocks) > MAX_BLOCKS:
        raise RpcError(CLIENT_LIMIT, "too many blocks")
    members = [_members(block, "", "") for block in blocks if type(block) is dict]
    calls = [block["calls"] for block in members if type(block.get("calls")) is list]
    for count in map(len, calls):
        if count > MAX_CALLS:
            raise RpcError(CLIENT_LIMIT, f"too many calls in block: {count} > {MAX_CALLS}")
    if (total := sum(map(len, calls))) > MAX_CALLS_OF_ALL:
        raise RpcError(CLIENT_LIMIT, f"too many calls: {total} > {MAX_CALLS_OF_ALL}")
    check_accesses(chain.from_iterable(calls))
    check_overrides([block.get("stateoverrides") for block in members])


def _block(value: Any, place: str) -> SimulatedBlock:
    if value is None:
        return SimulatedBlock()
    members = _members(value, "ethapi.simBlock", place)
    calls = members.get("calls", [])
    block, state = members.get("blockoverrides", {}), members.get("stateoverrides", {})
    check_block_names(block)
    block_overrides = _inside("BlockOverrides", decode_block_overrides, block)
    _inside("StateOverrides", check_account_names, state)
    return SimulatedBlock(
        block_overrides,
        _inside("StateOverrides", decode_state_overrides, state),
        [
            _inside("Calls", _call, call)
            for call in decode_array(calls, "[]ethapi.TransactionArgs", _place("Calls"))
        ],
    )


def _call(value: Any) -> CallObject:
    return CallObject() if value is None else decode_call_object(value)


def _inside(name: str, decode: Callable[[Any], _Value], value: Any) -> _Value:
    """Return a decoded member of a block; errors name the place of the member."""
    try:
        return decode(value)
    except ValueError as error:
        text = str(error).replace(f"into {ARGUMENT} of", f"into {_place(name)} of", 1)
        for struct in ("TransactionArgs", "OverrideAccount", "BlockOverrides"):
            text = text.replace(f"{field(struct, '')}", f"{field(struct, _BLOCKS)}.{name}.", 1)
        raise ValueError(text) from None


def _place(name: str) -> str:
    return field("simBlock", f"{_BLOCKS}.{name}")


def _members(value: Any, type_name: str, place: str) -> dict[str, Any]:
    """Return an object's members by their names in lower case; null means absent."""
    if type(value) is not dict:
        raise mismatch(kind(value), type_name, place)
    return {name.lower(): member for name, member in value.items() if member is not None}


def _flag(value: Any, name: str) -> bool:
    if type(value) is not bool:
        raise mismatch(kind(value), "bool", field("simOpts", name[0].upper() + name[1:]))
    return value


register_type(SimulationObject, decode_simulation, SIMULATION)
