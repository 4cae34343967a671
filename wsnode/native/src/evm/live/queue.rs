//! Order of the due calls, and due calls without the values that they need.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::keys::CallId;
use super::run::Ran;
use super::table::{Due, LiveCall, LiveTable};

/// Expected cost of a call's first run in gas, as much as some milliseconds use.
const FIRST_RUN_GAS: u64 = 5_000_000;

impl LiveCall {
    /// Return the expected cost of the next run, in gas.
    pub(super) fn expected_cost(&self) -> u64 {
        if self.cost == 0 {
            FIRST_RUN_GAS
        } else {
            self.cost
        }
    }
}

impl LiveTable {
    /// Return the next call to run. Clients have equal shares of gas, and each one's cheapest calls run
    /// first.
    pub fn next_due(&mut self) -> Option<Due> {
        let mut queue = self.queue.take().unwrap_or_else(|| self.in_order());
        let id = queue.pop();
        self.queue = Some(queue);
        let call = self.calls[id? as usize].as_ref()?;
        Some((id?, call.message.clone()))
    }

    /// Return the next call as `next_due` does, but None if it may take long.
    pub fn next_short_due(&mut self) -> Option<Due> {
        let queue = self.queue.take().unwrap_or_else(|| self.in_order());
        let call = queue.last().and_then(|id| self.calls[*id as usize].as_ref());
        let is_short = call.is_some_and(|call| call.expected_cost() <= FIRST_RUN_GAS);
        self.queue = Some(queue);
        if is_short {
            self.next_due()
        } else {
            None
        }
    }

    /// Return whether a call has not run yet. Its first run may be cut short, because the other calls may be
    /// shorter.
    pub fn is_untried(&self, (id, _): &Due) -> bool {
        self.calls.get(*id as usize).and_then(Option::as_ref).is_some_and(|call| call.cost == 0)
    }

    /// Make a call run again that was stopped, unless it was removed meanwhile.
    pub fn retry(&mut self, (id, message): &Due) {
        self.queue = None;
        let Some(call) = self.calls.get_mut(*id as usize).and_then(Option::as_mut) else { return };
        if Arc::ptr_eq(&call.message, message) && call.cost == 0 {
            // A stopped call gets the cost of its gas limit, so that shorter calls run first.
            call.cost = message.gas.unwrap_or(self.bounds.gas).max(FIRST_RUN_GAS) + 1;
        }
    }

    fn in_order(&self) -> Vec<CallId> {
        let mut by_client: BTreeMap<u64, Vec<(u64, CallId)>> = BTreeMap::new();
        for id in self.due.difference(&self.lacking) {
            let Some(call) = &self.calls[*id as usize] else { continue };
            let clients =
                call.lists.iter().filter_map(|number| self.lists.get(&number).map(|list| list.client));
            by_client.entry(clients.min().unwrap_or_default()).or_default().push((call.expected_cost(), *id));
        }
        let mut turns = Vec::with_capacity(self.due.len());
        for calls in by_client.values_mut() {
            calls.sort_unstable();
            let spent = calls.iter().scan(0_u64, |spent, (cost, id)| {
                *spent = spent.saturating_add(*cost);
                Some((*spent, *id))
            });
            turns.extend(spent);
        }
        turns.sort_unstable();
        turns.into_iter().rev().map(|(_, id)| id).collect()
    }

    /// Leave a call out until `retry_lacking`, because it lacks values of the state.
    pub fn leave_lacking(&mut self, (id, _): &Due) {
        if self.due.contains(id) {
            self.lacking.insert(*id);
        }
    }

    /// Make the calls run again that lacked values.
    pub fn retry_lacking(&mut self) {
        if !std::mem::take(&mut self.lacking).is_empty() {
            self.queue = None;
        }
    }

    /// End the calls that lack values with an error, because the values cannot be had.
    pub fn fail_lacking(&mut self, code: i64, message: &str) {
        for id in std::mem::take(&mut self.lacking) {
            let Some(call) = &self.calls[id as usize] else { continue };
            let due = (id, call.message.clone());
            self.finish(&due, Ran::failed(code, message));
        }
    }
}
