"""Copies of stores as streams of bytes, and the moment at which they begin."""

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
from wsnode.ethereum.storage import state_patches
from wsnode.snapshots.errors import WriterBusyError
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.store.environment import StoreError

TIMEOUT_SECONDS: Final = 60.0
"""Seconds to wait for a moment at which a copy can begin."""
PAUSE_SECONDS: Final = 0.005
Begun = TypeVar("Begun")


class Store(Protocol):
    """Store that can write a copy of itself to a file."""

    def copy(self, descriptor: int, /) -> None:
        """Write a copy to an open file; it takes as long as the other end reads."""


class PieceStream:
    """Stream of the bytes of a store's copy, which is made while it is read. The copy has the store's version
    at its beginning; that version stays readable until its end.
    """

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
            StoreError: The store cannot be copied.
        """
        found = self._file.read(most)
        if len(found) < most:
            self._written.result()
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # Closing the reading end makes an unfinished copy fail with a StoreError, which is no failure of the
        # reader.
        self._file.close()
        with suppress(StoreError):
            self._written.result()
        self._beside.shutdown()


class ChainStream(msgspec.Struct, frozen=True):
    """Ethereum chain for a snapshot: its head, the state root after it, and a stream of its store."""

    head: Head
    state_root: Hash32
    store: PieceStream


class StarknetStream(msgspec.Struct, frozen=True):
    """Starknet chain for a snapshot: number and hash of its head, both None without blocks, and a stream of
    its store.
    """

    number: int | None
    hash: bytes | None
    store: PieceStream


@contextmanager
def chain_stream(chain: Chain) -> Iterator[ChainStream]:
    """Yield a copy of a chain's store, and its head.

    The store's version at the beginning of the copy is known if it is the same before and after.

    Raises:
        WriterBusyError: Its writer left no moment to begin it.
        StoreError: The store cannot be read.
    """
    with _once_begun(chain.folder.path, lambda opened: _begin_chain(chain, opened)) as stream:
        yield stream


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
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        with ExitStack() as opened:
            if (begun := begin(opened)) is not None:
                yield begun
                return
        time.sleep(PAUSE_SECONDS)
    raise WriterBusyError(folder, TIMEOUT_SECONDS)


def _begin_chain(chain: Chain, opened: ExitStack) -> ChainStream | None:
    with chain.store.read() as reader:
        version, head = reader.version, chain.head_in(reader)
        root = state_patches.state_root(reader, head.number)
    stream = opened.enter_context(PieceStream(chain.store))
    stream.wait_begun()
    with chain.store.read() as reader:
        is_still = reader.version == version
    return ChainStream(head, root, stream) if is_still else None


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
