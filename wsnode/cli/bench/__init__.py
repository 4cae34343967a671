"""`wsnode bench`: load on any node, the lag of its notifications, storms of connections, and replays."""
