"""Stock bots in which one line is changed, and a node that is killed under them."""
