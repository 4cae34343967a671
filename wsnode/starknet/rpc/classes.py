"""Methods that return classes, by contract or hash, and class hashes."""

from wsnode.jsonrpc.work import Rendered
from wsnode.starknet.felt import felt_text
from wsnode.starknet.rpc.errors import (
    class_hash_not_found,
    class_unavailable,
    contract_not_found,
    history_unavailable,
)
from wsnode.starknet.rpc.params import ClassParams, ContractParams
from wsnode.starknet.rpc.resolution import State, resolve
from wsnode.starknet.snapshot import Snapshot


def get_class_at(snapshot: Snapshot, params: ContractParams) -> Rendered:
    """Return the class definition of the contract, a JSON object."""
    state = resolve(snapshot, params.block_id)
    return _rendered(snapshot, class_hash_of(snapshot, state, params.contract_address))


def get_class_hash_at(snapshot: Snapshot, params: ContractParams) -> str:
    """Return the class hash of the contract, a felt."""
    state = resolve(snapshot, params.block_id)
    return felt_text(class_hash_of(snapshot, state, params.contract_address))


def get_class(snapshot: Snapshot, params: ClassParams) -> Rendered:
    """Return the class definition with this hash, if a block up to `block_id` names it."""
    state = resolve(snapshot, params.block_id)
    class_hash = params.class_hash
    named = snapshot.first_named(class_hash)
    if named is None or named > state.number:
        # Blocks below the first stored one may have named it.
        raise history_unavailable(first) if (first := snapshot.first_block) else class_hash_not_found()
    return _rendered(snapshot, class_hash)


def class_hash_of(snapshot: Snapshot, state: State, address: bytes) -> bytes:
    """Return the class hash of the contract at `address`.

    Raises:
        RpcError: The contract does not exist, or only blocks below the history could show it.
    """
    class_hash = snapshot.class_hash_at(address, state.number)
    if class_hash is None:
        raise absent_contract(snapshot, address)
    return class_hash


def absent_contract(snapshot: Snapshot, address: bytes) -> Exception:
    """Return the error for a contract that is not deployed in this history."""
    first = snapshot.first_block
    if first > 0 and not snapshot.was_deployed_here(address):
        return history_unavailable(first)
    return contract_not_found()


def _rendered(snapshot: Snapshot, class_hash: bytes) -> Rendered:
    text = snapshot.rendered_class(class_hash)
    if text is None:
        raise class_unavailable(class_hash)
    return Rendered(text)
