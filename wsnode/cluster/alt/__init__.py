"""The blocks and classes of an alt chain as changes of a journal: read from a store, and read back."""
