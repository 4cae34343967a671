//! Sockets that do not block, by their numbers.

use std::io::{ErrorKind, Read, Result, Write};
use std::mem::ManuallyDrop;
use std::net::TcpStream;
use std::os::fd::{FromRawFd, RawFd};

/// A stream socket that its owner keeps open, and closes.
pub struct Borrowed(ManuallyDrop<TcpStream>);

impl Borrowed {
    pub fn new(descriptor: RawFd) -> Self {
        // SAFETY: it is never closed here. Its owner has it forgotten before closing it, and with the number of a
        // socket that is closed all the same a call fails.
        Self(ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(descriptor) }))
    }

    /// Read what has arrived; None if nothing has. It has ended at 0 bytes, or an error.
    pub fn receive(&self, target: &mut [u8]) -> Option<usize> {
        found(|| (&*self.0).read(target))
    }

    /// Send what the system accepts of `data`, and return how much that is; less than all also where it fails.
    pub fn send(&self, data: &[u8]) -> usize {
        found(|| (&*self.0).write(data)).unwrap_or(0)
    }
}

/// The result of a system call: 0 if it fails, None if it would block.
fn found(mut call: impl FnMut() -> Result<usize>) -> Option<usize> {
    loop {
        match call() {
            Ok(size) => return Some(size),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(_) => return Some(0),
        }
    }
}
