"""Limit of open files of this process; each connection takes one."""

import resource
from typing import Final

RESERVED_FILES: Final = 64
"""Open files that the program itself needs."""


class DescriptorError(OSError):
    """Error of connections that need more open files than this process may have."""

    def __init__(self, connections: int, needed: int, limit: int) -> None:
        super().__init__(
            f"{connections:,} connections need {needed:,} open files and the limit is {limit:,}: "
            f"raise it with `ulimit -n {needed}`"
        )
        self.connections = connections
        self.needed = needed
        self.limit = limit


def allow_connections(count: int) -> None:
    """Raise the limit of this process, and of those that it starts, to the files of these connections.

    Raises:
        DescriptorError: The system does not allow it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + RESERVED_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if resource.RLIM_INFINITY != hard < needed:
        raise DescriptorError(count, needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
