"""Cases of requests and expected replies, and where a node's replies differ over HTTP and WebSocket."""
