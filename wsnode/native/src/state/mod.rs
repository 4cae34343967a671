//! The state store: accounts, storage, code and their history in LMDB.
