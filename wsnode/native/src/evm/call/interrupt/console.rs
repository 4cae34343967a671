//! Calls of the console of Hardhat's `console.sol`, an address without code.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use alloy_primitives::{address, Address, Bytes};

pub const CONSOLE: Address = address!("000000000000000000636F6e736F6c652e6c6f67");

/// Bound of the bytes kept for one run, and for all runs until they are read. Input costs a caller nearly
/// nothing.
pub const MAX_BYTES: usize = 256 * 1024;
/// Approximate bytes in memory of a message besides its input.
const MESSAGE_SIZE: usize = 64;

/// Inputs of console calls in their order, and the number of calls that were dropped at the bound.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ConsoleMessages {
    pub messages: Vec<Bytes>,
    pub dropped: usize,
    size: usize,
}

impl ConsoleMessages {
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.dropped == 0
    }

    /// Keep a copy of a message, or count it as dropped if there is no room.
    pub fn add(&mut self, message: &[u8]) {
        if self.takes(message.len()) {
            self.messages.push(Bytes::copy_from_slice(message));
        }
    }

    fn append(&mut self, other: Self) {
        for message in other.messages {
            if self.takes(message.len()) {
                self.messages.push(message);
            }
        }
        self.dropped += other.dropped;
    }

    /// Reserve room for a message of `length` bytes and return true; without room, count the message as
    /// dropped.
    fn takes(&mut self, length: usize) -> bool {
        let size = self.size + MESSAGE_SIZE + length;
        let has_room = size <= MAX_BYTES;
        if has_room {
            self.size = size;
        } else {
            self.dropped += 1;
        }
        has_room
    }
}

/// Console messages of a chain's calls since the last read. Nothing is kept until the first reader begins.
#[derive(Debug, Default)]
pub struct ConsoleLog {
    is_read: AtomicBool,
    console_messages: Mutex<ConsoleMessages>,
}

impl ConsoleLog {
    /// Keep console messages from now on.
    pub fn begin(&self) {
        self.is_read.store(true, Ordering::Relaxed);
    }

    pub fn append(&self, console_messages: ConsoleMessages) {
        if self.is_read.load(Ordering::Relaxed) && !console_messages.is_empty() {
            self.console_messages.lock().unwrap_or_else(PoisonError::into_inner).append(console_messages);
        }
    }

    pub fn take(&self) -> ConsoleMessages {
        std::mem::take(&mut *self.console_messages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_bound_is_counted() {
        let mut console_messages = ConsoleMessages::default();
        let message = vec![0; 1024 - MESSAGE_SIZE];
        (0..MAX_BYTES / 1024 + 2).for_each(|_| console_messages.add(&message));
        assert_eq!((console_messages.messages.len(), console_messages.dropped), (MAX_BYTES / 1024, 2));
        let mut other = ConsoleMessages::default();
        other.append(console_messages);
        assert_eq!((other.messages.len(), other.dropped), (MAX_BYTES / 1024, 2));
    }

    #[test]
    fn nothing_is_kept_without_a_reader() {
        let log = ConsoleLog::default();
        let console_messages = || {
            let mut console_messages = ConsoleMessages::default();
            console_messages.add(b"x");
            console_messages
        };
        log.append(console_messages());
        assert!(log.take().is_empty());
        log.begin();
        log.append(console_messages());
        assert_eq!((log.take(), log.take().is_empty()), (console_messages(), true));
    }
}
