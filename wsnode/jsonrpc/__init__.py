"""JSON-RPC 2.0 without I/O and without a domain: messages, codec, errors, registry, dispatcher."""
