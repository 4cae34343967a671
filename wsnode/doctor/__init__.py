"""Is a data folder sound? Every link, hash and root is checked again; nothing is written."""
