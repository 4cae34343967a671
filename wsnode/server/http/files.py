"""Static files, which browsers keep as long as they do not change."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from wsnode.server.http.responses import Response

_REFUSED: Final = re.compile(r";\s*q=0(\.0*)?\s*(;|$)")


class StaticFile:
    """Content of a file, with the headers of its response."""

    def __init__(
        self,
        body: bytes,
        content_type: str,
        headers: Mapping[str, str] | None = None,
        *,
        named_only: bool = False,
    ) -> None:
        """Make a file; `named_only` keeps it for requests whose Accept header names its content type."""
        self.body = body
        self.content_type = content_type
        self.tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        """Entity tag (RFC 9110, section 8.8.3)."""
        self._media_type = content_type.partition(";")[0] if named_only else None
        # A browser asks each time whether its copy still holds: another release may answer here tomorrow.
        self._headers = {"ETag": self.tag, "Cache-Control": "no-cache", **(headers or {})}
        if named_only:
            self._headers["Vary"] = "Accept"

    def suits(self, accepted: str) -> bool:
        """Return True if a request with this Accept header is for the file."""
        return self._media_type is None or any(
            offer.partition(";")[0].strip().lower() == self._media_type and not _REFUSED.search(offer)
            for offer in accepted.split(",")
        )

    def response(self, known: str) -> Response:
        """Return the file, or 304 if the If-None-Match header `known` names it (RFC 9110, section 13.1.2)."""
        tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
        if "*" in tags or self.tag in tags:
            return Response(304, headers=self._headers)
        return Response(200, self.body, self.content_type, self._headers)
