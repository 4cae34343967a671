"""Check of a data folder: every link, hash and root is verified again; nothing is written."""
