//! Entries and digests of the lists whose calls have all ended.

use super::keys::ListId;
use super::table::LiveTable;

/// List of watched calls that all have an outcome after the block, and the changes since the outcomes last sent
/// to its subscribers.
#[derive(Debug)]
pub struct Ready {
    pub list: ListId,
    /// Last step after which its subscribers had all outcomes, or None.
    pub since: Option<u64>,
    /// Changed entries, and the digests sent before as bytes. None if nothing was sent before.
    pub changes: Option<(Vec<u8>, Vec<u8>)>,
}

impl LiveTable {
    /// Return the changes of each list in which a call has ended and no call is due. Lists with unchanged
    /// outcomes are left out.
    pub fn take_ready(&mut self) -> Vec<Ready> {
        let complete = |number: &ListId| self.lists.get(number).is_some_and(|list| list.due == 0);
        let mut numbers: Vec<_> = self.touched.iter().copied().filter(complete).collect();
        numbers.sort_unstable();
        numbers.into_iter().filter_map(|number| self.ready(number)).collect()
    }

    fn ready(&mut self, number: ListId) -> Option<Ready> {
        self.touched.remove(&number);
        let present = self.digests(number);
        let list = self.lists.get_mut(&number)?;
        let since = list.complete.replace(self.steps);
        list.late = 0;
        self.bytes -= list.pinned.take().map_or(0, |pinned| pinned.bytes);
        let told = std::mem::replace(&mut list.told, present.into());
        if told == list.told {
            return None;
        }
        let is_first = told.first() == Some(&0);
        let changes = (!is_first).then(|| (self.entries(number, &told), as_bytes(&told)));
        Some(Ready { list: number, since, changes })
    }

    fn digests(&self, number: ListId) -> Vec<u64> {
        let calls = self.lists.get(&number).into_iter().flat_map(|list| &list.calls);
        calls.filter_map(|id| self.calls[*id as usize].as_ref().map(|call| call.digest)).collect()
    }

    /// Return the digests of the outcomes that a list's subscribers were sent last, 8 bytes each.
    pub fn told(&self, number: ListId) -> Vec<u8> {
        self.lists.get(&number).map(|list| as_bytes(&list.told)).unwrap_or_default()
    }

    /// Return the entries of a list whose outcomes have other digests than these, joined by commas.
    pub fn changes(&self, number: ListId, digests: &[u8]) -> Vec<u8> {
        let digests: Vec<_> = digests
            .chunks_exact(8)
            .map(|digest| u64::from_be_bytes(digest.try_into().unwrap_or_default()))
            .collect();
        self.entries(number, &digests)
    }

    pub(super) fn entries(&self, number: ListId, told: &[u64]) -> Vec<u8> {
        let mut text = Vec::new();
        for (index, (outcome, digest)) in self.outcomes(number).into_iter().enumerate() {
            if told.get(index) == Some(&digest) {
                continue;
            }
            if !text.is_empty() {
                text.push(b',');
            }
            text.extend_from_slice(format!("{{\"index\":{index},").as_bytes());
            text.extend_from_slice(outcome);
            text.push(b'}');
        }
        text
    }

    /// Return the texts and digests of a list's outcomes. A pinned list without present outcomes has the
    /// pinned ones.
    fn outcomes(&self, number: ListId) -> Vec<(&[u8], u64)> {
        let Some(list) = self.lists.get(&number) else { return Vec::new() };
        match &list.pinned {
            Some(pinned) if pinned.is_told && !self.is_present(number, list) => pinned.told().collect(),
            _ => {
                let calls = list.calls.iter().filter_map(|id| self.calls[*id as usize].as_ref());
                calls.map(|call| (&*call.text, call.digest)).collect()
            }
        }
    }
}

pub(super) fn as_bytes(digests: &[u64]) -> Vec<u8> {
    digests.iter().flat_map(|digest| digest.to_be_bytes()).collect()
}
