"""The pools of one worker, which take what was sent to other workers as well."""

from contextlib import suppress
from functools import partial
from typing import Final

from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.pool.refusals import PoolError
from wsnode.ethereum.rpc.transactions.sending import Relay
from wsnode.node.workers.messages import Bring, Done, Lend, Lent, Pooled, Spread, Took, ToWorker
from wsnode.node.workers.pair import Pair
from wsnode.node.workers.questions import Questions

PATIENCE_SECONDS: Final = 1.0
"""The longest time for which a sender waits for other workers, one of which may be ending."""


class Pools:
    """Passes on what is sent here, and takes what is sent elsewhere."""

    def __init__(self, pair: Pair[ToWorker]) -> None:
        self._pair = pair
        self._pools: dict[str, TransactionPool] = {}
        self._questions = Questions[None]()

    def join(self, network: str, pool: TransactionPool) -> Relay:
        """Take what is sent to other workers into `pool`; return what has them take a transaction."""
        self._pools[network] = pool
        return partial(self._relay, network)

    def hear(self, message: Bring | Done | Lend | Pooled) -> None:
        """Do what the parent says."""
        match message:
            case Bring(number, network, encoded):
                self._take(network, encoded)
                self._pair.post(Took(number))
            case Done(number):
                self._questions.answer(number, None)
            case Pooled(network, encoded, dropped):
                self._mirror(network, encoded, dropped)
            case Lend(row):
                for network, pool in self._pools.items():
                    held = [transaction.encoded for transaction in pool.held()]
                    self._pair.post(Lent(row, network, held))

    async def _relay(self, network: str, encoded: bytes) -> None:
        """Return once all other workers have a transaction, or cannot be waited for."""
        await self._questions.ask(
            lambda number: self._pair.post(Spread(number, network, bytes(encoded))), PATIENCE_SECONDS
        )

    def _take(self, network: str, encoded: list[bytes]) -> None:
        """Take what other workers have checked; the pool may refuse what contradicts its own contents."""
        pool = self._pools[network]
        for each in encoded:
            with suppress(PoolError):
                pool.admit(pool.decode(each))

    def _mirror(self, network: str, encoded: list[bytes], dropped: list[bytes]) -> None:
        # Between two releases of a configuration others may follow what this one does not have.
        if (pool := self._pools.get(network)) is not None:
            self._take(network, encoded)
            for name in dropped:
                pool.drop(name)
