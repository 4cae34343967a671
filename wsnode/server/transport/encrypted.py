"""TLS on a socket that is read by the reactor, like sockets without TLS."""

import contextlib
import socket
import ssl
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import trio

from wsnode.server.transport.poller import RECEIVE_BYTES, FastConnection, Peer, Reactor, Take
from wsnode.server.transport.transport import SocketTransport

SEND_BYTES = 256 * 1024
"""Maximum number of bytes sent in one call: a tenth of a millisecond of encryption."""
RECORD_BYTES = 16 * 1024
"""Maximum number of bytes of a record's content (RFC 8446, section 5.1)."""
ANY_RECORD = 1
"""Bytes of a read after which more may be left: any, since OpenSSL reads one record at a time."""


class _Deciphered:
    """Reader of a TLS socket that returns its decrypted bytes; implements `RecvSocket`."""

    __slots__ = ("_socket", "owes_handshake")

    def __init__(self, connected: ssl.SSLSocket) -> None:
        self._socket = connected
        self.owes_handshake = False
        """True while the kernel has not accepted all of a handshake message; nothing can be read then."""

    def fileno(self) -> int:
        return self._socket.fileno()

    def recv(self, most: int, /) -> bytes:
        """Return the content of one record, empty at the end; the first call does the handshake.

        Raises:
            BlockingIOError: No whole record has arrived.
            OSError: The other side has disconnected, or breaks TLS.
        """
        try:
            return self._socket.recv(most)
        except ssl.SSLWantReadError:
            raise BlockingIOError from None
        except ssl.SSLWantWriteError:
            if self._socket.version() is None:
                self.owes_handshake = True
                raise
            raise BlockingIOError from None
        except ssl.SSLError:
            # Closing a socket with unread bytes discards the TLS alert that names the fault, so the bytes are
            # read first.
            with contextlib.suppress(OSError):
                socket.socket.recv(self._socket, RECEIVE_BYTES)
            raise


class EncryptedTransport(SocketTransport):
    """Server's end of a TLS connection; its handshake is part of the first read."""

    __slots__ = ("_awaits_hello", "_deciphered", "_stuck", "_tls")
    _full = ANY_RECORD

    def __init__(
        self, connected: socket.socket, tls: ssl.SSLContext, reactor: Reactor, peer: Peer = None
    ) -> None:
        """Take over a connected socket of `peer`.

        Raises:
            OSError: The client has disconnected.
        """
        self._tls = tls.wrap_socket(connected, server_side=True, do_handshake_on_connect=False)
        self._deciphered = _Deciphered(self._tls)
        super().__init__(self._tls, reactor, peer, self._deciphered)
        self._stuck = b""
        """Bytes that OpenSSL has encrypted and the kernel has not accepted; they must be sent next."""
        self._awaits_hello = False
        """True while nothing can be sent until more of the client's handshake has arrived."""

    async def receive(self) -> bytes:
        while not (data := await super().receive()):
            if not self._deciphered.owes_handshake or not await self._send_handshake():
                break
        return data

    def receive_nowait(self) -> bytes | None:
        """Return the bytes that have arrived, None if none have, empty at the end.

        No task may wait in `receive`.
        """
        received = super().receive_nowait()
        return None if not received and self._deciphered.owes_handshake else received

    async def _send_handshake(self) -> bool:
        """Send the rest of a handshake message; return False if the other side has disconnected."""
        while self._deciphered.owes_handshake:
            try:
                await trio.lowlevel.wait_writable(self._tls)
                self._tls.do_handshake()
            except ssl.SSLWantWriteError:
                continue
            except ssl.SSLWantReadError:
                pass
            except (OSError, ValueError, trio.ClosedResourceError):
                return False
            self._deciphered.owes_handshake = False
        return True

    def feed(
        self, take: Take, peer: Peer = None, plain: FastConnection | None = None
    ) -> Coroutine[Any, Any, bool]:
        """Pass arrived bytes to `take` until it returns False; return False at the end of the stream."""
        # The engine would read the encrypted bytes as they arrive, so it answers no calls here and `plain` is
        # not passed on.
        return self._reactor.feed(self._readable, take, peer, full=self._full)

    def send_nowait(self, data: bytes | memoryview) -> int:
        """Send as many bytes in records as the kernel accepts, and return their number.

        Raises:
            trio.BrokenResourceError: The other side has disconnected, or `data` does not begin with the bytes
                that OpenSSL has already encrypted.
        """
        part = memoryview(data)[:SEND_BYTES]
        rest = part
        while rest and (sent := self._send_record(rest[:RECORD_BYTES])):
            rest = rest[sent:]
        return len(part) - len(rest)

    async def _wait_to_send(self) -> None:
        wait = trio.lowlevel.wait_readable if self._awaits_hello else trio.lowlevel.wait_writable
        await wait(self._tls)

    def _send_record(self, part: memoryview) -> int:
        if part[: len(self._stuck)] != self._stuck:
            raise trio.BrokenResourceError("a record that is half sent was dropped")
        try:
            sent = self._tls.send(part)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
            self._awaits_hello = isinstance(error, ssl.SSLWantReadError)
            self._stuck = bytes(part)
            return 0
        except (OSError, ValueError) as error:
            raise trio.BrokenResourceError from error
        self._awaits_hello, self._stuck = False, b""
        return sent

    async def send_eof(self) -> None:
        """Announce the end of the stream (RFC 8446, section 6.1), if that needs no waiting."""
        with contextlib.suppress(OSError, ValueError):
            self._tls.unwrap()


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a context for serving with `certificate` (a PEM chain) and its `key`.

    Raises:
        OSError, ssl.SSLError: The files cannot be read, or do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    read_certificate(context, certificate, key)
    return context


def read_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Use `certificate` and its `key` for all further handshakes.

    Raises:
        OSError, ssl.SSLError: The files cannot be read, or do not belong together.
    """
    # Without a passphrase OpenSSL would ask for one on the terminal, and the node would stand still.
    context.load_cert_chain(certificate, key, password="")
