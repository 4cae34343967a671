//! Time of consecutive turns in one thread.

use std::time::{Duration, Instant};

use crate::wire::fair_queue::QUICK_COST;

/// Clock that is read at the end of each turn, where the next turn begins.
///
/// A reply wakes its client, and the client may take the same core. The thread is then suspended for 0.2 to
/// 0.5 ms, and a quick place must not become slow by that. So a turn that seems long counts only the
/// processor time of the thread, unless it waited for the disk. Reading the processor time takes a
/// microsecond, a fourth of a quick turn. It is read only after a long turn, and only if others wait.
pub struct TurnClock {
    began: Instant,
    now: Instant,
    /// Processor time and page faults of the thread when they were last read; None if no other thread waits.
    used: Option<Used>,
    /// Seconds of quick turns since that reading.
    quick: f64,
}

impl TurnClock {
    pub fn new(others_wait: bool) -> Self {
        let now = Instant::now();
        Self { began: now, now, used: others_wait.then(Used::by_thread), quick: 0.0 }
    }

    /// Return the time of all turns that have ended.
    pub fn elapsed(&self) -> Duration {
        self.now - self.began
    }

    /// Return the seconds of the turn that ends now.
    pub fn turn(&mut self) -> f64 {
        let ended = Instant::now();
        let seemed = (ended - self.now).as_secs_f64();
        self.now = ended;
        self.counted(seemed)
    }

    /// Return the counted seconds of a turn that has just ended and seemed to take `seemed` seconds.
    pub fn counted(&mut self, seemed: f64) -> f64 {
        if seemed <= QUICK_COST {
            self.quick += seemed;
            return seemed;
        }
        let Some(before) = self.used else {
            return seemed;
        };
        let used = Used::by_thread();
        let counted = used.of_a_turn(before, self.quick, seemed);
        (self.used, self.quick) = (Some(used), 0.0);
        counted
    }
}

/// Resources that this thread has used so far.
#[derive(Debug, Clone, Copy)]
struct Used {
    /// Processor time in seconds.
    seconds: f64,
    /// Page faults with a read from the disk, on systems that count them by thread.
    faults: libc::c_long,
}

impl Used {
    /// Return the counted seconds of a turn of `seemed` seconds. `quick` are the seconds of quick turns since
    /// `before`.
    fn of_a_turn(self, before: Self, quick: f64, seemed: f64) -> f64 {
        if self.faults > before.faults {
            return seemed;
        }
        (self.seconds - before.seconds - quick).clamp(0.0, seemed)
    }

    fn by_thread() -> Self {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a local variable. The clock exists wherever threads do (POSIX), so the call
        // cannot fail.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        Self { seconds: time.tv_sec as f64 + time.tv_nsec as f64 / 1e9, faults: faults() }
    }
}

#[cfg(target_os = "linux")]
fn faults() -> libc::c_long {
    // SAFETY: all its members are numbers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a local variable, and a thread may always ask for its own usage (getrusage(2)).
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_majflt
}

#[cfg(not(target_os = "linux"))]
fn faults() -> libc::c_long {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    const LONG: Duration = Duration::from_millis(5);

    fn work() {
        let began = Used::by_thread().seconds;
        while Used::by_thread().seconds - began < 1.1 * LONG.as_secs_f64() {}
    }

    /// Return the counted seconds of a turn that sleeps for `LONG` without a wait for the disk.
    fn asleep(clock: &mut TurnClock) -> f64 {
        loop {
            let before = faults();
            sleep(LONG);
            let counted = clock.turn();
            if faults() == before {
                return counted;
            }
        }
    }

    #[test]
    fn a_turn_takes_what_the_thread_has_used() {
        let mut clock = TurnClock::new(true);
        work();
        assert!(clock.turn() >= LONG.as_secs_f64());
        assert!(asleep(&mut clock) < LONG.as_secs_f64());
        work();
        assert!(clock.turn() >= LONG.as_secs_f64());
        assert!(clock.elapsed() >= 3 * LONG);
    }

    #[test]
    fn quick_turns_count_for_none_that_follows() {
        let mut clock = TurnClock::new(true);
        let began = Used::by_thread().seconds;
        while Used::by_thread().seconds - began < 2.0 * LONG.as_secs_f64() {
            clock.turn();
        }
        assert!(asleep(&mut clock) < LONG.as_secs_f64());
    }

    #[test]
    fn where_nobody_else_waits_turns_take_what_they_seem_to() {
        let mut clock = TurnClock::new(false);
        sleep(LONG);
        assert!(clock.turn() >= LONG.as_secs_f64());
    }

    #[test]
    fn to_wait_for_the_disk_counts() {
        let before = Used { seconds: 1.0, faults: 7 };
        let used = Used { seconds: 1.001, faults: 7 };
        assert_eq!(used.of_a_turn(before, 0.001, 0.01), 0.0);
        assert_eq!(Used { faults: 8, ..used }.of_a_turn(before, 0.001, 0.01), 0.01);
    }
}
