"""What keeps a server going: metrics, logs, memory, background tasks, its end."""
