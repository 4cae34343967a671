"""Requests to one Starknet node, RPC 0.9 or 0.10, over WebSocket or HTTP.

Announced blocks are requested by hash: a number may name another block a moment later.
"""

from functools import partial
from typing import Any, Final

import trio

from wsnode.ethereum.head import Head
from wsnode.starknet.block import UnverifiedStarknetBlock
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import ClassKind, ContractClass, NotAClassError
from wsnode.starknet.felt import felt_text
from wsnode.sync.follow.upstream import PeerError, Upstream
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


async def fetch_block(upstream: Upstream, block_id: dict[str, Any]) -> UnverifiedStarknetBlock:
    """Return a block with its receipts and state difference from an upstream, not verified.

    `block_id` is `{block_hash}` or `{block_number}`; the block has that hash or number.

    Raises:
        UpstreamError: The upstream does not give the block; `invalid` if its answer is another block, or
            malformed.
    """
    replies: dict[str, bytes] = {}
    failures: list[UpstreamError] = []
    flags = (
        {"response_flags": ["INCLUDE_PROOF_FACTS"]} if upstream.interface_version >= WITH_PROOF_FACTS else {}
    )
    async with trio.open_nursery() as nursery:

        async def fetch(method: str, params: dict[str, Any]) -> None:
            try:
                replies[method] = await ask(upstream, method, {"block_id": block_id, **params})
            except UpstreamError as error:
                # Not out of the nursery, which would wrap it in a group.
                failures.append(error)
                nursery.cancel_scope.cancel()

        nursery.start_soon(fetch, "getBlockWithReceipts", flags)
        nursery.start_soon(fetch, "getStateUpdate", {})
    if failures:
        raise failures[0]
    block, update = replies["getBlockWithReceipts"], replies["getStateUpdate"]
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
