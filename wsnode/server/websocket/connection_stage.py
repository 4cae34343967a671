"""Stages of a WebSocket connection, in one direction only.

| stage  | on arrival                            | on sending                                         |
|--------|---------------------------------------|----------------------------------------------------|
| OPEN   | messages are answered                 | replies, notifications and control frames          |
| SAID   | thrown away, until the client's close | nothing: our close frame is the last one           |
| OVER   | nothing is read                       | nothing; waiting bytes are sent, the stream ends   |
| ENDING | nothing is read                       | nothing; the connection's tasks end                |

`Framing.closed` is the protocol's own state: a close frame was sent or received (RFC 6455, section 7.1). A
lost connection goes to ENDING without OVER.
"""

from enum import IntEnum


class ConnectionStage(IntEnum):
    """Stage of a connection."""

    OPEN = 0
    SAID = 1
    """Our close frame has been posted."""
    OVER = 2
    """Everything has been sent or dropped, so the stream may end."""
    ENDING = 3
    """The reader has ended, and no other task may begin."""
