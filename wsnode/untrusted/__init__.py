"""Decoding of bytes from others, within bounds; whatever is wrong with them raises one type of error."""
