"""LMDB environments and tables of bytes, whatever the bytes mean."""
