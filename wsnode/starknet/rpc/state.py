"""Methods that return classes, state updates, single values of the state, and their proofs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.work import Await, RenderedJson, RunInThread, Steps
from wsnode.starknet.diff_json import EMPTY, FlatDiff, decode_flat, filtered, nested_diff
from wsnode.starknet.felt import ZERO, felt_text
from wsnode.starknet.followed import ProofRequest, StateValue, ValueKind
from wsnode.starknet.proofs.prover import PROVED_BLOCKS, StateProofError, StateProver
from wsnode.starknet.rpc.errors import (
    block_not_found,
    class_hash_not_found,
    class_unavailable,
    contract_not_found,
    history_unavailable,
    needs_newer_version,
    proof_too_old,
    unprovable_state,
)
from wsnode.starknet.rpc.params import (
    MAX_PROVED_KEYS,
    ClassParams,
    ContractParams,
    StateUpdateParams,
    StorageParams,
    StorageProofParams,
)
from wsnode.starknet.rpc.resolution import ResolvedState, is_cut_off, read_class, read_proved, resolve
from wsnode.starknet.snapshot import StarknetSnapshot


def get_class_at(snapshot: StarknetSnapshot, params: ContractParams) -> RenderedJson | Steps:
    """Return the class definition of the contract, a JSON object."""
    state = resolve(snapshot, params.block_id)
    class_hash = class_hash_of(snapshot, state, params.contract_address)
    if class_hash is None:
        return _class_of_proved(snapshot, state, params.contract_address)
    return _definition(snapshot, state, class_hash)


def get_class_hash_at(snapshot: StarknetSnapshot, params: ContractParams) -> str | Steps:
    """Return the class hash of the contract, a felt."""
    state = resolve(snapshot, params.block_id)
    class_hash = class_hash_of(snapshot, state, params.contract_address)
    if class_hash is None:
        return _proved_hash_text(snapshot, state, params.contract_address)
    return felt_text(class_hash)


def get_class(snapshot: StarknetSnapshot, params: ClassParams) -> RenderedJson | Steps:
    """Return the class definition with this hash, if a block up to `block_id` names it."""
    state = resolve(snapshot, params.block_id)
    class_hash = params.class_hash
    if state.pre_confirmed is not None and class_hash in state.pre_confirmed.named_classes:
        return _definition(snapshot, state, class_hash)
    named = snapshot.first_named(class_hash)
    if named is not None and named <= state.number:
        return _definition(snapshot, state, class_hash)
    if snapshot.has_whole_state:
        raise class_hash_not_found()
    # A block below the first stored one may have named the class.
    if snapshot.followed is None:
        raise history_unavailable(snapshot.first_block)
    return read_class(snapshot, state, class_hash)


def class_hash_of(snapshot: StarknetSnapshot, state: ResolvedState, address: bytes) -> bytes | None:
    """Return the class hash of the contract at `address`, None if only blocks below the history show it.

    Raises:
        RpcError: The contract does not exist.
    """
    pre_confirmed = state.pre_confirmed
    if pre_confirmed is not None and (changed := pre_confirmed.class_hashes.get(address)):
        return changed
    class_hash = snapshot.class_hash_at(address, state.number)
    if class_hash is None and not is_cut_off(snapshot, state, address):
        raise contract_not_found()
    return class_hash


def _proved_hash(snapshot: StarknetSnapshot, state: ResolvedState, address: bytes) -> Steps:
    """Return the class hash of a contract by a proof."""
    found = yield from read_proved(snapshot, state, StateValue(ValueKind.CLASS_HASH, bytes(address)))
    if found is None or found.class_hash == ZERO:
        raise contract_not_found()
    return found.class_hash


def _proved_hash_text(snapshot: StarknetSnapshot, state: ResolvedState, address: bytes) -> Steps:
    class_hash = yield from _proved_hash(snapshot, state, address)
    return felt_text(class_hash)


def _class_of_proved(snapshot: StarknetSnapshot, state: ResolvedState, address: bytes) -> Steps:
    class_hash = yield from _proved_hash(snapshot, state, address)
    text = snapshot.rendered_class(class_hash)
    if text is not None:
        return RenderedJson(text)
    return (yield from read_class(snapshot, state, class_hash))


def _definition(snapshot: StarknetSnapshot, state: ResolvedState, class_hash: bytes) -> RenderedJson | Steps:
    """Return the definition of a class that the chain names."""
    text = snapshot.rendered_class(class_hash)
    if text is not None:
        return RenderedJson(text)
    if snapshot.followed is None:
        raise class_unavailable(class_hash)
    return read_class(snapshot, state, class_hash)


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
    diff = msgspec.json.encode(nested_diff(_chosen(snapshot, state, params)))
    pre_confirmed = state.pre_confirmed
    if pre_confirmed is not None and not pre_confirmed.names_old_root and not snapshot.is_before_0_10:
        # starknet-specs 0.10.0 makes `old_root` optional.
        return RenderedJson(b'{"state_diff":%b}' % diff)
    return _update(state, diff)


def get_storage_at(snapshot: StarknetSnapshot, params: StorageParams) -> str | dict[str, Any] | Steps:
    """Return the value of a slot, a felt; 0x0 if it was never written."""
    state = resolve(snapshot, params.block_id)
    address = params.contract_address
    written = _pre_confirmed_slot(state, address, params.key)
    written = written or snapshot.storage_at(address, params.key, state.number)
    if params.response_flags and snapshot.is_before_0_10:
        raise needs_newer_version("a response flag")
    if written is None and is_cut_off(snapshot, state, address):
        if params.response_flags:
            # A storage proof does not contain the block in which a slot was written.
            raise history_unavailable(snapshot.first_block)
        return _proved_slot(snapshot, state, address, params.key)
    if written is None and address not in SYSTEM_CONTRACTS:
        class_hash_of(snapshot, state, address)
    # For a slot that was never written, starknet-specs gives block 0 too.
    value, number = written or (ZERO, 0)
    if params.response_flags:
        return {"value": felt_text(value), "last_update_block": number}
    return felt_text(value)


def get_nonce(snapshot: StarknetSnapshot, params: ContractParams) -> str | Steps:
    """Return the nonce of the contract, a felt."""
    state = resolve(snapshot, params.block_id)
    address = params.contract_address
    pre_confirmed = state.pre_confirmed
    nonce = None if pre_confirmed is None else pre_confirmed.nonces.get(address)
    nonce = nonce or snapshot.nonce_at(address, state.number)
    if nonce is not None:
        return felt_text(nonce)
    if is_cut_off(snapshot, state, address):
        return _proved_nonce(snapshot, state, address)
    class_hash_of(snapshot, state, address)
    return felt_text(ZERO)


def _proved_slot(snapshot: StarknetSnapshot, state: ResolvedState, address: bytes, key: bytes) -> Steps:
    """Return the value of a slot by a proof."""
    wanted = StateValue(ValueKind.SLOT, bytes(address), bytes(key))
    found = yield from read_proved(snapshot, state, wanted)
    if found is None and address not in SYSTEM_CONTRACTS:
        raise contract_not_found()
    return felt_text(ZERO if found is None else found.slot)


def _proved_nonce(snapshot: StarknetSnapshot, state: ResolvedState, address: bytes) -> Steps:
    """Return the nonce of a contract by a proof."""
    found = yield from read_proved(snapshot, state, StateValue(ValueKind.NONCE, bytes(address)))
    if found is None or found.class_hash == ZERO:
        raise contract_not_found()
    return felt_text(found.nonce)


def _pre_confirmed_slot(state: ResolvedState, address: bytes, key: bytes) -> tuple[bytes, int] | None:
    """Return the value that the pre-confirmed block writes to a slot, and the block's number; None if it
    writes none.
    """
    if (block := state.pre_confirmed) is None or (value := block.slots.get((address, key))) is None:
        return None
    return value, block.number


def _text(snapshot: StarknetSnapshot, state: ResolvedState) -> bytes:
    text = snapshot.diff_text(state.number)
    if text is None:
        raise block_not_found()
    return text


def _chosen(snapshot: StarknetSnapshot, state: ResolvedState, params: StateUpdateParams) -> FlatDiff:
    if state.pre_confirmed is not None:
        flat = state.pre_confirmed.diff
    else:
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
        # starknet-specs requires `old_root` before 0.10.0, which makes it optional.
        return RenderedJson(b'{"old_root":"%b","state_diff":%b}' % (felt_text(block.new_root).encode(), diff))
    roots = (block.hash, block.old_root, block.new_root)
    parts = [felt_text(felt).encode() for felt in roots]
    return RenderedJson(
        b'{"block_hash":"%b","old_root":"%b","new_root":"%b","state_diff":%b}' % (*parts, diff)
    )


def storage_proof_handler(
    prover: StateProver,
) -> Callable[[StarknetSnapshot, StorageProofParams], Steps]:
    """Return the handler of getStorageProof."""

    def get_storage_proof(snapshot: StarknetSnapshot, params: StorageProofParams) -> Steps:
        """Return the nodes that prove classes, contracts and slots by the state root of a recent block.

        A node without all of the state passes on an upstream's proof once it is verified.
        """
        asked = _asked(params)
        state = resolve(snapshot, params.block_id)
        if state.is_pending:
            raise invalid_params("Invalid params", {"reason": "the pending block has no state root"})
        number, block_hash = state.number, state.block.hash
        is_cut_off = not snapshot.has_whole_state
        is_recent = (snapshot.head or 0) - number <= PROVED_BLOCKS
        if snapshot.followed is not None and (is_cut_off or not is_recent):
            prove = partial(snapshot.followed.reader.prove, asked, number, block_hash, state.block.new_root)
            passed_on: bytes = yield Await(prove)
            return RenderedJson(passed_on)
        if is_cut_off:
            raise history_unavailable(snapshot.first_block)
        if not is_recent:
            raise proof_too_old()
        proof = yield RunInThread(lambda _cancel: _proof(prover, number, block_hash, asked))
        return RenderedJson(proof)

    return get_storage_proof


def _proof(prover: StateProver, number: int, block_hash: bytes, asked: ProofRequest) -> bytes:
    try:
        proof = prover.prove(number, block_hash, asked)
    except StateProofError as error:
        raise unprovable_state(str(error)) from None
    if proof is None:
        # The block has left the chain since the call began.
        raise block_not_found()
    return proof


def _asked(params: StorageProofParams) -> ProofRequest:
    slots = params.contracts_storage_keys
    keys = len(params.class_hashes) + len(params.contract_addresses) + sum(len(named) for _, named in slots)
    if keys > MAX_PROVED_KEYS:
        reason = f"too many keys: {keys}, want at most {MAX_PROVED_KEYS}"
        raise invalid_params("Invalid params", {"reason": reason})
    return ProofRequest(params.class_hashes, params.contract_addresses, slots)
