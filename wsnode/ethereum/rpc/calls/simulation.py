"""The first argument of eth_simulateV1: blocks of calls and how they run, with geth's errors."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from wsnode.ethereum.rpc.calls.call_object import CallObject, decode_call_object
from wsnode.ethereum.rpc.calls.overrides import (
    NO_BLOCK_OVERRIDES,
    NO_STATE_OVERRIDES,
    BlockOverrides,
    StateOverrides,
    decode_block_overrides,
    decode_state_overrides,
)
from wsnode.ethereum.rpc.calls.schemas import SIMULATION
from wsnode.ethereum.rpc.form.decoding import ARGUMENT, field, kind, mismatch
from wsnode.jsonrpc.codec import register_type

_Value = TypeVar("_Value")

_OPTIONS: Final = ("traceTransfers", "validation", "returnFullTransactions")
_BLOCKS: Final = "BlockStateCalls"


class SimulatedBlock(msgspec.Struct, frozen=True, gc=False):
    """The calls of one block, and its overrides."""

    block_overrides: BlockOverrides = NO_BLOCK_OVERRIDES
    state_overrides: StateOverrides = NO_STATE_OVERRIDES
    calls: list[CallObject] = []


class SimulationObject:
    """A sequence of blocks to simulate, and options of the run."""

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
    """Return the simulation that a JSON object describes; names match in any case, unknown ones are ignored.

    Raises:
        ValueError: A member is malformed.
    """
    members = _members(value, "ethapi.simOpts", ARGUMENT)
    blocks = members.get(_BLOCKS.lower(), [])
    place = field("simOpts", _BLOCKS)
    transfers, validation, full = (_flag(members.get(name.lower(), False), name) for name in _OPTIONS)
    return SimulationObject(
        [_block(item, place) for item in _array(blocks, "[]ethapi.simBlock", place)],
        trace_transfers=transfers,
        validation=validation,
        full_transactions=full,
    )


def _block(value: Any, place: str) -> SimulatedBlock:
    if value is None:
        return SimulatedBlock()
    members = _members(value, "ethapi.simBlock", place)
    calls = members.get("calls", [])
    return SimulatedBlock(
        _inside("BlockOverrides", decode_block_overrides, members.get("blockoverrides", {})),
        _inside("StateOverrides", decode_state_overrides, members.get("stateoverrides", {})),
        [
            _inside("Calls", _call, call)
            for call in _array(calls, "[]ethapi.TransactionArgs", _place("Calls"))
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


def _array(value: Any, type_name: str, place: str) -> list[Any]:
    if type(value) is not list:
        raise mismatch(kind(value), type_name, place)
    return value


def _flag(value: Any, name: str) -> bool:
    if type(value) is not bool:
        raise mismatch(kind(value), "bool", field("simOpts", name[0].upper() + name[1:]))
    return value


register_type(SimulationObject, decode_simulation, SIMULATION)
