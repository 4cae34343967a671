"""WebSocket connections: handshake, frames, replies, subscriptions and slow calls."""
