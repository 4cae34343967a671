//! Live calls of one chain: their outcomes after one block, the values on which they depend, and the digests
//! last sent.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use alloy_primitives::map::{HashMap, HashSet};
use alloy_primitives::{Address, B256};

use super::history::ChangeHistory;
use super::keys::{CallId, Few, ListId, Place, ValueId, Values};
use super::pinned::{LateTurns, Pinned};
use super::run::{LiveBounds, Ran, Surroundings};
use crate::evm::call::{Message, Read};
use crate::state::ChangedKeys;

/// Bytes of a call without its message and outcome. `LIST_BYTES` is a list's, `PLACE_BYTES` that of each of
/// its calls.
const CALL_BYTES: usize = 320;
const LIST_BYTES: usize = 192;
const PLACE_BYTES: usize = 16;
/// Number of blocks by which a list may be late.
pub(super) const MAX_LATE: u32 = 3;
const LIMIT_EXCEEDED: i64 = -32005;

/// Call that is to run.
pub type Due = (CallId, Arc<Message>);

#[derive(Debug)]
pub(super) struct LiveCall {
    pub(super) message: Arc<Message>,
    pub(super) text: Box<[u8]>,
    /// Digest of the text; 0 while there is none.
    pub(super) digest: u64,
    values: Box<[ValueId]>,
    /// Gas of the last run, or the gas it may have if it was stopped; 0 before the first run.
    pub(super) cost: u64,
    pub(super) lists: Few<ListId>,
    pub(super) is_due: bool,
}

impl LiveCall {
    fn bytes(&self) -> usize {
        CALL_BYTES + message_bytes(&self.message) + self.text.len() + PLACE_BYTES * self.lists.len()
    }
}

fn message_bytes(message: &Message) -> usize {
    let accesses = message.access_list.iter().flat_map(|list| &list.0);
    let accesses: usize = accesses.map(|item| 44 + 32 * item.storage_keys.len()).sum();
    let blobs = message.blob_hashes.as_ref().map_or(0, Vec::len);
    let signed = message.authorizations.as_ref().map_or(0, Vec::len);
    message.input.len() + accesses + 32 * blobs + 160 * signed
}

/// Calls of equal subscriptions, in their order.
#[derive(Debug)]
pub(super) struct List {
    pub(super) calls: Box<[CallId]>,
    /// Digests of the outcomes that were sent last.
    pub(super) told: Box<[u64]>,
    pub(super) client: u64,
    pub(super) due: usize,
    /// Number of blocks since the first of its calls was due, or since its last outcomes after one of those
    /// blocks.
    pub(super) late: u32,
    /// Last step after which it had all outcomes; None before the first one.
    pub(super) complete: Option<u64>,
    /// Outcomes after an earlier step, if it was late.
    pub(super) pinned: Option<Pinned>,
}

/// Watched calls of one chain. Each distinct message is stored once, with its last outcome and the values on
/// which it depends. Subscriptions with equal calls share one list of them.
#[derive(Debug)]
pub struct LiveTable {
    pub(super) bounds: LiveBounds,
    hasher: RandomState,
    surroundings: Option<Surroundings>,
    history: ChangeHistory,
    pub(super) calls: Vec<Option<LiveCall>>,
    free: Vec<CallId>,
    numbers: HashMap<Arc<Message>, CallId>,
    values: Values,
    /// Calls that depend on everything.
    unbounded: HashSet<CallId>,
    pub(super) lists: BTreeMap<ListId, List>,
    next_list: ListId,
    /// List whose unknown values are fetched first, if other nodes prove the states.
    pub turn: ListId,
    pub(super) due: HashSet<CallId>,
    /// Due calls that wait for values of the state.
    pub(super) lacking: HashSet<CallId>,
    /// Due calls, the next one last; None if the order is to be computed again.
    pub(super) queue: Option<Vec<CallId>>,
    /// Lists with a call that has ended since they were last taken.
    pub(super) touched: HashSet<ListId>,
    pub(super) late: LateTurns,
    /// Late lists whose calls have all ended.
    pub(super) late_ready: Vec<ListId>,
    pub(super) bytes: usize,
    /// Bytes of all tables that share a bound. `counted` is this table's part.
    all_bytes: Arc<AtomicUsize>,
    counted: usize,
    pub(super) steps: u64,
    /// Number of runs so far. `late_blocks` is the number of blocks by which lists were late.
    pub runs: u64,
    pub late_blocks: u64,
}

impl LiveTable {
    /// Return an empty table. `all_bytes` counts the bytes of all tables that share the bound.
    pub fn new(bounds: LiveBounds, all_bytes: Arc<AtomicUsize>) -> Self {
        let (hasher, numbers, values) = <_>::default();
        let (unbounded, lists, due, lacking, touched) = <_>::default();
        Self {
            bounds,
            hasher,
            surroundings: None,
            history: ChangeHistory::default(),
            calls: Vec::new(),
            free: Vec::new(),
            numbers,
            values,
            unbounded,
            lists,
            next_list: 0,
            turn: 0,
            due,
            lacking,
            queue: None,
            touched,
            late: LateTurns::new(),
            late_ready: Vec::new(),
            bytes: 0,
            all_bytes,
            counted: 0,
            steps: 0,
            runs: 0,
            late_blocks: 0,
        }
    }

    /// Return the bytes of all calls, lists and values of this table.
    pub fn bytes(&self) -> usize {
        self.bytes + self.values.bytes()
    }

    /// Return the bytes of all tables that share the bound.
    pub(super) fn all_bytes(&mut self) -> usize {
        let own = self.bytes();
        let grown = own.wrapping_sub(std::mem::replace(&mut self.counted, own));
        self.all_bytes.fetch_add(grown, Ordering::Relaxed).wrapping_add(grown)
    }

    /// Return the number of calls that run again after each block.
    pub fn each_block(&self) -> usize {
        let of_block = self.values.calls(&Read::Block);
        self.unbounded.len() + of_block.filter(|call| !self.unbounded.contains(call)).count()
    }

    pub fn bounds(&self) -> LiveBounds {
        self.bounds
    }

    /// Return whether a call waits for its run and lacks no values.
    pub fn has_due(&self) -> bool {
        self.due.len() > self.lacking.len()
    }

    /// Return the accounts and slots that each list's calls read, each once, beginning with the list `turn`.
    pub fn places(&self) -> Vec<(ListId, Vec<Place>)> {
        let mut found: HashSet<Place> = HashSet::default();
        let lists = self.lists.range(self.turn..).chain(self.lists.range(..self.turn));
        lists
            .map(|(number, list)| {
                let calls = list.calls.iter().filter_map(|id| self.calls[*id as usize].as_ref());
                let places = calls.flat_map(|call| self.values.places(&call.values));
                (*number, places.filter(|place| found.insert(*place)).collect())
            })
            .collect()
    }

    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Return the number of the last step (of those counted by `steps`) after which the subscribers to a list
    /// of calls had all its outcomes; None before the first one.
    pub fn complete_since(&self, number: ListId) -> Option<u64> {
        let list = self.lists.get(&number)?;
        if self.is_present(number, list) {
            Some(self.steps)
        } else {
            list.complete
        }
    }

    /// Return whether subscribers have the outcomes of all calls of a list, after the last step or the step
    /// to which it is pinned.
    pub fn is_complete(&self, number: ListId) -> bool {
        self.lists.get(&number).is_some_and(|list| {
            self.is_present(number, list) || list.pinned.as_ref().is_some_and(|pinned| pinned.is_told)
        })
    }

    pub(super) fn is_present(&self, number: ListId, list: &List) -> bool {
        list.due == 0 && !self.touched.contains(&number)
    }

    /// Return whether there is room for a list of calls.
    pub fn admits<'m>(&mut self, messages: impl Iterator<Item = &'m Message>) -> bool {
        let needed: usize = messages.map(|message| CALL_BYTES + message_bytes(message) + PLACE_BYTES).sum();
        self.all_bytes() + LIST_BYTES + needed <= self.bounds.bytes
    }

    /// Add a list of calls for a client and return its number. Calls that are new are due.
    pub fn add(&mut self, messages: Vec<Message>, client: u64) -> ListId {
        let number = self.next_list;
        self.next_list += 1;
        let calls: Box<[CallId]> =
            messages.into_iter().map(|message| self.call_for(message, number)).collect();
        let unique: HashSet<CallId> = calls.iter().copied().collect();
        let due = unique.iter().filter(|call| self.due.contains(*call)).count();
        let told = vec![0; calls.len()].into();
        self.bytes += LIST_BYTES + PLACE_BYTES * calls.len();
        self.lists.insert(number, List { calls, told, client, due, late: 0, complete: None, pinned: None });
        self.touched.insert(number);
        self.all_bytes();
        number
    }

    fn call_for(&mut self, message: Message, list: ListId) -> CallId {
        let known = self.numbers.get(&message).copied();
        let id = known.unwrap_or_else(|| self.new_call(Arc::new(message)));
        if let Some(call) = &mut self.calls[id as usize] {
            let is_new = call.lists.insert(list);
            self.bytes += if is_new { PLACE_BYTES } else { 0 };
        }
        id
    }

    fn new_call(&mut self, message: Arc<Message>) -> CallId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.calls.push(None);
            (self.calls.len() - 1) as CallId
        });
        self.numbers.insert(message.clone(), id);
        let (text, values, lists) = <_>::default();
        let call = LiveCall { message, text, digest: 0, values, cost: 0, lists, is_due: true };
        self.bytes += call.bytes();
        self.calls[id as usize] = Some(call);
        self.due.insert(id);
        self.queue = None;
        id
    }

    /// Remove a list, and the calls that no other list has.
    pub fn remove(&mut self, number: ListId) {
        let Some(list) = self.lists.remove(&number) else { return };
        self.touched.remove(&number);
        self.bytes -= LIST_BYTES + PLACE_BYTES * list.calls.len();
        self.bytes -= list.pinned.as_ref().map_or(0, |pinned| pinned.bytes);
        let unique: HashSet<CallId> = list.calls.iter().copied().collect();
        for id in unique {
            let Some(call) = &mut self.calls[id as usize] else { continue };
            call.lists.remove(&number);
            self.bytes -= PLACE_BYTES;
            if call.lists.is_empty() {
                self.remove_call(id);
            }
        }
        self.queue = None;
        if self.lists.is_empty() {
            self.surroundings = None;
            self.history = ChangeHistory::default();
            (self.late, self.late_ready) = <_>::default();
            (self.calls, self.free) = <_>::default();
        }
        self.all_bytes();
    }

    fn remove_call(&mut self, id: CallId) {
        let Some(call) = self.calls[id as usize].take() else { return };
        self.bytes -= call.bytes();
        self.values.unlink(id, &call.values);
        self.numbers.remove(&call.message);
        self.due.remove(&id);
        self.lacking.remove(&id);
        self.unbounded.remove(&id);
        self.free.push(id);
    }

    /// Go on to another state. `changed` are the keys that may differ from the state of step `since`.
    ///
    /// If `changed` or the state of `since` is unknown, every call is due. Without `since`, `changed` is
    /// relative to a state that counts as the last step's. `members_of` returns the nonce and the code hash
    /// of an account in the new state.
    pub fn step<E>(
        &mut self,
        surroundings: Surroundings,
        since: Option<u64>,
        changed: Option<Vec<ChangedKeys>>,
        members_of: impl FnMut(Address) -> Result<(u64, B256), E>,
    ) -> Result<(), E> {
        for list in self.lists.values_mut() {
            if list.due > 0 {
                list.late += 1;
                self.late_blocks += 1;
            } else {
                list.complete = Some(self.steps);
            }
        }
        self.steps += 1;
        self.lacking.clear();
        let before = self.surroundings.replace(surroundings);
        let changed = self.history.extend(self.steps, since, changed);
        let known = before.as_ref().zip(self.surroundings.as_ref()).zip(changed);
        let concerned = match known.filter(|((before, now), _)| before.has_rules_of(now)) {
            Some(((before, now), changed)) => {
                let mut concerned = self.concerned(&changed, members_of)?;
                let members = now.changed_from(before);
                concerned.extend(members.iter().flat_map(|read| self.values.calls(read)));
                let coinbases = now.coinbases(before);
                concerned.extend(coinbases.iter().flat_map(|account| self.values.calls_with(account)));
                concerned.extend(&self.unbounded);
                concerned
            }
            None => self.numbers.values().copied().collect(),
        };
        concerned.into_iter().for_each(|id| self.make_due(id));
        self.queue = None;
        Ok(())
    }

    /// Return the calls that depend on changed values.
    fn concerned<E>(
        &self,
        changed: &[ChangedKeys],
        mut members_of: impl FnMut(Address) -> Result<(u64, B256), E>,
    ) -> Result<HashSet<CallId>, E> {
        let mut found = HashSet::default();
        for (address, is_account, slots) in changed {
            found.extend(slots.iter().flat_map(|slot| self.values.calls(&Read::Slot(*address, *slot))));
            if !is_account {
                continue;
            }
            found.extend(self.values.calls(&Read::Account(*address)));
            if self.values.has_member_of(address) {
                let (nonce, code_hash) = members_of(*address)?;
                found.extend(self.values.calls_of_other_members(address, nonce, code_hash));
            }
        }
        Ok(found)
    }

    fn make_due(&mut self, id: CallId) {
        let Some(call) = self.calls[id as usize].as_mut().filter(|call| !call.is_due) else { return };
        call.is_due = true;
        self.due.insert(id);
        for number in call.lists.iter() {
            if let Some(list) = self.lists.get_mut(&number) {
                list.due += 1;
            }
        }
    }

    /// Keep the result of a call, unless it was removed meanwhile.
    pub fn finish(&mut self, (id, message): &Due, mut ran: Ran) {
        self.runs += 1;
        let Some(before) = self.calls.get(*id as usize).and_then(Option::as_ref) else { return };
        if !Arc::ptr_eq(&before.message, message) || !before.is_due {
            return;
        }
        let replaced = before.text.len();
        if self.all_bytes() + ran.text.len() > replaced + self.bounds.bytes {
            ran = too_many_bytes();
        }
        self.keep_values(*id, ran.reads.as_deref());
        let digest = self.digest(&ran);
        let Some(call) = &mut self.calls[*id as usize] else { return };
        self.bytes -= call.text.len();
        self.bytes += ran.text.len();
        (call.text, call.digest, call.cost, call.is_due) = (ran.text.into(), digest, ran.cost.max(1), false);
        self.due.remove(id);
        self.lacking.remove(id);
        for number in call.lists.iter() {
            if let Some(list) = self.lists.get_mut(&number) {
                list.due -= 1;
                self.touched.insert(number);
            }
        }
    }

    fn keep_values(&mut self, id: CallId, reads: Option<&[Read]>) {
        if reads.is_some() {
            self.unbounded.remove(&id);
        } else {
            self.unbounded.insert(id);
        }
        let reads = reads.unwrap_or_default();
        let Some(call) = &mut self.calls[id as usize] else { return };
        if !self.values.are(&call.values, reads) {
            call.values = self.values.relink(id, &call.values, reads);
        }
    }

    /// Return the digest of an outcome, never 0.
    pub fn digest(&self, ran: &Ran) -> u64 {
        self.hasher.hash_one(ran.identity()).max(1)
    }

    pub fn messages(&self, number: ListId, start: usize) -> Vec<Arc<Message>> {
        let calls = self.lists.get(&number).into_iter().flat_map(|list| list.calls.iter().skip(start));
        calls.filter_map(|id| self.calls[*id as usize].as_ref().map(|call| call.message.clone())).collect()
    }
}

impl Drop for LiveTable {
    fn drop(&mut self) {
        self.all_bytes.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

/// Return the result of a call whose outcome has no room.
pub(super) fn too_many_bytes() -> Ran {
    Ran::failed(LIMIT_EXCEEDED, "too many bytes of live calls")
}
