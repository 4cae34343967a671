//! How long turns take that follow each other in one thread.

use std::time::{Duration, Instant};

use crate::wire::fair_queue::QUICK_COST;

/// A clock that is read at the end of each turn, which begins the next one.
///
/// A reply wakes its client, which may take the very core: to be put aside then (0.2 to 0.5 ms) must not make a quick
/// place a slow one. So a turn that seems long took no more than the thread has used of a processor. To ask for that
/// takes a microsecond, a fourth of a quick turn, so it is asked for only then, and where others wait.
pub struct TurnClock {
    began: Instant,
    now: Instant,
    /// What the thread had used of a processor when this was asked for last; None where nobody else waits.
    used: Option<Duration>,
    /// What quick turns have taken since.
    quick: Duration,
}

impl TurnClock {
    /// Begin the first turn.
    pub fn new(others_wait: bool) -> Self {
        let now = Instant::now();
        Self { began: now, now, used: others_wait.then(used_by_thread), quick: Duration::ZERO }
    }

    /// The time of all turns that have ended.
    pub fn elapsed(&self) -> Duration {
        self.now - self.began
    }

    /// The seconds of the turn that ends now.
    pub fn turn(&mut self) -> f64 {
        let ended = Instant::now();
        let seemed = ended - self.now;
        self.now = ended;
        if seemed.as_secs_f64() <= QUICK_COST {
            self.quick += seemed;
            return seemed.as_secs_f64();
        }
        let Some(before) = self.used else {
            return seemed.as_secs_f64();
        };
        let used = used_by_thread();
        let turn = used.saturating_sub(before + self.quick);
        (self.used, self.quick) = (Some(used), Duration::ZERO);
        seemed.min(turn).as_secs_f64()
    }
}

/// What this thread has used of a processor so far.
fn used_by_thread() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours. The clock exists wherever threads do (POSIX), so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    const LONG: Duration = Duration::from_millis(5);

    fn work() {
        let began = used_by_thread();
        while used_by_thread() - began < LONG {}
    }

    #[test]
    fn a_turn_takes_what_the_thread_has_used() {
        let mut clock = TurnClock::new(true);
        work();
        assert!(clock.turn() >= LONG.as_secs_f64());
        sleep(LONG);
        assert!(clock.turn() < LONG.as_secs_f64());
        work();
        assert!(clock.turn() >= LONG.as_secs_f64());
        assert!(clock.elapsed() >= 3 * LONG);
    }

    #[test]
    fn quick_turns_count_for_none_that_follows() {
        let mut clock = TurnClock::new(true);
        for _ in 0..10_000 {
            clock.turn();
        }
        sleep(LONG);
        assert!(clock.turn() < LONG.as_secs_f64());
    }

    #[test]
    fn where_nobody_else_waits_turns_take_what_they_seem_to() {
        let mut clock = TurnClock::new(false);
        sleep(LONG);
        assert!(clock.turn() >= LONG.as_secs_f64());
    }
}
