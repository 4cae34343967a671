"""Count of each key's credits over all nodes of a journal.

Each node charges calls to its own count, and no call waits for another machine. Several times a second it
reports its spent credits, and takes over the sum of all nodes. Calls that nodes admitted beyond the rate
meanwhile are owed: as many are refused later.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

import msgspec
import trio

from wsnode.cluster.journal import JournalUnavailableError

MAX_SPENDINGS: Final = 1000
"""Maximum number of keys in one exchange."""
MAX_OWING: Final = 65_536
"""Maximum number of keys with missing credits that are returned."""
MAX_SINCE_SECONDS: Final = 1.0
"""Longest time, in seconds, in which reported credits can have been spent."""

MAX_OWING_SECONDS: Final = 1e9
"""Seconds of missing credits beyond which they count as back, thirty years: the limit of a server's clock."""


class KeySpending(msgspec.Struct, frozen=True):
    """Credits of an API key spent on one node since its last report, as a time: the seconds until they are
    refilled.
    """

    digest: str
    """Hash of the key; the key itself is never sent."""
    seconds: float
    """Seconds in which the spent credits come back; 0 if the node has no earlier report of the key."""
    since: float
    """Seconds in which the credits were spent."""
    own: float
    """Seconds until all credits are back by the node's own count; may be negative."""


class QuotaExchange(Protocol):
    """Shared count of each API key's credits over all nodes of a network, implemented by `RedisJournal`."""

    async def exchange(self, spendings: Sequence[KeySpending]) -> Mapping[str, float]:
        """Count spent credits, and return the seconds until all credits of each key are back.

        A key that is not returned misses no credits.

        Raises:
            JournalUnavailableError: It cannot be reached; the credits may have been counted.
        """
        ...


PAUSE_SECONDS: Final = 0.1
"""Seconds between two exchanges; longer where there are many keys."""
SECONDS_OF_A_KEY: Final = 1e-5
SECONDS_OF_AN_OWING_KEY: Final = 5e-5
AWAY_SECONDS: Final = 0.5

OpenQuotas = Callable[[], AbstractAsyncContextManager[QuotaExchange]]

logger = logging.getLogger("wsnode.journal")


class CreditAccount(Protocol):
    """Account of an API key's credits on this node, implemented by the server's `KeyAccount`. `settle`
    corrects it by the credits charged on other nodes.
    """

    @property
    def per_second(self) -> float:
        """Return the number of credits that come back each second, more than 0."""
        ...

    @property
    def spent(self) -> float:
        """Return the credits that this node has charged so far."""
        ...

    @property
    def full_at(self) -> float:
        """Return the monotonic time, in seconds, at which all credits will be back."""
        ...

    def settle(self, full_at: float, /) -> None:
        """Set the time at which all credits will be back."""
        ...


class RateSharer:
    """Reporter of credits spent on this node to the shared count, over one connection. `accounts` returns
    this node's accounts by the keys' hashes; `clock` is the clock of `full_at`, in seconds.
    """

    def __init__(
        self,
        quotas: QuotaExchange,
        accounts: Callable[[], Mapping[str, CreditAccount]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quotas = quotas
        self._accounts = accounts
        self._clock = clock
        self._said: Mapping[str, float] = {}
        """Credits that were spent by the last exchange, by the keys' hashes."""
        self._said_at = 0.0
        self._owing: Mapping[str, float] = {}

    async def exchange(self) -> float:
        """Report credits spent here, take over the missing credits of all keys, and return the seconds to
        pause.

        Raises:
            JournalUnavailableError: The journal cannot be reached.
        """
        accounts, began = self._accounts(), self._clock()
        spent = {digest: account.spent for digest, account in accounts.items()}
        spendings = list(self._spendings(accounts, spent, began))
        owing, now = dict[str, float](), began
        for part in _parts(spendings) if accounts else ():
            now = self._clock()
            owing = dict(await self._quotas.exchange(part))
        self._settle(accounts, spent, owing, now)
        self._said_at = began
        return PAUSE_SECONDS + SECONDS_OF_A_KEY * len(accounts) + SECONDS_OF_AN_OWING_KEY * len(owing)

    def _spendings(
        self, accounts: Mapping[str, CreditAccount], spent: Mapping[str, float], now: float
    ) -> Iterator[KeySpending]:
        for digest, account in accounts.items():
            own = min(max(account.full_at - now, -MAX_OWING_SECONDS), MAX_OWING_SECONDS)
            said = self._said.get(digest)
            if said is None:
                # Credits spent before the first report of a key, while nodes could not exchange their counts,
                # are not added up: the node sends only its own count.
                if own > 0:
                    yield KeySpending(digest, 0.0, 0.0, own)
            elif spent[digest] > said:
                seconds = min((spent[digest] - said) / account.per_second, MAX_OWING_SECONDS)
                since = min(now - self._said_at, MAX_SINCE_SECONDS)
                yield KeySpending(digest, seconds, since, own)

    def _settle(
        self,
        accounts: Mapping[str, CreditAccount],
        spent: Mapping[str, float],
        owing: Mapping[str, float],
        now: float,
    ) -> None:
        """Set accounts to the sum of all nodes, less the credits spent here since that sum."""
        for digest in owing.keys() | self._owing.keys():
            if (account := accounts.get(digest)) is not None:
                since = (account.spent - spent[digest]) / account.per_second
                account.settle(now + owing.get(digest, 0.0) + since)
        self._said, self._owing = spent, owing


class SharedRates:
    """Task that makes the rate limits of API keys hold over all nodes of a network together; works while
    `run` is running.
    """

    def __init__(self, accounts: Callable[[], Mapping[str, CreditAccount]], open_quotas: OpenQuotas) -> None:
        self._accounts = accounts
        self.open = open_quotas
        self._is_alone = False

    async def run(self) -> None:
        """Exchange again and again, for ever; while the journal is away, this node counts alone."""
        while True:
            open_quotas = self.open
            try:
                async with open_quotas() as quotas:
                    sharer = RateSharer(quotas, self._accounts)
                    while self.open is open_quotas:
                        pause = await sharer.exchange()
                        self._note_together()
                        await trio.sleep(pause)
            except JournalUnavailableError as error:
                self._note_alone(error)
                await trio.sleep(AWAY_SECONDS)

    def _note_together(self) -> None:
        if self._is_alone:
            self._is_alone = False
            logger.info("the rates of keys are counted together with the other nodes again")

    def _note_alone(self, error: JournalUnavailableError) -> None:
        if not self._is_alone and self._accounts():
            self._is_alone = True
            logger.warning("the rates of keys are counted by this machine alone for now: %s", error)


def _parts(spendings: Sequence[KeySpending]) -> Iterator[Sequence[KeySpending]]:
    """Yield spendings in parts of at most `MAX_SPENDINGS`, an empty one if there are none."""
    for start in range(0, max(1, len(spendings)), MAX_SPENDINGS):
        yield spendings[start : start + MAX_SPENDINGS]
