"""debug_ methods that execute again: geth's tracers, and execution witnesses."""
