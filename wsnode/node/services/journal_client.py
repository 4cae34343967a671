"""Access to journals in Redis, whose client is an extra of the package."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import JournalLimits
from wsnode.ethereum.chain import Chain
from wsnode.node.config import ConfigurationError

try:
    from wsnode.cluster.pool.redis_pool import RedisPoolStream, open_pool
    from wsnode.cluster.redis_journal import RedisJournal, open_journal
except ModuleNotFoundError as error:
    raise ConfigurationError(
        f"a journal needs {error.name}, which is not installed: pip install 'wsnode[cluster]'"
    ) from None

OpenRedisJournal = Callable[[], AbstractAsyncContextManager[RedisJournal]]
OpenRedisPool = Callable[[], AbstractAsyncContextManager[RedisPoolStream]]


def opener(chain: Chain, address: JournalAddress, bounds: JournalLimits | None = None) -> OpenRedisJournal:
    """Return a function that opens the journal of a chain at an address; `bounds` are for its writer."""
    return partial(open_journal, address, chain.spec.genesis_hash, bounds)


def pool_opener(chain: Chain, address: JournalAddress) -> OpenRedisPool:
    """Return a function that opens the pool's stream in the journal of a chain at an address."""
    return partial(open_pool, address, chain.spec.genesis_hash)
