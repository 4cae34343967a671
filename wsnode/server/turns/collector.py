"""Excludes the objects of thousands of open connections from garbage collection.

A full collection visits every container of the process: 0.4 s with 10,000 connections (measured), without a
reply meanwhile. Connections are no garbage while open and leave no cycles behind when they end
(tests/server/turns/test_collector.py), so those that have been open for a while are frozen.
"""

import gc

STEP = 256
"""Connections opened between two freezes."""
SUBSCRIPTIONS = 16
"""Subscriptions that weigh as much as a connection."""
THAW_PART = 32
"""Once at most one part in `THAW_PART` of the frozen connections is left, all objects are unfrozen."""


class Shelter:
    """The frozen objects, by the number of connections at that time."""

    def __init__(self) -> None:
        self._sheltered = 0

    def begin(self) -> None:
        """Freeze the objects that exist before the first connection.

        Garbage among them stays: it is little, and a collection takes a tenth of the start's time.
        """
        gc.freeze()

    def adapt(self, connections: int, subscriptions: int = 0) -> None:
        """Shelter more when there are more than at the last time; look at all again when few are left."""
        connections += subscriptions // SUBSCRIPTIONS
        if connections >= self._sheltered + STEP:
            self._sheltered = connections
            gc.collect()
            gc.freeze()
        elif self._sheltered and connections * THAW_PART <= self._sheltered:
            self._sheltered = 0
            gc.unfreeze()
            gc.collect()
            gc.freeze()
