"""Check of a network's open stores, once a second.

A store fails if a file is not at its path, if LMDB refuses it, or if a read has met a damaged row.
"""

import logging
import os
import signal
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec
import trio

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import DamagedStateError
from wsnode.jsonrpc.errors import INTERNAL_ERROR, RpcError
from wsnode.server.access.router import Network
from wsnode.server.shared import MetricValue
from wsnode.store.environment import (
    DamagedRowError,
    SnapshotLostError,
    StoreError,
    StoreFailedError,
    StoreMovedError,
)

CHECK_SECONDS: Final = 1.0

logger = logging.getLogger("wsnode.node")


class OpenChain(Protocol):
    """Open chain, of Ethereum or Starknet, whose stores `StoreCheck` checks."""

    def require_usable(self) -> None:
        """Check that the chain's stores can be used.

        Raises:
            StoreMovedError: A file is not where it was opened.
            StoreFailedError: A file cannot be opened again after a failed write.
            DamagedRowError: A read has met a damaged row.
        """

    @property
    def damaged(self) -> int: ...


class StoreCheck:
    """Check of the stores of a network's chains.

    If a folder was deleted, moved or replaced, the network is not ready until its files are back, and refuses
    changes. If LMDB refuses a store after a failed write and the engine cannot open it again, the process
    ends, and `raise_failure` raises the store's error. After a damaged row the network is not ready until its
    folder is opened again, because other damage may be unknown. The other processes of the node serve the
    same files, so they are notified.
    """

    def __init__(
        self, chains: Sequence[OpenChain], tell: Callable[[str], None], told: Callable[[], str | None]
    ) -> None:
        """Prepare to check `chains`.

        `tell` is called with the text of a damaged row. `told` returns the text of a row that another process
        has met, None without one.
        """
        self._chains = chains
        self._tell = tell
        self._told = told
        self._failure: StoreFailedError | None = None

    def fault(self) -> StoreError | None:
        """Return the error of a store that cannot be used, None if all can."""
        try:
            for chain in self._chains:
                chain.require_usable()
        except (StoreMovedError, StoreFailedError, DamagedRowError) as error:
            return error
        except SnapshotLostError:
            # The network is closed, which is no fault of its files.
            return None
        return None

    def not_ready_reason(self) -> str | None:
        """Return the reason why the network should not be asked now, None if its stores can be used."""
        found = self.fault()
        return self._told() if found is None else str(found)

    def figures(self) -> list[MetricValue]:
        return [MetricValue("wsnode_store_damaged_total", sum(chain.damaged for chain in self._chains))]

    async def run(self) -> None:
        """Log each change of the stores' state, and end the process once a store has failed."""
        told: str | None = None
        while self._failure is None:
            found = self.fault()
            if told is not None and found is None:
                logger.warning("the files of the store are back")
            elif found is not None and str(found) != told:
                logger.error("%s", found)
                if isinstance(found, DamagedRowError):
                    self._tell(str(found))
            told = None if found is None else str(found)
            if isinstance(found, StoreFailedError):
                self._failure = found
                # SIGTERM ends the process as an operator's signal does, so clients receive the notice to
                # connect again.
                os.kill(os.getpid(), signal.SIGTERM)
            await trio.sleep(CHECK_SECONDS)

    def raise_failure(self) -> None:
        """Raise the error of the store that has ended the process, if there is one.

        Raises:
            StoreFailedError: A store has failed.
        """
        if self._failure is not None:
            raise self._failure


def damage_error(error: Exception) -> RpcError | None:
    """Return the error of a call that has met a damaged row, None for any other exception."""
    if not isinstance(error, DamagedRowError | DamagedStateError):
        return None
    place = {"table": error.table, "key": hexadecimal(error.key)}
    return RpcError(INTERNAL_ERROR, "the store is damaged", place)


def checked(network: Network, check: StoreCheck) -> Network:
    """Return `network` with the check of its stores beside it, in `/readyz`, `/metrics` and its errors."""
    for each in (network, *(port.network for port in network.ports)):
        each.registry.known_failure = damage_error
    return msgspec.structs.replace(
        network,
        background=[*network.background, check.run],
        figures=lambda: [*network.figures(), *check.figures()],
        not_ready_reason=lambda: check.not_ready_reason() or network.not_ready_reason(),
    )
