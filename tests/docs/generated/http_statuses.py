"""Table of the HTTP statuses of refusals in docs/reference/errors.md, from the server's own table."""

from typing import Final

from tests.docs.generated.marks import TableWriter, markdown_table
from wsnode.server.access.request_errors import HTTP_ERROR_STATUSES


def table(_part: str) -> str:
    """Return the table of the statuses."""
    return markdown_table(
        ("status", "codes", "when"),
        (
            (f"HTTP {status}", ", ".join(map(str, each.codes)), each.causes)
            for status, each in HTTP_ERROR_STATUSES.items()
        ),
    )


WRITER: Final = TableWriter("statuses", ["reference/errors.md"], table)
