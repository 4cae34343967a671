//! Faults of reads in a damaged file, converted to `MDB_CORRUPTED` (decision 0083).

#[cfg(target_os = "linux")]
extern "C" {
    fn wsnode_store_catch_faults();
}

/// Have reads of LMDB return `MDB_CORRUPTED` in place of a SIGSEGV or SIGBUS; on Linux only.
///
/// Other faults of the process go to the handlers that were there before.
pub fn catch() {
    #[cfg(target_os = "linux")]
    // SAFETY: the function only installs signal handlers, and only once.
    unsafe {
        wsnode_store_catch_faults();
    }
}
