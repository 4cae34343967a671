//! 64-bit words in memory that several processes share, each changed in one step, for common counts and
//! charges.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

/// Tolerance of rounding, in seconds and in credits: a thousand times the loss of 64 bits in either.
const SLACK: f64 = 1e-7;
/// Credits a second in place of zero: one in three hundred years.
const MIN_RATE: f64 = 1e-10;

/// Rate of a key: credits coming back each second, credits that can be saved up, and the cost of the dearest
/// call.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    pub per_second: f64,
    pub burst: f64,
    pub dearest: f64,
}

/// Charge `cost` credits at time `now`, in seconds, and return 0. If there are too few credits, charge
/// nothing, and return the seconds until there are enough.
///
/// The word holds the time at which all credits will be back (generic cell rate algorithm). One comparison
/// and one exchange are therefore exact, whatever other processes do meanwhile. As in a token bucket, a call
/// dearer than all saved credits needs a full bucket, and leaves it below empty.
pub fn charge(word: &AtomicU64, now: f64, rate: Rate, cost: f64) -> f64 {
    let per_second = rate.per_second.max(MIN_RATE);
    // A debt that was charged at another rate counts as at most the largest debt of this rate.
    let most = rate.burst.max(rate.dearest);
    let mut known = word.load(SeqCst);
    loop {
        let owed = ((f64::from_bits(known) - now).max(0.0) * per_second).min(most);
        let (credits, needed) = (rate.burst - owed, cost.min(rate.burst));
        if credits + per_second * SLACK + SLACK < needed {
            return (needed - credits) / rate.per_second;
        }
        let full_at = now + (owed + cost) / per_second;
        match word.compare_exchange_weak(known, full_at.to_bits(), SeqCst, SeqCst) {
            Ok(_) => return 0.0,
            Err(other) => known = other,
        }
    }
}

/// Return the index of `name`, which is not 0, among `names`. A new name takes the first free word. None if
/// all are taken.
pub fn slot_of(names: &[AtomicU64], name: u64) -> Option<usize> {
    names.iter().position(|word| match word.load(SeqCst) {
        0 => word.compare_exchange(0, name, SeqCst, SeqCst).is_ok() || word.load(SeqCst) == name,
        taken => taken == name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const HUNDRED: Rate = Rate { per_second: 100.0, burst: 100.0, dearest: 1.0 };

    #[test]
    fn a_burst_is_admitted_at_once_and_no_more() {
        let word = AtomicU64::new(0);
        let admitted = (0..300).filter(|_| charge(&word, 1e6, HUNDRED, 1.0) == 0.0).count();
        assert_eq!(admitted, 100);
    }

    #[test]
    fn credits_come_back_at_the_rate() {
        let word = AtomicU64::new(0);
        let calls = (0..60_000).map(|call| 1e6 + f64::from(call) / 1000.0);
        let admitted = calls.filter(|now| charge(&word, *now, HUNDRED, 1.0) == 0.0).count();
        assert!((6_098..=6_100).contains(&admitted), "{admitted}");
    }

    #[test]
    fn a_refused_call_passes_after_the_time_that_was_named() {
        let (word, rate) = (AtomicU64::new(0), Rate { per_second: 0.1, burst: 2.0, dearest: 5.0 });
        assert_eq!(charge(&word, 50.0, rate, 5.0), 0.0);
        let seconds = charge(&word, 51.0, rate, 1.0);
        assert!((seconds - 39.0).abs() < 1e-6, "{seconds}");
        assert_eq!(charge(&word, 51.0 + seconds, rate, 1.0), 0.0);
    }

    #[test]
    fn without_a_rate_the_burst_is_all_there_is() {
        let (word, rate) = (AtomicU64::new(0), Rate { per_second: 0.0, burst: 3.0, dearest: 1.0 });
        let admitted = (0..9).filter(|second| charge(&word, f64::from(*second), rate, 1.0) == 0.0).count();
        assert_eq!(admitted, 3);
        assert_eq!(charge(&word, 1e9, rate, 1.0), f64::INFINITY);
    }

    #[test]
    fn a_higher_rate_does_not_prolong_what_was_owed() {
        let (word, slow) = (AtomicU64::new(0), Rate { per_second: 0.01, burst: 1.0, dearest: 1.0 });
        assert_eq!(charge(&word, 10.0, slow, 1.0), 0.0);
        assert!(charge(&word, 10.0, HUNDRED, 1.0) <= 0.01);
    }

    #[test]
    fn threads_together_get_what_one_would() {
        let word = AtomicU64::new(0);
        let spend = || (0..1000).filter(|_| charge(&word, 7.0, HUNDRED, 1.0) == 0.0).count();
        let admitted = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(spend)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
        assert_eq!(admitted, 100);
    }

    #[test]
    fn a_name_keeps_its_place_and_a_new_one_gets_the_next() {
        let names: Vec<_> = (0..2).map(|_| AtomicU64::new(0)).collect();
        assert_eq!(slot_of(&names, 7), Some(0));
        assert_eq!(slot_of(&names, 9), Some(1));
        assert_eq!(slot_of(&names, 7), Some(0));
        assert_eq!(slot_of(&names, 8), None);
    }
}
