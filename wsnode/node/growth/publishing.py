"""A network whose chain is published to a journal, for replicas on other machines."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import trio

from wsnode.cluster.presence import Presence
from wsnode.cluster.publisher import Changes, Publisher
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage import patches
from wsnode.node.config import ConfigurationError, JournalConfig
from wsnode.node.growth.journals import opener
from wsnode.server.access.directory import Network
from wsnode.server.shared import Figure

POLL_SECONDS: Final = 0.2
FINISHING_SECONDS: Final = 10.0
"""How long a journal may take no record before the rest is left to the next time."""

logger = logging.getLogger("wsnode.journal")


def publisher_of(chain: Chain, changes: Changes, told: JournalConfig, *, is_development: bool) -> Publisher:
    """Return what publishes a chain that this process writes.

    Raises:
        ConfigurationError: It cannot be published.
    """
    if chain.window is not None and not chain.is_light:
        raise ConfigurationError("a folder with a window cannot be published: replicas begin with all blocks")
    if chain.is_light:
        raise ConfigurationError("a light folder cannot be published: nobody can execute its blocks")
    if chain.spec.first_number:
        raise ConfigurationError("a forked chain cannot be published: its state is another chain's")
    if is_development and not _has_its_patches(chain):
        raise ConfigurationError(
            f"{chain.folder.path} was begun by an earlier version, which did not keep changes of accounts: "
            "begin a new chain to publish"
        )
    open_journal = opener(chain, told.address, told.bounds)
    return Publisher(chain, changes, open_journal, is_development=is_development)


def _has_its_patches(chain: Chain) -> bool:
    with chain.store.read() as reader:
        return patches.are_kept(reader)


def published(
    network: Network, publisher: Publisher, chain: Chain, told: JournalConfig, url: str | None
) -> Network:
    """Return a network with what publishes its chain beside it; replicas find it at `url`."""
    presence = Presence(chain, opener(chain, told.address), publisher.name, url)
    return msgspec.structs.replace(
        network,
        background=[*network.background, publisher.run, presence.run],
        figures=lambda: [*network.figures(), *_figures(publisher)],
    )


class StorePoll:
    """Notices what another task of this process commits to a chain."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._version = chain.version
        self.is_held = False
        self.next_look = trio.Event()

    async def run(self) -> None:
        """Look a few times a second, for ever."""
        while True:
            await trio.sleep(POLL_SECONDS)
            if (version := self._chain.version) != self._version:
                self._version = version
                looked, self.next_look = self.next_look, trio.Event()
                looked.set()


async def publishing(chain: Chain, told: JournalConfig, work: Callable[[], Awaitable[object]]) -> None:
    """Publish a chain while work writes it, and what is left after that for as long as the journal takes it.

    Raises:
        ConfigurationError: It cannot be published.
        Exception: What the work raises.
    """
    poll = StorePoll(chain)
    publisher = publisher_of(chain, poll, told, is_development=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(publisher.run)
        nursery.start_soon(poll.run)
        try:
            await work()
        finally:
            await _finish(chain, publisher)
            nursery.cancel_scope.cancel()


async def _finish(chain: Chain, publisher: Publisher) -> None:
    records = -1
    while records != publisher.report.records:
        records = publisher.report.records
        if await publisher.finish(FINISHING_SECONDS):
            return
    head = publisher.report.head
    logger.warning(
        "the head is block %d, and the journal is at %s: %s",
        chain.head.number,
        "no block" if head is None else f"block {head.number}",
        publisher.report.error or "it takes no more records",
    )


def _figures(publisher: Publisher) -> list[Figure]:
    report = publisher.report
    sequence = 0 if report.published is None else report.published.sequence
    figures = [
        Figure("wsnode_journal_lease", "Whether this process writes the journal", report.is_leading),
        Figure("wsnode_journal_epoch", "The epoch of its last lease", report.epoch),
        Figure("wsnode_journal_sequence", "The number of the last record in its epoch", sequence),
        Figure("wsnode_journal_records", "Records published", report.records, is_counter=True),
        Figure("wsnode_journal_failures", "Times that publishing stopped", report.failures, is_counter=True),
    ]
    if (lag := publisher.lag) is not None:
        figures.append(Figure("wsnode_journal_lag_blocks", "Blocks that are not published yet", lag))
    return figures
