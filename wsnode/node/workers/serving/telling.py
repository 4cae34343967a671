"""The process that follows, as workers hear of it: how it stands, and what is pending at other nodes."""

from typing import Final

import msgspec
import trio

from wsnode.ethereum.rpc.node.following import TellStatus, with_journal
from wsnode.node.processes import FollowedHere
from wsnode.node.workers.messages import Found, Heard, Inquire, Pooled, Send, Sent, Standing, ToWorker
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
        self._networks: dict[str, _FollowedNetwork] = {}

    def follows(self, network: str, followed: FollowedHere, journal: TellStatus | None) -> None:
        """Report on a network from now on, and on the journal to which it is published."""
        made = self._networks[network] = _FollowedNetwork(self._pair, network, followed, journal)
        followed.tell(made)

    async def run(self) -> None:
        """Tell of each change, and now and then that there is none, for ever."""
        while True:
            for network in self._networks.values():
                network.reported = None
            for _ in range(AGAIN_LOOKS):
                for network in self._networks.values():
                    network.stands_anew()
                await trio.sleep(LOOK_SECONDS)

    async def answer(self, message: Inquire) -> None:
        """Say how a network is followed."""
        network = self._networks.get(message.network)
        status = b"" if network is None else await network.status()
        self._pair.post(Found(message.number, status, message.row))

    async def send(self, message: Send) -> None:
        """Send a worker's transaction to other nodes, and answer."""
        self._pair.post(Sent(message.number, await self._failure_of(message), message.row))

    async def _failure_of(self, message: Send) -> str | None:
        """Return why no node has taken a transaction, None if one has."""
        if (network := self._networks.get(message.network)) is None:
            return f"{message.network} is not followed yet: its process has an older configuration"
        try:
            await network.followed.send(message.encoded)
        except NotSentError as error:
            return str(error)
        return None


class _FollowedNetwork:
    """One network as the workers hear of it; implements `News`."""

    def __init__(
        self, pair: Pair[ToWorker], name: str, followed: FollowedHere, journal: TellStatus | None
    ) -> None:
        self._pair = pair
        self._name = name
        self.followed = followed
        self._journal = journal
        self.reported: Standing | None = None
        """How it stood when that was last said; None has it be said again."""

    def stands_anew(self) -> None:
        """Tell how the network stands, if that is new."""
        standing = self._standing()
        if standing != self.reported:
            self.reported = standing
            self._pair.post(standing)

    def heard(self, encoded: list[bytes]) -> None:
        """Tell of pending transactions that other nodes have."""
        self._pair.post(Heard(self._name, encoded))

    def pooled(self, encoded: list[bytes], dropped: list[bytes]) -> None:
        """Tell of transactions that the pool has from other nodes, and of the hashes of what it dropped."""
        self._pair.post(Pooled(self._name, encoded, dropped))

    async def status(self) -> bytes:
        """Return the JSON of how it is followed, and published."""
        return msgspec.json.encode(with_journal(await self.followed.following.tell_status(), self._journal))

    def _standing(self) -> Standing:
        following = self.followed.following
        progress = following.progress
        way = None if progress is None else (progress.starting, progress.current, progress.highest)
        height = self.followed.announced_height()
        return Standing(self._name, self.followed.hindrance(), following.peers, way, height)
