"""Filters of clients that poll."""

from typing import Any, Self

from tests.ethereum.live.test_replay_model import request_of
from tests.scenarios.model.ledger import Place, name
from tests.scenarios.model.stage import CALL_LIMITS, Stage
from wsnode.ethereum.logs.filter import LogFilter


class PolledLogs:
    """eth_newFilter: what its polls tell adds up to the canonical logs."""

    def __init__(self, stage: Stage, identity: str, wanted: LogFilter) -> None:
        self._stage = stage
        self._identity = identity
        self._wanted = wanted
        self._view = stage.ledger.canonical(wanted)

    @classmethod
    async def make(cls, stage: Stage, wanted: LogFilter) -> Self:
        """Return a new filter."""
        identity = await stage.post("eth_newFilter", request_of(wanted))
        return cls(stage, identity, wanted.canonical())

    async def poll(self) -> None:
        """Ask for changes until there are none; no poll returns more than the limit."""
        while changes := await self._stage.post("eth_getFilterChanges", self._identity):
            assert len(changes) <= CALL_LIMITS.logs_results
            for log in changes:
                place: Place = (log["blockHash"], int(log["logIndex"], 16))
                if log["removed"]:
                    assert self._view.pop() == place
                else:
                    self._view.append(place)
        assert self._view == self._stage.ledger.canonical(self._wanted)


class BlockFilter:
    """eth_newBlockFilter: hashes, each of a block whose parent came before."""

    def __init__(self, stage: Stage, identity: str) -> None:
        self._stage = stage
        self._identity = identity
        self._view = [name(head) for head in stage.ledger.chain]

    @classmethod
    async def make(cls, stage: Stage) -> Self:
        """Return a new filter."""
        return cls(stage, await stage.post("eth_newBlockFilter"))

    async def poll(self) -> None:
        """Ask for changes until there are none."""
        changes: list[Any]
        while changes := await self._stage.post("eth_getFilterChanges", self._identity):
            for block in changes:
                del self._view[self._view.index(self._stage.ledger.known[block].parent) + 1 :]
                self._view.append(block)
        chain = [name(head) for head in self._stage.ledger.chain]
        assert self._view[: len(chain)] == chain
