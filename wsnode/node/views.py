"""Views of a network's chains, of both families at once where it has both, and their figures."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wsnode.ethereum.chain import Chain as EthereumChain
from wsnode.ethereum.live.arrivals import Arrivals
from wsnode.ethereum.rpc.form.light_view import LightView
from wsnode.ethereum.snapshot import Caller
from wsnode.ethereum.snapshot import Snapshot as EthereumSnapshot
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import View
from wsnode.server.shared import Figure
from wsnode.store.errors import StoreError, TooManySnapshotsError

if TYPE_CHECKING:
    # Few networks have an alt chain, and a node starts much sooner without its modules.
    from wsnode.starknet.chain import Chain as StarknetChain
    from wsnode.starknet.snapshot import Snapshot as StarknetSnapshot

Opening = TypeVar("Opening", bound=View)


class BothFamilies(EthereumSnapshot):
    """A moment of a network that has two chains; the second is opened when a method first reads it."""

    __slots__ = ("_starknet", "_starknet_chain")

    def __init__(self, ethereum: EthereumChain, starknet: "StarknetChain", caller: Caller) -> None:
        super().__init__(ethereum, caller)
        self._starknet_chain = starknet
        self._starknet: StarknetSnapshot | None = None

    @property
    def starknet(self) -> "StarknetSnapshot":
        """Return the alt chain's snapshot, one for the whole request or batch."""
        if self._starknet is None:
            self._starknet = self._starknet_chain.snapshot()
        return self._starknet

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._starknet is not None:
            self._starknet.__exit__(*error)


def opening(
    first: EthereumChain, second: "StarknetChain | None", *, is_proved: bool = False
) -> Callable[[Caller], EthereumSnapshot]:
    """Return what opens views of the chains that there are.

    A light folder's have no state, unless it `is_proved` by upstreams.
    """
    if first.is_light and not is_proved:
        return refusing(partial(LightView, first))
    if second is None:
        return refusing(first.snapshot)

    def open_both(caller: Caller) -> BothFamilies:
        return BothFamilies(first, second, caller)

    return refusing(open_both)


def refusing(open_view: Callable[[Caller], Opening]) -> Callable[[Caller], Opening]:
    """Return what opens views, and refuses with -32005 while no more versions of a store can be read."""

    def open_or_refuse(caller: Caller) -> Opening:
        try:
            return open_view(caller)
        except TooManySnapshotsError as error:
            raise limit_exceeded(str(error)) from None

    return open_or_refuse


def versions_of(*chains: "EthereumChain | StarknetChain | None") -> Callable[[], int]:
    """Return what counts the versions of the chains' stores that are being read."""
    there = [chain for chain in chains if chain is not None]

    def versions() -> int:
        return max(chain.store.versions for chain in there)

    return versions


def joined(*sources: Callable[[], Sequence[Figure]]) -> Callable[[], list[Figure]]:
    """Return what tells the figures of all `sources`."""
    return lambda: [figure for source in sources for figure in source()]


def waits_of(registry: Registry) -> Callable[[], list[Figure]]:
    """Return what tells how many calls and connections wait for blocks that other nodes have."""

    def figures() -> list[Figure]:
        arrivals = registry.arrivals
        if not isinstance(arrivals, Arrivals):
            return []
        return [
            Figure("wsnode_behind_waiting", "Calls and connections that wait for a block", arrivals.waiting),
            Figure("wsnode_behind_waits", "Waits for a block", arrivals.waits, is_counter=True),
            Figure("wsnode_behind_missed", "Waits in vain", arrivals.missed, is_counter=True),
        ]

    return figures


def figures_of(
    folder: Path, ethereum: EthereumChain | None, starknet: "StarknetChain | None"
) -> Callable[[], list[Figure]]:
    """Return what tells the heads of a network's chains, and the room on their disk, for `/metrics`."""

    def figures() -> list[Figure]:
        told = [*_ethereum_head(ethereum), *_starknet_head(starknet)]
        with suppress(OSError):
            disk = os.statvfs(folder)
            free = disk.f_bavail * disk.f_frsize
            told.append(Figure("wsnode_disk_free_bytes", "Room on the disk of the data folder", free))
        return told

    return figures


def _ethereum_head(chain: EthereumChain | None) -> Iterator[Figure]:
    with suppress(StoreError):
        if chain is not None:
            with chain.snapshot() as view:
                yield from _head("eth", view.number, view.head_timestamp)


def _starknet_head(chain: "StarknetChain | None") -> Iterator[Figure]:
    with suppress(StoreError):
        if chain is not None:
            with chain.snapshot() as view:
                row = None if view.head is None else view.block(view.head)
                if row is not None:
                    yield from _head("alt", view.head or 0, row.timestamp)


def _head(family: str, number: int, timestamp: int | None) -> Iterator[Figure]:
    labels = {"family": family}
    yield Figure("wsnode_head_number", "Number of the last block", number, labels)
    if timestamp is not None:
        yield Figure("wsnode_head_timestamp_seconds", "When the last block was made", timestamp, labels)
