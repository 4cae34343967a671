"""The page's files by their paths, with the headers that keep a browser from loading anything else."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from wsnode.server.http.responses import StaticFile

FOLDER: Final = Path(__file__).with_name("page")
INDEX: Final = "index.html"
CONTENT_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
JSON: Final = "application/json"
# `self` stands for WebSockets of the page's own host as well (Content Security Policy 3, section 6.7.2.8).
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class DevelopmentAccount(msgspec.Struct, frozen=True):
    """Funded account of a development chain as the console page gets it: its address in hex, and perhaps its
    key.
    """

    address: str
    key: str | None
    """Private key in hex, for the accounts of the well-known test mnemonic; None for all others."""


class Settings(msgspec.Struct, frozen=True):
    """Settings of the node for the console page, which reads them as JSON from `/console/settings.json`
    before it connects.
    """

    keys: bool
    """True if calls need an API key."""
    metrics: bool
    """True if `/metrics` is served beside the page."""
    accounts: Sequence[DevelopmentAccount] = ()
    """Funded accounts of a development chain."""
    contracts: Mapping[str, str] = {}
    """Addresses of contracts that the chain began with, by name."""


def console_files(settings: Settings) -> dict[str, StaticFile]:
    """Return the page's files by path: the page at `/`, for HTML only, and its parts below `/console/`."""
    files = {
        f"/console/{path.relative_to(FOLDER).as_posix()}": _static(path)
        for path in sorted(FOLDER.rglob("*"))
        if path.suffix in CONTENT_TYPES and path.name != INDEX
    }
    files["/"] = _static(FOLDER / INDEX, named_only=True)
    files["/console/settings.json"] = StaticFile(msgspec.json.encode(settings), JSON, HEADERS)
    return files


def _static(path: Path, *, named_only: bool = False) -> StaticFile:
    return StaticFile(path.read_bytes(), CONTENT_TYPES[path.suffix], HEADERS, named_only=named_only)
