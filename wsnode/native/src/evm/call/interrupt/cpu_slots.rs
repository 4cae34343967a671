//! CPU slots for long runs: at most as many of them compute at a time as there are cores.
//!
//! Many threads that compute keep each other from the cores. Among sixteen of them, a thread that holds the
//! interpreter's lock at its begin or end waits for its share of a core, and the event loop waits for the
//! lock: 60 to 250 ms were seen on two cores.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Time that a run may compute without a slot, and with a slot while others wait.
const TIME_SLICE: Duration = Duration::from_millis(2);

static CPU_SLOTS: LazyLock<CpuSlots> =
    LazyLock::new(|| CpuSlots::new(thread::available_parallelism().map_or(1, usize::from)));

/// CPU slots, granted in the order of the requests.
struct CpuSlots {
    queue: Mutex<Queue>,
    waiting: AtomicUsize,
}

struct Queue {
    free: usize,
    waiting: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    thread: Thread,
    is_granted: AtomicBool,
}

impl CpuSlots {
    fn new(count: usize) -> Self {
        Self {
            queue: Mutex::new(Queue { free: count, waiting: <_>::default() }),
            waiting: AtomicUsize::new(0),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code panics while it holds this lock, so the queue is intact.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) {
        let waiter = {
            let mut queue = self.queue();
            if queue.free > 0 {
                queue.free -= 1;
                return;
            }
            let waiter = Arc::new(Waiter { thread: thread::current(), is_granted: AtomicBool::new(false) });
            queue.waiting.push_back(waiter.clone());
            self.waiting.store(queue.waiting.len(), Ordering::Relaxed);
            waiter
        };
        while !waiter.is_granted.load(Ordering::Acquire) {
            thread::park();
        }
    }

    fn release(&self) {
        let mut queue = self.queue();
        match queue.waiting.pop_front() {
            Some(waiter) => {
                self.waiting.store(queue.waiting.len(), Ordering::Relaxed);
                waiter.is_granted.store(true, Ordering::Release);
                waiter.thread.unpark();
            }
            None => queue.free += 1,
        }
    }

    fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

/// Time since the last check of one run, and whether the run has a slot.
#[derive(Debug)]
pub struct CpuLease {
    since: Instant,
    has_slot: bool,
}

impl CpuLease {
    pub fn begin() -> Self {
        Self { since: Instant::now(), has_slot: false }
    }

    /// Wait for a CPU slot if the time slice is over. The run calls this regularly.
    pub fn yield_cpu(&mut self) {
        self.yield_on(&CPU_SLOTS);
    }

    fn yield_on(&mut self, cpu_slots: &CpuSlots) {
        if self.since.elapsed() < TIME_SLICE {
            return;
        }
        if !self.has_slot {
            cpu_slots.wait();
            self.has_slot = true;
        } else if cpu_slots.is_awaited() {
            cpu_slots.release();
            cpu_slots.wait();
        }
        self.since = Instant::now();
    }
}

impl Drop for CpuLease {
    fn drop(&mut self) {
        if self.has_slot {
            CPU_SLOTS.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_have_turns_than_there_are_and_each_has_its_own() {
        let (cpu_slots, computing, most) = (CpuSlots::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        cpu_slots.wait();
                        most.fetch_max(computing.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        computing.fetch_sub(1, Ordering::SeqCst);
                        cpu_slots.release();
                    }
                });
            }
        });
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
        assert_eq!(cpu_slots.queue().free, 2);
        assert!(!cpu_slots.is_awaited());
    }

    #[test]
    fn a_turn_passes_on_in_the_order_of_asking() {
        let (cpu_slots, order) = (CpuSlots::new(1), Mutex::new(vec![]));
        cpu_slots.wait();
        thread::scope(|scope| {
            for number in 0..4 {
                let (cpu_slots, order) = (&cpu_slots, &order);
                scope.spawn(move || {
                    cpu_slots.wait();
                    order.lock().unwrap().push(number);
                    cpu_slots.release();
                });
                while cpu_slots.queue().waiting.len() <= number {
                    thread::yield_now();
                }
            }
            cpu_slots.release();
        });
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn a_run_takes_turns_once_it_lasts_and_gives_way_to_those_that_wait() {
        let cpu_slots = CpuSlots::new(1);
        // The lease begins in one hour, so its time slice cannot end however late this thread continues.
        let mut lease = CpuLease { since: Instant::now() + Duration::from_hours(1), has_slot: false };
        lease.yield_on(&cpu_slots);
        assert!(!lease.has_slot);
        lease.since = Instant::now() - TIME_SLICE;
        lease.yield_on(&cpu_slots);
        assert!(lease.has_slot);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                cpu_slots.wait();
                cpu_slots.release();
            });
            while !cpu_slots.is_awaited() {
                thread::yield_now();
            }
            lease.since -= TIME_SLICE;
            lease.yield_on(&cpu_slots);
            other.join().unwrap();
        });
        cpu_slots.release();
        lease.has_slot = false;
    }
}
