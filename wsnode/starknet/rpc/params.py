"""The methods' parameters, under their names in starknet-specs and in their order by position."""

from typing import Annotated, Any, Final

import msgspec

from wsnode.jsonrpc.codec import register_encoder, register_type
from wsnode.jsonrpc.schema import either, list_of, record
from wsnode.jsonrpc.session_limits import check_count
from wsnode.starknet.block_id import BlockId, decode_block_id
from wsnode.starknet.felt import Felt, decode_felt, felt_text
from wsnode.starknet.rpc.errors import too_many_keys
from wsnode.starknet.rpc.schemas import BLOCK_ID, WRITTEN_FELT
from wsnode.starknet.storage.event_bloom import MAX_KEYS

MAX_CONTRACTS: Final = 1024
"""Maximum number of contracts that one getStateUpdate selects; an address takes two microseconds to
decode.
"""
MAX_ADDRESSES: Final = 100
"""Maximum number of contracts in a filter of events."""
MAX_PROVED_KEYS: Final = 100
"""Maximum number of classes, contracts and slots of one getStorageProof, as in pathfinder."""
FLAGS: Final = ("INCLUDE_LAST_UPDATE_BLOCK",)
TRANSACTION_FLAGS: Final = ("INCLUDE_PROOF_FACTS",)
MAX_FLAGS: Final = 16
"""Maximum number of flags of a request; no method has as many."""


class Contracts(tuple[Felt, ...]):
    """Array of contract addresses."""

    __slots__ = ()


class Emitters(tuple[Felt, ...]):
    """Contracts that emit events: one address, or an array of addresses."""

    __slots__ = ()


class EmitterList(Emitters):
    """Contracts that emit events, written as an array; starknet-specs 0.9 allows one address only."""

    __slots__ = ()


class ProvedFelts(tuple[Felt, ...]):
    """Array of the class hashes or the contract addresses to prove."""

    __slots__ = ()


class ProvedSlots(tuple[tuple[Felt, tuple[Felt, ...]], ...]):
    """Array of `{contract_address, storage_keys}`: the slots of contracts to prove."""

    __slots__ = ()


class EventKeys(tuple[tuple[Felt, ...], ...]):
    """Array with an item for each position of an event's keys: an array of the keys allowed there, empty for
    any.
    """

    __slots__ = ()


class ResponseFlags(tuple[str, ...]):
    """Array of flags that add members to a reply: `INCLUDE_LAST_UPDATE_BLOCK`."""

    __slots__ = ()


class TransactionFlags(tuple[str, ...]):
    """Array of flags that add members to the transactions of a reply: `INCLUDE_PROOF_FACTS`."""

    __slots__ = ()


def _decode_contracts(value: Any) -> Contracts:
    if type(value) is not list:
        raise ValueError("contract addresses are an array")
    check_count(len(value), MAX_CONTRACTS, "contract addresses")
    return Contracts(map(decode_felt, value))


def _decode_emitters(value: Any) -> Emitters:
    if type(value) is not list:
        return Emitters((decode_felt(value),))
    check_count(len(value), MAX_ADDRESSES, "addresses")
    return EmitterList(map(decode_felt, value))


def _decode_event_keys(value: Any) -> EventKeys:
    if type(value) is not list or not all(type(among) is list for among in value):
        raise ValueError("keys are an array of arrays")
    if len(value) > MAX_KEYS or sum(map(len, value)) > MAX_KEYS:
        raise too_many_keys()
    return EventKeys(tuple(map(decode_felt, among)) for among in value)


def _decode_proved_felts(value: Any) -> ProvedFelts:
    if type(value) is not list:
        raise ValueError("what is to be proved is an array")
    check_count(len(value), MAX_PROVED_KEYS, "keys")
    return ProvedFelts(map(decode_provable, value))


def decode_provable(value: object) -> Felt:
    """Return a key of a trie.

    Raises:
        ValueError: It is no felt, or not below 2^251, the height of tries.
    """
    key = decode_felt(value)
    if key[0] >= 8:
        raise ValueError("a key of a trie is below 2^251")
    return key


def _decode_proved_slots(value: Any) -> ProvedSlots:
    if type(value) is not list:
        raise ValueError("contracts_storage_keys is an array")
    check_count(len(value), MAX_PROVED_KEYS, "contracts")
    slots = ProvedSlots(map(_decode_contract_slots, value))
    check_count(sum(len(keys) for _, keys in slots), MAX_PROVED_KEYS, "keys")
    return slots


def _decode_contract_slots(value: Any) -> tuple[Felt, tuple[Felt, ...]]:
    if type(value) is not dict or type(value.get("storage_keys")) is not list:
        raise ValueError("a contract's keys are {contract_address, storage_keys}")
    check_count(len(value["storage_keys"]), MAX_PROVED_KEYS, "keys")
    return decode_provable(value.get("contract_address")), tuple(map(decode_provable, value["storage_keys"]))


def checked_flags(value: Any, known: tuple[str, ...], noun: str) -> list[str]:
    """Return a parameter that is a list of `known` names.

    Raises:
        ValueError: It is no list, has too many names, or an unknown one.
    """
    if type(value) is not list:
        raise ValueError(f"{noun}s are an array")
    check_count(len(value), MAX_FLAGS, f"{noun}s")
    if any(flag not in known for flag in value):
        raise ValueError(f"a {noun} is one of {', '.join(known)}")
    return value


def _decode_flags(value: Any) -> ResponseFlags:
    return ResponseFlags(checked_flags(value, FLAGS, "response flag"))


def _decode_transaction_flags(value: Any) -> TransactionFlags:
    return TransactionFlags(checked_flags(value, TRANSACTION_FLAGS, "response flag"))


register_type(Felt, decode_felt, WRITTEN_FELT)
register_encoder(Felt, felt_text)
register_type(BlockId, decode_block_id, BLOCK_ID)
register_type(Contracts, _decode_contracts, list_of(WRITTEN_FELT, most=MAX_CONTRACTS))
register_type(Emitters, _decode_emitters, either(WRITTEN_FELT, list_of(WRITTEN_FELT, most=MAX_ADDRESSES)))
register_type(ProvedFelts, _decode_proved_felts, list_of(WRITTEN_FELT, most=MAX_PROVED_KEYS))
register_type(
    ProvedSlots,
    _decode_proved_slots,
    list_of(
        record(
            {"contract_address": WRITTEN_FELT, "storage_keys": list_of(WRITTEN_FELT, most=MAX_PROVED_KEYS)}
        ),
        most=MAX_PROVED_KEYS,
    ),
)
register_type(EventKeys, _decode_event_keys, list_of(list_of(WRITTEN_FELT, most=MAX_KEYS), most=MAX_KEYS))
register_type(ResponseFlags, _decode_flags, list_of({"enum": list(FLAGS)}, most=MAX_FLAGS))


register_type(
    TransactionFlags, _decode_transaction_flags, list_of({"enum": list(TRANSACTION_FLAGS)}, most=MAX_FLAGS)
)


class BlockParams(msgspec.Struct, frozen=True):
    """`{block_id}`: a block by number, hash or tag."""

    block_id: BlockId


class FlaggedBlockParams(msgspec.Struct, frozen=True):
    """`{block_id, response_flags}`: a block; a flag (from starknet-specs 0.10.1 on) adds the proof facts of
    its transactions.
    """

    block_id: BlockId
    response_flags: TransactionFlags = TransactionFlags()


class TransactionParams(msgspec.Struct, frozen=True):
    """`{transaction_hash}`: the hash of a transaction."""

    transaction_hash: Felt


class FlaggedHashParams(msgspec.Struct, frozen=True):
    """`{transaction_hash, response_flags}`: the hash of a transaction; a flag (from starknet-specs 0.10.1 on)
    adds its proof facts.
    """

    transaction_hash: Felt
    response_flags: TransactionFlags = TransactionFlags()


class IndexParams(msgspec.Struct, frozen=True):
    """`{block_id, index, response_flags}`: a block, and the index of a transaction in it; a flag (from
    starknet-specs 0.10.1 on) adds the proof facts.
    """

    block_id: BlockId
    index: Annotated[int, msgspec.Meta(ge=0)]
    response_flags: TransactionFlags = TransactionFlags()


class ContractParams(msgspec.Struct, frozen=True):
    """`{block_id, contract_address}`: a contract in the state after a block."""

    block_id: BlockId
    contract_address: Felt


class ClassParams(msgspec.Struct, frozen=True):
    """`{block_id, class_hash}`: a class in the state after a block."""

    block_id: BlockId
    class_hash: Felt


class StorageParams(msgspec.Struct, frozen=True):
    """`{contract_address, key, block_id, response_flags}`: a slot in the state after a block; a flag (from
    starknet-specs 0.10.1 on) adds the block of its last write.
    """

    contract_address: Felt
    key: Felt
    block_id: BlockId
    response_flags: ResponseFlags = ResponseFlags()


class EventFilterObject(msgspec.Struct, frozen=True):
    """`{chunk_size, from_block, to_block, address, keys, continuation_token}`: the blocks, contracts and keys
    of the events wanted. A page has at most `chunk_size` events; the token of one page requests the next.
    """

    chunk_size: Annotated[int, msgspec.Meta(ge=1)]
    from_block: BlockId | None = None
    to_block: BlockId | None = None
    address: Emitters | None = None
    keys: EventKeys | None = None
    continuation_token: str | None = None


class EventsParams(msgspec.Struct, frozen=True):
    """`{filter}`: at most `chunk_size` events of blocks `from_block` to `to_block`, by contract and keys."""

    filter: EventFilterObject


class StateUpdateParams(msgspec.Struct, frozen=True):
    """`{block_id, contract_addresses}`: a block; addresses (from starknet-specs 0.10.1 on) select the
    contracts whose changes are returned, an empty array all.
    """

    block_id: BlockId
    contract_addresses: Contracts = Contracts()


class StorageProofParams(msgspec.Struct, frozen=True):
    """`{block_id, class_hashes, contract_addresses, contracts_storage_keys}`: a block, and the classes,
    contracts and slots to prove in the state after it.
    """

    block_id: BlockId
    class_hashes: ProvedFelts = ProvedFelts()
    contract_addresses: ProvedFelts = ProvedFelts()
    contracts_storage_keys: ProvedSlots = ProvedSlots()
