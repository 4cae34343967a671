"""Methods that return state updates and single values of the state."""

from typing import Any

import msgspec

from wsnode.jsonrpc.work import RenderedJson
from wsnode.starknet.diff_json import EMPTY, FlatDiff, decode_flat, filtered, nested_diff
from wsnode.starknet.felt import ZERO, felt_text
from wsnode.starknet.rpc.classes import class_hash_of
from wsnode.starknet.rpc.errors import block_not_found, history_unavailable, needs_newer_version
from wsnode.starknet.rpc.params import ContractParams, StateUpdateParams, StorageParams
from wsnode.starknet.rpc.resolution import ResolvedState, resolve
from wsnode.starknet.snapshot import StarknetSnapshot

# These addresses hold the operating system's own storage, such as block hashes, and have no class.
SYSTEM_CONTRACTS = frozenset(address.to_bytes(32, "big") for address in (1, 2))


def get_flat_state_update(snapshot: StarknetSnapshot, params: StateUpdateParams) -> RenderedJson:
    """Return the state update of a block, with one `storage_diffs` row for each slot."""
    state = resolve(snapshot, params.block_id)
    if state.is_pending or params.contract_addresses or snapshot.is_before_0_10:
        return _update(state, msgspec.json.encode(_chosen(snapshot, state, params)))
    return _update(state, _text(snapshot, state))


def get_nested_state_update(snapshot: StarknetSnapshot, params: StateUpdateParams) -> RenderedJson:
    """Return the state update of a block, with slots grouped by contract, as in starknet-specs."""
    state = resolve(snapshot, params.block_id)
    return _update(state, msgspec.json.encode(nested_diff(_chosen(snapshot, state, params))))


def get_storage_at(snapshot: StarknetSnapshot, params: StorageParams) -> str | dict[str, Any]:
    """Return the value of a slot, a felt; 0x0 if it was never written."""
    state = resolve(snapshot, params.block_id)
    address = params.contract_address
    written = snapshot.storage_at(address, params.key, state.number)
    # For a slot that was never written, starknet-specs gives block 0 too.
    value, number = written or (_unwritten(snapshot, state, address), 0)
    if params.response_flags and snapshot.is_before_0_10:
        raise needs_newer_version("a response flag")
    if params.response_flags:
        return {"value": felt_text(value), "last_update_block": number}
    return felt_text(value)


def get_nonce(snapshot: StarknetSnapshot, params: ContractParams) -> str:
    """Return the nonce of the contract, a felt."""
    state = resolve(snapshot, params.block_id)
    address = params.contract_address
    nonce = snapshot.nonce_at(address, state.number)
    if nonce is None:
        class_hash_of(snapshot, state, address)
        nonce = _zero(snapshot, address)
    return felt_text(nonce)


def _unwritten(snapshot: StarknetSnapshot, state: ResolvedState, address: bytes) -> bytes:
    if address not in SYSTEM_CONTRACTS:
        class_hash_of(snapshot, state, address)
    return _zero(snapshot, address)


def _zero(snapshot: StarknetSnapshot, address: bytes) -> bytes:
    """Return zero for a value that no block of this history wrote, if no earlier block can have written
    it.
    """
    first = snapshot.first_block
    if first > 0 and not snapshot.was_deployed_here(address):
        raise history_unavailable(first)
    return ZERO


def _text(snapshot: StarknetSnapshot, state: ResolvedState) -> bytes:
    text = snapshot.diff_text(state.number)
    if text is None:
        raise block_not_found()
    return text


def _chosen(snapshot: StarknetSnapshot, state: ResolvedState, params: StateUpdateParams) -> FlatDiff:
    flat = EMPTY if state.is_pending else decode_flat(_text(snapshot, state))
    if snapshot.is_before_0_10:
        if params.contract_addresses:
            raise needs_newer_version("contract_addresses")
        flat = msgspec.structs.replace(flat, migrated_compiled_classes=EMPTY.migrated_compiled_classes)
    if addresses := params.contract_addresses:
        return filtered(flat, {felt_text(address) for address in addresses})
    return flat


def _update(state: ResolvedState, diff: bytes) -> RenderedJson:
    block = state.block
    if state.is_pending:
        # The specification requires `old_root`; starknet-specs 0.10.0 makes it optional.
        return RenderedJson(b'{"old_root":"%b","state_diff":%b}' % (felt_text(block.new_root).encode(), diff))
    roots = (block.hash, block.old_root, block.new_root)
    parts = [felt_text(felt).encode() for felt in roots]
    return RenderedJson(
        b'{"block_hash":"%b","old_root":"%b","new_root":"%b","state_diff":%b}' % (*parts, diff)
    )
