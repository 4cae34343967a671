"""JSON-RPC 2.0 without I/O and without a chain: messages, codec, errors, registry, dispatcher."""
