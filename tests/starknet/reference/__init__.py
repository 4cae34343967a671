"""Another node, over a chain that it makes itself, to be asked the same as ours."""
