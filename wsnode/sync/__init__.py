"""How blocks arrive: a source of blocks, and the importer that verifies and appends them."""
