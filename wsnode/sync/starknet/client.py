"""Requests to one Starknet node, RPC 0.9 or 0.10, over WebSocket or HTTP.

Announced blocks are requested by hash: a number may name another block a moment later.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import trio

from wsnode.ethereum.head import Head
from wsnode.starknet.block import UnverifiedStarknetBlock
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import ClassKind, ContractClass, NotAClassError
from wsnode.starknet.felt import felt_text
from wsnode.sync.follow.blocks.any_upstream import all_at_once
from wsnode.sync.follow.upstream import RECHECK_SECONDS, PeerError, Upstream, Upstreams
from wsnode.sync.starknet.replies import (
    StarknetHead,
    decode_block,
    decode_chain_id,
    decode_head,
    decode_spec_version,
)
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError
from wsnode.upstream.link import Link, OnEvent

BLOCK_NOT_FOUND: Final = 24
CLASS_HASH_NOT_FOUND: Final = 28
"""Error codes of starknet-specs."""
INTERFACES: Final = ((0, 9), (0, 10))
"""Versions of starknet-specs supported of upstreams, by their first two numbers."""
WITH_COMMITMENTS: Final = (0, 10)
"""First version with migrated classes in state differences, and with commitments in headers."""
WITH_PROOF_FACTS: Final = (0, 10, 1)
"""First version whose transactions have proof facts, on request; transaction hashes cover the facts."""
MAX_CLASS_BYTES: Final = 16 << 20
FIRST_DELAY: Final = 0.1
MAX_DELAYS: Final = 3.0
"""Maximum number of seconds of requests for an announced block that the upstream does not find yet."""
SHORT: Final = 1 << 16
"""Bytes below which replies are decoded in the event loop: a thread would cost more."""


async def ask(upstream: Upstream, method: str, params: dict[str, Any], link: Link | None = None) -> bytes:
    """Return the JSON text of the result of a method, named without `starknet_`.

    Raises:
        UpstreamError: The node gives no result; `absent` if it does not know the block or the class.
    """
    try:
        return await upstream.client.ask_text(f"starknet_{method}", params, link=link)
    except UpstreamRefusedError as error:
        if error.code in (BLOCK_NOT_FOUND, CLASS_HASH_NOT_FOUND):
            raise UpstreamError("absent", f"{method}: {error.message}") from None
        raise


async def require_chain(upstream: Upstream, link: Link, chain_id: str) -> None:
    """Check version and chain of an upstream against `INTERFACES` and `chain_id`, and keep its version.

    Raises:
        PeerError: The upstream is of another chain, or supports another version only.
        UpstreamError: The upstream gives no valid answer.
    """
    version = upstream.client.read(decode_spec_version, await ask(upstream, "specVersion", {}, link))
    if version[:2] not in INTERFACES:
        spoken = ".".join(map(str, version))
        raise PeerError(
            f"speaks RPC {spoken}, wsnode needs 0.9 or 0.10; "
            "give the path /rpc/v0_10 (pathfinder) or /v0_10 (juno)"
        )
    name = upstream.client.read(decode_chain_id, await ask(upstream, "chainId", {}, link))
    if name != chain_id:
        raise PeerError(f"it is a node of {name}, not of {chain_id}")
    upstream.interface_version = version


async def head_of(upstream: Upstream, link: Link | None = None) -> StarknetHead:
    """Return the head of an upstream.

    Raises:
        UpstreamError: The upstream gives no valid answer.
    """
    return upstream.client.read(decode_head, await ask(upstream, "blockHashAndNumber", {}, link))


async def subscribe_heads(link: Link, on_event: OnEvent) -> bool:
    """Subscribe to new heads and call `on_event` with each header; return False if the node refuses.

    Raises:
        UpstreamError: The connection was lost.
    """
    try:
        await link.subscribe({}, on_event, "starknet_subscribeNewHeads")
    except UpstreamError as error:
        if error.reason == "refused":
            return False
        raise
    return True


async def block_at(upstream: Upstream, block_id: Any, link: Link | None = None) -> StarknetHead | None:
    """Return the upstream's block with a block id (number or tag), or None if it has none.

    Raises:
        UpstreamError: The upstream gives no valid answer.
    """
    try:
        text = await ask(upstream, "getBlockWithTxHashes", {"block_id": block_id}, link)
    except UpstreamError as error:
        if error.reason == "absent":
            return None
        raise
    return upstream.client.read(decode_head, text)


async def ask_block(upstream: Upstream, block_id: Any) -> tuple[bytes, bytes]:
    """Return the JSON of a block with its receipts, and of its state update, which are asked for together.

    Raises:
        UpstreamError: The upstream does not give both; `absent` if it does not know the block.
    """
    has_facts = upstream.interface_version >= WITH_PROOF_FACTS
    flags = {"response_flags": ["INCLUDE_PROOF_FACTS"]} if has_facts else {}
    asked: dict[str, dict[str, Any]] = {"getBlockWithReceipts": flags, "getStateUpdate": {}}

    async def answer(method: str) -> bytes:
        return await ask(upstream, method, {"block_id": block_id, **asked[method]})

    block, update = await all_at_once(list(asked), answer)
    return block, update


async def fetch_block(upstream: Upstream, block_id: dict[str, Any]) -> UnverifiedStarknetBlock:
    """Return a block with its receipts and state difference from an upstream, not verified.

    `block_id` is `{block_hash}` or `{block_number}`; the block has that hash or number.

    Raises:
        UpstreamError: The upstream does not give the block; `invalid` if its answer is another block, or
            malformed.
    """
    block, update = await ask_block(upstream, block_id)
    decode = partial(upstream.client.read, lambda texts: decode_block(*texts), (block, update))
    found = decode() if len(block) + len(update) < SHORT else await trio.to_thread.run_sync(decode)
    told = {"block_hash": felt_text(found.hash), "block_number": found.number}
    if any(told[name] != value for name, value in block_id.items()):
        upstream.client.score.failed()
        raise UpstreamError("invalid", f"block {told} for {block_id}")
    return found


async def fetch_announced(upstream: Upstream, head: Head) -> UnverifiedStarknetBlock:
    """Return the block of a head that an upstream has just announced.

    A node may announce a block before all its parts can find it. So a missing block is requested again for
    `MAX_DELAYS` seconds, or until the upstream announces another block in its place.

    Raises:
        UpstreamError: The upstream does not give the block, or has replaced it (`absent`).
    """
    delay, waited = FIRST_DELAY, 0.0
    while True:
        try:
            return await fetch_block(upstream, {"block_hash": felt_text(head.hash)})
        except UpstreamError as error:
            if error.reason != "absent" or waited + delay > MAX_DELAYS:
                raise
        await trio.sleep(delay)
        upstream.require_unreplaced(head)
        waited, delay = waited + delay, 2 * delay


async def fetch_class(upstream: Upstream, block_hash: bytes, class_hash: bytes) -> ContractClass:
    """Return the class with a class hash from an upstream, as of a block.

    The hash of a Sierra class is checked. That of a Cairo 0 class is not: some differ from their class hash.

    Raises:
        UpstreamError: The upstream does not give the class; `invalid` if its answer is another class, or
            malformed.
    """
    params = {"block_id": {"block_hash": felt_text(block_hash)}, "class_hash": felt_text(class_hash)}
    text = await ask(upstream, "getClass", params)
    named = f"class {felt_text(class_hash)}"
    if len(text) > MAX_CLASS_BYTES:
        upstream.client.score.failed()
        raise UpstreamError("invalid", f"{named} has {len(text)} bytes, more than {MAX_CLASS_BYTES}")
    try:
        found = await trio.to_thread.run_sync(decode_class, text)
    except NotAClassError as error:
        upstream.client.score.failed()
        raise UpstreamError("invalid", f"{named}: {error}") from None
    if found.class_hash != class_hash and found.kind is ClassKind.SIERRA:
        upstream.client.score.failed()
        raise UpstreamError("invalid", f"{named} hashes to {felt_text(found.class_hash)}")
    return ContractClass(found.kind, class_hash, found.rendered)


GREETING_SECONDS: Final = 15.0
POLL_SECONDS: Final = 0.5
BESIDE_SECONDS: Final = 2.0
"""Seconds between polls of announcing nodes: their subscriptions have been seen to stop silently."""
ALONE_SECONDS: Final = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds of quarantine of the only upstream after its first invalid block, its second, and so on."""
MAX_RECHECK_SECONDS: Final = 3600.0


class StarknetDialect:
    """Requests of a session to an upstream of a Starknet chain, for its identity and its heads; implements
    `NodeDialect`.
    """

    polls_beside = True

    def __init__(self, chain_id: str, upstreams: Upstreams, floor: Callable[[], StarknetHead | None]) -> None:
        """Check nodes against `chain_id` and `floor`: it returns our last block accepted on L1, or None."""
        self._chain_id = chain_id
        self._upstreams = upstreams
        self._floor = floor

    async def greet(self, upstream: Upstream, link: Link) -> Head:
        with trio.move_on_after(GREETING_SECONDS):
            await require_chain(upstream, link, self._chain_id)
            floor = self._floor()
            if floor is not None:
                theirs = await block_at(upstream, {"block_number": floor.number}, link)
                if theirs is not None and theirs.hash != floor.hash:
                    raise PeerError(
                        f"its block {floor.number} is {felt_text(theirs.hash)}, and ours, which is final "
                        f"on L1, is {felt_text(floor.hash)}",
                        is_forked=True,
                    )
            return await head_of(upstream, link)
        raise UpstreamError("timeout", f"its chain was not identified within {GREETING_SECONDS:g} s")

    async def subscribe_heads(self, link: Link, hear: Callable[[bytes], None]) -> bool:
        return await subscribe_heads(link, hear)

    def announced_head(self, upstream: Upstream, text: bytes) -> Head | None:
        return upstream.client.read(decode_head, text)

    async def head(self, upstream: Upstream, link: Link) -> Head | None:
        return await head_of(upstream, link)

    def poll_seconds(self, upstream: Upstream) -> float:
        return BESIDE_SECONDS if upstream.announces_heads else POLL_SECONDS

    def recheck_seconds(self, upstream: Upstream) -> float:
        """Return the seconds before a quarantined upstream is checked again, and count the quarantine.

        They double each time, from 60 to 3,600; of the only upstream they are `ALONE_SECONDS`.
        """
        upstream.refused_blocks += 1
        times = upstream.refused_blocks
        if len(self._upstreams.all) == 1:
            return ALONE_SECONDS[min(times, len(ALONE_SECONDS)) - 1]
        return min(RECHECK_SECONDS * 2.0 ** min(times - 1, 10), MAX_RECHECK_SECONDS)
