"""JSON as bytes, written by the engine straight from stored rows."""

from wsnode._native import (
    render_block,
    render_each_log,
    render_header,
    render_logs,
    render_receipt,
    render_receipts,
    render_transaction,
    render_uncle,
)

__all__ = [
    "render_block",
    "render_each_log",
    "render_header",
    "render_logs",
    "render_receipt",
    "render_receipts",
    "render_transaction",
    "render_uncle",
]
