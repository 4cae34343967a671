"""Views of a network's chains, of one or both families, and metrics of the chains."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wsnode.ethereum.chain import Chain as EthereumChain
from wsnode.ethereum.live.block_barrier import BlockBarrier
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.rpc.common.light_view import LightView
from wsnode.ethereum.snapshot import CallerContext
from wsnode.ethereum.snapshot import Snapshot as EthereumSnapshot
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.work import View
from wsnode.server.shared import MetricValue
from wsnode.store.environment import StoreError, TooManySnapshotsError

if TYPE_CHECKING:
    # Few networks have a Starknet chain, and a node starts much sooner without its modules.
    from wsnode.starknet.chain import StarknetChain
    from wsnode.starknet.snapshot import StarknetSnapshot

Opening = TypeVar("Opening", bound=View)


class NetworkView(EthereumSnapshot):
    """Snapshot of a network with two chains; the Starknet chain is opened when a method first reads it."""

    __slots__ = ("_starknet", "_starknet_chain")

    def __init__(self, ethereum: EthereumChain, starknet: "StarknetChain", caller: CallerContext) -> None:
        super().__init__(ethereum, caller)
        self._starknet_chain = starknet
        self._starknet: StarknetSnapshot | None = None

    @property
    def starknet(self) -> "StarknetSnapshot":
        """Return the Starknet chain's snapshot, one for the whole request or batch."""
        if self._starknet is None:
            self._starknet = self._starknet_chain.snapshot(self.caller)
        return self._starknet

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._starknet is not None:
            self._starknet.__exit__(*error)


def opening(
    first: EthereumChain, second: "StarknetChain | None", *, is_proved: bool = False
) -> Callable[[CallerContext], EthereumSnapshot]:
    """Return a function that opens views of the chains.

    Views of a light folder have no state, unless it `is_proved` by upstreams.
    """
    if first.is_light and not is_proved:
        return refusing(partial(LightView, first))
    if second is None:
        return refusing(first.snapshot)

    def open_both(caller: CallerContext) -> NetworkView:
        return NetworkView(first, second, caller)

    return refusing(open_both)


def refusing(open_view: Callable[[CallerContext], Opening]) -> Callable[[CallerContext], Opening]:
    """Return a function that opens views, and refuses with -32005 while a store has too many snapshots."""

    def open_or_refuse(caller: CallerContext) -> Opening:
        try:
            return open_view(caller)
        except TooManySnapshotsError as error:
            raise limit_exceeded(str(error)) from None

    return open_or_refuse


def versions_of(*chains: "EthereumChain | StarknetChain | None") -> Callable[[], int]:
    """Return a function that counts the versions of a store with a reader.

    With two chains it is the larger count.
    """
    there = [chain for chain in chains if chain is not None]

    def versions() -> int:
        return max(chain.store.versions for chain in there)

    return versions


def joined(*sources: Callable[[], Sequence[MetricValue]]) -> Callable[[], list[MetricValue]]:
    """Return a function that returns the metrics of all `sources`."""
    return lambda: [figure for source in sources for figure in source()]


def waits_of(barrier: BlockBarrier | None) -> Callable[[], list[MetricValue]]:
    """Return a function for the metrics of calls and connections that wait for a block."""

    def figures() -> list[MetricValue]:
        if barrier is None:
            return []
        return [
            MetricValue("wsnode_behind_waiting", barrier.waiting),
            MetricValue("wsnode_min_block_waits_total", barrier.waits),
            MetricValue("wsnode_behind_missed_total", barrier.missed),
        ]

    return figures


def live_of(hub: Hub) -> Callable[[], list[MetricValue]]:
    """Return a function that returns the metrics of live queries: their number, cost and lateness."""

    def figures() -> list[MetricValue]:
        table, late_blocks = hub.live_table, hub.live_late_blocks
        found = [MetricValue("wsnode_live_calls", hub.live_calls)]
        if table is not None:
            late_blocks += table.late_blocks
            found += [
                MetricValue("wsnode_live_runs_total", table.runs),
                MetricValue("wsnode_live_bytes", table.bytes),
                MetricValue("wsnode_live_each_block", table.each_block),
            ]
        return [*found, MetricValue("wsnode_live_late_blocks_total", late_blocks)]

    return figures


def figures_of(
    folder: Path, ethereum: EthereumChain | None, starknet: "StarknetChain | None"
) -> Callable[[], list[MetricValue]]:
    """Return a function that returns the heads of a network's chains and the free bytes of their disk."""

    def figures() -> list[MetricValue]:
        head_figures = [*_ethereum_head(ethereum), *_starknet_head(starknet)]
        with suppress(OSError):
            disk = os.statvfs(folder)
            free = disk.f_bavail * disk.f_frsize
            head_figures.append(MetricValue("wsnode_disk_free_bytes", free))
        return head_figures

    return figures


def _ethereum_head(chain: EthereumChain | None) -> Iterator[MetricValue]:
    with suppress(StoreError):
        if chain is not None:
            with chain.snapshot() as view:
                yield from _head("eth", view.number, view.head_timestamp)


def _starknet_head(chain: "StarknetChain | None") -> Iterator[MetricValue]:
    with suppress(StoreError):
        if chain is not None:
            with chain.snapshot() as view:
                row = None if view.head is None else view.block(view.head)
                if row is not None:
                    yield from _head("alt", view.head or 0, row.timestamp)


def _head(family: str, number: int, timestamp: int | None) -> Iterator[MetricValue]:
    labels = {"family": family}
    yield MetricValue("wsnode_head_number", number, labels)
    if timestamp is not None:
        yield MetricValue("wsnode_head_timestamp_seconds", timestamp, labels)
