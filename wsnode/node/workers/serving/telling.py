"""The process that follows other nodes, as workers hear of it: how it stands, what is pending there."""

from collections.abc import Sequence
from typing import Final

import msgspec
import trio

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.node.growth.following import FollowedNetwork
from wsnode.node.workers.messages import Found, Heard, Inquire, Send, Sent, Standing, ToWorker
from wsnode.node.workers.pair import Pair
from wsnode.upstream.errors import NotSentError

LOOK_SECONDS: Final = 0.1
"""How soon workers hear of a change."""


class Telling:
    """Tells the parent, which tells the workers; and sends what they want sent."""

    def __init__(self, pair: Pair[ToWorker]) -> None:
        self._pair = pair
        self._followed: dict[str, FollowedNetwork] = {}
        self._told: dict[str, Standing] = {}

    def follows(self, network: str, followed: FollowedNetwork) -> None:
        """Tell of a network from now on."""
        self._followed[network] = followed

        def tell(heard: Sequence[PooledTransaction]) -> None:
            self._pair.post(Heard(network, [transaction.encoded for transaction in heard]))

        followed.follower.heard.on_heard.append(tell)
        # Calls wait for a block from the moment that it is announced.
        followed.follower.on_height.append(self._tell)

    async def run(self) -> None:
        """Tell of each change, for ever."""
        while True:
            self._tell()
            await trio.sleep(LOOK_SECONDS)

    def _tell(self) -> None:
        for network, followed in self._followed.items():
            standing = _standing(network, followed)
            if standing != self._told.get(network):
                self._told[network] = standing
                self._pair.post(standing)

    def answer(self, message: Inquire) -> None:
        """Say how a network is followed."""
        followed = self._followed.get(message.network)
        status = b"" if followed is None else msgspec.json.encode(followed.follower.status())
        self._pair.post(Found(message.number, status, message.row))

    async def send(self, message: Send) -> None:
        """Send a worker's transaction to the nodes that are followed, and answer."""
        self._pair.post(Sent(message.number, await self._failure_of(message), message.row))

    async def _failure_of(self, message: Send) -> str | None:
        """Return why no node has taken a transaction, None if one has."""
        if (followed := self._followed.get(message.network)) is None:
            return f"{message.network} is not followed yet: its process has an older configuration"
        try:
            # What they tell of it is no news to the workers.
            followed.note_sent(message.encoded)
            await followed.follower.send(message.encoded)
        except NotSentError as error:
            return str(error)
        return None


def _standing(network: str, followed: FollowedNetwork) -> Standing:
    follower = followed.follower
    progress = follower.progress
    way = None if progress is None else (progress.starting, progress.current, progress.highest)
    return Standing(network, follower.hindrance(), follower.peers, way, follower.announced_height())
