//! Build script: compiles `store/row/fault.c`, and has the linker put its functions in front of LMDB's reads.

/// Functions of LMDB to wrap.
const WRAPPED: [&str; 5] = ["mdb_get", "mdb_cursor_open", "mdb_cursor_get", "mdb_dbi_open", "mdb_stat"];

fn main() {
    println!("cargo::rerun-if-changed=src/store/row/fault.c");
    // The linkers of other systems cannot replace a function (`--wrap`).
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    cc::Build::new().file("src/store/row/fault.c").warnings_into_errors(true).compile("wsnode_store_fault");
    for name in WRAPPED {
        println!("cargo::rustc-link-arg=-Wl,--wrap={name}");
    }
}
