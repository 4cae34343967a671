"""A WebSocket-first JSON-RPC node: verified chain data, served to connections that stay open for days."""
