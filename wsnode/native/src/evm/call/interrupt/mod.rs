//! Work budget of a run, cancellation by its caller, and the values that it reads.

mod console;
pub(super) mod cost;
mod cpu_slots;
mod reads;
mod yield_point;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

pub use console::{ConsoleLog, ConsoleMessages, CONSOLE};
use cpu_slots::CpuLease;
pub use reads::{Read, Reads};
pub(super) use yield_point::{is_interruptible, should_continue, YieldPoint};

/// Number of charges between two reads of the clock, 10 to 100 us. `CHECK_INTERVAL_GAS` is the same bound in
/// gas.
const CHECK_INTERVAL: u32 = 1024;
const CHECK_INTERVAL_GAS: u64 = 20_000;

/// Gas that counts as one jump. Code without jumps needs up to 10 ns for each gas, and mostly much less.
const GAS_PER_STEP: u64 = 32;

/// Counter of a run's work, in jumps of some 12 ns each in the tightest loop. Operations that take longer
/// than their gas shows have their own cost; all other work is counted by the gas used since the last check.
#[derive(Debug)]
pub struct WorkBudget {
    remaining: Cell<u64>,
    has_budget: bool,
    cancel: Option<Arc<AtomicBool>>,
    /// Time at which a run without a budget ends.
    deadline: Cell<Option<Instant>>,
    is_stopped: Cell<bool>,
    /// Gas of each frame of the run at its last check, and the value of `charged` then.
    frames: RefCell<Vec<(u64, u64)>>,
    charged: Cell<u64>,
    /// CPU slot of a run without a budget, which may last long.
    lease: Rc<RefCell<Option<CpuLease>>>,
    checks: Cell<u32>,
    gas_seen: Cell<u64>,
    is_gas_seen_by_code: Cell<bool>,
    /// Least gas left at a write to storage.
    least_at_write: Cell<u64>,
    /// Messages of the run to the console.
    console_messages: RefCell<ConsoleMessages>,
}

impl WorkBudget {
    pub fn new(budget: Option<u64>, cancel: Option<Arc<AtomicBool>>) -> Self {
        Self {
            remaining: Cell::new(budget.unwrap_or(u64::MAX)),
            has_budget: budget.is_some(),
            cancel,
            deadline: Cell::new(None),
            is_stopped: Cell::new(false),
            frames: <_>::default(),
            charged: Cell::new(0),
            lease: Rc::new(RefCell::new(budget.is_none().then(CpuLease::begin))),
            checks: Cell::new(0),
            gas_seen: Cell::new(0),
            is_gas_seen_by_code: Cell::new(false),
            least_at_write: Cell::new(u64::MAX),
            console_messages: <_>::default(),
        }
    }

    /// Begin a run with new frames.
    pub fn begin(&self) {
        self.frames.borrow_mut().clear();
        self.is_gas_seen_by_code.set(false);
        self.least_at_write.set(u64::MAX);
        self.console_messages.take();
    }

    /// Begin another run with a new budget, in jumps.
    pub fn renew(&self, budget: u64) {
        self.begin();
        self.is_stopped.set(false);
        self.remaining.set(budget);
    }

    /// End runs without a budget at `deadline`.
    pub fn end_at(&self, deadline: Instant) {
        self.deadline.set(Some(deadline));
    }

    /// Record that the code's result depends on its gas limit in another way than by running out of gas.
    pub fn note_gas_seen(&self) {
        self.is_gas_seen_by_code.set(true);
    }

    pub fn note_console_message(&self, message: &[u8]) {
        self.console_messages.borrow_mut().add(message);
    }

    pub fn has_console_messages(&self) -> bool {
        !self.console_messages.borrow().is_empty()
    }

    pub fn take_console_messages(&self) -> ConsoleMessages {
        self.console_messages.take()
    }

    pub fn put_console_messages(&self, console_messages: ConsoleMessages) {
        self.console_messages.replace(console_messages);
    }

    /// Record a write to storage with `remaining` gas left.
    pub fn note_write(&self, remaining: u64) {
        self.least_at_write.set(self.least_at_write.get().min(remaining));
    }

    /// Return the least gas left at a write to storage in the last run, 2^64 - 1 without a write. None if its
    /// code depended on the gas limit in another way.
    pub fn least_at_write(&self) -> Option<u64> {
        (!self.is_gas_seen_by_code.get()).then(|| self.least_at_write.get())
    }

    /// Spend the gas used since the last check by the frame at `depth`, which began with `limit` gas, and
    /// `cost`. Return whether the run may continue.
    #[inline]
    pub fn charge_gas(&self, depth: usize, limit: u64, remaining: u64, cost: u64) -> bool {
        if !self.has_budget {
            if self.gas_seen.get().abs_diff(remaining) >= CHECK_INTERVAL_GAS {
                self.gas_seen.set(remaining);
                self.yield_cpu();
            }
            return self.charge(cost);
        }
        self.charge(cost.saturating_add(self.used(depth, limit, remaining) / GAS_PER_STEP))
    }

    /// Return the gas used since the last check by this frame, and by frames it called that ended without a
    /// check.
    fn used(&self, depth: usize, limit: u64, remaining: u64) -> u64 {
        let mut frames = self.frames.borrow_mut();
        let charged = self.charged.get();
        frames.truncate(depth + 1);
        // A frame that has not been checked yet counts as having its whole gas.
        frames.resize(depth + 1, (limit, charged));
        let (had, charged_then) = frames[depth];
        let used = had.saturating_sub(remaining).saturating_sub(charged - charged_then);
        frames[depth] = (remaining, charged + used);
        self.charged.set(charged + used);
        used
    }

    /// Spend `cost` of the budget and return whether the run may continue.
    #[inline]
    pub fn charge(&self, cost: u64) -> bool {
        let remaining = self.remaining.get();
        if remaining < cost || self.is_cancelled() {
            self.stop();
            return false;
        }
        if self.has_budget {
            self.remaining.set(remaining - cost);
        } else {
            self.checks.set(self.checks.get().wrapping_add(1));
            if self.checks.get().is_multiple_of(CHECK_INTERVAL) {
                self.yield_cpu();
            }
        }
        true
    }

    /// Return the result of `work`, which asks `should_continue` regularly. After a cancellation the result
    /// is meaningless.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        YieldPoint::new(self.cancel.clone(), self.lease.clone()).during(work)
    }

    /// Wait for a CPU slot if the time slice is over. Beyond the deadline, use up the budget, so that the run
    /// ends.
    fn yield_cpu(&self) {
        if self.deadline.get().is_some_and(|deadline| Instant::now() >= deadline) {
            self.remaining.set(0);
        }
        if let Some(lease) = self.lease.borrow_mut().as_mut() {
            lease.yield_cpu();
        }
    }

    #[cfg(test)]
    pub fn gas_charged(&self) -> u64 {
        self.charged.get()
    }

    /// End the run at its next check.
    pub fn stop(&self) {
        self.is_stopped.set(true);
    }

    pub fn is_stopped(&self) -> bool {
        self.is_stopped.get()
    }

    pub fn has_budget(&self) -> bool {
        self.has_budget
    }

    /// Return the flag that is set when the caller no longer waits.
    pub fn cancel(&self) -> Option<&AtomicBool> {
        self.cancel.as_deref()
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gas_is_charged_once_whichever_frame_shows_it() {
        let work_budget = WorkBudget::new(Some(1000), None);
        let left = || work_budget.remaining.get();
        assert!(work_budget.charge_gas(1, 100_000, 100_000 - 3200, 0));
        assert_eq!(left(), 900);
        // The gas of a nested call that is checked is not charged again in its caller.
        assert!(work_budget.charge_gas(2, 50_000, 50_000 - 3200, 0));
        assert!(work_budget.charge_gas(2, 50_000, 50_000 - 6400, 0));
        assert_eq!(left(), 700);
        assert!(work_budget.charge_gas(1, 100_000, 100_000 - 3200 - 6400, 0));
        assert_eq!(left(), 700);
        // The gas of a nested call that ends without a check is charged in its caller.
        assert!(work_budget.charge_gas(1, 100_000, 100_000 - 3200 - 6400 - 16_000, 0));
        assert_eq!(left(), 200);
        assert!(!work_budget.charge_gas(1, 100_000, 0, 0));
        assert!(work_budget.is_stopped());
    }

    #[test]
    fn frames_of_another_run_are_new_ones() {
        let work_budget = WorkBudget::new(Some(1000), None);
        assert!(work_budget.charge_gas(1, 32_000, 0, 0));
        assert!(work_budget.remaining.get() == 0);
        let work_budget = WorkBudget::new(Some(1000), None);
        assert!(work_budget.charge_gas(1, 32_000, 16_000, 0));
        work_budget.begin();
        assert!(work_budget.charge_gas(1, 16_000, 16_000, 0));
        assert_eq!(work_budget.remaining.get(), 500);
    }
}
