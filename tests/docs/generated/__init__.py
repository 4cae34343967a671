"""Tables of reference pages, generated from registries: written by `python -m tests.docs.generated`."""
