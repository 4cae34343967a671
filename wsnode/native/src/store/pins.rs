//! Pins that keep a map in its place: threads reading in it, and values viewed there.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use heed::{Env, WithoutTls};

/// Time for which a thread is kept from beginning to read: it may have what a reading thread waits for, such
/// as the interpreter's lock.
const PATIENCE: Duration = Duration::from_secs(1);

thread_local! {
    /// Number of pins made by this thread that are not dropped.
    static MADE_HERE: Arc<AtomicUsize> = Arc::default();
}

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
    /// Number of pins of the thread that made this one.
    made: Arc<AtomicUsize>,
}

/// Guard that keeps threads from beginning to read until it is dropped.
pub(super) struct HeldBack<'p>(&'p Pins);

impl Pins {
    /// Return true if any pin keeps the map in its place.
    pub fn are_held(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Wait until this thread may begin to read: until no thread waits for the map to have no pins, for a
    /// second at most. A thread that reads already does not wait, because it needs this read to end the
    /// other.
    pub fn wait_until_free(&self) {
        if MADE_HERE.with(|made| made.load(Ordering::Acquire)) > 0 {
            return;
        }
        let mut began = None;
        while self.waiting.load(Ordering::Acquire) > 0
            && began.get_or_insert_with(Instant::now).elapsed() < PATIENCE
        {
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
        let made = MADE_HERE.with(Arc::clone);
        made.fetch_add(1, Ordering::AcqRel);
        Self { pins: pins.clone(), env: env.clone(), made }
    }

    pub(super) fn env(&self) -> &Env<WithoutTls> {
        &self.env
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.made.fetch_sub(1, Ordering::AcqRel);
        self.pins.count.fetch_sub(1, Ordering::AcqRel);
    }
}
