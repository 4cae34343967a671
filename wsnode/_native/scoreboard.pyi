"""Words in memory that several processes share. Each change is one step."""

from mmap import mmap
from typing import final

@final
class SharedWords:
    """Writable memory as unsigned words of 64 bits, which other processes may map as well.

    Each method but `clear` and `sum` is one step to all processes. All raise IndexError for a word beyond the
    memory.

    Raises:
        ValueError: The memory cannot be written, is in pieces, or does not begin at a multiple of eight.
    """

    def __new__(cls, memory: mmap | bytearray) -> SharedWords: ...
    def load(self, index: int) -> int: ...
    def store(self, index: int, value: int) -> None: ...
    def sum(self, start: int, step: int, count: int) -> int:
        """Return the sum of `count` words, `step` words apart."""

    def clear(self, start: int, count: int) -> None:
        """Set `count` words to 0."""

    def slot_of(self, start: int, count: int, name: int) -> int | None:
        """Return the index of `name` among `count` words, from 0 on; None if all words are other names.

        A name is never 0. A name without a word takes the first word that is 0.
        """

    def charge(
        self, index: int, now: float, *, per_second: float, burst: float, dearest: float, cost: float
    ) -> float:
        """Charge `cost` credits to the bucket in a word, and return 0, or the seconds until there are enough.

        With too few credits nothing is charged, and the seconds are infinite if none come back. A word of 0
        is a full bucket of `burst` credits, of which `per_second` come back each second. A cost above the
        burst, of at most `dearest`, needs a full bucket, and leaves it below empty. `now` is a time in
        seconds that all processes share.
        """
