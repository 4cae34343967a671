//! Lists that were late for some blocks. Their calls run on the state after one block, while all others go
//! on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::keys::ListId;
use super::pinned::{Pinned, PinnedOutcome};
use super::ready::{as_bytes, Ready};
use super::run::Ran;
use super::table::{too_many_bytes, List, LiveCall, LiveTable, MAX_LATE};
use crate::evm::call::Message;

/// Call of a late list that is to run.
#[derive(Debug)]
pub struct LateCall {
    list: ListId,
    step: u64,
    place: usize,
    pub message: Arc<Message>,
}

impl LiveTable {
    /// Pin each list that is too late: to the last step, in place of an earlier pin. Return whether a list is
    /// pinned.
    pub fn pin_late(&mut self) -> bool {
        let mut by_client: BTreeMap<u64, (u64, VecDeque<ListId>)> = BTreeMap::new();
        let Self { lists, calls, bytes, steps, .. } = self;
        for (number, list) in lists.iter_mut().filter(|(_, list)| list.is_too_late()) {
            let call = |place: usize| calls[list.calls[place] as usize].as_ref();
            let outcome = |call: &LiveCall| PinnedOutcome { text: call.text.clone(), digest: call.digest };
            let outcomes: Vec<_> = (0..list.calls.len())
                .map(|place| call(place).filter(|call| !call.is_due).map(outcome))
                .collect();
            let mut due: Vec<_> = (0..outcomes.len()).filter(|place| outcomes[*place].is_none()).collect();
            due.sort_by_key(|place| std::cmp::Reverse(call(*place).map(LiveCall::expected_cost)));
            let cost = due.last().and_then(|place| call(*place)).map_or(0, LiveCall::expected_cost);
            let size = outcomes.iter().flatten().map(|outcome| outcome.text.len()).sum();
            let pinned = Pinned { step: *steps, outcomes, due, bytes: size, is_told: false };
            *bytes += size;
            *bytes -= list.pinned.replace(pinned).map_or(0, |before| before.bytes);
            let (least, numbers) = by_client.entry(list.client).or_insert((cost, VecDeque::new()));
            *least = cost.min(*least);
            numbers.push_back(*number);
        }
        let mut clients: Vec<_> = by_client.into_values().collect();
        clients.sort_by_key(|(cost, _)| *cost);
        self.late = clients.into_iter().map(|(_, numbers)| numbers).collect();
        !self.late.is_empty()
    }

    /// Drop the outcomes that wait for late lists of calls: the lists end at the state of the last step, and
    /// none of their calls is left to run.
    pub fn unpin(&mut self) {
        self.late.clear();
        for list in self.lists.values_mut() {
            self.bytes -= list.pinned.take().map_or(0, |pinned| pinned.bytes);
        }
    }

    /// Return the next call of a late list. Clients take turns; each client's lists come one after the other.
    pub fn next_late(&mut self) -> Option<LateCall> {
        while let Some(mut lists) = self.late.pop_front() {
            while let Some(number) = lists.front().copied() {
                if let Some(call) = self.take_late(number) {
                    self.late.push_back(lists);
                    return Some(call);
                }
                lists.pop_front();
            }
        }
        None
    }

    fn take_late(&mut self, number: ListId) -> Option<LateCall> {
        let list = self.lists.get_mut(&number)?;
        let pinned = list.pinned.as_mut()?;
        let place = pinned.due.pop()?;
        let call = self.calls[list.calls[place] as usize].as_ref()?;
        Some(LateCall { list: number, step: pinned.step, place, message: call.message.clone() })
    }

    /// Make a call of a late list run once more.
    pub fn retry_late(&mut self, call: &LateCall) {
        let Some(pinned) = self.pinned_of(call) else { return };
        pinned.due.push(call.place);
        self.late.push_front(VecDeque::from([call.list]));
    }

    /// Keep the result of a call of a late list, unless the list is no longer pinned to the same step.
    pub fn finish_late(&mut self, call: &LateCall, mut ran: Ran) {
        self.runs += 1;
        if self.all_bytes() + ran.text.len() > self.bounds().bytes {
            ran = too_many_bytes();
        }
        let digest = self.digest(&ran);
        let Some(pinned) = self.pinned_of(call) else { return };
        let size = ran.text.len();
        pinned.outcomes[call.place] = Some(PinnedOutcome { text: ran.text.into(), digest });
        pinned.bytes += size;
        let is_complete = pinned.is_complete();
        self.bytes += size;
        if is_complete {
            self.late_ready.push(call.list);
        }
    }

    fn pinned_of(&mut self, call: &LateCall) -> Option<&mut Pinned> {
        let pinned = self.lists.get_mut(&call.list)?.pinned.as_mut()?;
        (pinned.step == call.step).then_some(pinned)
    }

    /// Return the late lists whose calls have all ended, with their changes to send.
    pub fn take_late_ready(&mut self) -> Vec<Ready> {
        let numbers = std::mem::take(&mut self.late_ready);
        numbers.into_iter().filter_map(|number| self.late_list(number)).collect()
    }

    fn late_list(&mut self, number: ListId) -> Option<Ready> {
        let list = self.lists.get_mut(&number)?;
        let pinned = list.pinned.as_mut().filter(|pinned| pinned.is_complete() && !pinned.is_told)?;
        pinned.is_told = true;
        let digests: Box<[u64]> = pinned.told().map(|(_, digest)| digest).collect();
        let since = list.complete.replace(pinned.step);
        list.late = 0;
        let told = std::mem::replace(&mut list.told, digests);
        let is_first = told.first() == Some(&0);
        let changes = (!is_first).then(|| (self.entries(number, &told), as_bytes(&told)));
        Some(Ready { list: number, since, changes })
    }

    /// Return whether a list is too late and is to be pinned.
    pub fn is_too_late(&self) -> bool {
        self.lists.values().any(List::is_too_late)
    }
}

impl List {
    fn is_too_late(&self) -> bool {
        self.due > 0 && self.late >= MAX_LATE
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bytes;

    use super::*;
    use crate::evm::live::LiveBounds;

    fn call(gas: u64, input: u8) -> Message {
        Message { gas: Some(gas), input: Bytes::from(vec![input]), ..Message::default() }
    }

    fn table() -> LiveTable {
        LiveTable::new(LiveBounds { gas: 5000, gas_blocks: 10, reads: 10, bytes: 100_000 }, Arc::default())
    }

    fn ended(text: &str) -> Ran {
        Ran { text: text.into(), reads: Some(Vec::new()), cost: 1 }
    }

    #[test]
    fn each_client_may_spend_as_much_gas_as_the_others() {
        let mut table = table();
        table.add(vec![call(1000, 1), call(1000, 2)], 1);
        table.add((0..20).map(|input| call(60, 10 + input)).collect(), 2);
        for call in table.calls.iter_mut().flatten() {
            call.cost = call.message.gas.unwrap_or_default();
        }
        let order: Vec<_> = std::iter::from_fn(|| table.next_due()).map(|(_, call)| call.gas).collect();
        let mut wanted = [Some(60); 22];
        (wanted[16], wanted[21]) = (Some(1000), Some(1000));
        assert_eq!(order, wanted);
    }

    #[test]
    fn a_call_that_was_stopped_runs_behind_those_that_are_shorter_or_have_not_run() {
        let mut table = table();
        table.add(vec![call(10_000_000, 1)], 1);
        table.add(vec![call(10, 2)], 2);
        let first = table.next_due().unwrap();
        assert!(table.is_untried(&first));
        table.retry(&first);
        assert!(!table.is_untried(&first));
        let order: Vec<_> = std::iter::from_fn(|| table.next_due()).map(|(_, call)| call.gas).collect();
        assert_eq!(order, [Some(10), Some(10_000_000)]);
        table.retry(&first);
        assert_eq!(table.next_short_due().map(|(_, call)| call.gas), Some(Some(10)));
        assert!(table.next_short_due().is_none());
        assert!(table.next_due().is_some());
    }

    #[test]
    fn a_late_list_ends_at_the_step_that_it_is_pinned_to() {
        let mut table = table();
        let list = table.add(vec![call(10, 1), call(20, 2)], 1);
        let first = table.next_due().unwrap();
        table.finish(&first, ended("\"result\":\"0x1\""));
        assert!(!table.pin_late());
        (table.lists.get_mut(&list).unwrap().late, table.steps) = (MAX_LATE, 7);
        assert!(table.is_too_late() && table.pin_late());
        let late = table.next_late().unwrap();
        assert_eq!(late.message.gas, Some(20));
        assert!(table.next_late().is_none());
        table.retry_late(&late);
        let late = table.next_late().unwrap();
        table.steps = 9;
        table.finish_late(&late, ended("\"result\":\"0x2\""));
        assert!(!table.is_complete(list));
        let ready = table.take_late_ready();
        assert_eq!((ready.len(), ready[0].since, ready[0].changes.is_none()), (1, None, true));
        assert_eq!((table.complete_since(list), table.is_complete(list)), (Some(7), true));
        let entries = r#"{"index":0,"result":"0x1"},{"index":1,"result":"0x2"}"#;
        assert_eq!(String::from_utf8(table.changes(list, &[])).unwrap(), entries);
        assert!(!table.is_too_late());
        table.remove(list);
        assert_eq!(table.bytes(), 0);
    }

    #[test]
    fn a_failure_that_lasts_is_an_equal_outcome_whatever_its_text_names() {
        let (table, digest) = (table(), |table: &LiveTable, ran: Ran| table.digest(&ran));
        let failed = |code, message| digest(&table, Ran::failed(code, message));
        assert_eq!(failed(-32002, "block 1"), failed(-32002, "block 2"));
        assert_ne!(failed(-32002, "block 1"), failed(-32005, "block 1"));
        assert_ne!(
            digest(&table, ended("\"error\":{\"code\":3,\"message\":\"a\"")),
            digest(&table, ended("\"error\":{\"code\":3,\"message\":\"b\""))
        );
    }

    #[test]
    fn tables_that_share_a_bound_count_their_bytes_together() {
        let all = Arc::default();
        let table = || LiveTable::new(table().bounds(), Arc::clone(&all));
        let large = |input| Message { input: vec![input; 60_000].into(), ..Message::default() };
        let (mut one, mut other) = (table(), table());
        let list = one.add(vec![large(1)], 1);
        assert!(!other.admits([large(2)].iter()));
        let due = one.next_due().unwrap();
        one.finish(&due, ended(&"1".repeat(50_000)));
        assert!(one.bytes() < 100_000);
        one.remove(list);
        assert!(other.admits([large(2)].iter()));
        other.add(vec![large(2)], 1);
        assert!(!one.admits([large(1)].iter()));
        drop(other);
        assert!(one.admits([large(1)].iter()));
    }

    #[test]
    fn outcomes_of_a_list_that_is_complete_or_gone_are_not_kept() {
        let mut table = table();
        let list = table.add(vec![call(10, 1)], 1);
        table.lists.get_mut(&list).unwrap().late = MAX_LATE;
        assert!(table.pin_late());
        let late = table.next_late().unwrap();
        let due = table.next_due().unwrap();
        table.finish(&due, ended("\"result\":\"0x3\""));
        assert_eq!(table.take_ready().len(), 1);
        table.finish_late(&late, ended("\"result\":\"0x2\""));
        assert!(table.take_late_ready().is_empty());
        assert_eq!(table.changes(list, &[]), br#"{"index":0,"result":"0x3"}"#);
        table.remove(list);
        table.finish_late(&late, ended(""));
        assert_eq!(table.bytes(), 0);
    }
}
