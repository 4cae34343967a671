"""Storage proof of an upstream that is passed on to a client: what is asked for, and its verification."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wsnode.jsonrpc.errors import invalid_params
from wsnode.starknet.felt import felt_text
from wsnode.starknet.followed.state import ProofRequest
from wsnode.starknet.native import StarknetProvedState, verify_starknet_proof
from wsnode.starknet.rpc.params import MAX_PROVED_KEYS
from wsnode.untrusted.decoding import JsonDecoder


class _Contracts(msgspec.Struct, frozen=True):
    nodes: msgspec.Raw


class _Proof(msgspec.Struct, frozen=True):
    classes_proof: msgspec.Raw
    contracts_proof: _Contracts
    contracts_storage_proofs: msgspec.Raw
    global_roots: msgspec.Raw


_decode = JsonDecoder(_Proof).decode


def storage_proof_params(
    block_hash: bytes,
    contracts: Sequence[bytes],
    slots: Mapping[bytes, Sequence[bytes]],
    class_hashes: Sequence[bytes] = (),
) -> dict[str, Any]:
    """Return the parameters of `getStorageProof` for a block: contracts, and keys of slots by contract."""
    return {
        "block_id": {"block_hash": felt_text(block_hash)},
        "class_hashes": [felt_text(each) for each in class_hashes],
        "contract_addresses": [felt_text(each) for each in contracts],
        "contracts_storage_keys": [
            {"contract_address": felt_text(address), "storage_keys": [felt_text(key) for key in keys]}
            for address, keys in slots.items()
        ],
    }


class PassedProof:
    """Request for a proof of another node; the contracts of slots are asked for too.

    Without its contract a slot would be proved by no more than the root of its own trie.
    """

    def __init__(self, asked: ProofRequest) -> None:
        """Prepare to ask for the leaves of `asked`.

        Raises:
            RpcError: With the contracts of slots they are more than `MAX_PROVED_KEYS`.
        """
        self._asked = asked
        keys: dict[bytes, list[bytes]] = {}
        for address, named in asked.storage:
            keys.setdefault(bytes(address), []).extend(map(bytes, named))
        self._keys = keys
        named_contracts = [bytes(address) for address in asked.contracts]
        self._contracts = named_contracts + [each for each in keys if each not in set(named_contracts)]
        count = len(asked.class_hashes) + len(self._contracts) + sum(map(len, keys.values()))
        if count > MAX_PROVED_KEYS:
            reason = f"too many keys: {count} with the contracts of slots, want at most {MAX_PROVED_KEYS}"
            raise invalid_params("Invalid params", {"reason": reason})

    def params(self, block_hash: bytes) -> dict[str, Any]:
        return storage_proof_params(block_hash, self._contracts, self._keys, self._asked.class_hashes)

    def verified(self, text: bytes, block_hash: bytes, root: bytes) -> bytes:
        """Return an upstream's result as the client gets it: its nodes, and the proved leaves of contracts.

        The `storage_root` of a leaf is the proved one: juno sends another value.

        Raises:
            RefusedProofError: The proof is malformed, or does not prove its values from `root`.
            MalformedError: A member is missing.
        """
        contracts = [(address, b"".join(self._keys.get(address, ()))) for address in self._contracts]
        classes = b"".join(self._asked.class_hashes)
        proved = verify_starknet_proof(text, block_hash, root, classes, contracts)
        proof = _decode(text)
        return (
            b'{"classes_proof":%b,"contracts_proof":{"nodes":%b,"contract_leaves_data":%b},'
            b'"contracts_storage_proofs":%b,"global_roots":%b}'
            % (
                bytes(proof.classes_proof),
                bytes(proof.contracts_proof.nodes),
                msgspec.json.encode(_leaves(proved, len(self._asked.contracts))),
                bytes(proof.contracts_storage_proofs),
                bytes(proof.global_roots),
            )
        )


def _leaves(proved: StarknetProvedState, count: int) -> list[dict[str, str] | None]:
    """Return the first `count` contracts in the form of results."""
    return [
        None
        if found is None
        else {
            "nonce": felt_text(found[1]),
            "class_hash": felt_text(found[0]),
            "storage_root": felt_text(found[2]),
        }
        for found in proved.contracts[:count]
    ]
