"""JSON as bytes, written by the engine straight from stored rows."""

from wsnode._native.chain import (
    render_access_list,
    render_block,
    render_each_log,
    render_header,
    render_payload,
    render_payload_body,
    render_receipts,
    render_transaction,
    render_uncle,
    stored_log_texts,
    stored_logs,
    stored_receipt,
    stored_transaction,
)

__all__ = [
    "render_access_list",
    "render_block",
    "render_each_log",
    "render_header",
    "render_payload",
    "render_payload_body",
    "render_receipts",
    "render_transaction",
    "render_uncle",
    "stored_log_texts",
    "stored_logs",
    "stored_receipt",
    "stored_transaction",
]
