"""Service of a Starknet chain that follows other nodes: its follower, and its answers to the server."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from wsnode.ethereum.live.sync_feed import SyncProgress
from wsnode.node.config import ConfigurationError, NetworkConfig
from wsnode.node.services.sync import upstream_figures
from wsnode.node.services.sync_events import SyncEvents
from wsnode.server.shared import MetricValue
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.felt import felt_bytes
from wsnode.starknet.live.hub import StarknetHub
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.sync.starknet.follower import StarknetFollower
from wsnode.sync.starknet.settings import FollowStarknetConfig
from wsnode.upstream.address import UpstreamAddress


class StarknetSync:
    """Sync service of a Starknet chain that follows other nodes: its background tasks, readiness, status and
    metrics.
    """

    def __init__(self, chain: StarknetChain, hub: StarknetHub, config: FollowStarknetConfig) -> None:
        """Prepare to follow the upstreams of a configuration.

        Raises:
            ConfigurationError: The checkpoint is no felt.
            StarknetError: The folder has another chain.
        """
        self._chain = chain
        self.follower = StarknetFollower(
            chain,
            config.chain_id,
            _addresses(config),
            hub.advance,
            agree=config.agreeing,
            window=config.kept,
            keeps_state=not config.is_light,
            checkpoint=_checkpoint(config),
            max_lag=config.max_lag,
            pre_confirmed_interval=config.pre_confirmed_interval,
        )

    @property
    def following(self) -> "StarknetSync":
        return self

    @property
    def background(self) -> Sequence[Callable[[], Awaitable[None]]]:
        return (self.follower.run,)

    @property
    def progress(self) -> SyncProgress | None:
        """Return None: no method of this family reports the progress."""
        return None

    @property
    def peers(self) -> int:
        return len(self.follower.upstreams.usable)

    async def send(self, encoded: bytes) -> None:
        """Fail: no method of a network with only this chain takes a transaction."""
        raise AssertionError(encoded)

    def tell(self, news: SyncEvents) -> None:
        self.follower.on_stage.append(news.stands_anew)

    def not_ready_reason(self) -> str | None:
        found = self.follower.not_ready_reason()
        return None if found is None else f"alt: {found}"

    def announced_height(self) -> int | None:
        """Return None: no call of this family waits for a block."""
        return None

    def reload(self, network: NetworkConfig) -> None:
        """Follow the upstreams of a new configuration, quarantined ones too."""
        if network.follow_starknet is not None:
            self.follower.follow(_addresses(network.follow_starknet), network.follow_starknet.agreeing)

    async def tell_status(self) -> dict[str, Any]:
        """Return the result of `wsnode_status` for a network with only this chain."""
        return self.follower.status()

    def figures(self) -> list[MetricValue]:
        follower = self.follower

        def valued(name: str, value: float) -> MetricValue:
            return MetricValue(f"wsnode_starknet_{name}", value)

        figures = [
            valued("upstreams_followed", self.peers),
            valued("sync_live", follower.stage is SyncStage.LIVE),
            valued("follow_stopped", follower.stage is SyncStage.STOPPED),
            valued("storage_failing", follower.stage is SyncStage.UNSTORED),
            valued("reorganisations_total", follower.reorganisations),
            valued("proofs_total", follower.reader.proved),
            valued("wrong_proofs_total", follower.reader.refused),
        ]
        if (lag := follower.lag) is not None:
            figures.append(valued("lag_blocks", lag))
        if follower.writer.window is not None and follower.writer.head >= 0:
            figures.append(valued("window_blocks", follower.writer.head - follower.writer.first_block + 1))
        figures += [
            MetricValue(
                "wsnode_starknet_forwarded_total", count, {"method": f"starknet_{method}", "outcome": outcome}
            )
            for (method, outcome), count in follower.forwarder.outcomes.items()
        ]
        prefix = "wsnode_starknet_upstream"
        named = [upstream_figures(upstream, prefix) for upstream in follower.upstreams]
        return figures + [figure for each in named for figure in each]


def _checkpoint(config: FollowStarknetConfig) -> bytes | None:
    """Return the configured hash of the first block, None without one.

    Raises:
        ConfigurationError: The text is no felt.
    """
    try:
        return None if config.checkpoint is None else felt_bytes(config.checkpoint)
    except ValueError as error:
        raise ConfigurationError(f"follow_starknet.checkpoint: {error}") from None


def _addresses(config: FollowStarknetConfig) -> list[UpstreamAddress]:
    return [UpstreamAddress.parse(url) for url in config.upstreams]
