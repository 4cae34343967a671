"""Network whose chain is published to a journal, for replicas on other machines."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import trio

from wsnode.cluster.journal_diff import EthereumSource
from wsnode.cluster.membership import ClusterMembership
from wsnode.cluster.publisher import ChangeWatcher, JournalPublisher
from wsnode.ethereum.chain import Chain
from wsnode.node.config import ConfigurationError, JournalConfig
from wsnode.node.services.journal_client import opener
from wsnode.server.access.router import Network
from wsnode.server.shared import MetricValue

POLL_SECONDS: Final = 0.2
FINISHING_SECONDS: Final = 10.0
"""Seconds without a new record in the journal after which the rest is left to the next run."""

logger = logging.getLogger("wsnode.journal")


def publisher_of(
    chain: Chain, changes: ChangeWatcher, config: JournalConfig, *, is_development: bool
) -> JournalPublisher:
    """Return the publisher of a chain that this process writes.

    Raises:
        ConfigurationError: The chain cannot be published.
    """
    if chain.window is not None and not chain.is_light:
        raise ConfigurationError("a folder with a window cannot be published: replicas begin with all blocks")
    if chain.is_light:
        raise ConfigurationError("a light folder cannot be published: replicas cannot execute its blocks")
    if chain.spec.first_number:
        raise ConfigurationError("a forked chain cannot be published: its state is another chain's")
    open_journal = opener(chain, config.address, config.bounds)
    return JournalPublisher(EthereumSource(chain, is_development=is_development), changes, open_journal)


def published(
    network: Network, publisher: JournalPublisher, chain: Chain, config: JournalConfig, url: str | None
) -> Network:
    """Return `network` with the task that publishes its chain; replicas find this node at `url`."""
    presence = ClusterMembership(chain, opener(chain, config.address), publisher.name, url)
    return msgspec.structs.replace(
        network,
        background=[*network.background, publisher.run, presence.run],
        figures=lambda: [*network.figures(), *_figures(publisher)],
    )


class StorePoll:
    """Detector of commits to a chain by another task or another process."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._version = chain.version
        self.is_held = False
        self.next_look = trio.Event()

    async def run(self) -> None:
        """Compare the store's version a few times a second, for ever."""
        while True:
            await trio.sleep(POLL_SECONDS)
            if (version := self._chain.version) != self._version:
                self._version = version
                looked, self.next_look = self.next_look, trio.Event()
                looked.set()


async def publishing(chain: Chain, config: JournalConfig, work: Callable[[], Awaitable[object]]) -> None:
    """Publish a chain while `work` writes it, then the remaining blocks while the journal takes them.

    Raises:
        ConfigurationError: The chain cannot be published.
        Exception: The exception that `work` raised.
    """
    poll = StorePoll(chain)
    publisher = publisher_of(chain, poll, config, is_development=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(publisher.run)
        nursery.start_soon(poll.run)
        try:
            await work()
        finally:
            await _finish(publisher)
            nursery.cancel_scope.cancel()


async def _finish(publisher: JournalPublisher) -> None:
    records = -1
    while records != publisher.report.records:
        records = publisher.report.records
        if await publisher.finish(FINISHING_SECONDS):
            return
    published = publisher.report.head
    logger.warning(
        "the head is block %d, and the journal is at %s: %s",
        publisher.head.number,
        "no block" if published is None else f"block {published.number}",
        publisher.report.error or "it takes no more records",
    )


def _figures(publisher: JournalPublisher) -> list[MetricValue]:
    report = publisher.report
    sequence = 0 if report.published is None else report.published.sequence
    figures = [
        MetricValue("wsnode_journal_lease", report.is_leading),
        MetricValue("wsnode_journal_epoch", report.epoch),
        MetricValue("wsnode_journal_sequence", sequence),
        MetricValue("wsnode_journal_records_total", report.records),
        MetricValue("wsnode_journal_failures_total", report.failures),
    ]
    if (lag := publisher.lag) is not None:
        figures.append(MetricValue("wsnode_journal_lag_blocks", lag))
    return figures
