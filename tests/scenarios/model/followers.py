"""Clients' sides of subscriptions: what they believe in, and that every single message keeps its promise."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Generic, TypeVar

from tests.scenarios.model.ledger import Ledger, Place, behind_log, name, named
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.position import ALL, Position
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, RESTARTING

Item = TypeVar("Item")


class Follower(Generic[Item]):
    """A subscription to what the store holds."""

    kind: str

    def __init__(
        self, ledger: Ledger, options: dict[str, Any], form: Extensions, view: Sequence[Item]
    ) -> None:
        """`view` is what the client knows of before; `options` begin it anew behind a cursor."""
        self.ledger = ledger
        self.options = options
        self.form = form
        self.view = list(view)
        self.history: list[tuple[str, list[Item]]] = []
        """Cursors, and the view as it was at each."""
        self.final_notice: str | None = None

    def take(self, params: dict[str, Any]) -> None:
        """Apply a notification or a notice."""
        assert self.final_notice is None, "nothing follows the last notice"
        if "error" in params:
            self._take_error(params["error"])
        elif "reorg" in params:
            assert self.form.reorgs
            self._take_cursor(params)
            self._take_reorganisation(params["reorg"])
        else:
            self._take_result(params["result"])
            self._take_cursor(params)
            if self.form.cursors:
                assert Position.parse(params["cursor"]) == self.behind(params["result"])

    @property
    def has_notices(self) -> bool:
        """Return whether the client asked for messages that geth has not."""
        return self.form.has_notices

    def resume(self, forgotten: int) -> list[Any] | None:
        """Return the parameters that go on from a cursor, not necessarily the last; None without one."""
        if not self.history:
            return None
        del self.history[max(len(self.history) - forgotten, 1) :]
        cursor, view = self.history[-1]
        self.final_notice = None
        self.form = Extensions(cursors=True, reorgs=self.form.reorgs)
        self.view = self.view_at(Position.parse(cursor), list(view))
        self.history = [(cursor, list(self.view))]
        return [self.kind, {**self.options, "cursor": cursor}]

    def behind(self, result: dict[str, Any]) -> Position:
        """Return the position behind a result."""
        raise NotImplementedError

    def view_at(self, position: Position, view: list[Item]) -> list[Item]:
        """Return the view with which the subscription goes on at `position`."""
        return view

    def expected(self) -> list[Item]:
        """Return what the canonical chain holds of this."""
        raise NotImplementedError

    def allows(self, cursor: Position, missed: int) -> bool:
        """Return whether a number of notifications can have been missed after `cursor`."""
        raise NotImplementedError

    def _take_result(self, result: dict[str, Any]) -> None:
        raise NotImplementedError

    def _take_cursor(self, params: dict[str, Any]) -> None:
        assert ("cursor" in params) == self.form.cursors
        if "cursor" in params:
            self.history.append((params["cursor"], list(self.view)))

    def _take_error(self, error: dict[str, Any]) -> None:
        assert self.has_notices, "geth has no such message"
        self.history.append((error["data"]["cursor"], list(self.view)))
        if error["code"] == RESTARTING:
            self.final_notice = error["data"]["cursor"]
            return
        assert error["code"] == LIMIT_EXCEEDED, error
        position, missed = Position.parse(error["data"]["cursor"]), error["data"]["missed"]
        assert self.allows(position, missed), f"{missed} behind {position.head} and {position.logs} logs"

    def _take_reorganisation(self, reorg: dict[str, Any]) -> None:
        ancestor = reorg["commonAncestor"]
        lowest = [*reorg["dropped"], ancestor]
        for branch in (lowest, [*reversed(reorg["added"]), ancestor]):
            for block, parent in pairwise(branch):
                known = self.ledger.known[block["hash"]]
                assert (known.head, known.parent) == (named(block), parent["hash"])
        assert reorg["dropped"], "a reorganisation drops blocks"


class LogFollower(Follower[Place]):
    """`logs`: the view is the logs in the chain's order."""

    kind = "logs"

    def __init__(
        self,
        ledger: Ledger,
        options: dict[str, Any],
        form: Extensions,
        view: Sequence[Place],
        wanted: LogFilter,
    ) -> None:
        super().__init__(ledger, options, form, view)
        self._wanted = wanted
        self._announced: set[str] = set()

    def behind(self, result: dict[str, Any]) -> Position:
        """Return the position behind a log or its removal."""
        return behind_log(result, removed=result["removed"])

    def view_at(self, position: Position, view: list[Place]) -> list[Place]:
        """Return the view; a cursor says nothing of a first block, so what is before that counts from now."""
        if self._wanted.first > 0:
            below = self._wanted.between(0, self._wanted.first - 1)
            view = self.ledger.branch(name(position.head), below) + view
            self._wanted = self._wanted.between(0, self._wanted.last)
        return view

    def expected(self) -> list[Place]:
        """Return the canonical logs."""
        return self.ledger.canonical(self._wanted)

    def allows(self, cursor: Position, missed: int) -> bool:
        """Return whether a number is that of a block's logs, or of a part of them."""
        if cursor.logs == ALL:
            return missed in self.ledger.missed(cursor, self._wanted, reorgs=self.form.reorgs)
        return 0 < missed < len(self.ledger.logs(cursor.head, self._wanted))

    def _take_result(self, log: dict[str, Any]) -> None:
        place = (log["blockHash"], int(log["logIndex"], 16))
        if log["removed"]:
            assert self.view.pop() == place, "logs are taken back in reverse order"
            assert not self.form.reorgs or place[0] in self._announced, "the notice names every dropped block"
        else:
            assert place not in self.view, "a log is sent twice"
            self.view.append(place)
            self._announced.discard(place[0])

    def _take_reorganisation(self, reorg: dict[str, Any]) -> None:
        super()._take_reorganisation(reorg)
        self._announced.update(block["hash"] for block in reorg["dropped"])


class HeaderFollower(Follower[Head]):
    """`newHeads`: the view is the blocks from the genesis on."""

    kind = "newHeads"

    def __init__(
        self, ledger: Ledger, options: dict[str, Any], form: Extensions, view: Sequence[Head]
    ) -> None:
        super().__init__(ledger, options, form, view)
        self._begin()

    def behind(self, result: dict[str, Any]) -> Position:
        """Return the position behind a header, before the block's logs."""
        head = named(result)
        return Position(head.number, head.hash, 0)

    def expected(self) -> list[Head]:
        """Return the canonical blocks; only a notice says that a chain got shorter."""
        chain = self.ledger.chain
        stale = [] if self.form.reorgs else self.view[len(chain) :]
        assert all(self.ledger.departures[name(head)] for head in stale)
        return chain + stale

    def allows(self, cursor: Position, missed: int) -> bool:
        """Tell whether one header, or one notice, was missed."""
        return cursor.logs == 0 and missed in self.ledger.missed(cursor, None, reorgs=self.form.reorgs)

    def view_at(self, position: Position, view: list[Head]) -> list[Head]:
        """Return the view; blocks above the position were dropped, and their events may come again."""
        return view[: position.number + 1]

    def resume(self, forgotten: int) -> list[Any] | None:
        """Return the parameters that go on from a cursor, not necessarily the last; None without one."""
        request = super().resume(forgotten)
        self._begin()
        return request

    def _begin(self) -> None:
        """Record the known blocks and those that have left the chain, before any event."""
        self._told = Counter(set(self.view).intersection(self.ledger.chain))
        self._departures = self.ledger.departures.copy()

    def _take_result(self, header: dict[str, Any]) -> None:
        head, parent = named(header), header["parentHash"]
        self._told[head] += 1
        departures = self.ledger.departures[name(head)] - self._departures[name(head)]
        assert self._told[head] <= 1 + departures, "a header is sent twice"
        while self.view and name(self.view[-1]) != parent:
            assert not self.form.reorgs, "the notice comes before the new branch"
            self.view.pop()
        assert self.view or head.number == 0, "a header's parent was sent before"
        self.view.append(head)

    def _take_reorganisation(self, reorg: dict[str, Any]) -> None:
        super()._take_reorganisation(reorg)
        dropped = [named(block) for block in reorg["dropped"]]
        while self.view and self.view[-1] in dropped:
            self.view.pop()
        assert self.view[-1] == named(reorg["commonAncestor"])


class PendingFollower:
    """`newPendingTransactions`, whose hashes are their numbers."""

    def __init__(self, count: int, *, has_notices: bool) -> None:
        self.count = count
        """The number of events received or reported as missed."""
        self.has_notices = has_notices
        self.final_notice: str | None = None

    def take(self, params: dict[str, Any]) -> None:
        """Apply a notification or a notice."""
        if "error" not in params:
            result = params["result"]
            number = int(result if isinstance(result, str) else result["hash"], 16)
            assert number == self.count if self.has_notices else number >= self.count
            self.count = number + 1
        elif params["error"]["code"] == LIMIT_EXCEEDED:
            assert self.has_notices, "geth has no such message"
            self.count += params["error"]["data"]["missed"]
        else:
            assert self.has_notices, "geth has no such message"
            assert params["error"]["code"] == RESTARTING
            assert params["error"]["data"] == {"cursor": None}
            self.final_notice = "told"
