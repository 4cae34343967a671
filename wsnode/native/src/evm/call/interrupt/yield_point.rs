//! What a long computation inside one instruction asks now and then: whether to go on, and for a turn.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use super::cpu_slots::CpuLease;

/// The part of a watch that such a computation sees.
#[derive(Debug, Clone)]
pub struct YieldPoint {
    cancel: Option<Arc<AtomicBool>>,
    lease: Rc<RefCell<Option<CpuLease>>>,
}

thread_local! {
    /// Of the run whose precompiled contract this thread computes. Their functions take no context of ours.
    static YIELD_POINT: RefCell<Option<YieldPoint>> = const { RefCell::new(None) };
}

/// Forgets the pause of this thread.
struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        YIELD_POINT.with_borrow_mut(|yield_point| *yield_point = None);
    }
}

impl YieldPoint {
    pub fn new(cancel: Option<Arc<AtomicBool>>, lease: Rc<RefCell<Option<CpuLease>>>) -> Self {
        Self { cancel, lease }
    }

    /// The result of `work`, in which `should_continue` asks this.
    pub fn during<T>(self, work: impl FnOnce() -> T) -> T {
        YIELD_POINT.with_borrow_mut(|yield_point| *yield_point = Some(self));
        let _reset = Reset;
        work()
    }

    fn should_continue(&self) -> bool {
        if let Some(lease) = self.lease.borrow_mut().as_mut() {
            lease.yield_cpu();
        }
        !self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
}

/// Whether what this thread computes may be ended early.
pub fn is_interruptible() -> bool {
    YIELD_POINT.with_borrow(Option::is_some)
}

/// Wait for a turn on the processor where one is due; return whether the caller still waits for the result.
pub fn should_continue() -> bool {
    YIELD_POINT.with_borrow(|yield_point| yield_point.as_ref().is_none_or(YieldPoint::should_continue))
}
