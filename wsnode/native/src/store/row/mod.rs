//! Checks of a row before it is taken for a value: the way to it, its place in the pages of the file, and its
//! checksum.

pub mod checksum;
pub mod fault;
pub mod page_bounds;
