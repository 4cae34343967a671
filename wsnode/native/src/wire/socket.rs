//! System calls on sockets that do not block, by their descriptors.

use std::io::{Error, ErrorKind, Result};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::time::Duration;

/// Read the bytes that have arrived at a socket to the beginning of `target`, and return their number. None
/// if there are none yet; 0 at the end of the stream or after an error.
pub fn receive_now(descriptor: RawFd, target: &mut [MaybeUninit<u8>]) -> Option<usize> {
    loop {
        // SAFETY: `read` writes at most as many bytes as `target` has room for.
        let size = unsafe { libc::read(descriptor, target.as_mut_ptr().cast(), target.len()) };
        let Ok(size) = usize::try_from(size) else {
            match Error::last_os_error().kind() {
                ErrorKind::Interrupted => continue,
                ErrorKind::WouldBlock => return None,
                _ => return Some(0),
            }
        };
        return Some(size);
    }
}

/// Send as much of `data` on a socket as the system accepts, and return the number of bytes, 0 if none.
///
/// # Errors
/// If the peer has closed the connection, or there is no such socket.
pub fn send_now(descriptor: RawFd, data: &[u8]) -> Result<usize> {
    loop {
        // SAFETY: the bytes are only read. Python ignores SIGPIPE, the signal for a stream that has ended.
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

/// Return up to `most` events of an epoll: each socket, and its event bits. Wait for the first one for up to
/// `time`, in whole milliseconds, rounded up.
///
/// # Errors
/// If there is no such epoll, if the system has none, or if a signal interrupted the wait.
#[cfg(target_os = "linux")]
pub fn waiting_events(epoll: RawFd, most: usize, time: Duration) -> Result<Vec<(RawFd, u32)>> {
    let mut events = Vec::<libc::epoll_event>::with_capacity(most);
    let room = libc::c_int::try_from(most).unwrap_or(libc::c_int::MAX);
    let milliseconds = libc::c_int::try_from(time.as_micros().div_ceil(1000)).unwrap_or(libc::c_int::MAX);
    // SAFETY: the list has capacity for `most` events.
    let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), room, milliseconds) };
    let count = usize::try_from(count).map_err(|_| Error::last_os_error())?;
    // SAFETY: the call has filled the first `count` events.
    unsafe { events.set_len(count) };
    Ok(events.into_iter().map(|event| (descriptor_of(event.u64), event.events)).collect())
}

/// Return the descriptor in an event's data. The data is a union in which Python sets the descriptor alone.
#[cfg(target_os = "linux")]
fn descriptor_of(data: u64) -> RawFd {
    let [a, b, c, d, ..] = data.to_ne_bytes();
    RawFd::from_ne_bytes([a, b, c, d])
}

#[cfg(not(target_os = "linux"))]
pub fn waiting_events(_epoll: RawFd, _most: usize, _time: Duration) -> Result<Vec<(RawFd, u32)>> {
    Err(ErrorKind::Unsupported.into())
}
