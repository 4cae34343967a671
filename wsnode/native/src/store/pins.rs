//! Pins that keep a map in its place: threads reading in it, and values viewed there.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use heed::{Env, WithoutTls};

/// Number of a map's pins, and number of threads that wait until it has none.
#[derive(Debug, Default)]
pub(super) struct Pins {
    count: AtomicUsize,
    waiting: AtomicUsize,
}

/// Guard that keeps the map in its place until it is dropped.
#[derive(Debug)]
pub struct Pin {
    pins: Arc<Pins>,
    env: Env<WithoutTls>,
}

/// Guard that keeps threads from beginning to read until it is dropped.
pub(super) struct HeldBack<'p>(&'p Pins);

impl Pins {
    /// Return true if any pin keeps the map in its place.
    pub fn are_held(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Wait until a thread may begin to read: until no thread waits for the map to have no pins.
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
    /// Add a pin.
    ///
    /// The caller holds the lock of the open file, because a map is moved only under it.
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
