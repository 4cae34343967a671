//! The heap of a process that has this library preloaded: jemalloc's, under the names of the C library.
//!
//! Where it is not preloaded the C library's own come first, for all callers, this library's included. The
//! functions are those that glibc asks of a replacement (its manual, *Replacing malloc*).

use core::ffi::{c_char, c_int, c_void};
use tikv_jemalloc_sys as jemalloc;

/// A text that jemalloc reads before it gives its first block.
#[repr(transparent)]
pub struct Text(*const c_char);

// SAFETY: it points to a literal, which nothing writes.
unsafe impl Sync for Text {}

/// Freed pages go back within seconds, by a thread that an idle process has too.
///
/// A run of small blocks has one page, where jemalloc has up to seven: one of them that is in use keeps less. After
/// four minutes of all attacks 119 MB of pages held 55 MB of blocks with those runs, 99 MB with these.
///
/// A thread keeps up to four freed blocks of each size up to 128 KiB at hand, instead of twenty up to 32 KiB: what is read
/// at once has 64 KiB, and beyond that size jemalloc asks its arena, under a lock, for each block.
#[export_name = "_rjem_malloc_conf"]
pub static CONFIGURATION: Text = Text(
    c"background_thread:true,max_background_threads:1,dirty_decay_ms:3000,muzzy_decay_ms:0,slab_sizes:8-256:1,\
      tcache_max:131072,tcache_nslots_large:4"
        .as_ptr(),
);

const PAGE: usize = 4096;

/// # Safety
/// As `malloc(3)`.
#[no_mangle]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    jemalloc::malloc(size)
}

/// # Safety
/// As `calloc(3)`.
#[no_mangle]
pub unsafe extern "C" fn calloc(number: usize, size: usize) -> *mut c_void {
    jemalloc::calloc(number, size)
}

/// # Safety
/// As `realloc(3)`.
#[no_mangle]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    jemalloc::realloc(block, size)
}

/// # Safety
/// As `free(3)`.
#[no_mangle]
pub unsafe extern "C" fn free(block: *mut c_void) {
    jemalloc::free(block);
}

/// # Safety
/// As `aligned_alloc(3)`.
#[no_mangle]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    jemalloc::aligned_alloc(alignment, size)
}

/// # Safety
/// As `posix_memalign(3)`.
#[no_mangle]
pub unsafe extern "C" fn posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    jemalloc::posix_memalign(block, alignment, size)
}

/// # Safety
/// As `memalign(3)`.
#[no_mangle]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    jemalloc::aligned_alloc(alignment, size)
}

/// # Safety
/// As `valloc(3)`.
#[no_mangle]
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    jemalloc::aligned_alloc(PAGE, size)
}

/// # Safety
/// As `pvalloc(3)`.
#[no_mangle]
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    jemalloc::aligned_alloc(PAGE, size.next_multiple_of(PAGE))
}

/// # Safety
/// As `malloc_usable_size(3)`.
#[no_mangle]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    jemalloc::malloc_usable_size(block)
}
