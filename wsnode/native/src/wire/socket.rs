//! Sockets that do not block, by their numbers.

use std::io::{Error, ErrorKind, Read, Result};
use std::mem::ManuallyDrop;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

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
        loop {
            match (&*self.0).read(target) {
                Ok(size) => return Some(size),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(_) => return Some(0),
            }
        }
    }

    /// Send what the system accepts of `data`, and return how much that is; less than all also where it fails.
    pub fn send(&self, data: &[u8]) -> usize {
        send_now(self.0.as_raw_fd(), data).unwrap_or(0)
    }
}

/// Send what the system accepts of `data` on a socket, and return how much that is.
///
/// # Errors
/// The other side is gone, or there is no such socket.
pub fn send_now(descriptor: RawFd, data: &[u8]) -> Result<usize> {
    loop {
        // SAFETY: the bytes are only read. Python has the signal ignored that an ended stream raises.
        let sent = unsafe { libc::write(descriptor, data.as_ptr().cast(), data.len()) };
        let Ok(sent) = usize::try_from(sent) else {
            let error = Error::last_os_error();
            match error.kind() {
                ErrorKind::Interrupted => continue,
                ErrorKind::WouldBlock => return Ok(0),
                _ => return Err(error),
            }
        };
        return Ok(sent);
    }
}

/// The events that wait at an epoll, `most` at the most: each socket, and what it has.
///
/// # Errors
/// There is no such epoll, or none on this system.
#[cfg(target_os = "linux")]
pub fn waiting_events(epoll: RawFd, most: usize) -> Result<Vec<(RawFd, u32)>> {
    let mut events = Vec::<libc::epoll_event>::with_capacity(most);
    let room = libc::c_int::try_from(most).unwrap_or(libc::c_int::MAX);
    // SAFETY: the list has capacity for `most` events.
    let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), room, 0) };
    let count = usize::try_from(count).map_err(|_| Error::last_os_error())?;
    // SAFETY: the call has filled the first `count` events.
    unsafe { events.set_len(count) };
    Ok(events.into_iter().map(|event| (descriptor_of(event.u64), event.events)).collect())
}

/// The descriptor in an event's data, a union: Python sets no more of it.
#[cfg(target_os = "linux")]
fn descriptor_of(data: u64) -> RawFd {
    let [a, b, c, d, ..] = data.to_ne_bytes();
    RawFd::from_ne_bytes([a, b, c, d])
}

#[cfg(not(target_os = "linux"))]
pub fn waiting_events(_epoll: RawFd, _most: usize) -> Result<Vec<(RawFd, u32)>> {
    Err(ErrorKind::Unsupported.into())
}
