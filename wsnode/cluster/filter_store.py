"""Polled filters of all nodes of a journal; only Redis keeps them, with the position of each."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, TypeVar

import trio

from wsnode.cluster.journal import JournalUnavailableError
from wsnode.ethereum.live.filter_store import FilterQuota, FilterStoreUnavailableError, StoredFilter

ANSWER_SECONDS: Final = 2.0
"""Seconds for which a poll waits for an answer."""
AWAY_SECONDS: Final = 0.5
_NOBODY: Final = "0x"

logger = logging.getLogger("wsnode.journal")

Answer = TypeVar("Answer")


class FilterBackend(Protocol):
    """Store of the nodes' shared polled filters, implemented by `RedisJournal`; every method raises
    JournalUnavailableError.
    """

    async def add_filter(self, identity: str, new: StoredFilter, seconds: float, room: FilterQuota) -> None:
        """Keep a filter until `seconds` after its last poll.

        Raises:
            FilterQuotaError: There are too many.
        """

    async def find_filter(self, identity: str) -> StoredFilter | None:
        """Return a filter, None if there is none.

        Raises:
            UnreadableFilterError: Another program has written the key.
        """

    async def move_filter(self, identity: str, began: bytes, place: bytes, seconds: float) -> bool:
        """Move a filter to `place`; return False if it is not at the place at which a poll `began`."""

    async def remove_filter(self, identity: str) -> bool:
        """Forget a filter; return False if there is none."""


OpenStore = Callable[[], AbstractAsyncContextManager[FilterBackend]]


class RedisFilterStore:
    """Store in Redis of polled filters (eth_newFilter), shared by all nodes of a chain: implements
    `FilterStore`, and works while `run` is running. A filter is removed `seconds` after its last poll.
    """

    def __init__(self, open_store: OpenStore, seconds: float) -> None:
        self.open = open_store
        self._seconds = seconds
        self._store: FilterBackend | None = None
        self._failure: JournalUnavailableError | None = None
        self._failed = trio.Event()
        self._is_away = False
        self._changed = trio.Event()

    async def add(self, identity: str, new: StoredFilter, room: FilterQuota) -> None:
        await self._ask(lambda store: store.add_filter(identity, new, self._seconds, room))

    async def find(self, identity: str) -> StoredFilter | None:
        return await self._ask(lambda store: store.find_filter(identity))

    async def move(self, identity: str, began: bytes, place: bytes) -> bool:
        return await self._ask(lambda store: store.move_filter(identity, began, place, self._seconds))

    async def remove(self, identity: str) -> bool:
        return await self._ask(lambda store: store.remove_filter(identity))

    def report(self, identity: str, reason: str) -> None:
        logger.warning("the filter %s in the journal cannot be read: %s", identity, reason)

    async def run(self) -> None:
        while True:
            open_store = self.open
            try:
                async with open_store() as store:
                    # With a single server only the first request shows whether the server is reachable.
                    await store.find_filter(_NOBODY)
                    self._store, self._failure, self._failed = store, None, trio.Event()
                    self._note_there()
                    await self._stay(open_store)
            except JournalUnavailableError as error:
                self._note_away(error)
            finally:
                self._store = None
            await trio.sleep(AWAY_SECONDS)

    async def _stay(self, open_store: OpenStore) -> None:
        """Return once another journal is configured.

        Raises:
            JournalUnavailableError: A call has failed.
        """
        while self.open is open_store:
            with trio.move_on_after(AWAY_SECONDS):
                await self._failed.wait()
            if self._failure is not None:
                raise self._failure

    async def _ask(self, question: Callable[[FilterBackend], Awaitable[Answer]]) -> Answer:
        store = self._store or await self._first_store()
        try:
            with trio.fail_after(ANSWER_SECONDS):
                return await question(store)
        except (JournalUnavailableError, trio.TooSlowError) as error:
            if store is self._store:
                self._fail(error)
            raise FilterStoreUnavailableError from error

    async def _first_store(self) -> FilterBackend:
        """Return the connected store; wait for it up to `ANSWER_SECONDS` unless the journal is known to be
        away."""
        with trio.move_on_after(ANSWER_SECONDS):
            while self._store is None and not self._is_away:
                await self._changed.wait()
        if self._store is None:
            raise FilterStoreUnavailableError
        return self._store

    def _fail(self, error: Exception) -> None:
        away = error if isinstance(error, JournalUnavailableError) else None
        self._failure = away or JournalUnavailableError("Redis", "it does not answer")
        self._store = None
        self._failed.set()

    def _note_change(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    def _note_there(self) -> None:
        self._note_change()
        if self._is_away:
            self._is_away = False
            logger.info("filters can be polled again: the journal that stores them answers")

    def _note_away(self, error: JournalUnavailableError) -> None:
        if not self._is_away:
            self._is_away = True
            self._note_change()
            logger.warning("filters cannot be polled for now: %s", error)
