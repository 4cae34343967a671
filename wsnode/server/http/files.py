"""Files that are served as they are, and kept by browsers as long as they do not change."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from wsnode.server.http.responses import Response

_REFUSED: Final = re.compile(r";\s*q=0(\.0*)?\s*(;|$)")


class StaticFile:
    """The bytes of a file, and the headers that go with them."""

    def __init__(
        self,
        body: bytes,
        content_type: str,
        headers: Mapping[str, str] | None = None,
        *,
        named_only: bool = False,
    ) -> None:
        """With `named_only` the file is for requests alone whose Accept header names its content type."""
        self.body = body
        self.content_type = content_type
        self.tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        """The entity tag (RFC 9110, section 8.8.3)."""
        self._media_type = content_type.partition(";")[0] if named_only else None
        # A browser asks each time whether its copy still holds: another release may answer here tomorrow.
        self._headers = {"ETag": self.tag, "Cache-Control": "no-cache", **(headers or {})}
        if named_only:
            self._headers["Vary"] = "Accept"

    def suits(self, accepted: str) -> bool:
        """Tell whether a request with this Accept header is for the file."""
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
