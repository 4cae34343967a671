"""Proofs of the values that calls read in a light folder: a bounded number after each block."""

from typing import Final

import trio

from wsnode.ethereum.live.hub import Hub, ProofSource
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import LiveCalls, MissingStateError
from wsnode.jsonrpc.errors import RpcError

UNBOUNDED: Final = 1 << 40
ROUNDS: Final = 2
"""Rounds of proofs: accounts first, then slots of accounts whose storage root changed."""


class CallProofs:
    """Requests for proofs of values that calls read, within the bound after one block."""

    def __init__(self, hub: Hub, table: LiveCalls, most: int) -> None:
        """Request at most `most` values after each block."""
        self._hub = hub
        self._table = table
        self._most = most
        self._left = self._left_late = 0
        """Values that may still be requested after this block; `_left_late` is for late calls."""

    def begin(self, *, is_late: bool) -> None:
        """Begin another block, with a new bound; late lists get half of it."""
        self._left_late = self._most // 2 if is_late else 0
        self._left = self._most - self._left_late

    async def prove(self, view: Snapshot, header: bytes) -> None:
        """Have other nodes prove the values read by earlier runs, so that only affected calls run again."""
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
        """Have other nodes prove the values missing in a run; return False once the block's bound is reached.

        Raises:
            RpcError: No node proves them.
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
