//! What keeps a map where it is: threads that read in it, and values that are viewed there.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use heed::{Env, WithoutTls};

/// How many pins a map has, and how many threads wait for it to have none.
#[derive(Debug, Default)]
pub(super) struct Pins {
    count: AtomicUsize,
    waiting: AtomicUsize,
}

/// Keeps the map where it is, until it is dropped.
#[derive(Debug)]
pub struct Pin {
    pins: Arc<Pins>,
    env: Env<WithoutTls>,
}

/// Keeps threads from beginning to read, until it is dropped.
pub(super) struct HeldBack<'p>(&'p Pins);

impl Pins {
    /// Whether something keeps the map where it is.
    pub fn are_held(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Wait until a thread may begin to read: none waits for a moment without pins.
    pub fn wait_until_free(&self) {
        while self.waiting.load(Ordering::Acquire) > 0 {
            sleep(Duration::from_millis(1));
        }
    }

    pub fn hold_back(&self) -> HeldBack<'_> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        HeldBack(self)
    }
}

impl Drop for HeldBack<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Pin {
    /// To be made while the open file is locked, as a map is moved only then.
    pub(super) fn new(pins: &Arc<Pins>, env: &Env<WithoutTls>) -> Self {
        pins.count.fetch_add(1, Ordering::AcqRel);
        Self { pins: pins.clone(), env: env.clone() }
    }

    pub(super) fn env(&self) -> &Env<WithoutTls> {
        &self.env
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.count.fetch_sub(1, Ordering::AcqRel);
    }
}
