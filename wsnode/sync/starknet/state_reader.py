"""Reader of state that no stored block has written: upstreams prove it by a stored state root."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
import trio

from wsnode.jsonrpc.errors import invalid_params, limit_exceeded
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.felt import ZERO, felt_text
from wsnode.starknet.followed import MAX_PROVING, ProofRequest, ProvedContract, StateValue
from wsnode.starknet.native import RefusedProofError, StarknetProvedState, verify_starknet_proof
from wsnode.starknet.rpc.errors import (
    PROOF_TOO_OLD,
    block_not_found,
    class_hash_not_found,
    proof_too_old,
    unproved_state,
)
from wsnode.starknet.rpc.params import MAX_PROVED_KEYS
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.sync.follow.upstream import Upstream, Upstreams
from wsnode.sync.starknet.client import ask, fetch_class
from wsnode.untrusted.decoding import JsonDecoder, MalformedError
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError


class _Contracts(msgspec.Struct, frozen=True):
    nodes: msgspec.Raw


class _ProofMembers(msgspec.Struct, frozen=True):
    classes_proof: msgspec.Raw
    contracts_proof: _Contracts
    contracts_storage_proofs: msgspec.Raw
    global_roots: msgspec.Raw


_decode_members = JsonDecoder(_ProofMembers).decode


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
    """Request for a storage proof, passed on to another node with the contracts of its slots added. Without
    its contract a slot would be proved by no more than the root of its own trie.
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
        """Verify an upstream's starknet_getStorageProof result against `root`.

        Returns the JSON for the client: the upstream's nodes, and the leaves of the contracts that the client
        named, from the proved values.

        The `storage_root` of a leaf is the proved one: juno sends another value.

        Raises:
            RefusedProofError: The proof is malformed, or does not prove its values from `root`.
            MalformedError: A member is missing.
        """
        contracts = [(address, b"".join(self._keys.get(address, ()))) for address in self._contracts]
        classes = b"".join(self._asked.class_hashes)
        proved = verify_starknet_proof(text, block_hash, root, classes, contracts)
        proof = _decode_members(text)
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


Checked = TypeVar("Checked")

MAX_KEPT: Final = 65_536
"""Proved values that are kept."""
MAX_CLASS_BYTES: Final = 32 << 20
"""Bytes of the fetched classes that are kept."""
MAX_ROUNDS: Final = 3
"""Heads at which a value is asked for, if meanwhile another block has become the head."""


class _Proof(msgspec.Struct, frozen=True):
    """Cached result of a proof: a contract, None if it does not exist. It is valid in the blocks from `first`
    on up to the value's next change; block `number` proved it.
    """

    contract: ProvedContract | None
    first: int
    number: int
    block_hash: bytes
    """Block that proved it; no block from `first` up to this one changes the value."""


class StarknetStateReader:
    """Reader of one chain's state, fetched from upstreams and verified by storage proofs, and of classes;
    implements `StateReader`.
    """

    def __init__(self, chain: StarknetChain, upstreams: Upstreams) -> None:
        self._chain = chain
        self._upstreams = upstreams
        self._kept: dict[StateValue, _Proof] = {}
        self._classes: dict[bytes, ContractClass] = {}
        self._class_bytes = 0
        self._running = 0
        self.proved = 0
        """Number of values that were proved."""
        self.refused = 0
        """Number of proofs that were false or malformed."""

    async def read(self, wanted: StateValue, number: int, block_hash: bytes) -> ProvedContract | None:
        """Return the contract of a value as it is after a stored block, None if it does not exist.

        Only `wanted` is valid after that block: the contract's other members may be of a later one.

        Raises:
            RpcError: No upstream proves it, the block has left the chain, or too many values are read.
        """
        with self._turn():
            return await self._read(wanted, number, block_hash)

    async def prove(self, asked: ProofRequest, number: int, block_hash: bytes, root: bytes) -> bytes:
        """Return the result of getStorageProof for a stored block, verified by its state root `root`.

        Raises:
            RpcError: No upstream proves the state of the block, too many keys are asked for, or too many
                values are read.
        """
        wanted = PassedProof(asked)
        with self._turn():
            return await self._first_proof(wanted, number, block_hash, root)

    async def _first_proof(self, wanted: PassedProof, number: int, block_hash: bytes, root: bytes) -> bytes:
        tried, is_too_old = 0, False
        for upstream in self._upstreams.usable:
            tried += 1
            try:
                text = await ask(upstream, "getStorageProof", wanted.params(block_hash))
                return await self._verified(upstream, partial(wanted.verified, text, block_hash, root))
            except UpstreamRefusedError as error:
                is_too_old = is_too_old or error.code == PROOF_TOO_OLD
            except UpstreamError:
                continue
        if is_too_old:
            raise proof_too_old()
        with self._chain.snapshot() as view:
            raise unproved_state(number, view.first_block, tried)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if self._running >= MAX_PROVING:
            raise limit_exceeded("too many values wait for proofs", {"limit": MAX_PROVING})
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def _read(self, wanted: StateValue, number: int, block_hash: bytes) -> ProvedContract | None:
        tried, last = 0, b""
        for _ in range(MAX_ROUNDS):
            with self._chain.snapshot() as view:
                if view.number_of(block_hash) != number:
                    raise block_not_found()
                if (kept := self._find(view, wanted, number)) is not None:
                    return kept.contract
                base = _base(view, wanted)
                first = view.first_block
            if base is None or base[1] == last:
                break
            base_number, last, root = base
            for upstream in self._upstreams.usable:
                tried += 1
                try:
                    contract = await self._prove(upstream, wanted, last, root)
                except UpstreamError:
                    continue
                self._keep(wanted, _Proof(contract, first, base_number, last))
                return contract
        raise unproved_state(number, first, tried)

    def _find(self, view: StarknetSnapshot, wanted: StateValue, number: int) -> _Proof | None:
        kept = self._kept.get(wanted)
        if kept is None or number < kept.first or view.number_of(kept.block_hash) != kept.number:
            return None
        return kept

    def _keep(self, wanted: StateValue, proof: _Proof) -> None:
        self.proved += 1
        self._kept.pop(wanted, None)
        self._kept[wanted] = proof
        if len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]

    async def _prove(
        self, upstream: Upstream, wanted: StateValue, block_hash: bytes, root: bytes
    ) -> ProvedContract | None:
        """Return a contract as an upstream proves it, None if there is none."""
        # Some nodes send a false storage root, so at least one slot is requested with the contract.
        key = wanted.key or ZERO
        params = storage_proof_params(block_hash, [wanted.address], {wanted.address: [key]})
        text = await ask(upstream, "getStorageProof", params)
        check = partial(verify_starknet_proof, text, block_hash, root, b"", [(wanted.address, key)])
        (found,) = (await self._verified(upstream, check)).contracts
        if found is None:
            return None
        class_hash, nonce, _, (value,) = found
        return ProvedContract(class_hash, nonce, value)

    async def _verified(self, upstream: Upstream, check: Callable[[], Checked]) -> Checked:
        """Return the result of `check`, run in a thread; a refused proof counts against its upstream.

        Raises:
            UpstreamError: The proof is malformed or false.
        """
        try:
            return await trio.to_thread.run_sync(check)
        except (RefusedProofError, MalformedError) as error:
            self.refused += 1
            upstream.client.score.failed()
            raise UpstreamError("invalid", f"a storage proof: {error}") from None

    async def read_class(self, class_hash: bytes, number: int, block_hash: bytes) -> bytes:
        """Return the JSON of a class as in results; a Sierra class has the hash `class_hash`.

        That a block up to the given one names the class is the upstream's word.

        Raises:
            RpcError: An upstream has no such class as of the block, or no upstream answers.
        """
        if (kept := self._classes.get(class_hash)) is not None:
            return kept.rendered
        tried, is_absent = 0, False
        for upstream in self._upstreams.usable:
            tried += 1
            try:
                found = await fetch_class(upstream, block_hash, class_hash)
            except UpstreamError as error:
                # An upstream that is behind may lack only the block, so its answer does not count as the
                # absence of the class.
                is_there = upstream.head is not None and upstream.head.number >= number
                is_absent = is_absent or (error.reason == "absent" and is_there)
                continue
            self._keep_class(found)
            return found.rendered
        if is_absent:
            raise class_hash_not_found()
        with self._chain.snapshot() as view:
            raise unproved_state(number, view.first_block, tried)

    def _keep_class(self, found: ContractClass) -> None:
        if self._classes.setdefault(found.class_hash, found) is found:
            self._class_bytes += len(found.rendered)
        while self._class_bytes > MAX_CLASS_BYTES:
            dropped = self._classes.pop(next(iter(self._classes)))
            self._class_bytes -= len(dropped.rendered)


def _base(view: StarknetSnapshot, wanted: StateValue) -> tuple[int, bytes, bytes] | None:
    """Return number, hash and state root of the last block before the first stored change of a value.

    It is the head if no stored block changes the value, and None if the first one does.
    """
    changed = view.first_change(wanted)
    number = view.head if changed is None else changed - 1
    row = None if number is None else view.block(number)
    return None if row is None or number is None else (number, row.hash, row.new_root)
