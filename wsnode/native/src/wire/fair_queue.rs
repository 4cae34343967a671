//! Fair queue of waiting sockets, ordered by the time that their peers have taken so far.
//!
//! Weighted fair queuing with equal weights: each place in the queue has the virtual time at which its work
//! would end if all places ran side by side, and the earliest comes first. A peer with few requests waits
//! little, even beside peers with ten thousand sockets or long bursts. Those wait for each other.
//!
//! Places whose last bursts were quick wait in a line, all others in a heap. A place from the line that is
//! quick again owes no more than the line's common price, charged by `pop`. Now and then one may take longer,
//! because memory was busy. While both have places, each gets at least about half of the time. Thousands of
//! places arriving at the same time therefore delay a quick place by one of them, and thousands of quick
//! places delay a new one as little.

use std::cmp::{Ordering, Reverse};
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Socket by its descriptor.
pub type Descriptor = i32;
/// Key or address of a peer; None for a socket that is a place by itself.
pub type Peer = Option<Arc<str>>;

/// Seconds that the first burst of a place is expected to take.
const UNKNOWN_COST: f64 = 0.002;
/// Price of every quick burst in seconds. It is the same for all, so that quick places take turns in their
/// order.
pub const QUICK_COST: f64 = 0.0002;
/// Longest price in seconds of a longer burst, or of a pause within it, beside others.
const MAX_PENALTY: f64 = 0.02;
/// Lowest price in seconds of a longer burst, however many others wait. It is above the price of a quick
/// burst.
const MIN_PENALTY: f64 = 2.0 * QUICK_COST;
/// Divisor of a burst in the moving average of its place.
const AVERAGED: f64 = 8.0;
/// Highest excess in seconds of a burst, or of a pause within it, over a quick burst. It is divided by
/// `AVERAGED` afterwards.
const MAX_COUNTED: f64 = 0.0008;
/// Seconds of the shortest large burst. A quick burst that is delayed by others stays below it.
const LARGE_COST: f64 = 0.001;
/// Number of quick bursts that must follow a large one. A message of 100 KB arrives in two or more bursts, of
/// which only the last has any work. Ten such places that counted as quick meanwhile kept another waiting for
/// 55 ms.
const BEHIND_A_LARGE: u8 = 4;
/// Number of quick bursts after which a new place is quick. The first one is often a handshake, without any
/// calls: 240 such places kept another waiting for 65 ms. With four, a new client with quick calls waited
/// longer beside other new ones (140 ms; both by `bench.hostile`).
const OF_A_NEW: u8 = 2;
/// Number of recent places that are remembered, with up to as many older ones.
const MAX_KNOWN: usize = 16_384;

/// Socket without a peer, or a peer with all of its sockets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Flow {
    Socket(Descriptor),
    Peer(Arc<str>),
}

/// Record of a place's last bursts.
#[derive(Debug, Clone, Copy)]
enum Known {
    /// Moving average of the excess over a quick burst, in seconds.
    Quick { average: f64 },
    /// Virtual end of the last burst, its cost in seconds, and the number of quick bursts that must follow
    /// before the place is quick.
    Long { end: f64, cost: f64, wanted: u8 },
}

/// Place in the heap.
#[derive(Debug)]
struct Waiting {
    expected_end: f64,
    arrival: u64,
    start: f64,
    flow: Flow,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.expected_end.total_cmp(&other.expected_end).then(self.arrival.cmp(&other.arrival))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

/// Sockets of a peer in the queue, each once.
#[derive(Debug, Default)]
struct Sockets {
    order: VecDeque<Descriptor>,
    members: HashSet<Descriptor>,
}

impl Sockets {
    fn push(&mut self, descriptor: Descriptor) {
        if self.members.insert(descriptor) {
            self.order.push_back(descriptor);
        }
    }

    fn pop(&mut self) -> Option<Descriptor> {
        let first = self.order.pop_front()?;
        self.members.remove(&first);
        Some(first)
    }
}

/// Turn that the last `pop` began.
#[derive(Debug)]
struct Turn {
    /// Place of the turn; None once it is forgotten.
    flow: Option<Flow>,
    start: f64,
    /// True if the place has more sockets.
    has_rest: bool,
    is_of_the_line: bool,
}

/// Queue of sockets in which a peer has one place for all its sockets.
#[derive(Debug)]
pub struct FairQueue {
    /// Places whose last burst was quick, in their order.
    line: VecDeque<Flow>,
    /// All other places.
    others: BinaryHeap<Reverse<Waiting>>,
    /// Sockets of each place in the queue; None for a socket that is a place by itself.
    queued: HashMap<Flow, Option<Sockets>>,
    history: HashMap<Flow, Known>,
    /// Records of places that have not come since `history` began anew.
    former: HashMap<Flow, Known>,
    /// Virtual time in seconds.
    now: f64,
    /// Seconds that the line has had more than all others, since both have had places.
    lead: f64,
    arrivals: u64,
    turn: Option<Turn>,
}

impl Default for FairQueue {
    fn default() -> Self {
        Self {
            line: VecDeque::new(),
            others: BinaryHeap::new(),
            queued: HashMap::new(),
            history: HashMap::new(),
            former: HashMap::new(),
            now: 0.0,
            lead: 0.0,
            arrivals: 0,
            turn: None,
        }
    }
}

impl FairQueue {
    pub fn waiting(&self) -> usize {
        self.line.len() + self.others.len()
    }

    /// Return the number of places whose last bursts are recorded.
    pub fn known(&self) -> usize {
        self.history.len() + self.former.len()
    }

    /// Make a socket wait behind its peer's others, if it does not wait already.
    pub fn add(&mut self, descriptor: Descriptor, peer: Peer) {
        let flow = peer.map_or(Flow::Socket(descriptor), Flow::Peer);
        match self.queued.entry(flow) {
            Entry::Occupied(mut queued) => {
                if let Some(sockets) = queued.get_mut() {
                    sockets.push(descriptor);
                }
            }
            Entry::Vacant(free) => {
                let flow = free.key().clone();
                let mut sockets = matches!(flow, Flow::Peer(_)).then(Sockets::default);
                if let Some(sockets) = &mut sockets {
                    sockets.push(descriptor);
                }
                free.insert(sockets);
                self.push(flow);
            }
        }
    }

    fn push(&mut self, flow: Flow) {
        let (end, cost) = match self.recall(&flow) {
            Some(Known::Quick { .. }) => return self.line.push_back(flow),
            Some(Known::Long { end, cost, .. }) => (end, cost),
            None => (0.0, UNKNOWN_COST),
        };
        self.arrivals += 1;
        let start = end.max(self.now);
        self.others.push(Reverse(Waiting {
            expected_end: start + cost,
            arrival: self.arrivals,
            start,
            flow,
        }));
    }

    /// Remove and return the first socket of the first place. A call of `charge` must follow.
    pub fn pop(&mut self) -> Option<Descriptor> {
        let is_before_the_line = |waiting: &Reverse<Waiting>| waiting.0.expected_end < self.now + QUICK_COST;
        let has_lead = self.lead > 0.0 && self.others.peek().is_some_and(is_before_the_line);
        let are_first = has_lead || (self.lead >= MAX_PENALTY && !self.others.is_empty());
        let is_of_the_line = !self.line.is_empty() && !are_first;
        let (flow, start) = if is_of_the_line {
            let (flow, start) = (self.line.pop_front()?, self.now);
            // Each turn advances the virtual time by its share of `QUICK_COST`: by all of it in a round of the line.
            self.now += QUICK_COST / (self.line.len() + 1) as f64;
            (flow, start)
        } else {
            let Reverse(first) = self.others.pop()?;
            self.now = self.now.max(first.start);
            (first.flow, first.start)
        };
        let (descriptor, has_rest) = self.take_socket(&flow)?;
        self.turn = Some(Turn { flow: Some(flow), start, has_rest, is_of_the_line });
        Some(descriptor)
    }

    /// Remove the first socket of a place, and return it with true if the place has more.
    fn take_socket(&mut self, flow: &Flow) -> Option<(Descriptor, bool)> {
        if let Flow::Socket(descriptor) = flow {
            self.queued.remove(flow);
            return Some((*descriptor, false));
        }
        let sockets = self.queued.get_mut(flow)?.as_mut()?;
        let descriptor = sockets.pop()?;
        let has_rest = !sockets.order.is_empty();
        if !has_rest {
            self.queued.remove(flow);
        }
        Some((descriptor, has_rest))
    }

    /// Charge the place of the last socket for its turn of `seconds`, and make it wait again if it has more.
    pub fn charge(&mut self, seconds: f64) {
        let is_quick = seconds <= QUICK_COST;
        let Some(turn) = self.turn.take() else {
            return;
        };
        self.note_lead(turn.is_of_the_line, seconds);
        let Some(flow) = turn.flow else {
            return;
        };
        // The place has paid the price of the line in `pop`, and has no other socket that waits.
        if turn.is_of_the_line && is_quick && !turn.has_rest {
            return;
        }
        let known = if let Some(average) = self.quick_average(&flow, seconds) {
            Known::Quick { average }
        } else {
            let most = MIN_PENALTY.max(MAX_PENALTY / (self.waiting() + 1) as f64);
            let cost = seconds.clamp(QUICK_COST, most);
            Known::Long { end: turn.start + cost, cost, wanted: self.wanted(&flow, seconds) }
        };
        self.history.insert(flow.clone(), known);
        if turn.has_rest {
            self.push(flow);
        }
        if self.history.len() > MAX_KNOWN {
            // The records are kept as `former`, because a place that was quick must not wait behind thousands
            // of new places.
            self.former = std::mem::take(&mut self.history);
        }
    }

    fn note_lead(&mut self, is_of_the_line: bool, seconds: f64) {
        let (more, do_others_wait) = if is_of_the_line {
            (seconds, !self.others.is_empty())
        } else {
            (-seconds, !self.line.is_empty())
        };
        self.lead = if do_others_wait { (self.lead + more).clamp(-MAX_PENALTY, MAX_PENALTY) } else { 0.0 };
    }

    /// Return the average of a quick place after a burst of `seconds`, or None if the place is not quick.
    fn quick_average(&self, flow: &Flow, seconds: f64) -> Option<f64> {
        let longer = (seconds - QUICK_COST).max(0.0);
        match self.history.get(flow) {
            // A burst for which no other place waited has cost nothing.
            Some(Known::Quick { average }) if self.waiting() == 0 => Some(*average),
            Some(Known::Quick { average }) => {
                Some(average + longer.min(MAX_COUNTED) / AVERAGED).filter(|average| *average <= QUICK_COST)
            }
            Some(Known::Long { wanted: ..2, .. }) => (longer == 0.0).then_some(0.0),
            _ => None,
        }
    }

    /// Return the number of quick bursts that must follow one of `seconds` before a place is quick.
    fn wanted(&self, flow: &Flow, seconds: f64) -> u8 {
        let before = match self.history.get(flow) {
            Some(Known::Long { wanted, .. }) => *wanted,
            Some(Known::Quick { .. }) => 1,
            None => OF_A_NEW,
        };
        // If no other place waited, the burst may only have been delayed, so it does not count as large.
        if seconds >= LARGE_COST && self.waiting() > 0 {
            BEHIND_A_LARGE
        } else if seconds <= QUICK_COST {
            before.saturating_sub(1)
        } else {
            before
        }
    }

    /// Return the record of a place that has come, or None. A record from before `history` began anew is kept
    /// longer.
    fn recall(&mut self, flow: &Flow) -> Option<Known> {
        if let Some(known) = self.history.get_mut(flow) {
            if let Known::Quick { average } = known {
                *average -= *average / AVERAGED;
            }
            return Some(*known);
        }
        let known = self.former.remove(flow)?;
        self.history.insert(flow.clone(), known);
        Some(known)
    }

    /// Drop the record of a socket that is a place by itself.
    pub fn forget(&mut self, descriptor: Descriptor) {
        let flow = Flow::Socket(descriptor);
        self.history.remove(&flow);
        self.former.remove(&flow);
        if let Some(turn) = &mut self.turn {
            turn.flow.take_if(|taken| *taken == flow);
        }
    }
}
