//! Two meta pages at the start of an LMDB file, laid out as `MDB_meta` in LMDB's mdb.c.
//!
//! They are checked before LMDB opens the file, because it divides by their page size and follows their roots
//! unchecked.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::integrity::{DamagedFile, FileError, IntegrityError, Truncated};
use super::FILE;

/// Bytes of both meta pages of an empty store.
pub const MIN_SIZE: u64 = 8192;
/// Root page of a tree without entries.
pub const NO_ROOT: u64 = u64::MAX;
/// Bytes of a page's header: its number, 2 bytes of padding, flags, and the bounds of its free space.
pub const HEADER: usize = 16;
/// Maximum number of levels of a tree (`CURSOR_STACK` in mdb.c).
pub const DEEPEST: usize = 32;

const MAGIC: u32 = 0xBEEF_C0DE;
const DATA_VERSION: u32 = 1;
const PAGE_SIZES: std::ops::RangeInclusive<u32> = 512..=65536;
/// Flag of a meta page in its header.
const IS_META: u16 = 8;
/// Offset of the trees behind the header: magic, version, address and map size come first.
const TREES: usize = HEADER + 24;
/// Page size or key size, flags, depth, three counts of pages, entries, root.
const TREE: usize = 48;
const META: usize = TREES + 2 * TREE + 16;
/// Flags of the tree of free pages, whose keys are numbers, and of the tree of tables.
const TREE_FLAGS: [u16; 2] = [8, 0];
/// Attempts to read a meta page while its writer may be replacing it.
const ATTEMPTS: usize = 100;

/// Version of the file: page size in bytes, roots and depths of its trees of free pages and of tables, and
/// last page.
#[derive(Debug, Clone, Copy)]
pub struct MetaPage {
    pub page_size: u64,
    pub roots: [u64; 2],
    pub depths: [u16; 2],
    pub last_page: u64,
    pub version: u64,
}

/// Check that the file in the folder `path` begins with two sound meta pages.
///
/// An empty file passes, and so does one that cannot be opened here: LMDB gives the reason of that.
pub fn require_sound(path: &Path) -> Result<(), IntegrityError> {
    let path = path.join(FILE);
    let Ok(file) = File::open(&path) else { return Ok(()) };
    let size = file.metadata().map_err(|reason| FileError::new(&path, reason))?.len();
    if size == 0 {
        return Ok(());
    }
    let mut found = current(&file);
    for _ in 1..ATTEMPTS {
        if found.is_ok() {
            break;
        }
        found = current(&file);
    }
    match found {
        Ok(_) => Ok(()),
        Err(Fault::Io(reason)) if reason.kind() == ErrorKind::UnexpectedEof => {
            Err(IntegrityError::Truncated(Truncated { file: path, size, wanted: MIN_SIZE.max(size + 1) }))
        }
        Err(Fault::Io(reason)) => Err(FileError::new(&path, reason).into()),
        Err(Fault::Page(page, fault)) => {
            Err(IntegrityError::Damaged(DamagedFile { file: path, page, fault }))
        }
    }
}

/// Return the meta page of the latest version, with which LMDB begins; None if the two are not sound at the
/// moment.
pub fn newest(file: &File) -> io::Result<Option<MetaPage>> {
    match current(file) {
        Ok(page) => Ok(Some(page)),
        Err(Fault::Io(reason)) => Err(reason),
        Err(Fault::Page(..)) => Ok(None),
    }
}

enum Fault {
    Io(io::Error),
    Page(u64, String),
}

/// Return the meta page of the latest version, with which LMDB begins, or its fault.
fn current(file: &File) -> Result<MetaPage, Fault> {
    let first = read(file, 0, 0)?;
    let second = read(file, 1, first.page_size)?;
    if first.page_size != second.page_size {
        return Err(Fault::Page(1, format!("another page size than meta page 0, {}", second.page_size)));
    }
    let (number, newest) = if first.version < second.version { (1, second) } else { (0, first) };
    // Only the newer page's trees are checked. A failed write leaves new roots beside the old last page in
    // the older page, but LMDB does not use them.
    require_trees(&newest).map_err(|fault| Fault::Page(number, fault))?;
    Ok(newest)
}

fn read(file: &File, number: u64, offset: u64) -> Result<MetaPage, Fault> {
    let mut page = [0; META];
    file.read_exact_at(&mut page, offset).map_err(Fault::Io)?;
    decode(&page).map_err(|fault| Fault::Page(number, fault))
}

fn decode(page: &[u8; META]) -> Result<MetaPage, String> {
    if u16_at(page, 10) & IS_META == 0 {
        return Err(format!("the page flags {}", u16_at(page, 10)));
    }
    let magic = u32_at(page, HEADER);
    if magic != MAGIC {
        return Err(format!("the magic number {magic:#x}"));
    }
    let (data_version, page_size) = (u32_at(page, HEADER + 4), u32_at(page, TREES));
    if data_version != DATA_VERSION {
        return Err(format!("the format version {data_version}"));
    }
    if !page_size.is_power_of_two() || !PAGE_SIZES.contains(&page_size) {
        return Err(format!("the page size {page_size}"));
    }
    let flags = [0, 1].map(|tree| u16_at(page, TREES + tree * TREE + 4));
    if flags != TREE_FLAGS {
        return Err(format!("the flags {flags:?} of trees"));
    }
    Ok(MetaPage {
        page_size: page_size.into(),
        depths: [0, 1].map(|tree| u16_at(page, TREES + tree * TREE + 6)),
        roots: [0, 1].map(|tree| u64_at(page, TREES + (tree + 1) * TREE - 8)),
        last_page: u64_at(page, TREES + 2 * TREE),
        version: u64_at(page, TREES + 2 * TREE + 8),
    })
}

fn require_trees(meta: &MetaPage) -> Result<(), String> {
    let last = meta.last_page;
    if last.checked_add(1).and_then(|pages| pages.checked_mul(meta.page_size)).is_none() {
        return Err(format!("the last page {last}"));
    }
    if let Some(depth) = meta.depths.into_iter().find(|depth| usize::from(*depth) > DEEPEST) {
        return Err(format!("a tree of {depth} levels"));
    }
    match meta.roots.into_iter().find(|root| *root != NO_ROOT && !(2..=last).contains(root)) {
        Some(root) => Err(format!("a tree at page {root}, of {last}")),
        None => Ok(()),
    }
}

fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_ne_bytes(array_at(bytes, offset))
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_ne_bytes(array_at(bytes, offset))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_ne_bytes(array_at(bytes, offset))
}

/// Return `N` bytes of a page at `offset`; zeros if the page ends before.
fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}
