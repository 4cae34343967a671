"""State of a followed chain that is not stored, and access to its upstreams."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, Final, Protocol

import msgspec

from wsnode.starknet.block import StateDiff
from wsnode.starknet.body import (
    WITH_PROOF_FACTS,
    StoredBody,
    StoredEvent,
    canonical,
    events_of,
    form_of,
    transaction_members,
)
from wsnode.starknet.diff_json import FlatDiff, flat_diff
from wsnode.starknet.felt import Felt, decode_felt, felt_text
from wsnode.untrusted.decoding import JsonDecoder, MalformedError

PRE_CONFIRMED: Final = "PRE_CONFIRMED"
"""Finality of the block's transactions."""


class PreConfirmedBlock:
    """Block under construction on top of one head, as an upstream sent it, with its changes of the state.
    Nothing but transaction hashes is verified.
    """

    def __init__(
        self,
        parent_hash: bytes,
        number: int,
        header: dict[str, Any],
        body: StoredBody,
        diff: StateDiff,
        *,
        names_old_root: bool,
    ) -> None:
        """Make the block of verified parts; `header` has its members in the form of results.

        `names_old_root`: the upstream's state update has the root before the block, which is optional.
        """
        self.parent_hash = parent_hash
        self.number = number
        self.header = msgspec.json.encode(header)
        """Header as in results."""
        self.body = body
        self.diff: FlatDiff = flat_diff(diff)
        self.names_old_root = names_old_root
        self.nonces = dict(diff.nonces)
        """Nonces that it changes, by address."""
        self.class_hashes = dict(diff.deployed) | dict(diff.replaced)
        """Class hashes of contracts that it deploys or replaces, by address."""
        self.slots = {(address, key): value for address, key, value in diff.storage}
        """Values that it writes, by address and key."""
        self.named_classes = frozenset(diff.named_classes())
        """Hashes of the classes of its declarations, deployed contracts and replaced contracts."""
        self._deployed = frozenset(address for address, _ in diff.deployed)
        self._indices = {text: index for index, text in enumerate(body.hashes)}

    def deploys(self, address: bytes) -> bool:
        return address in self._deployed

    def index_of(self, transaction_hash: str) -> int | None:
        """Return the index of a transaction, or None if the block does not have it."""
        return self._indices.get(transaction_hash)

    def events(self) -> list[tuple[int, int, StoredEvent]]:
        """Return the events in order, each with the index of its transaction and its index there."""
        return [
            (index, place, event)
            for index, receipt in enumerate(self.body.receipts)
            for place, event in enumerate(events_of(receipt))
        ]


RECEIVED: Final = "RECEIVED"
SENT_SECONDS: Final = 600
"""Seconds for which a sent transaction has the status RECEIVED if no block includes it."""
MAX_SENT_BYTES: Final = 16 << 20
"""Maximum number of bytes of the sent transactions that are kept; the oldest are dropped first."""
_BYTES_EACH: Final = 400
"""Approximate bytes of a kept transaction besides its text."""


class _Reply(msgspec.Struct, frozen=True):
    """Result of an upstream's method for sending a transaction: its hash, and the hash of a declared class or
    the address of a deployed contract.
    """

    transaction_hash: Felt
    class_hash: Felt | None = None
    contract_address: Felt | None = None


_decode_reply = JsonDecoder(_Reply, dec_hook=lambda _type, value: decode_felt(value)).decode


class _Kept(msgspec.Struct, frozen=True):
    sequence: int
    time: float
    size: int
    body: StoredBody


class SentTransactions:
    """Transactions sent through this node, in order and by hash; each is held as a body of its own."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: dict[str, _Kept] = {}
        self.size = 0
        """Bytes of the kept transactions."""
        self.sequence = 0
        """Number of transactions that were added."""

    def add(self, transaction: dict[str, Any], reply: bytes) -> bool:
        """Keep a transaction that an upstream has accepted with the result `reply`; return False if it is
        kept already, or of no known form.
        """
        try:
            text, body = _body(transaction, _decode_reply(reply))
        except (MalformedError, ValueError):
            # A reply of an unknown form is no failure here: the client gets the upstream's answer unchanged.
            return False
        self._forget()
        if text in self._kept:
            return False
        size = sum(memoryview(raw).nbytes for raw in (*body.transactions, *body.receipts)) + _BYTES_EACH
        self._kept[text] = _Kept(self.sequence, self._now(), size, body)
        self.sequence += 1
        self.size += size
        while self.size > MAX_SENT_BYTES:
            self._drop(next(iter(self._kept)))
        return True

    def find(self, transaction_hash: str) -> StoredBody | None:
        """Return a kept transaction as the only one of a body, None if it is not kept."""
        self._forget()
        kept = self._kept.get(transaction_hash)
        return None if kept is None else kept.body

    def after(self, sequence: int) -> Iterator[StoredBody]:
        """Yield the kept transactions from number `sequence` on, in order."""
        if sequence == self.sequence:
            return
        for kept in self._kept.values():
            if kept.sequence >= sequence:
                yield kept.body

    def _forget(self) -> None:
        end = self._now() - SENT_SECONDS
        while self._kept and (first := next(iter(self._kept))) and self._kept[first].time < end:
            self._drop(first)

    def _drop(self, text: str) -> None:
        self.size -= self._kept.pop(text).size


def _body(transaction: dict[str, Any], reply: _Reply) -> tuple[str, StoredBody]:
    """Return hash and body of a transaction, without what a result does not have: class and proof.

    Raises:
        ValueError: The transaction is of no known form.
    """
    form = form_of(transaction)
    named = {} if reply.class_hash is None else {"class_hash": felt_text(reply.class_hash)}
    members = transaction_members({**transaction, **named}, form)
    deployed = reply.contract_address
    receipt = {} if deployed is None else {"contract_address": felt_text(deployed)}
    facts = canonical(transaction.get("proof_facts") or []) if form == WITH_PROOF_FACTS else None
    text = felt_text(reply.transaction_hash)
    raw = [msgspec.Raw(msgspec.json.encode(each)) for each in (members, receipt)]
    return text, StoredBody(RECEIVED, [text], raw[:1], raw[1:], [facts])


MAX_FORWARDED: Final = 64
"""Maximum number of calls that are forwarded at the same time."""
MAX_FORWARDED_BYTES: Final = 32 << 20
"""Maximum number of bytes of the result of a forwarded call, or of the text of its error."""
FORWARDED_SECONDS: Final = 30
"""Seconds for an answer of any upstream to a forwarded call."""
MAX_PROVING: Final = 64
"""Maximum number of values of the state whose proofs calls await at the same time."""


class Forwarder(Protocol):
    """Sender of calls to one of several upstreams; `StarknetForwarder` implements it."""

    async def forward(self, method: str, params: dict[str, Any], *, rpc_version: str) -> bytes:
        """Return the JSON text of the result of a method, unchanged.

        `method` is named without its prefix. An upstream of the version `rpc_version` is preferred.

        Raises:
            RpcError: The upstream's error, unchanged; or no upstream answers, or its reply is too large.
        """
        ...


class ValueKind(Enum):
    """Kind of a value of a contract."""

    CLASS_HASH = "class_hash"
    NONCE = "nonce"
    SLOT = "slot"


class StateValue(msgspec.Struct, frozen=True):
    """Reference to a value of a contract: its class hash, its nonce or a slot. `key` is that of the slot,
    empty for other kinds.
    """

    kind: ValueKind
    address: bytes
    key: bytes = b""


class ProvedContract(msgspec.Struct, frozen=True):
    """Contract as a storage proof has it, with the value of one slot."""

    class_hash: bytes
    nonce: bytes
    slot: bytes


class ProofRequest(msgspec.Struct, frozen=True):
    """Contents requested of a storage proof: classes, contracts, and slots of contracts."""

    class_hashes: Sequence[bytes] = ()
    contracts: Sequence[bytes] = ()
    storage: Sequence[tuple[bytes, Sequence[bytes]]] = ()
    """Contracts, each with the keys of slots."""


class StateReader(Protocol):
    """Reader of state that no stored block has written: it comes from upstreams. `StarknetStateReader`
    implements it.
    """

    async def read(self, wanted: StateValue, number: int, block_hash: bytes) -> ProvedContract | None:
        """Return the contract of a value as it is after a stored block, None if it does not exist.

        Only `wanted` is valid after that block: the contract's other members may be of a later one.

        Raises:
            RpcError: No upstream proves it, the block has left the chain, or too many values are read.
        """
        ...

    async def prove(self, asked: ProofRequest, number: int, block_hash: bytes, root: bytes) -> bytes:
        """Return the result of getStorageProof for a stored block, verified by its state root `root`.

        Raises:
            RpcError: No upstream proves the state of the block, too many keys are asked for, or too many
                values are read.
        """
        ...

    async def read_class(self, class_hash: bytes, number: int, block_hash: bytes) -> bytes:
        """Return the JSON of a class as in results; a Sierra class has the hash `class_hash`.

        Raises:
            RpcError: An upstream has no such class as of the block, or no upstream answers.
        """
        ...


class FollowedState:
    """State of a followed chain held in memory beside its store: sent transactions, the pre-confirmed block
    and the last L1-accepted block, with access to upstreams.
    """

    def __init__(
        self,
        forwarder: Forwarder,
        reader: StateReader,
        is_behind: Callable[[], bool],
        publish: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        """Hold the state.

        `is_behind` returns True while the chain is not at the upstreams' head; `publish` sends subscribers
        what has changed here; `now` returns the time in seconds.
        """
        self.forwarder = forwarder
        self.publish = publish
        self.sent = SentTransactions(now)
        """Transactions that were sent through this node."""
        self.reader = reader
        self.is_behind = is_behind
        self.l1_accepted: tuple[int, bytes] | None = None
        """Number and hash of the last block accepted on L1 by the upstreams; None before it is known."""
        self.pre_confirmed: PreConfirmedBlock | None = None
        """Block that an upstream is building; perhaps not on our head."""
