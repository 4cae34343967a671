"""Keeps the garbage collector away from what thousands of open connections are made of.

A full collection looks at every container of the process: 0.4 s with 10,000 connections (measured), in which
nobody is answered. Connections are no garbage while they are open and leave no cycles behind when they end
(tests/server/turns/test_collector.py), so those that have been open for a while are taken out of its sight.
"""

import gc

STEP = 256
"""How many connections are opened between two times."""
SUBSCRIPTIONS = 16
"""Subscriptions that weigh as much as a connection."""
THAW_PART = 32
"""When no more than one in so many is left, everything is looked at again."""


class Shelter:
    """What is out of the collector's sight, by the number of connections at that time."""

    def __init__(self) -> None:
        self._sheltered = 0

    def begin(self) -> None:
        """Shelter what the process has built before its first connection.

        What is garbage among that stays: it is little, and to look for it is a tenth of the start's time.
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
