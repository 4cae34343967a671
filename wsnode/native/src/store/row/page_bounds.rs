//! Bounds of keys and values in the pages of a file, checked before a damaged size leads beyond the file's end.
//!
//! LMDB returns a pointer into its map and the size that the entry has in its page. A read beyond the end of the
//! file ends the process by SIGBUS.

/// Bytes of a page's header: its number, 2 bytes of padding, its flags, and the number of overflow pages.
const HEADER: usize = 16;
const FLAGS: usize = 10;
const PAGES: usize = 12;
/// Flag of the first page of a value that has pages of its own.
const OVERFLOW: u16 = 0x04;

/// Size in bytes of the pages of a map, or none if slices cannot be checked.
#[derive(Debug, Clone, Copy)]
pub struct PageBounds(Option<usize>);

impl PageBounds {
    /// Create the bounds of a file with pages of `page_size` bytes. A map begins at a page of the system, so pages of the file
    /// begin at multiples of their size only if the system's are not smaller.
    pub fn new(page_size: usize) -> Self {
        // SAFETY: the call reads a constant of the system.
        let system = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0);
        Self((page_size > HEADER && page_size <= system && system % page_size == 0).then_some(page_size))
    }

    /// Create the bounds of a change: the pages that it has written lie anywhere in memory.
    pub fn none() -> Self {
        Self(None)
    }

    /// Return whether a key that LMDB has returned lies in one page.
    pub fn has_key(self, key: &[u8]) -> bool {
        self.0.is_none_or(|page_size| key.as_ptr() as usize % page_size + key.len() <= page_size)
    }

    /// Return whether a value that LMDB has returned lies in one page, or in the overflow pages behind its header.
    pub fn has_value(self, value: &[u8]) -> bool {
        let Some(page_size) = self.0 else { return true };
        let offset = value.as_ptr() as usize % page_size;
        offset + value.len() <= page_size
            || (offset == HEADER && value.len() <= overflow_size(value.as_ptr(), page_size))
    }
}

/// Return the size in bytes of overflow pages behind their header, where `content` points; 0 for other pages.
fn overflow_size(content: *const u8, page_size: usize) -> usize {
    // SAFETY: `content` is directly behind the header of a page that LMDB has found in the file, so the
    // header is in the same page.
    let (flags, pages) = unsafe {
        let header = content.sub(HEADER);
        (header.add(FLAGS).cast::<u16>().read_unaligned(), header.add(PAGES).cast::<u32>().read_unaligned())
    };
    if flags & OVERFLOW == 0 {
        return 0;
    }
    (pages as usize).saturating_mul(page_size).saturating_sub(HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4096;

    #[repr(align(4096))]
    struct Map([u8; 4 * PAGE]);

    fn overflow(pages: u32, flags: u16) -> Box<Map> {
        let mut map = Box::new(Map([0; 4 * PAGE]));
        map.0[FLAGS..FLAGS + 2].copy_from_slice(&flags.to_ne_bytes());
        map.0[PAGES..PAGES + 4].copy_from_slice(&pages.to_ne_bytes());
        map
    }

    #[test]
    fn a_value_lies_in_one_page_or_in_the_overflow_pages_behind_its_header() {
        let (map, bounds) = (overflow(2, OVERFLOW), PageBounds::new(PAGE));
        let is_inside = |start: usize, size: usize| bounds.has_value(&map.0[start..start + size]);
        assert!(is_inside(100, PAGE - 100));
        assert!(!is_inside(100, PAGE - 99));
        assert!(is_inside(HEADER, 2 * PAGE - HEADER));
        assert!(!is_inside(HEADER, 2 * PAGE - HEADER + 1));
        // The second overflow page has no header of its own.
        assert!(!is_inside(PAGE + HEADER, PAGE));
        assert!(!bounds.has_value(&overflow(2, 0x02).0[HEADER..2 * PAGE]));
    }

    #[test]
    fn a_key_lies_in_one_page() {
        let (map, bounds) = (overflow(2, OVERFLOW), PageBounds::new(PAGE));
        assert!(bounds.has_key(&map.0[PAGE - 8..PAGE]));
        assert!(!bounds.has_key(&map.0[PAGE - 8..PAGE + 1]));
    }

    #[test]
    fn pages_of_a_change_and_pages_larger_than_the_systems_have_no_bounds() {
        let map = overflow(1, 0);
        for bounds in [PageBounds::none(), PageBounds::new(1 << 24), PageBounds::new(0)] {
            assert!(bounds.has_value(&map.0[100..2 * PAGE]));
            assert!(bounds.has_key(&map.0[100..2 * PAGE]));
        }
    }
}
