"""Server: sockets, HTTP heads, WebSocket and HTTP; requests go to a dispatcher, replies come back."""
