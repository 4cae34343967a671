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
        status = self._followed[message.network].follower.status()
        self._pair.post(Found(message.number, msgspec.json.encode(status), message.row))

    async def send(self, message: Send) -> None:
        """Send a worker's transaction to the nodes that are followed, and answer."""
        followed = self._followed[message.network]
        failure = None
        try:
            # What they tell of it is no news to the workers.
            followed.note_sent(message.encoded)
            await followed.follower.send(message.encoded)
        except NotSentError as error:
            failure = str(error)
        self._pair.post(Sent(message.number, failure, message.row))


def _standing(network: str, followed: FollowedNetwork) -> Standing:
    follower = followed.follower
    progress = follower.progress
    way = None if progress is None else (progress.starting, progress.current, progress.highest)
    return Standing(network, follower.hindrance(), follower.peers, way, follower.announced_height())
