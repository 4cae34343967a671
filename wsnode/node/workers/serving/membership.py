"""One of several processes of a node, as its networks see the others; implements `Processes`."""

import logging
from functools import partial
from typing import Final

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.node.following import TellStatus
from wsnode.ethereum.rpc.transactions.sending import Relay
from wsnode.ethereum.state import ChainSpec
from wsnode.node.processes import FollowedHere
from wsnode.node.workers.ledger import KEYS, Ledger, SharedUses
from wsnode.node.workers.messages import (
    Bring,
    Done,
    Found,
    Heard,
    Inquire,
    Lend,
    Pooled,
    Send,
    Sent,
    Standing,
    ToWorker,
)
from wsnode.node.workers.pair import Pair
from wsnode.node.workers.questions import Questions
from wsnode.node.workers.serving.elsewhere import FollowedElsewhere
from wsnode.node.workers.serving.pools import Pools
from wsnode.node.workers.serving.telling import Telling
from wsnode.upstream.errors import NotSentError

PATIENCE_SECONDS: Final = 12.0
"""How long a sender waits: longer than the process that follows waits for its nodes."""
INQUIRY_SECONDS: Final = 3.0

logger = logging.getLogger("wsnode.workers")

News = Bring | Done | Lend | Pooled | Standing | Heard | Sent | Found


class Membership:
    """Joins networks to those of the other processes."""

    def __init__(self, pair: Pair[ToWorker], ledger: Ledger, row: int, *, writes: bool) -> None:
        """`row` is this process's in the ledger; `writes`: whether it follows, for all of them."""
        self.writes = writes
        self.telling = Telling(pair)
        self._pair = pair
        self._ledger = ledger
        self._row = row
        self._pools = Pools(pair)
        self._elsewhere: dict[str, FollowedElsewhere] = {}
        self._sends, self._inquiries = Questions[Sent](), Questions[bytes | None]()

    def uses_of(self, network: str, digest: str, *, is_metered: bool) -> SharedUses | None:
        """Return what counts the use of a key by all processes, None if there are too many keys."""
        uses = self._ledger.uses_of(self._row, network, digest, is_metered=is_metered)
        if uses is None:
            logger.error(
                "%s has more than %d keys: of this one each worker counts its own use", network, KEYS
            )
        return uses

    def join(self, network: str, pool: TransactionPool) -> Relay:
        """Take what is sent to other processes into `pool`; return what has them take a transaction."""
        return self._pools.join(network, pool)

    def follows(self, network: str, followed: FollowedHere, journal: TellStatus | None) -> None:
        """Report to the others on a network that this process follows."""
        self.telling.follows(network, followed, journal)

    def followed(
        self, network: str, spec: ChainSpec | None, hub: Hub | None, relay: Relay | None, mode: str
    ) -> FollowedElsewhere:
        """Return what stands in for the follower of a network, which is another process's."""
        inquire = partial(self._inquire, network)
        made = FollowedElsewhere(spec, hub, partial(self._send, network, relay), inquire, mode)
        self._elsewhere[network] = made
        return made

    def hear(self, message: News) -> None:
        """Take what the parent says of the other processes."""
        match message:
            case Standing() | Heard():
                # Between two releases of a configuration others may follow what this one does not have.
                if (followed := self._elsewhere.get(message.network)) is not None:
                    followed.hear(message)
            case Sent(number):
                self._sends.answer(number, message)
            case Found(number, status):
                self._inquiries.answer(number, status or None)
            case _:
                self._pools.hear(message)

    async def _inquire(self, network: str) -> bytes | None:
        return await self._inquiries.ask(
            lambda number: self._pair.post(Inquire(number, network)), INQUIRY_SECONDS
        )

    async def _send(self, network: str, relay: Relay | None, encoded: bytes) -> None:
        sent = await self._sends.ask(
            lambda number: self._pair.post(Send(number, network, bytes(encoded))), PATIENCE_SECONDS
        )
        if sent is None:
            raise NotSentError("the process that follows does not answer")
        if sent.failure is not None:
            raise NotSentError(sent.failure)
        if relay is not None:
            await relay(encoded)
