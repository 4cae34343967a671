"""Address of a journal, which shows no secret."""

import re
from typing import Final, Self
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

import msgspec

REDIS: Final = ("redis", "rediss")
SENTINEL: Final = ("redis+sentinel", "rediss+sentinel")
CLUSTER: Final = ("redis+cluster", "rediss+cluster")
SCHEMES: Final = (*REDIS, *SENTINEL, *CLUSTER, "unix")
PORT: Final = 6379
SENTINEL_PORT: Final = 26379
_NETWORK: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_OPTIONS: Final = {"network", "cafile"}


class JournalAddressError(ValueError):
    """Error of a text that is no address of a journal."""


class JournalAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Address of the Redis server, Sentinels or cluster that holds a journal, and the journal's name among
    those of a chain; `str` shows neither user nor password.
    """

    scheme: str
    hosts: tuple[tuple[str, int], ...] = ()
    path: str = ""
    """Path of the socket of a `unix` address."""
    user: str | None = None
    password: str | None = None
    database: int = 0
    service: str = ""
    """Name under which Sentinels know the servers."""
    network: str = ""
    """Name that distinguishes journals of one chain: two development chains may have equal genesis blocks."""
    cafile: str | None = None
    """Path of the certificates to trust instead of the system's."""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Return the address that a URL names.

        The forms are `redis://USER:PASSWORD@HOST:PORT/DATABASE`, the same with `rediss` for TLS,
        `redis+sentinel://HOST:PORT,HOST:PORT/SERVICE/DATABASE`, `redis+cluster://HOST:PORT,HOST:PORT`, and
        `unix:///PATH`. The query may have `network` and `cafile`.

        Raises:
            JournalAddressError: The URL is invalid; the message shows nothing of it but its scheme.
        """
        place = _place(url)
        options = _options(place)
        user, password = _user(place)
        service, database = _service(place)
        return cls(
            scheme=place.scheme,
            hosts=() if place.scheme == "unix" else _hosts(place),
            path=_path(place) if place.scheme == "unix" else "",
            user=user,
            password=password,
            database=database,
            service=service,
            network=_network(options.get("network", [""])[0]),
            cafile=options.get("cafile", [None])[0],
        )

    @property
    def is_encrypted(self) -> bool:
        return self.scheme.startswith("rediss")

    def __str__(self) -> str:
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        below = "".join(f"/{quote(str(part))}" for part in (self.service, self.database) if part)
        network = f"?network={self.network}" if self.network else ""
        return f"{self.scheme}://{hosts}{self.path}{below}{network}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


def _place(url: str) -> SplitResult:
    try:
        place = urlsplit(url)
    except ValueError:
        raise JournalAddressError("a journal's URL cannot be parsed: write redis://HOST:PORT") from None
    if place.scheme not in SCHEMES:
        raise JournalAddressError(f"a journal's URL begins with one of {', '.join(SCHEMES)}")
    # An unescaped /, ? or # in a password ends the hosts too early. Later checks would then report a wrong
    # port or database.
    if place.scheme != "unix" and "@" in f"{place.path}{place.query}{place.fragment}":
        raise JournalAddressError("a user or a password in a URL has %2F for /, %3F for ?, %23 for #")
    return place


def _options(place: SplitResult) -> dict[str, list[str]]:
    try:
        options = parse_qs(place.query, strict_parsing=bool(place.query))
    except ValueError:
        raise JournalAddressError("a journal's URL cannot be parsed: write redis://HOST:PORT") from None
    if others := options.keys() - _OPTIONS:
        raise JournalAddressError(
            f"a journal's URL has no option {min(others)!r}, only {' and '.join(sorted(_OPTIONS))}"
        )
    return options


def _path(place: SplitResult) -> str:
    if place.netloc.rpartition("@")[2] or not place.path.startswith("/"):
        raise JournalAddressError("a unix:// URL names a socket by its whole path: unix:///PATH")
    return unquote(place.path)


def _user(place: SplitResult) -> tuple[str | None, str | None]:
    if "@" not in place.netloc:
        return None, None
    user, _colon, password = place.netloc.rpartition("@")[0].partition(":")
    return unquote(user) or None, unquote(password) or None


def _hosts(place: SplitResult) -> tuple[tuple[str, int], ...]:
    default = SENTINEL_PORT if place.scheme in SENTINEL else PORT
    hosts = tuple(_host(each, default) for each in place.netloc.rpartition("@")[2].split(","))
    if len(hosts) > 1 and place.scheme in REDIS:
        raise JournalAddressError(f"a {place.scheme}:// URL names one host")
    return hosts


def _host(text: str, default: int) -> tuple[str, int]:
    try:
        place = urlsplit(f"//{text}")
        host, port = place.hostname, place.port
    except ValueError:
        host, port = None, None
    if not host:
        raise JournalAddressError("a journal's URL names each host as HOST or HOST:PORT")
    return host, port or default


def _service(place: SplitResult) -> tuple[str, int]:
    """Return the name of a Sentinel service, empty without one, and the number of the database."""
    if place.scheme == "unix":
        return "", 0
    parts = [unquote(part) for part in place.path.split("/") if part]
    service = parts.pop(0) if parts and place.scheme in SENTINEL else ""
    if place.scheme in SENTINEL and not service:
        raise JournalAddressError(f"a {place.scheme}:// URL names a service: /SERVICE")
    if len(parts) > 1 or not all(part.isdecimal() for part in parts):
        raise JournalAddressError("after the hosts, a journal's URL names nothing but a database's number")
    database = int(parts[0]) if parts else 0
    if database and place.scheme in CLUSTER:
        raise JournalAddressError("a Redis Cluster has no databases")
    return service, database


def _network(name: str) -> str:
    if name and not _NETWORK.fullmatch(name):
        raise JournalAddressError(
            "a journal's network has up to 64 letters, digits, dots, dashes, underscores"
        )
    return name
