"""Writers of all generated tables."""

from collections.abc import Sequence
from typing import Final

from tests.deploy import metric_tables
from tests.docs.generated import error_codes, http_statuses, log_events, methods, settings
from tests.docs.generated.marks import TableWriter
from tests.server import limit_tables

WRITERS: Final[Sequence[TableWriter]] = (
    metric_tables.WRITER,
    limit_tables.WRITER,
    settings.WRITER,
    error_codes.WRITER,
    http_statuses.WRITER,
    methods.WRITER,
    log_events.WRITER,
)
