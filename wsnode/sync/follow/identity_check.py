"""Identity of an upstream, checked before anything of it is believed: is it a node of our chain?"""

from typing import Final

import trio

from wsnode.ethereum.head import Head
from wsnode.ethereum.networks.table import UNKNOWN_GENESIS, named
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.snapshot import Snapshot
from wsnode.sync.follow.blocks.block_client import head_at
from wsnode.sync.follow.upstream import PeerError, Upstream
from wsnode.untrusted.decoding import MalformedError, decode_quantity, excerpt
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

GREETING_SECONDS: Final = 15.0


class ChainIdentity:
    """Chain id, genesis and finalized block that an upstream of our chain must have."""

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
        await _require_chain(upstream, link, ours)
        if not accepts_any:
            await _require_finalized(upstream, link, ours.finalized)
        head = await head_at(upstream, "latest", link)
        if head is None:
            raise UpstreamError("invalid", "it has no latest block")
        return head
    raise UpstreamError("timeout", "the greeting")


async def _require_chain(upstream: Upstream, link: Link, ours: ChainIdentity) -> None:
    chain_id_answer = await upstream.client.ask("eth_chainId", [], link=link)
    try:
        chain_id = decode_quantity(chain_id_answer)
    except MalformedError:
        raise PeerError(f"its chain id is {excerpt(chain_id_answer)}") from None
    if chain_id != ours.chain_id:
        raise PeerError(f"it is chain {named(chain_id)}, not {named(ours.chain_id)}")
    if ours.genesis is None:
        return
    genesis = await head_at(upstream, "0x0", link)
    if genesis is None or genesis.hash != ours.genesis:
        found = "unknown" if genesis is None else hexadecimal(genesis.hash)
        raise PeerError(f"its genesis block is {found}, and ours is {hexadecimal(ours.genesis)}")


async def _require_finalized(upstream: Upstream, link: Link, ours: Head) -> None:
    if not ours.number:
        return
    theirs = await head_at(upstream, hex(ours.number), link)
    if theirs is None:
        raise PeerError(f"it is below block {ours.number}, which is final here")
    if theirs.hash != ours.hash:
        raise PeerError(
            f"its block {ours.number} is {hexadecimal(theirs.hash)}, and ours, which is final, is "
            f"{hexadecimal(ours.hash)}",
            is_forked=True,
        )
