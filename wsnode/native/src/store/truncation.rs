//! Detection of a file that was cut short, by an interrupted copy say, before LMDB touches a missing page.
//!
//! LMDB maps its file into memory and does not check its size, so reading a missing page ends the process by
//! a signal. A file may be shorter than its last page, though, if all missing pages are free (`mm_last_pg` in
//! LMDB's mdb.c). So the tree of free pages is read here from the file itself, in the layout of mdb.c.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use heed::{Env, WithoutTls};

use super::integrity::{FileError, IntegrityError, Truncated};
use super::meta_page::{self, MetaPage, DEEPEST, HEADER, MIN_SIZE, NO_ROOT};
use super::FILE;

/// Attempts to read a version before a writer replaces it.
const ATTEMPTS: usize = 100;
const IS_BRANCH: u16 = 1;
const IS_LEAF: u16 = 2;
/// Flag of a node: its value is on pages of its own, and the node has the number of the first one.
const IS_BIG: u16 = 1;
const NODE: usize = 8;

/// Check that the file in the folder `path` has every page used by the last version of `env`; else fail with
/// `Truncated`.
pub fn require_untruncated(env: &Env<WithoutTls>, path: &Path) -> Result<(), IntegrityError> {
    let file = path.join(FILE);
    let unreadable = |reason| FileError::new(&file, reason);
    let opened = File::open(&file).map_err(unreadable)?;
    for _ in 0..ATTEMPTS {
        // While this transaction lasts, no writer overwrites a page of its version. The transaction itself
        // touches no page.
        let txn = env.read_txn()?;
        let Some(meta) = meta_page::newest(&opened).map_err(unreadable)? else { continue };
        if meta.version != txn.id() as u64 {
            continue;
        }
        // The file may have grown since the meta page was read, but a file does not shrink.
        let size = opened.metadata().map_err(unreadable)?.len();
        let pages = Pages { file: &opened, size, page_size: meta.page_size };
        let wanted = (meta.last_page + 1).saturating_mul(pages.page_size);
        if pages.size < wanted && !pages.lacks_free_ones_only(&meta) {
            return Err(IntegrityError::Truncated(Truncated { file, size: pages.size, wanted }));
        }
        return Ok(());
    }
    // A writer that commits this often can read its file, so the file is complete.
    Ok(())
}

/// Check that the file in the folder `path` is not empty; a missing file passes.
///
/// LMDB's error for an empty file speaks of file descriptors.
pub fn require_not_empty(path: &Path) -> Result<(), Truncated> {
    let file = path.join(FILE);
    match std::fs::metadata(&file) {
        Ok(found) if found.is_file() && found.len() == 0 => {
            Err(Truncated { file, size: 0, wanted: MIN_SIZE })
        }
        _ => Ok(()),
    }
}

struct Pages<'f> {
    file: &'f File,
    size: u64,
    page_size: u64,
}

impl Pages<'_> {
    /// Return true if all pages beyond the end of the file are free; false if the tree of free pages cannot
    /// be read.
    fn lacks_free_ones_only(&self, meta: &MetaPage) -> bool {
        let present = self.size / self.page_size;
        let mut free = HashSet::new();
        if meta.roots[0] != NO_ROOT && self.walk(meta.roots[0], present, 0, &mut free).is_none() {
            return false;
        }
        free.retain(|number| *number <= meta.last_page);
        free.len() as u64 == meta.last_page + 1 - present
    }

    /// Collect the free pages from `present` on below the page `number` of the tree; return None if the tree
    /// cannot be read.
    fn walk(&self, number: u64, present: u64, depth: usize, free: &mut HashSet<u64>) -> Option<()> {
        let page = self.read(number, self.page_size)?;
        let flags = u16_at(&page, 10)?;
        if depth > DEEPEST || flags & (IS_BRANCH | IS_LEAF) == 0 {
            return None;
        }
        let nodes = (usize::from(u16_at(&page, 12)?).checked_sub(HEADER)?) / 2;
        for index in 0..nodes {
            let node = usize::from(u16_at(&page, HEADER + 2 * index)?);
            let low = u64::from(u32_at(&page, node)?);
            let (more, key) = (u16_at(&page, node + 4)?, usize::from(u16_at(&page, node + 6)?));
            if flags & IS_BRANCH != 0 {
                self.walk(low | u64::from(more) << 32, present, depth + 1, free)?;
                continue;
            }
            let offset = node + NODE + key;
            let size = usize::try_from(low).ok()?;
            let listed = if more & IS_BIG == 0 {
                page.get(offset..offset.checked_add(size)?)?.to_vec()
            } else {
                self.read(u64_at(&page, offset)?, HEADER as u64 + low)?.get(HEADER..)?.to_vec()
            };
            collect(&listed, present, free)?;
        }
        Some(())
    }

    /// Return `length` bytes from the start of page `number`; None if the file ends before.
    fn read(&self, number: u64, length: u64) -> Option<Vec<u8>> {
        let start = number.checked_mul(self.page_size)?;
        (start.checked_add(length)? <= self.size).then_some(())?;
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut bytes, start).ok()?;
        Some(bytes)
    }
}

/// Collect the pages from `present` on of a list: the count of its pages, and their numbers. Return None if
/// the list is cut short.
fn collect(listed: &[u8], present: u64, free: &mut HashSet<u64>) -> Option<()> {
    let count = usize::try_from(u64_at(listed, 0)?).ok()?;
    let numbers = listed.get(8..count.checked_add(1)?.checked_mul(8)?)?;
    let numbers = numbers.chunks_exact(8).filter_map(|bytes| u64_at(bytes, 0));
    free.extend(numbers.filter(|number| *number >= present));
    Some(())
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(offset..offset.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(offset..offset.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(offset..offset.checked_add(8)?)?.try_into().ok()?))
}
