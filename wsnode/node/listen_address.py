"""TCP addresses to listen on, and the line on standard output that announces the node."""

from typing import NamedTuple, Self

MAX_PORT = 65535


class ListenError(Exception):
    """Error of a text that is no address to listen on; the message gives the reason and the right form."""


class ListenAddress(NamedTuple):
    """TCP address to listen on; port 0 lets the system choose."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address that `HOST:PORT`, or `PORT` on this machine alone, names.

        An IPv6 host is written in brackets.

        Raises:
            ListenError: `text` is no address.
        """
        before, colon, last = text.rpartition(":")
        if text.isascii() and text.isdecimal():
            before, colon, last = LOOPBACK, ":", text
        host = before.removeprefix("[").removesuffix("]")
        in_brackets = before.startswith("[") and before.endswith("]")
        if not colon or text.endswith("]"):
            raise _wrong(text, "it has no port", f"{text or LOOPBACK}:8545")
        if ":" in before and not in_brackets:
            raise _wrong(text, "an IPv6 host stands in brackets", "[::1]:8545")
        if not last.isascii() or not last.isdecimal() or int(last) > MAX_PORT:
            named = f"{last!r} is no port, which is a number up to {MAX_PORT}"
            raise _wrong(text, named, f"{before or LOOPBACK}:8545")
        if not host:
            raise _wrong(text, "it has no host", f"{LOOPBACK}:{last}, or 0.0.0.0:{last} for every interface")
        return cls(host, int(last))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


LOOPBACK = "127.0.0.1"
DEFAULT_LISTEN = "127.0.0.1:8545"


def _wrong(text: str, what: str, right: str) -> ListenError:
    return ListenError(f"cannot listen on {text!r}: {what}; write HOST:PORT, such as {right}")


def announce_ready(address: object, *, is_encrypted: bool = False) -> None:
    """Print the URLs at which clients may connect, on standard output."""
    s = "s" if is_encrypted else ""
    print(f"ready ws{s}://{address}/ws/v3/<API_KEY> http{s}://{address}/v3/<API_KEY>", flush=True)
