"""Chains that end with a block below a fork: proved states, and blocks executed on such states."""

import shutil
from collections.abc import Awaitable, Callable, Set
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakSet

import msgspec
import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rlp import transactions_of
from wsnode.ethereum.not_found import history_unavailable
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.snapshot import BlockName, CallerContext, Snapshot
from wsnode.ethereum.state import BlockAttributes, EngineError, MissingStateError, fork_table
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.node.config import ConfigurationError
from wsnode.node.services.fork_point import (
    ForkBlock,
    UpstreamBlock,
    fetch_block,
    fetch_first,
    link_proved,
)
from wsnode.node.services.proofs import learn
from wsnode.sync.proofs.blocks import ForkPointProofStore
from wsnode.sync.proofs.client import ProofClient
from wsnode.sync.proofs.fetcher import ProofFetcher
from wsnode.untrusted.decoding import JsonDecoder, decode_bytes, decode_quantity
from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError

FOLDER: Final = "below"
ADDRESS_BYTES: Final = 20
HASH_BYTES: Final = 32
NO_ROOT: Final = f"0x{bytes(HASH_BYTES).hex()}"
MAX_CHAINS: Final = 4
MAX_OPEN: Final = 8
"""Maximum number of open chains, those of running calls included; each takes terabytes of address space."""
MAX_BYTES: Final = 64 << 20
"""Maximum bytes of the blocks and receipts of all kept chains; proved values are in the fork's folder."""
MAX_OPENING: Final = 4
"""Chains that are fetched at the same time."""
MAX_ROUNDS: Final = 64
MAX_PROOFS: Final = 4096
"""Maximum number of values that are fetched for the execution of one block."""

Result = TypeVar("Result")


class _Transaction(msgspec.Struct):
    sender: str = msgspec.field(name="from")
    to: str | None = None


class _Withdrawal(msgspec.Struct):
    index: str
    validator: str = msgspec.field(name="validatorIndex")
    address: str
    amount: str


class _Members(msgspec.Struct, rename="camel"):
    """Members of a block's JSON from which the block can be executed again: the choices of its maker, and the
    senders of its transactions.
    """

    miner: str
    timestamp: str
    gas_limit: str
    extra_data: str
    mix_hash: str
    transactions: list[_Transaction]
    base_fee_per_gas: str | None = None
    parent_beacon_block_root: str | None = None
    withdrawals: list[_Withdrawal] | None = None
    slot_number: str | None = None

    @property
    def senders(self) -> list[bytes]:
        """Return the senders of the transactions, as the node names them."""
        return [decode_bytes(each.sender, ADDRESS_BYTES) for each in self.transactions]

    @property
    def accounts(self) -> list[bytes]:
        """Return the addresses of accounts that the execution of the block reads in any case."""
        named = [self.miner, *(each.address for each in self.withdrawals or ())]
        for transaction in self.transactions:
            named += [transaction.sender, transaction.to or self.miner]
        return sorted({decode_bytes(text, ADDRESS_BYTES) for text in named})

    @property
    def attributes(self) -> BlockAttributes:
        """Return the choices of the block's maker in the engine's form."""
        withdrawals = [
            (
                decode_quantity(each.index),
                decode_quantity(each.validator),
                decode_bytes(each.address, ADDRESS_BYTES),
                decode_quantity(each.amount),
            )
            for each in self.withdrawals or ()
        ]
        return BlockAttributes(
            timestamp=decode_quantity(self.timestamp),
            fee_recipient=decode_bytes(self.miner, ADDRESS_BYTES),
            prev_randao=decode_bytes(self.mix_hash, HASH_BYTES),
            gas_limit=decode_quantity(self.gas_limit),
            parent_beacon_block_root=decode_bytes(self.parent_beacon_block_root or NO_ROOT, HASH_BYTES),
            base_fee=None if self.base_fee_per_gas is None else decode_quantity(self.base_fee_per_gas),
            extra_data=decode_bytes(self.extra_data),
            withdrawals=None if self.withdrawals is None else withdrawals,
            slot_number=None if self.slot_number is None else decode_quantity(self.slot_number),
            may_lack_requests=True,
        )


class _Making(msgspec.Struct, frozen=True):
    """Inputs from which a historical block is built again: the choices of its maker, encoded transactions
    with their senders, and the accounts read by its execution.
    """

    attributes: BlockAttributes
    transactions: list[bytes]
    senders: list[bytes]
    accounts: list[bytes]
    """Addresses of accounts that the execution of the block reads in any case."""


def _making(block: UpstreamBlock) -> _Making:
    """Return the parts from which a block was built.

    Raises:
        RpcError: The block's JSON lacks one.
    """
    try:
        members = _MEMBERS.decode(block.text)
        transactions = transactions_of(block.encoded)
        return _Making(members.attributes, transactions, members.senders, members.accounts)
    except (ValueError, OverflowError) as error:
        raise history_unavailable(f"block {block.number} is incomplete: {error}") from None


_MEMBERS: Final = JsonDecoder(_Members)


class ProvedHistoricalChain:
    """Short chain up to a block below the first block of a forked chain, for calls at that block. Its state
    is fetched with proofs; implements `ethereum.snapshot.HistoricalChain`.
    """

    def __init__(self, chain: Chain, provers: ProofClient, size: int) -> None:
        self.chain = chain
        self.fetchers = ProofFetcher(provers.of_other_blocks(ForkPointProofStore(chain)))
        self.size = size
        """Bytes of the chain's blocks and receipts."""

    def snapshot(self, caller: CallerContext) -> Snapshot:
        return self.chain.snapshot(caller)

    def discard(self) -> None:
        """Remove the chain's folder; calls that read from it have the files open."""
        self.chain.give_up()
        shutil.rmtree(self.chain.folder.path, ignore_errors=True)


class _Key(msgspec.Struct, frozen=True):
    """Name of a kept chain: its last block, and whether the block was executed on its parent's state."""

    block: BlockName
    is_executed: bool


class HistoricalChains:
    """Cache of the historical chains used by the last calls: short chains that end below the first block of a
    forked chain. Their number and bytes are bounded.
    """

    def __init__(self, chain: Chain, provers: ProofClient) -> None:
        """Prepare for blocks below the first block of `chain`, fetched from the nodes of `provers`."""
        self._chain = chain
        self._provers = provers
        self._kept: dict[_Key, ProvedHistoricalChain] = {}
        """Kept chains by their last block; the one used last is at the end."""
        self._opening: dict[_Key, trio.Event] = {}
        self._open_chains = WeakSet[ProvedHistoricalChain]()
        self._turns = trio.Semaphore(MAX_OPENING)
        self._numbers = count()
        # A killed process may have left folders of its chains.
        shutil.rmtree(self._folder, ignore_errors=True)

    def __len__(self) -> int:
        return len(self._kept)

    async def begun_at(self, block: BlockName) -> ProvedHistoricalChain:
        """Return a chain with `block` as its only block, and the state after it.

        Raises:
            RpcError: No node has the block, or proves its state.
        """
        return await self._get(_Key(block, is_executed=False), self._begin)

    async def executed(self, block: BlockName) -> ProvedHistoricalChain:
        """Return a chain of `block` and its parent, on whose proved state the block was executed.

        Raises:
            RpcError: No node has the blocks, or proves the state; or execution gives another block hash.
        """
        return await self._get(_Key(block, is_executed=True), self._execute)

    def clear(self) -> None:
        """Remove all chains."""
        for past in self._kept.values():
            past.discard()
        self._kept.clear()

    @property
    def _folder(self) -> Path:
        return self._chain.folder.path / FOLDER

    async def _get(
        self, key: _Key, make: Callable[[BlockName], Awaitable[ProvedHistoricalChain]]
    ) -> ProvedHistoricalChain:
        """Return a kept chain; if there is none, make one for all callers that wait for it."""
        while (found := self._find(key)) is None:
            if (opening := self._opening.get(key)) is not None:
                # If the other caller fails to make the chain, one of the waiting callers makes it.
                await opening.wait()
                continue
            self._opening[key] = opening = trio.Event()
            try:
                found = await make(key.block)
                await self._keep(found, is_executed=key.is_executed)
                return found
            finally:
                del self._opening[key]
                opening.set()
        return found

    def _find(self, key: _Key) -> ProvedHistoricalChain | None:
        for kept, past in self._kept.items():
            if kept.is_executed == key.is_executed and key.block in (kept.block, past.chain.head.number):
                self._kept[kept] = self._kept.pop(kept)
                return past
        return None

    async def _keep(self, past: ProvedHistoricalChain, *, is_executed: bool) -> None:
        self._kept[_Key(past.chain.head.hash, is_executed)] = past
        while len(self._kept) > MAX_CHAINS or sum(each.size for each in self._kept.values()) > MAX_BYTES:
            gone = self._kept.pop(next(iter(self._kept)))
            await trio.to_thread.run_sync(gone.discard)

    async def _begin(self, block: BlockName) -> ProvedHistoricalChain:
        first = await self._asked(partial(fetch_first, block=block, has_children=False))
        self._require_up_to(first.number, self._chain.spec.first_number - 1)
        return await trio.to_thread.run_sync(self._open, first)

    async def _execute(self, block: BlockName) -> ProvedHistoricalChain:
        fetched = await self._asked(lambda client: fetch_block(client, block))
        # The fork's own first block is executed as well: the state before it is not here.
        self._require_up_to(fetched.number, self._chain.spec.first_number)
        first = await self._asked(partial(fetch_first, block=fetched.parent_hash, has_children=False))
        past = await trio.to_thread.run_sync(self._open, first, len(fetched.encoded))
        try:
            await _Execution(past).run(fetched)
        except BaseException:
            past.discard()
            raise
        return past

    async def _asked(self, ask: Callable[[Client], Awaitable[Result]]) -> Result:
        """Return the first usable answer of a node.

        Raises:
            RpcError: No node gives one.
        """
        reason = "there is no node"
        async with self._turns:
            for client in self._provers.clients():
                try:
                    return await ask(client)
                except (UpstreamError, ConfigurationError) as error:
                    reason = str(error)
        raise history_unavailable(f"the forked chain's node: {reason}")

    def _require_up_to(self, number: int, last: int) -> None:
        if number > last:
            raise history_unavailable(f"block {number} is not below the fork")

    def _open(self, first: ForkBlock, more: int = 0) -> ProvedHistoricalChain:
        """Return a new chain on a block; `more` is the number of bytes of the blocks that will follow.

        Raises:
            RpcError: Running calls keep the maximum number of chains open.
        """
        if len(self._open_chains) >= MAX_OPEN:
            raise limit_exceeded(f"more than {MAX_OPEN} blocks below the fork are read at once, try again")
        folder = self._folder / f"{first.number}-{next(self._numbers)}"
        link_proved(ChainFolder(folder), self._chain.folder.proved.resolve())
        genesis = past_genesis(self._chain.folder.read_genesis(), first)
        chain = Chain.open(folder, genesis, writer=True, durable=False)
        past = ProvedHistoricalChain(chain, self._provers, len(first.encoded) + len(first.receipts) + more)
        self._open_chains.add(past)
        return past


class _Execution:
    """Execution of one historical block on the proved state after its parent, with bounds on the values
    fetched for it.
    """

    def __init__(self, past: ProvedHistoricalChain) -> None:
        self._past = past
        self._tree = BlockTree(past.chain)
        self._rounds = self._proofs = 0

    async def run(self, block: UpstreamBlock) -> None:
        """Execute the block and append it to the chain.

        Raises:
            RpcError: Execution gives another block hash, the state is not proved, or too much of it is read.
        """
        made = _making(block)
        self._count(len(made.accounts))
        await learn(self._past.chain, self._past.fetchers.provers, made.accounts)
        while True:
            try:
                await trio.to_thread.run_sync(self._append, block, made)
            except MissingStateError as error:
                self._count(len(error.accounts) + len(error.slots))
                await self._past.fetchers.fetch(error)
            else:
                return

    def _append(self, block: UpstreamBlock, made: "_Making") -> None:
        # To build the block anew checks all of it: its hash covers what follows from its execution.
        try:
            built, refused = self._built(made, frozenset())
            if refused:
                # On development chains an impersonated sender is named in place of a signature.
                built, refused = self._built(made, {index for index, _reason in refused})
        except MissingStateError:
            raise
        except EngineError as error:
            raise history_unavailable(f"block {block.number} cannot be executed: {error}") from None
        if built.hash != block.block_hash:
            reason = refused[0][1] if refused else f"its hash would be {hexadecimal(built.hash)}"
            raise history_unavailable(
                f"block {block.number} does not follow from its parent's state: {reason}"
            )
        self._tree.accept(built)
        self._tree.store_pending()

    def _built(self, made: "_Making", named: Set[int]) -> tuple[BuiltBlock, list[tuple[int, str]]]:
        senders = [sender if index in named else None for index, sender in enumerate(made.senders)]
        state = self._past.chain.state
        return state.build_next(self._tree.tip, made.attributes, made.transactions, senders=senders)

    def _count(self, proofs: int) -> None:
        self._rounds += 1
        self._proofs += proofs
        if self._rounds > MAX_ROUNDS or self._proofs > MAX_PROOFS:
            raise history_unavailable(
                f"the block reads more of the state than may be fetched for it: {MAX_ROUNDS} rounds, "
                f"{MAX_PROOFS} proofs"
            )


def past_genesis(own: bytes, first: ForkBlock) -> bytes:
    """Return the genesis JSON of a chain on a block below the fork.

    Its rules are those of `own`, the fork's genesis, without forks that came after the block.
    """
    genesis: dict[str, Any] = msgspec.json.decode(own)
    forks = fork_table()
    names = [fork.name.lower() for fork in forks]
    later = forks[names.index(first.fork) + 1 :]
    gone = {fork.key for fork in later}
    config = {name: value for name, value in genesis["config"].items() if name not in gone}
    gone = {fork.name.lower() for fork in later}
    schedule = {name: each for name, each in config.get("blobSchedule", {}).items() if name not in gone}
    if first.blobs is not None and first.fork in schedule:
        schedule[first.fork] = first.blobs
    return msgspec.json.encode(
        {
            "config": config | {"chainId": first.chain_id, "blobSchedule": schedule},
            "alloc": {},
            "extraData": genesis["extraData"],
            "firstBlock": hexadecimal(first.encoded),
            "firstReceipts": hexadecimal(first.receipts),
        }
    )
