"""Network whose chain is published to a journal, for replicas on other machines."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import trio

from wsnode.cluster.chain_source import EthereumSource
from wsnode.cluster.journal import Journal
from wsnode.cluster.membership import ClusterMembership
from wsnode.cluster.publisher import ChangeWatcher, JournalPublisher
from wsnode.ethereum.chain import Chain
from wsnode.node.config import ConfigurationError, JournalConfig
from wsnode.node.services.journal_client import opener, opener_of
from wsnode.server.access.router import Network
from wsnode.server.shared import MetricValue

if TYPE_CHECKING:
    # Few networks have a Starknet chain, and a node starts much sooner without its modules.
    from wsnode.starknet.chain import StarknetChain

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
        figures=lambda: [*network.figures(), *_figures(publisher, "eth")],
    )


class VersionedChain(Protocol):
    """Chain whose commits can be counted."""

    @property
    def version(self) -> int:
        """Return the version of the store; each commit changes it."""
        ...


class StorePoll:
    """Watch for commits of another task, or another process, to a chain."""

    def __init__(self, chain: VersionedChain) -> None:
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


class StarknetPublishing:
    """Publisher of a Starknet chain that this process or another one writes."""

    def __init__(self, chain: "StarknetChain", config: JournalConfig) -> None:
        from wsnode.cluster.starknet.source import StarknetSource

        source = StarknetSource(chain)

        def open_journal() -> AbstractAsyncContextManager[Journal]:
            # It is named by the first block, before which there is none.
            return opener_of(source.first_hash, config.address, config.bounds)()

        self.poll = StorePoll(chain)
        self.publisher = JournalPublisher(source, self.poll, open_journal)

    def joined(self, status: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
        """Return a reporter that adds this journal's status as `alt` to `status` of the other chain's
        journal.
        """
        return lambda: {**status(), "alt": self.publisher.status()}

    def published(self, network: Network) -> Network:
        """Return `network` with the task that publishes this chain."""
        return msgspec.structs.replace(
            network,
            background=[*network.background, self.publisher.run, self.poll.run],
            figures=lambda: [*network.figures(), *_figures(self.publisher, "alt")],
        )


async def publishing(chain: Chain, config: JournalConfig, work: Callable[[], Awaitable[object]]) -> None:
    """Publish a chain while `work` writes it, then the remaining blocks for as long as the journal takes
    them.

    Raises:
        ConfigurationError: The chain cannot be published.
        Exception: Any exception of `work`.
    """
    poll = StorePoll(chain)
    publisher = publisher_of(chain, poll, config, is_development=False)
    await _publishing(publisher, poll, work)


async def starknet_publishing(
    chain: "StarknetChain", config: JournalConfig, work: Callable[[], Awaitable[object]]
) -> None:
    """Publish a Starknet chain while `work` writes it, as `publishing` does."""
    beside = StarknetPublishing(chain, config)
    await _publishing(beside.publisher, beside.poll, work)


async def _publishing(
    publisher: JournalPublisher, poll: StorePoll, work: Callable[[], Awaitable[object]]
) -> None:
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


def _figures(publisher: JournalPublisher, family: str) -> list[MetricValue]:
    report, labels = publisher.report, {"family": family}
    sequence = 0 if report.published is None else report.published.sequence
    figures = [
        MetricValue("wsnode_journal_lease", report.is_leading, labels),
        MetricValue("wsnode_journal_epoch", report.epoch, labels),
        MetricValue("wsnode_journal_sequence", sequence, labels),
        MetricValue("wsnode_journal_records_total", report.records, labels),
        MetricValue("wsnode_journal_failures_total", report.failures, labels),
    ]
    if (lag := publisher.lag) is not None:
        figures.append(MetricValue("wsnode_journal_lag_blocks", lag, labels))
    return figures
