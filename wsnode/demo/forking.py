"""The beginning of a development chain on another chain's block."""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from wsnode.demo.genesis import ForkSource, forked_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.control import ForkedFrom
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.node.fork_point import PROVED, ForkPoint, fork_point
from wsnode.node.forking import client_of, patch, shown


def begin_fork(
    place: ChainFolder,
    source: ForkSource,
    funds: tuple[Sequence[bytes], int],
    *,
    chain_id: int | None,
    fork: str | None,
    is_kept: bool,
) -> None:
    """Make a chain that begins on another chain's block, with a balance in wei for some accounts.

    What is proved of the state lies in the chain's folder if that `is_kept`, else in the user's cache.

    Raises:
        ConfigurationError: It cannot begin there.
    """
    point = fork_point(source.urls[0], source.block)
    genesis = forked_genesis(point.block, chain_id=chain_id, fork=fork)
    # A folder with a genesis counts as begun, so that one without its accounts must never be in its place.
    draft = ChainFolder(place.path.with_suffix(".draft"))
    shutil.rmtree(draft.path, ignore_errors=True)
    draft.path.mkdir(parents=True)
    if not is_kept:
        _link(draft.state, point)
    with Chain.open(draft.path, genesis, writer=True, durable=is_kept) as chain:
        patch(chain, [client_of(url) for url in source.urls], funds_of(genesis, *funds))
        chain.mark_final(chain.head)
    draft.path.replace(place.path)


def _link(state: Path, point: ForkPoint) -> None:
    state.mkdir(parents=True)
    point.proved.mkdir(exist_ok=True)
    (state / PROVED).symlink_to(point.proved, target_is_directory=True)


def funds_of(genesis: bytes, addresses: Iterable[bytes], balance: int) -> bytes:
    """Return what is set on top of a first block's state, as state overrides say it.

    That is the accounts in what stands for the genesis, and a balance in wei for `addresses`.
    """
    set_there: dict[str, dict[str, str]] = msgspec.json.decode(genesis)["alloc"]
    funded = {hexadecimal(address): {"balance": hex(balance)} for address in addresses}
    return msgspec.json.encode(set_there | funded)


def forked_from(source: ForkSource, spec: ChainSpec) -> ForkedFrom:
    """Return what a chain says of that on which it began."""
    block = Head(BlockNumber(spec.first_number), Hash32(spec.genesis_hash))
    return ForkedFrom(shown(source.urls[0]), spec.chain_id, block)
