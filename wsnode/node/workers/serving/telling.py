"""The process that follows, as workers hear of it: how it stands, and what is pending at other nodes."""

from typing import Final

import msgspec
import trio

from wsnode.ethereum.rpc.node.following import TellStatus, with_journal
from wsnode.node.processes import FollowedHere
from wsnode.node.workers.messages import Found, Heard, Inquire, Send, Sent, Standing, ToWorker
from wsnode.node.workers.pair import Pair
from wsnode.upstream.errors import NotSentError

LOOK_SECONDS: Final = 0.1
"""How soon workers hear of a change."""
AGAIN_LOOKS: Final = 10
"""After this number of looks each network is reported even without a change, unless the process hangs."""


class Telling:
    """Tells the parent, which tells the workers; and sends what they want sent."""

    def __init__(self, pair: Pair[ToWorker]) -> None:
        self._pair = pair
        self._followed: dict[str, FollowedHere] = {}
        self._journals: dict[str, TellStatus | None] = {}
        self._told: dict[str, Standing] = {}

    def follows(self, network: str, followed: FollowedHere, journal: TellStatus | None) -> None:
        """Report on a network from now on, and on the journal to which it is published."""
        self._followed[network] = followed
        self._journals[network] = journal
        followed.tell(_OfNetwork(self, network))

    async def run(self) -> None:
        """Tell of each change, and now and then that there is none, for ever."""
        while True:
            self._told.clear()
            for _ in range(AGAIN_LOOKS):
                for network in self._followed:
                    self.stands_anew(network)
                await trio.sleep(LOOK_SECONDS)

    def stands_anew(self, network: str) -> None:
        """Tell how a network stands, if that is new."""
        standing = _standing(network, self._followed[network])
        if standing != self._told.get(network):
            self._told[network] = standing
            self._pair.post(standing)

    def heard(self, network: str, encoded: list[bytes]) -> None:
        """Tell of pending transactions that other nodes have."""
        self._pair.post(Heard(network, encoded))

    async def answer(self, message: Inquire) -> None:
        """Say how a network is followed."""
        status = b""
        if (followed := self._followed.get(message.network)) is not None:
            status = msgspec.json.encode(
                with_journal(await followed.following.tell_status(), self._journals[message.network])
            )
        self._pair.post(Found(message.number, status, message.row))

    async def send(self, message: Send) -> None:
        """Send a worker's transaction to other nodes, and answer."""
        self._pair.post(Sent(message.number, await self._failure_of(message), message.row))

    async def _failure_of(self, message: Send) -> str | None:
        """Return why no node has taken a transaction, None if one has."""
        if (followed := self._followed.get(message.network)) is None:
            return f"{message.network} is not followed yet: its process has an older configuration"
        try:
            await followed.send(message.encoded)
        except NotSentError as error:
            return str(error)
        return None


class _OfNetwork:
    """Tells of one network."""

    def __init__(self, telling: Telling, network: str) -> None:
        self._telling = telling
        self._network = network

    def stands_anew(self) -> None:
        self._telling.stands_anew(self._network)

    def heard(self, encoded: list[bytes]) -> None:
        self._telling.heard(self._network, encoded)


def _standing(network: str, followed: FollowedHere) -> Standing:
    following = followed.following
    progress = following.progress
    way = None if progress is None else (progress.starting, progress.current, progress.highest)
    return Standing(network, followed.hindrance(), following.peers, way, followed.announced_height())
