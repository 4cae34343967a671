"""Connection with the time at which the kernel received each message."""

import socket
import ssl
import struct
import sys
import time
from typing import Final

from wsnode.load.connection import LoadConnection

RECEIVE_BYTES: Final = 16 * 1024
"""Maximum number of bytes of one read: all messages in them get the time of the last byte."""
TIMESTAMP: Final = 35
"""SO_TIMESTAMPNS of Linux: an option, and the kind of the ancillary data."""
STAMP: Final = struct.Struct("=2q")
"""Format of a time: seconds since 1970, and nanoseconds."""


class TimestampedConnection(LoadConnection):
    """Connection that returns messages with their times of arrival, however late they are read."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        # Without the kernel's times, or below TLS, it is the time of reading.
        self._is_stamped = sys.platform == "linux" and not isinstance(self.socket, ssl.SSLSocket)
        if self._is_stamped:
            self.socket.setsockopt(socket.SOL_SOCKET, TIMESTAMP, 1)

    def receive_stamped(self) -> tuple[list[bytes], float]:
        """Return the completed messages, and the time of their arrival in seconds since 1970.

        Raises:
            ConnectionError: The node closed the connection.
        """
        if not self._is_stamped:
            return self.receive(), time.time()
        self.flush()
        try:
            received, stamps, _flags, _address = self.socket.recvmsg(RECEIVE_BYTES, 64)
        except BlockingIOError:
            return [], time.time()
        if not received:
            raise ConnectionError("the node closed the connection")
        return self._read(received), _time_of(stamps)


def _time_of(stamps: list[tuple[int, int, bytes]]) -> float:
    for level, kind, content in stamps:
        if (level, kind) == (socket.SOL_SOCKET, TIMESTAMP):
            seconds, nanoseconds = STAMP.unpack(content[: STAMP.size])
            return float(seconds + nanoseconds / 1e9)
    return time.time()
