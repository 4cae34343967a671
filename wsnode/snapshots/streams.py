"""Copies of stores as streams of bytes, and the moment at which those of a chain begin."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Final, Protocol, Self, TypeVar

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.state import StateError
from wsnode.snapshots.errors import WriterBusyError
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.store.errors import StoreError

PATIENCE_SECONDS: Final = 60.0
"""Seconds to wait for a moment at which a copy can begin."""
PAUSE_SECONDS: Final = 0.005
Begun = TypeVar("Begun")


class Store(Protocol):
    """Store that can be copied."""

    def copy(self, descriptor: int, /) -> None:
        """Write a copy to an open file; it takes as long as the other end reads."""


class PieceStream:
    """Stream of a store's copy; the version at its beginning stays readable until its end."""

    def __init__(self, store: Store) -> None:
        reading, writing = os.pipe()
        self._file: BufferedReader = os.fdopen(reading, "rb")
        self._beside = ThreadPoolExecutor(1)
        self._written = self._beside.submit(self._write, store, writing)

    def _write(self, store: Store, writing: int) -> None:
        try:
            store.copy(writing)
        finally:
            os.close(writing)

    def wait_begun(self) -> None:
        """Return once the copy's version is fixed: its first bytes have arrived."""
        self._file.peek(1)

    def read(self, most: int) -> bytes:
        """Return the next bytes, fewer than `most` only at the end.

        Raises:
            StateError, StoreError: The store cannot be copied.
        """
        found = self._file.read(most)
        if len(found) < most:
            self._written.result()
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # Without a reader the copy ends with an error, which is not ours.
        self._file.close()
        with suppress(StateError, StoreError):
            self._written.result()
        self._beside.shutdown()


class ChainStreams(msgspec.Struct, frozen=True):
    """Copies of a chain's two stores with the same head, and the root of the state after it."""

    head: Head
    state_root: Hash32
    chain: PieceStream
    state: PieceStream


class StarknetStream(msgspec.Struct, frozen=True):
    """Copy of a Starknet chain's store, and its head; number and hash are None without blocks."""

    number: int | None
    hash: bytes | None
    store: PieceStream


@contextmanager
def chain_streams(chain: Chain) -> Iterator[ChainStreams]:
    """Yield copies of a chain's stores that were begun when both had the same head.

    A store's version at the beginning of a copy is known if it is the same before and after. Versions of one
    head belong together whenever they were committed: a state has no data of blocks beyond its head.

    Raises:
        WriterBusyError: Its writer left no such moment.
        StateError, StoreError: A store cannot be read.
    """
    with _once_begun(chain.folder.path, lambda opened: _begin_chain(chain, opened)) as streams:
        yield streams


@contextmanager
def starknet_stream(starknet: StarknetChain) -> Iterator[StarknetStream]:
    """Yield a copy of a Starknet chain's store, and its head.

    Raises:
        WriterBusyError: Its writer left no moment to begin it.
        StoreError: The store cannot be read.
    """
    with _once_begun(starknet.folder, lambda opened: _begin_starknet(starknet, opened)) as stream:
        yield stream


@contextmanager
def _once_begun(folder: Path, begin: Callable[[ExitStack], Begun | None]) -> Iterator[Begun]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with ExitStack() as opened:
            if (begun := begin(opened)) is not None:
                yield begun
                return
        time.sleep(PAUSE_SECONDS)
    raise WriterBusyError(folder, PATIENCE_SECONDS)


def _begin_chain(chain: Chain, opened: ExitStack) -> ChainStreams | None:
    with chain.store.read() as reader:
        version, head = reader.version, chain.head_in(reader)
        stored_root = chain.stored_root(reader, head.number)
    state_version, number, block_hash, root = chain.state.committed()
    # A light folder executes nothing: its state has no head.
    is_one = (number, block_hash) == (head.number, head.hash) and stored_root in (None, root)
    if not chain.is_light and not is_one:
        return None
    streams = [opened.enter_context(PieceStream(store)) for store in (chain.store, chain.state)]
    for stream in streams:
        stream.wait_begun()
    with chain.store.read() as reader:
        is_still = reader.version == version and chain.state.committed()[0] == state_version
    return ChainStreams(head, Hash32(root), *streams) if is_still else None


def _begin_starknet(starknet: StarknetChain, opened: ExitStack) -> StarknetStream | None:
    with starknet.reader() as reader:
        version, view = reader.version, StarknetSnapshot(reader)
        number = view.head
        block = None if number is None else view.block(number)
    stream = opened.enter_context(PieceStream(starknet.store))
    stream.wait_begun()
    with starknet.reader() as reader:
        is_still = reader.version == version
    return StarknetStream(number, None if block is None else block.hash, stream) if is_still else None
