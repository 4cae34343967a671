"""HTTP/1.1 connections: heads, bodies and their encodings, and JSON-RPC by POST."""
