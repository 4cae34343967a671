"""Mining modes of a development chain: for each transaction, at an interval, or on request only."""

import trio


class MiningMode:
    """Current mining mode, one of anvil's three; `seconds` is None except for regular blocks."""

    def __init__(self, seconds: float | None = None, *, on_request: bool = False) -> None:
        """Begin with a block every `seconds`; without seconds, with one for each transaction, or `on_request`
        alone.
        """
        self._first = seconds or None
        self._begins_automatic = self._first is None and not on_request
        self.is_automatic = self._begins_automatic
        self.seconds = self._first
        self._changed = trio.Event()

    def reset(self) -> None:
        """Restore the mode at the start."""
        self._set(is_automatic=self._begins_automatic, seconds=self._first)

    def set_automatic(self, *, enabled: bool) -> None:
        """Turn blocks for each transaction on or off; turning them on ends regular blocks, off does not."""
        if enabled:
            self._set(is_automatic=True, seconds=None)
        elif self.is_automatic:
            self._set(is_automatic=False, seconds=None)

    def set_seconds(self, seconds: float) -> None:
        """Make a block every `seconds`; with 0, only on request."""
        self._set(is_automatic=False, seconds=seconds or None)

    async def wait_due(self, last: float) -> float:
        """Wait until a block is due after the one due at `last`, and return the time at which it was due."""
        while True:
            changed = self._changed
            due = float("inf") if self.seconds is None else max(last + self.seconds, trio.current_time())
            with trio.move_on_at(due):
                await changed.wait()
            if not changed.is_set():
                return due
            last = trio.current_time()

    def _set(self, *, is_automatic: bool, seconds: float | None) -> None:
        self.is_automatic, self.seconds = is_automatic, seconds
        self._changed.set()
        self._changed = trio.Event()
