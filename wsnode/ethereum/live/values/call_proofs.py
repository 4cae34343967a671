"""The values that calls read in a light folder: other nodes prove them, a bounded number after each block."""

from typing import Final

import trio

from wsnode.ethereum.live.hub import Hub, ProofSource
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import LiveCalls, MissingStateError
from wsnode.jsonrpc.errors import RpcError

UNBOUNDED: Final = 1 << 40
ROUNDS: Final = 2
"""Accounts, and then those of their slots whose storage is another one."""


class CallProofs:
    """Has other nodes prove what calls read, as far as that may be asked for after one block."""

    def __init__(self, hub: Hub, table: LiveCalls, most: int) -> None:
        """`most` are the values that may be asked for after each block."""
        self._hub = hub
        self._table = table
        self._most = most
        self._left = self._left_late = 0
        """Values that may still be asked for after this block: for calls that are due, and for late ones."""

    def begin(self, *, is_late: bool) -> None:
        """Begin with another block; late lists have half of its values."""
        self._left_late = self._most // 2 if is_late else 0
        self._left = self._most - self._left_late

    async def prove(self, view: Snapshot, header: bytes) -> None:
        """Have those values proved that calls have read before, so that only calls run which they concern."""
        try:
            for _ in range(ROUNDS):
                error = await self._lack(view, header, UNBOUNDED)
                if error is None or not await self._source.carry(error):
                    break
            for rounds_left in range(ROUNDS, 0, -1):
                # Accounts without their slots would be of no use.
                error = await self._lack(view, header, self._left // rounds_left)
                if error is None or not await self.fetch(error):
                    return
        except RpcError:
            # The calls that lack them are run, and end with the error of that.
            return

    async def fetch(self, error: MissingStateError, *, is_late: bool = False) -> bool:
        """Have other nodes prove what calls lacked; return False if no more may be asked for of this block.

        Raises:
            RpcError: None proves it.
        """
        if await self._source.carry(error) and not (error.accounts or error.slots or error.numbers):
            return True
        given = len(error.accounts) + len(error.slots)
        left = self._left_late if is_late else self._left
        if given and left <= 0:
            return False
        if is_late:
            self._left_late -= given
        else:
            self._left -= given
        await self._source.fetch(error)
        return True

    async def _lack(self, view: Snapshot, header: bytes, most: int) -> MissingStateError | None:
        try:
            await trio.to_thread.run_sync(self._table.require_proved, view.state, header, most)
        except MissingStateError as error:
            # The frames that it came through hold the state.
            error.__traceback__ = None
            return error
        return None

    @property
    def _source(self) -> ProofSource:
        source = self._hub.proof_source
        assert source is not None, "no calls are watched without one"
        return source
