//! Pause of a long computation inside one instruction: a check for cancellation, and a CPU slot.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use super::cpu_slots::CpuLease;

/// Part of a work budget that a precompiled contract's computation sees.
#[derive(Debug, Clone)]
pub struct YieldPoint {
    cancel: Option<Arc<AtomicBool>>,
    lease: Rc<RefCell<Option<CpuLease>>>,
}

thread_local! {
    /// Yield point of the run whose precompiled contract this thread computes. revm's interface of contracts
    /// has no place for it.
    static YIELD_POINT: RefCell<Option<YieldPoint>> = const { RefCell::new(None) };
}

/// Guard that removes the yield point of this thread.
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

    /// Return the result of `work`. Calls of `should_continue` in it use this yield point.
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

/// Return whether the computation of this thread may end early.
pub fn is_interruptible() -> bool {
    YIELD_POINT.with_borrow(Option::is_some)
}

/// Wait for a CPU slot if the time slice is over, and return whether the caller still waits for the result.
pub fn should_continue() -> bool {
    YIELD_POINT.with_borrow(|yield_point| yield_point.as_ref().is_none_or(YieldPoint::should_continue))
}
