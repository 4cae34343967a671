"""A dump of blocks and classes on disk: which documents it holds, and its blocks in order."""
