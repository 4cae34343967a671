"""Page at `/` for browsers: the node's state, and a form in which its methods can be called."""
