"""Methods that return classes, by contract or hash, and class hashes."""

from wsnode.jsonrpc.work import RenderedJson
from wsnode.starknet.felt import felt_text
from wsnode.starknet.rpc.errors import (
    class_hash_not_found,
    class_unavailable,
    contract_not_found,
    history_unavailable,
)
from wsnode.starknet.rpc.params import ClassParams, ContractParams
from wsnode.starknet.rpc.resolution import ResolvedState, resolve
from wsnode.starknet.snapshot import StarknetSnapshot


def get_class_at(snapshot: StarknetSnapshot, params: ContractParams) -> RenderedJson:
    """Return the class definition of the contract, a JSON object."""
    state = resolve(snapshot, params.block_id)
    return _rendered(snapshot, class_hash_of(snapshot, state, params.contract_address))


def get_class_hash_at(snapshot: StarknetSnapshot, params: ContractParams) -> str:
    """Return the class hash of the contract, a felt."""
    state = resolve(snapshot, params.block_id)
    return felt_text(class_hash_of(snapshot, state, params.contract_address))


def get_class(snapshot: StarknetSnapshot, params: ClassParams) -> RenderedJson:
    """Return the class definition with this hash, if a block up to `block_id` names it."""
    state = resolve(snapshot, params.block_id)
    class_hash = params.class_hash
    named = snapshot.first_named(class_hash)
    if named is None or named > state.number:
        # Blocks below the first stored one may have named it.
        raise history_unavailable(first) if (first := snapshot.first_block) else class_hash_not_found()
    return _rendered(snapshot, class_hash)


def class_hash_of(snapshot: StarknetSnapshot, state: ResolvedState, address: bytes) -> bytes:
    """Return the class hash of the contract at `address`.

    Raises:
        RpcError: The contract does not exist, or only blocks below the history could show it.
    """
    class_hash = snapshot.class_hash_at(address, state.number)
    if class_hash is None:
        raise absent_contract(snapshot, address)
    return class_hash


def absent_contract(snapshot: StarknetSnapshot, address: bytes) -> Exception:
    """Return the error for a contract that is not deployed in this history."""
    first = snapshot.first_block
    if first > 0 and not snapshot.was_deployed_here(address):
        return history_unavailable(first)
    return contract_not_found()


def _rendered(snapshot: StarknetSnapshot, class_hash: bytes) -> RenderedJson:
    text = snapshot.rendered_class(class_hash)
    if text is None:
        raise class_unavailable(class_hash)
    return RenderedJson(text)
