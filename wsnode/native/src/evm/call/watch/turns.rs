//! Turns on the processor for runs that last: no more of them compute at a time than there are cores.
//!
//! Sixteen threads that compute keep each other from the cores. One among them that has just taken the
//! interpreter's lock, to begin or to end, would wait for its share like all others, and the event loop with it: 60 to
//! 250 ms were seen on two cores.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// What a run may compute before it takes turns, and in each turn while others wait.
const TURN: Duration = Duration::from_millis(2);

static CORES: LazyLock<Turns> =
    LazyLock::new(|| Turns::new(thread::available_parallelism().map_or(1, usize::from)));

/// A number of turns at a time, granted in the order in which they are asked for.
struct Turns {
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

impl Turns {
    fn new(count: usize) -> Self {
        Self {
            queue: Mutex::new(Queue { free: count, waiting: <_>::default() }),
            waiting: AtomicUsize::new(0),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing that panics happens while it is locked.
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

/// The time that one run has computed, and its turn.
#[derive(Debug)]
pub struct Run {
    since: Instant,
    has_turn: bool,
}

impl Run {
    pub fn begin() -> Self {
        Self { since: Instant::now(), has_turn: false }
    }

    /// Wait for a turn where one is due; to be called now and then.
    pub fn give_way(&mut self) {
        self.give_way_on(&CORES);
    }

    fn give_way_on(&mut self, turns: &Turns) {
        if self.since.elapsed() < TURN {
            return;
        }
        if !self.has_turn {
            turns.wait();
            self.has_turn = true;
        } else if turns.is_awaited() {
            turns.release();
            turns.wait();
        }
        self.since = Instant::now();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.has_turn {
            CORES.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_have_turns_than_there_are_and_each_has_its_own() {
        let (turns, computing, most) = (Turns::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        turns.wait();
                        most.fetch_max(computing.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        computing.fetch_sub(1, Ordering::SeqCst);
                        turns.release();
                    }
                });
            }
        });
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
        assert_eq!(turns.queue().free, 2);
        assert!(!turns.is_awaited());
    }

    #[test]
    fn a_turn_passes_on_in_the_order_of_asking() {
        let (turns, order) = (Turns::new(1), Mutex::new(vec![]));
        turns.wait();
        thread::scope(|scope| {
            for number in 0..4 {
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    turns.wait();
                    order.lock().unwrap().push(number);
                    turns.release();
                });
                while turns.queue().waiting.len() <= number {
                    thread::yield_now();
                }
            }
            turns.release();
        });
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn a_run_takes_turns_once_it_lasts_and_gives_way_to_those_that_wait() {
        let turns = Turns::new(1);
        let mut run = Run::begin();
        run.give_way_on(&turns);
        assert!(!run.has_turn);
        run.since -= TURN;
        run.give_way_on(&turns);
        assert!(run.has_turn);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                turns.wait();
                turns.release();
            });
            while !turns.is_awaited() {
                thread::yield_now();
            }
            run.since -= TURN;
            run.give_way_on(&turns);
            other.join().unwrap();
        });
        turns.release();
        run.has_turn = false;
    }
}
