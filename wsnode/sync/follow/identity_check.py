"""Questions to an Ethereum node: whether it is a node of our chain, and what its head is."""

from collections.abc import Callable
from functools import partial
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.networks.table import UNKNOWN_GENESIS, named
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.snapshot import Snapshot
from wsnode.sync.follow.block_time import BlockTime
from wsnode.sync.follow.blocks.any_upstream import all_at_once
from wsnode.sync.follow.blocks.block_client import decode_rpc_block, head_at
from wsnode.sync.follow.upstream import RECHECK_SECONDS, PeerError, Upstream
from wsnode.untrusted.decoding import MalformedError, decode_quantity, excerpt
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

GREETING_SECONDS: Final = 15.0
MIN_POLL_SECONDS: Final = 0.1
MAX_POLL_SECONDS: Final = 2.0
POLLS_A_BLOCK: Final = 4


class ChainIdentity:
    """Identity of this node's chain, with which an upstream must agree: chain id, genesis hash and finalized
    block.
    """

    def __init__(self, chain_id: int, genesis: Hash32 | None, finalized: Head) -> None:
        self.chain_id = chain_id
        self.genesis = genesis
        self.finalized = finalized


def identity_of(view: Snapshot) -> ChainIdentity:
    """Return the identity that an upstream of the view's chain must have."""
    genesis = Hash32(view.spec.genesis_hash)
    number = view.finalized or BlockNumber(0)
    finalized = view.hash_of(number) if number else genesis
    assert finalized is not None, "the finalized block is canonical"
    known = None if genesis == UNKNOWN_GENESIS else genesis
    return ChainIdentity(view.spec.chain_id, known, Head(number, finalized))


async def greet(upstream: Upstream, link: Link, ours: ChainIdentity, *, accepts_any: bool) -> Head:
    """Return the head of an upstream that can be followed; with `accepts_any` its finalized block is not
    checked.

    Raises:
        PeerError: It is of another chain, or below our finalized block.
        UpstreamError: It gives no answer.
    """
    with trio.move_on_after(GREETING_SECONDS):
        await _require_chain_id(upstream, link, ours.chain_id)
        checks: list[tuple[str, Callable[[Head | None], None]]] = []
        if ours.genesis is not None:
            checks.append(("0x0", partial(_require_genesis, ours.genesis)))
        if not accepts_any and ours.finalized.number:
            checks.append((hex(ours.finalized.number), partial(_require_finalized, ours.finalized)))
        # The blocks are requested together, because a provider may be a tenth of a second away.
        tags = [*(number for number, _ in checks), "latest"]
        *found, head = await all_at_once(tags, lambda tag: head_at(upstream, tag, link))
        for (_, check), theirs in zip(checks, found, strict=True):
            check(theirs)
        if head is None:
            raise UpstreamError("invalid", "its result of eth_getBlockByNumber for latest is null")
        return head
    raise UpstreamError("timeout", f"its chain was not identified within {GREETING_SECONDS:g} s")


async def _require_chain_id(upstream: Upstream, link: Link, ours: int) -> None:
    chain_id_answer = await upstream.client.ask("eth_chainId", [], link=link)
    try:
        chain_id = decode_quantity(chain_id_answer)
    except MalformedError:
        raise PeerError(
            f"its eth_chainId result is no hexadecimal quantity: {excerpt(chain_id_answer)}"
        ) from None
    if chain_id != ours:
        raise PeerError(f"it is chain {named(chain_id)}, not {named(ours)}")


def _require_genesis(ours: Hash32, theirs: Head | None) -> None:
    if theirs is None or theirs.hash != ours:
        found = "unknown" if theirs is None else hexadecimal(theirs.hash)
        raise PeerError(f"its genesis block is {found}, and ours is {hexadecimal(ours)}")


def _require_finalized(ours: Head, theirs: Head | None) -> None:
    if theirs is None:
        raise PeerError(f"it is below block {ours.number}, which is final here")
    if theirs.hash != ours.hash:
        raise PeerError(
            f"its block {ours.number} is {hexadecimal(theirs.hash)}, and ours, which is final, is "
            f"{hexadecimal(ours.hash)}",
            is_forked=True,
        )


class EthereumDialect:
    """Requests of a session to an upstream of an Ethereum chain, for its identity and its heads; implements
    `NodeDialect`.
    """

    polls_beside = False

    def __init__(self, chain: Chain, block_time: BlockTime, accepts_any: Callable[[], bool]) -> None:
        """Check nodes against `chain`; `accepts_any` is True if even finalized blocks may be replaced."""
        self._chain = chain
        self._block_time = block_time
        self._accepts_any = accepts_any

    async def greet(self, upstream: Upstream, link: Link) -> Head:
        with self._chain.snapshot() as view:
            ours = identity_of(view)
        return await greet(upstream, link, ours, accepts_any=self._accepts_any())

    async def subscribe_heads(self, link: Link, hear: Callable[[bytes], None]) -> bool:
        try:
            await link.subscribe(["newHeads"], hear)
        except UpstreamError as error:
            if error.reason == "refused":
                return False
            raise
        return True

    def announced_head(self, upstream: Upstream, text: bytes) -> Head | None:
        block = upstream.client.read(decode_rpc_block, text)
        return None if block is None else block.head

    async def head(self, upstream: Upstream, link: Link) -> Head | None:
        return await head_at(upstream, "latest", link)

    def poll_seconds(self, _upstream: Upstream) -> float:
        """Return the seconds between two requests for the head: a quarter of the time between two blocks,
        bounded.
        """
        seconds = self._block_time(self._chain) / POLLS_A_BLOCK
        return min(max(seconds, MIN_POLL_SECONDS), MAX_POLL_SECONDS)

    def recheck_seconds(self, _upstream: Upstream) -> float:
        return RECHECK_SECONDS
