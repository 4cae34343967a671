"""Check of all rows of a store by their checksums."""

from collections.abc import Callable, Sequence
from functools import partial

from wsnode.store.environment import Environment
from wsnode.store.progress import Progress
from wsnode.store.table import Table

ReportFault = Callable[[str, str], object]
"""Function called with the name of a table and the fault of one of its rows."""


def check_rows(store: Environment, tables: Sequence[Table], progress: Progress, fault: ReportFault) -> None:
    """Check the checksums of all rows of some tables, and call `fault` for each damaged row.

    Raises:
        StoreError: The store cannot be read.
    """
    with store.read() as reader:
        for table in tables:
            reader.check_rows(
                table,
                partial(progress.advanced, f"checksums: {table.name}"),
                partial(_report, fault, table.name),
            )


def _report(fault: ReportFault, table: str, key: bytes) -> None:
    fault(table, f"row 0x{key.hex()} does not have its checksum")
