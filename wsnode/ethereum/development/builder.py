"""Building of blocks on the head of a chain, and replacement of its last blocks; for one thread at a time."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Final, TypeVar

import msgspec
import trio

from wsnode.ethereum.building.next_block import NextBlockAttributes
from wsnode.ethereum.chain import Chain, FinalityMarks
from wsnode.ethereum.codec.blocks import BuiltBlock as EngineBlock
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.development.control import ControlError, ReorganisationRequest, ScheduledTransaction
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.primitives.values import Address, BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import MissingStateError
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.jsonrpc.errors import RpcError

EPOCH: Final = 32
"""Blocks from the head down to the safe block; anvil's number, to leave room for reorganisations."""
EPOCHS_TO_FINALITY: Final = 2
MAX_ROUNDS: Final = 256
"""Maximum rounds in which missing state below a forked chain's first block is fetched for one block."""

REPLACING_BLOCKS: Final = 1024
REPLACING_BYTES: Final = 64 << 20
"""Bytes of the bodies and receipts of blocks that replace others and are committed together."""

Result = TypeVar("Result")

logger = logging.getLogger("wsnode.development")
# A block of the new branch must differ from the one that it replaces, even with equal transactions.
_SALTS = count(1)


class BuiltBlock(msgspec.Struct, frozen=True):
    """Outcome of building a block: the new head, and the transactions left out, each as its index in the
    given ones and the reason.
    """

    head: Head
    refused: list[tuple[int, str]]


class BlockBuilder:
    """Builder of a development chain's blocks: appends them to the head, removes them, and changes accounts
    in the head's state.
    """

    def __init__(self, chain: Chain, *, epoch: int = EPOCH) -> None:
        """Build on `chain`; its safe block is `epoch` blocks below the head."""
        self._chain = chain
        self._epoch = epoch
        self.tree = BlockTree(chain)
        self._removed: list[Head] | None = None
        """Blocks that were removed since a replacement began, None outside of one."""

    @property
    def tip(self) -> Header:
        return header_fields(self.tree.tip[0])

    @property
    def has_arbos(self) -> bool:
        """Return True if ArbOS owns some accounts, so that transactions to those have other rules."""
        return self._chain.spec.has_arbos

    def append(
        self,
        transactions: Sequence[bytes],
        *,
        senders: Sequence[bytes | None] | None = None,
        timestamp: int,
        fee_recipient: bytes,
        gas_limit: int | None = None,
        salt: bytes = b"",
    ) -> BuiltBlock:
        """Build, verify and store a block of these transactions, and return it.

        Its gas limit is by default the parent's. A transaction with an entry in `senders` needs no signature.
        Two blocks that are otherwise equal differ if their `salt` differs.
        """
        head = self.tip
        following = NextBlockAttributes(
            timestamp=timestamp,
            gas_limit=head.gas_limit if gas_limit is None else gas_limit,
            prev_randao=random_value(head, salt),
            may_lack_requests=True,
        )
        return self.append_next(following, transactions, senders=senders, fee_recipient=fee_recipient)

    def append_next(
        self,
        following: NextBlockAttributes,
        transactions: Sequence[bytes],
        *,
        senders: Sequence[bytes | None] | None = None,
        fee_recipient: bytes,
    ) -> BuiltBlock:
        """Build a block with all given attributes, append it to the chain, and return it.

        It is executed once, while it is built, and passes all other checks of a received block; only its gas
        limit and its base fee are free.

        Raises:
            StateError, StoreError: The block cannot be stored; the chain is unchanged.
        """
        with self.tree.whole():
            return self._append_next(following, transactions, senders, fee_recipient)

    def _append_next(
        self,
        following: NextBlockAttributes,
        transactions: Sequence[bytes],
        senders: Sequence[bytes | None] | None,
        fee_recipient: bytes,
    ) -> BuiltBlock:
        parent, attributes = self.tree.tip, following.attributes(fee_recipient)
        built, refused = self._known(
            lambda: self._chain.state.build_next(
                parent, attributes, transactions, senders=senders, on=self._uncommitted
            )
        )
        for failure in built.failed_calls:
            logger.warning(
                "block %d lacks the requests of a failed system contract: %s; other nodes would refuse it",
                built.number,
                failure,
            )
        self.tree.accept_made(built, attributes)
        head = self.tree.head
        # The steps that can fail without having written anything come before this one.
        if self._removed is None:
            self._store()
        elif self._is_full:
            self._removed += self._store()
        return BuiltBlock(head, refused)

    @contextmanager
    def replacing(self, number: int) -> Iterator[list[Head]]:
        """Replace the blocks above `number` by those that are appended within the block, in one transaction.

        Yield a list that has the removed blocks after the block, highest first. Readers see the new blocks
        once all of them are there, but for a branch of more than `REPLACING_BLOCKS` blocks or
        `REPLACING_BYTES`, which they see grow.

        Raises:
            StateError, StoreError: The blocks cannot be stored; the chain is unchanged, or has the first part
                of such a branch.
        """
        removed: list[Head] = []
        with self._chain.snapshot() as snapshot:
            root = _stored(snapshot, number)
        with self.tree.whole():
            self.tree.rewind(root)
            self._removed = removed
            try:
                yield removed
            finally:
                self._removed = None
            removed += self._store()

    @property
    def _uncommitted(self) -> EngineBlock | None:
        """Return the head if it is not committed yet, None if it is."""
        head = self.tree.pending[-1] if self.tree.pending else None
        return head if isinstance(head, EngineBlock) else None

    @property
    def _is_full(self) -> bool:
        return len(self.tree.pending) >= REPLACING_BLOCKS or self.tree.pending_bytes >= REPLACING_BYTES

    def _store(self) -> list[Head]:
        return self.tree.store_pending(self._marks())

    def _marks(self) -> FinalityMarks:
        with self._chain.snapshot() as snapshot:
            return FinalityMarks(
                self._below(snapshot, self._epoch), self._below(snapshot, EPOCHS_TO_FINALITY * self._epoch)
            )

    def _below(self, snapshot: Snapshot, blocks: int) -> Head:
        """Return the block so many blocks below the head, or the first one, committed or not."""
        number = max(self.tree.head.number - blocks, snapshot.earliest)
        pending = self.tree.pending
        if pending and number >= pending[0].number:
            return Head.of(pending[number - pending[0].number])
        return _stored(snapshot, number)

    def base_fee(self) -> int | None:
        """Return the base fee of the block after the head, in wei; None before there are base fees."""
        return self._chain.spec.next_base_fee(self.tip)

    def nonce(self, address: Address) -> int:
        """Return an account's nonce after the head.

        Raises:
            RpcError: The account is below a fork, and no node returns it.
        """
        head = self.tree.head
        block = self._uncommitted or (head.number, head.hash)
        account = self._known(lambda: self._chain.state.account(address, block))
        return 0 if account is None else account[0]

    def unwind(self, number: int, state_root: Hash32 | None = None) -> list[Head]:
        """Remove the blocks above `number` from the chain, and return them, highest first.

        With a state root, patches of that block's state are undone until the root matches.

        Raises:
            StateError, StoreError: Some of the blocks cannot be removed.
        """
        return self.tree.unwind(number, state_root)

    def set_chain_id(self, chain_id: int) -> None:
        """Change the chain id of the blocks after the head.

        Raises:
            ChainIdsError: The id has been changed as often as can be recorded.
            StoreError: The change cannot be stored; the id is unchanged.
        """
        with self.tree.whole():
            self._chain.set_chain_id(chain_id)

    def patch(self, accounts: bytes) -> None:
        """Change accounts of the head's state in place; `accounts` is JSON in the form of state overrides.

        Raises:
            StateError: The change cannot be written; the state is unchanged.
        """
        with self.tree.whole():
            self._known(lambda: self._chain.patch(accounts))

    def _known(self, work: Callable[[], Result]) -> Result:
        """Return the result of `work`, called again after each fetch of state missing below the first block.

        Raises:
            RpcError: The missing state cannot be fetched.
        """
        for _ in range(MAX_ROUNDS):
            try:
                return work()
            except MissingStateError as error:
                if self._chain.fetch is None:
                    raise
                # The thread is one of trio's, so it can call back into the event loop.
                trio.from_thread.run(self._chain.fetch, error)
        return work()


def _stored(snapshot: Snapshot, number: int) -> Head:
    block_hash = snapshot.hash_of(number)
    assert block_hash is not None, "blocks up to the head are stored"
    return Head(BlockNumber(number), block_hash)


def random_value(head: Header, salt: bytes = b"") -> bytes:
    """Return the random value (`prevRandao`) of the block after `head`, 32 bytes.

    Any reproducible value will do.
    """
    return keccak256(head.hash + salt)


def check_branch(head: int, depth: int, transactions: Sequence[ScheduledTransaction]) -> None:
    """Check that the last `depth` blocks can be replaced by blocks with these transactions.

    Raises:
        ControlError: The chain is too short, or an index is outside of the branch; the message is anvil's.
    """
    if depth > head:
        raise ControlError(
            f"Reorg depth must not exceed current chain height: current height {head}, depth {depth}"
        )
    for placed in transactions:
        if placed.block >= depth:
            raise ControlError(
                "Block number for reorg tx will exceed the reorged chain height. "
                f"Block number {placed.block} must not exceed (depth-1) {depth - 1}"
            )


def replace_blocks(
    chain: Chain,
    builder: BlockBuilder,
    depth: int,
    transactions: Sequence[ScheduledTransaction],
    fee_recipient: Address,
    gas_limit_after: Callable[[Header], int],
) -> ReorganisationRequest:
    """Replace the last `depth` blocks by new ones with equal timestamps, in one transaction, and return the
    change.

    Members missing in a transaction follow from its new block, since fees may have changed since the head.
    """
    root = chain.head.number - depth
    times = [_time_of(chain, number) for number in range(root + 1, root + depth + 1)]
    added: list[Head] = []
    refused: list[tuple[int, str]] = []
    if not times:
        return ReorganisationRequest(chain.head, HeadChange((), ()), refused)
    with builder.replacing(root) as removed:
        ancestor = builder.tree.head
        for place, timestamp in enumerate(times):
            chosen = {index: placed for index, placed in enumerate(transactions) if placed.block == place}
            encoded, incomplete = _encoded(builder, chosen)
            senders = [chosen[index].sender if chosen[index].is_impersonated else None for index in encoded]
            built = builder.append(
                list(encoded.values()),
                senders=senders,
                timestamp=timestamp,
                fee_recipient=fee_recipient,
                gas_limit=gas_limit_after(builder.tip),
                salt=next(_SALTS).to_bytes(8, "big"),
            )
            added.append(built.head)
            indices = list(encoded)
            refused += sorted(incomplete + [(indices[index], reason) for index, reason in built.refused])
    return ReorganisationRequest(ancestor, HeadChange(tuple(removed), tuple(added)), refused)


def _encoded(
    builder: BlockBuilder, transactions: Mapping[int, ScheduledTransaction]
) -> tuple[dict[int, bytes], list[tuple[int, str]]]:
    """Return encoded transactions by index, and (index, reason) of each incomplete one."""
    base_fee, nonces = builder.base_fee(), dict[Address, int]()
    encoded: dict[int, bytes] = {}
    incomplete: list[tuple[int, str]] = []
    for index, placed in transactions.items():
        try:
            if placed.sender not in nonces:
                nonces[placed.sender] = builder.nonce(placed.sender)
            following = nonces[placed.sender]
            nonce = following if placed.nonce is None else placed.nonce
            encoded[index] = placed.encode(nonce, base_fee)
        except RpcError as error:
            incomplete.append((index, error.message))
        else:
            nonces[placed.sender] = following + (nonce == following)
    return encoded, incomplete


def _time_of(chain: Chain, number: int) -> int:
    with chain.snapshot() as snapshot:
        row = snapshot.header(number)
    assert row is not None, "a block up to the head is stored"
    return header_fields(row).timestamp
