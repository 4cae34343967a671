"""Search of logs without the index: the logs of a few blocks are compared with many values.

To look up a value in the index costs as much as to compare a hundred logs with a set of all values. So the
numbers of values, logs and blocks decide in advance which way is cheaper.
"""

from typing import Final

from wsnode.ethereum.codec.chain_tables import LogCriteria
from wsnode.ethereum.logs.search_result import BlockLogs, LogMatches, Search, add_located
from wsnode.store.environment import Reader

LOGS_A_VALUE: Final = 64
"""Logs compared, at 7 to 13 ns each, in less than the time of one look-up, 1.1 to 3.4 microseconds."""
LOGS_A_BLOCK: Final = 32
"""Logs compared in the time of finding a block's receipts; more if their page is not in memory."""
LOGS_A_SLICE: Final = 4096
"""Logs compared in one slice of some 50 microseconds; 128 blocks with one log each take as long."""


def is_read_sooner(values: int, logs: int, blocks: int) -> bool:
    """Return True if reading `logs` in `blocks` is cheaper than looking up `values`."""
    return logs + LOGS_A_BLOCK * min(logs, blocks) <= LOGS_A_VALUE * values


def read_logs(
    reader: Reader, criteria: LogCriteria, begin: int, end: int, limit: int | None = None
) -> Search:
    """Search the logs numbered `begin` to before `end`; the generator yields between slices and returns the
    matches.

    With a `limit` the search ends with the slice that exceeds it.
    """
    blocks: list[BlockLogs] = []
    count = 0
    while begin < end:
        located, begin = criteria.find(reader, begin, end, LOGS_A_SLICE)
        count += sum(len(indices) for _number, indices in located)
        if limit is not None and count > limit:
            return LogMatches(count, exceeded=True, blocks=[])
        add_located(blocks, located)
        if begin < end:
            yield
    return LogMatches(count, exceeded=False, blocks=blocks)
