"""Development chains that begin on another chain's block."""

import shutil
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec
import trio

from wsnode.demo.development_service import DevelopmentSettings, Refork
from wsnode.demo.genesis import ForkSource, forked_genesis, split_block
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.control import ControlError, ForkedChain, ForkedFrom, ForkRequest
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.node.config import ConfigurationError
from wsnode.node.networks import OpenChains
from wsnode.node.services.fork import patch
from wsnode.node.services.fork_point import client_of, fork_point, link_proved, shown
from wsnode.store.private import make_private_folder


def begin_fork(
    place: ChainFolder,
    source: ForkSource,
    funds: tuple[Sequence[bytes], int],
    *,
    chain_id: int | None,
    fork: str | None,
    is_kept: bool,
    code_size_limit: int | None = None,
) -> None:
    """Make a chain that begins on another chain's block, with a balance in wei for some accounts.

    Proved values of the state are stored in the chain's folder if it `is_kept`, else in the user's cache.

    Raises:
        ConfigurationError: No node has a block on which the chain can begin, or proves its state.
    """
    point = fork_point(source.urls, source.block)
    genesis = forked_genesis(point.block, chain_id=chain_id, fork=fork, code_size_limit=code_size_limit)
    # A folder with a genesis counts as begun. So the chain is made in a draft folder, which gets its final
    # name once the accounts are set.
    draft = ChainFolder(place.path.with_suffix(".draft"))
    shutil.rmtree(draft.path, ignore_errors=True)
    make_private_folder(draft.path)
    if not is_kept:
        link_proved(draft, point.proved)
    with Chain.open(draft.path, genesis, writer=True, durable=is_kept) as chain:
        patch(chain, [client_of(url) for url in source.urls], funds_of(genesis, *funds))
        chain.mark_final(chain.head)
    draft.path.replace(place.path)


def funds_of(genesis: bytes, addresses: Iterable[bytes], balance: int) -> bytes:
    """Return the accounts to set on top of a first block's state, as JSON in the form of state overrides.

    They are the accounts of `genesis`, and a balance in wei for each of `addresses`.
    """
    set_there: dict[str, dict[str, str]] = msgspec.json.decode(genesis)["alloc"]
    funded = {hexadecimal(address): {"balance": hex(balance)} for address in addresses}
    return msgspec.json.encode(set_there | funded)


def forked_from(source: ForkSource, genesis: bytes) -> ForkedFrom:
    """Return the URL, chain id and block on which the chain of a genesis began."""
    spec = ChainSpec(genesis)
    block = Head(BlockNumber(spec.first_number), Hash32(spec.genesis_hash))
    network = msgspec.json.decode(genesis).get("firstChain")
    return ForkedFrom(shown(source.urls[0]), spec.chain_id, block, network)


def forked_settings(
    settings: DevelopmentSettings, place: ChainFolder, source: ForkSource
) -> DevelopmentSettings:
    """Return the settings of the chain in a folder, which began on another chain's block."""
    return msgspec.structs.replace(settings, fork=forked_from(source, place.read_genesis()))


def reforking(
    source: ForkSource,
    funds: tuple[Sequence[bytes], int],
    *,
    chain_id: int | None,
    fork: str | None,
    code_size_limit: int | None,
) -> Refork:
    """Return a maker of factories that move an open chain without a folder of its own to other blocks."""
    return partial(
        TemporaryForkFactory, source, funds, chain_id=chain_id, fork=fork, code_size_limit=code_size_limit
    )


class TemporaryForkFactory:
    """Factory of development chains that fork another chain, called when a client moves the fork
    (anvil_reset); for chains deleted at the end of the process. Implements `ForkFactory`.
    """

    def __init__(
        self,
        source: ForkSource,
        funds: tuple[Sequence[bytes], int],
        opened: OpenChains,
        *,
        chain_id: int | None,
        fork: str | None,
        code_size_limit: int | None,
    ) -> None:
        assert opened.forking is not None, "a fork asks for its state"
        self._urls = source.urls
        self._funds = funds
        self._chain = opened.ethereum
        self._forking = opened.forking
        self._chain_id = chain_id
        self._fork = fork
        self._code_size_limit = code_size_limit
        self._folder = opened.ethereum.folder.path
        self._count = 0

    async def begin(self, forking: ForkRequest, present: ForkedFrom) -> ForkedChain | None:
        """Return a new chain on a block, None if it is the present block.

        Raises:
            ControlError: No chain can begin on the block.
        """
        if forking.url is not None:
            url, named = split_block(forking.url)
            forking = ForkRequest(url, named if forking.block is None else forking.block)
        is_there = forking.url in (None, self._urls[0])
        if (forking.block == present.block.number and is_there) or forking == ForkRequest():
            return None
        source = ForkSource(self._urls if is_there else [str(forking.url)], forking.block)
        try:
            return await trio.to_thread.run_sync(self._begun, source)
        except ConfigurationError as error:
            raise ControlError(str(error)) from None

    def _begun(self, source: ForkSource) -> ForkedChain:
        self._count += 1
        place = ChainFolder(self._folder.with_name(f"{self._folder.name}-{self._count}"))
        begin_fork(
            place,
            source,
            self._funds,
            chain_id=self._chain_id,
            fork=self._fork,
            code_size_limit=self._code_size_limit,
            is_kept=False,
        )
        chain = Chain.open(place.path, writer=True, durable=False)
        fork = forked_from(source, place.read_genesis())
        return ForkedChain(chain, fork, partial(self._follow, source, self._chain.folder.path))

    async def _follow(self, source: ForkSource, old: Path) -> None:
        self._urls = source.urls
        await self._forking.move([client_of(url) for url in source.urls])
        # Readers of the old chain have its files open, so its folder can be deleted under them.
        await trio.to_thread.run_sync(partial(shutil.rmtree, old, ignore_errors=True))
