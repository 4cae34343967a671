"""Methods that return classes, by contract or hash, and class hashes."""

from wsnode.jsonrpc.work import RenderedJson, Steps
from wsnode.starknet.felt import ZERO, felt_text
from wsnode.starknet.followed.state import StateValue, ValueKind
from wsnode.starknet.rpc.errors import (
    class_hash_not_found,
    class_unavailable,
    contract_not_found,
    history_unavailable,
)
from wsnode.starknet.rpc.params import ClassParams, ContractParams
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
    # Blocks below the first stored one may have named it.
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
