//! Telling a file that was cut short, by an interrupted copy say, before a page that is not there is touched.
//!
//! LMDB maps its file into memory and looks at no size, so reading a missing page ends the process by a signal. A
//! file may be shorter than its last page, though, if all that is missing is free (`mm_last_pg` in LMDB's mdb.c). So
//! the tree of free pages is read here from the file itself, as that source lays it out.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use heed::{Env, WithoutTls};

use super::FILE;

/// How often a version is looked for that no writer replaces meanwhile.
const ATTEMPTS: usize = 100;
/// The two meta pages of an empty store.
const LEAST: u64 = 8192;
const MAGIC: u32 = 0xBEEF_C0DE;
/// The header of a page: its number, 2 bytes of padding, flags, the bounds of its free space.
const HEADER: usize = 16;
/// Behind the header of a meta page: magic, version, address, map size, two trees, the last page, the version.
const META: usize = 24 + 2 * TREE + 16;
/// Page size or key size, flags, depth, three counts of pages, entries, root.
const TREE: usize = 48;
const IS_BRANCH: u16 = 1;
const IS_LEAF: u16 = 2;
/// The value of a node is on pages of its own, of which the node has the first one's number.
const IS_BIG: u16 = 1;
const NODE: usize = 8;
const NO_ROOT: u64 = u64::MAX;
const DEEPEST: usize = 32;

/// A file lacks pages that it uses.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}: the file is cut short: it has {size} bytes and uses {wanted}; put a whole copy in its place",
    file.display()
)]
pub struct CutShort {
    pub file: PathBuf,
    pub size: u64,
    pub wanted: u64,
}

/// Why it is not known that a file is whole.
#[derive(Debug)]
pub enum Doubt {
    CutShort(CutShort),
    Lmdb(heed::Error),
}

impl From<heed::Error> for Doubt {
    fn from(error: heed::Error) -> Self {
        Self::Lmdb(error)
    }
}

/// Return if every page that the last version of `env` uses is in its file in the folder `path`.
pub fn require_whole(env: &Env<WithoutTls>, path: &Path) -> Result<(), Doubt> {
    let file = path.join(FILE);
    let opened = File::open(&file).map_err(heed::Error::Io)?;
    for _ in 0..ATTEMPTS {
        // Nothing that this version uses is written over while the transaction lasts; it touches no page itself.
        let txn = env.read_txn()?;
        let pages = Pages::of(&opened).map_err(heed::Error::Io)?;
        let Some(meta) = pages.meta() else { continue };
        if meta.version != txn.id() as u64 {
            continue;
        }
        // The file may have grown since, but it does not shrink.
        let wanted = (meta.last_page + 1).saturating_mul(pages.page_size);
        if pages.size < wanted && !pages.lacks_free_ones_only(&meta) {
            return Err(Doubt::CutShort(CutShort { file, size: pages.size, wanted }));
        }
        return Ok(());
    }
    // A file with a writer that is so busy is one that its writer can read.
    Ok(())
}

/// Return if the file in the folder `path` has a beginning, or is not there; LMDB's words for an empty one are of
/// file descriptors.
pub fn require_begun(path: &Path) -> Result<(), CutShort> {
    let file = path.join(FILE);
    match std::fs::metadata(&file) {
        Ok(found) if found.len() == 0 => Err(CutShort { file, size: 0, wanted: LEAST }),
        _ => Ok(()),
    }
}

struct Meta {
    free_root: u64,
    last_page: u64,
    version: u64,
}

struct Pages<'f> {
    file: &'f File,
    size: u64,
    page_size: u64,
}

impl<'f> Pages<'f> {
    fn of(file: &'f File) -> std::io::Result<Self> {
        let mut first = [0; HEADER + META];
        file.read_exact_at(&mut first, 0)?;
        let page_size = u64::from(u32_at(&first, HEADER + 24).unwrap_or_default());
        Ok(Self { file, size: file.metadata()?.len(), page_size })
    }

    /// The newer one of the two meta pages.
    fn meta(&self) -> Option<Meta> {
        let metas = (0..2).filter_map(|number| self.meta_at(number));
        metas.max_by_key(|meta| meta.version)
    }

    fn meta_at(&self, number: u64) -> Option<Meta> {
        let mut page = [0; HEADER + META];
        self.file.read_exact_at(&mut page, number * self.page_size).ok()?;
        (u32_at(&page, HEADER)? == MAGIC).then_some(())?;
        let trees = HEADER + 24;
        Some(Meta {
            free_root: u64_at(&page, trees + TREE - 8)?,
            last_page: u64_at(&page, trees + 2 * TREE)?,
            version: u64_at(&page, trees + 2 * TREE + 8)?,
        })
    }

    /// Whether each page beyond the end of the file is a free one; a tree that cannot be read says nothing.
    fn lacks_free_ones_only(&self, meta: &Meta) -> bool {
        let present = self.size / self.page_size;
        let mut free = HashSet::new();
        if meta.free_root != NO_ROOT && self.walk(meta.free_root, present, 0, &mut free).is_none() {
            return false;
        }
        free.retain(|number| *number <= meta.last_page);
        free.len() as u64 == meta.last_page + 1 - present
    }

    /// Collect the free pages from `present` on below the page `number` of the tree.
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
            let place = node + NODE + key;
            let size = usize::try_from(low).ok()?;
            let listed = if more & IS_BIG == 0 {
                page.get(place..place.checked_add(size)?)?.to_vec()
            } else {
                self.read(u64_at(&page, place)?, HEADER as u64 + low)?.get(HEADER..)?.to_vec()
            };
            collect(&listed, present, free)?;
        }
        Some(())
    }

    /// The first `length` bytes from page `number` on, if they are in the file.
    fn read(&self, number: u64, length: u64) -> Option<Vec<u8>> {
        let start = number.checked_mul(self.page_size)?;
        (start.checked_add(length)? <= self.size).then_some(())?;
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut bytes, start).ok()?;
        Some(bytes)
    }
}

/// Collect the pages from `present` on of a list: how many there are, and their numbers.
fn collect(listed: &[u8], present: u64, free: &mut HashSet<u64>) -> Option<()> {
    let count = usize::try_from(u64_at(listed, 0)?).ok()?;
    let numbers = listed.get(8..count.checked_add(1)?.checked_mul(8)?)?;
    let numbers = numbers.chunks_exact(8).filter_map(|bytes| u64_at(bytes, 0));
    free.extend(numbers.filter(|number| *number >= present));
    Some(())
}

fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(place..place.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(place..place.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(place..place.checked_add(8)?)?.try_into().ok()?))
}
