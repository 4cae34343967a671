//! Values on which live calls depend, each stored once with its calls.

use std::hash::{BuildHasher, Hash, RandomState};

use alloy_primitives::map::{HashMap, HashSet};
use alloy_primitives::{Address, B256, U256};
use hashbrown::HashTable;

use crate::evm::call::Read;

/// Bytes of a value in `rows` and of its number in `numbers`, each with as much unused capacity.
const VALUE_BYTES: usize = 156;
/// Bytes of an account with the values that are its code or its nonce, mostly one of each.
const ACCOUNT_BYTES: usize = 128;
/// Bytes of a link: a call's number among those of a value, and the value's among those of a call.
const LINK_BYTES: usize = 12;

pub type CallId = u32;
pub type ValueId = u32;
pub type ListId = u64;
/// Account, or a slot of it.
pub type Place = (Address, Option<U256>);

#[derive(Debug)]
struct Value {
    read: Read,
    calls: Few<CallId>,
}

/// Set that allocates nothing for one member.
#[derive(Debug, Default)]
pub enum Few<T> {
    #[default]
    None,
    One(T),
    Many(Box<HashSet<T>>),
}

impl<T: Copy + Eq + Hash> Few<T> {
    /// Add a member, and return whether it is new.
    pub fn insert(&mut self, member: T) -> bool {
        match self {
            Self::None => *self = Self::One(member),
            Self::One(present) if *present == member => return false,
            Self::One(present) => *self = Self::Many(Box::new(HashSet::from_iter([*present, member]))),
            Self::Many(present) => return present.insert(member),
        }
        true
    }

    pub fn remove(&mut self, member: &T) {
        match self {
            Self::One(present) if present == member => *self = Self::None,
            Self::Many(present) => {
                present.remove(member);
                if present.is_empty() {
                    *self = Self::None;
                }
            }
            _ => (),
        }
    }

    pub fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
            Self::Many(present) => present.len(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        let (one, many) = match self {
            Self::None => (None, None),
            Self::One(present) => (Some(*present), None),
            Self::Many(present) => (None, Some(present.iter().copied())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

/// Values on which calls depend.
#[derive(Debug, Default)]
pub struct Values {
    rows: Vec<Option<Value>>,
    free: Vec<ValueId>,
    hasher: RandomState,
    /// Numbers of the values, found by the values in `rows`. A map would store each value a second time.
    numbers: HashTable<ValueId>,
    /// Values that are the code or the nonce of an account.
    members: HashMap<Address, Vec<ValueId>>,
    links: usize,
}

impl Values {
    /// Make a call depend on `reads`, and return their numbers.
    fn link(&mut self, call: CallId, reads: &[Read]) -> Box<[ValueId]> {
        self.links += reads.len();
        reads.iter().map(|read| self.link_one(call, *read)).collect()
    }

    fn link_one(&mut self, call: CallId, read: Read) -> ValueId {
        let number = self.number_of(&read).unwrap_or_else(|| self.add(read));
        if let Some(value) = &mut self.rows[number as usize] {
            value.calls.insert(call);
        }
        number
    }

    /// Return the number of a value, or None if no call depends on it.
    fn number_of(&self, read: &Read) -> Option<ValueId> {
        let is_same = |number: &ValueId| read_of(&self.rows, *number) == Some(*read);
        self.numbers.find(self.hasher.hash_one(Some(*read)), is_same).copied()
    }

    fn add(&mut self, read: Read) -> ValueId {
        let number = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            (self.rows.len() - 1) as ValueId
        });
        self.rows[number as usize] = Some(Value { read, calls: Few::None });
        let Self { rows, hasher, numbers, .. } = self;
        let hash_of = |number: &ValueId| hasher.hash_one(read_of(rows, *number));
        numbers.insert_unique(hash_of(&number), number, hash_of);
        if let Some(address) = account_of(&read) {
            self.members.entry(address).or_default().push(number);
        }
        number
    }

    /// Make a call depend on `reads` instead of on `before`, and return their numbers.
    pub fn relink(&mut self, call: CallId, before: &[ValueId], reads: &[Read]) -> Box<[ValueId]> {
        let linked = self.link(call, reads);
        let kept: HashSet<_> = linked.iter().copied().collect();
        let gone: Vec<_> = before.iter().copied().filter(|value| !kept.contains(value)).collect();
        // `link` has counted the values that are also in `before` a second time.
        self.links -= before.len() - gone.len();
        self.unlink(call, &gone);
        linked
    }

    /// End a call's dependence on `values`.
    pub fn unlink(&mut self, call: CallId, values: &[ValueId]) {
        self.links -= values.len();
        for number in values {
            let row = &mut self.rows[*number as usize];
            let is_unused = row.as_mut().is_some_and(|value| {
                value.calls.remove(&call);
                value.calls.is_empty()
            });
            if let Some(value) = row.take_if(|_| is_unused) {
                self.forget(*number, value.read);
            }
        }
        if self.numbers.is_empty() {
            *self = Self::default();
        }
    }

    fn forget(&mut self, number: ValueId, read: Read) {
        if let Ok(entry) = self.numbers.find_entry(self.hasher.hash_one(Some(read)), |other| *other == number)
        {
            entry.remove();
        }
        self.free.push(number);
        if let Some(address) = account_of(&read) {
            let others = self.members.entry(address).or_default();
            others.retain(|other| *other != number);
            if others.is_empty() {
                self.members.remove(&address);
            }
        }
    }

    /// Return whether `numbers` are the values `reads`, in the same order.
    pub fn are(&self, numbers: &[ValueId], reads: &[Read]) -> bool {
        numbers.len() == reads.len()
            && numbers.iter().zip(reads).all(|(number, read)| read_of(&self.rows, *number) == Some(*read))
    }

    pub fn calls<'v>(&'v self, read: &Read) -> impl Iterator<Item = CallId> + use<'v> {
        self.number_of(read).into_iter().flat_map(|number| self.calls_of(number))
    }

    /// Return the calls that read an account, its code or its nonce.
    pub fn calls_with<'v>(&'v self, address: &Address) -> impl Iterator<Item = CallId> + use<'v> {
        let members = self.members.get(address).into_iter().flatten();
        members.flat_map(|number| self.calls_of(*number)).chain(self.calls(&Read::Account(*address)))
    }

    /// Return whether a call depends on the code or the nonce of an account.
    pub fn has_member_of(&self, address: &Address) -> bool {
        self.members.contains_key(address)
    }

    /// Return the calls that depend on a nonce or code of an account other than the given ones.
    pub fn calls_of_other_members<'v>(
        &'v self,
        address: &Address,
        nonce: u64,
        code_hash: B256,
    ) -> impl Iterator<Item = CallId> + use<'v> {
        let present = [Read::Nonce(*address, nonce), Read::Code(*address, code_hash)];
        let numbers = self.members.get(address).into_iter().flatten();
        let others = numbers.filter(move |number| {
            self.rows[**number as usize].as_ref().is_some_and(|value| !present.contains(&value.read))
        });
        others.flat_map(|number| self.calls_of(*number))
    }

    /// Return the accounts and slots among some values. An account has no slot in its pair.
    pub fn places(&self, numbers: &[ValueId]) -> impl Iterator<Item = Place> + '_ {
        let rows =
            numbers.iter().filter_map(|number| self.rows[*number as usize].as_ref()).collect::<Vec<_>>();
        rows.into_iter().filter_map(|value| match value.read {
            Read::Slot(address, slot) => Some((address, Some(slot))),
            Read::Code(address, _) | Read::Nonce(address, _) | Read::Account(address) => {
                Some((address, None))
            }
            _ => None,
        })
    }

    fn calls_of(&self, number: ValueId) -> impl Iterator<Item = CallId> + '_ {
        self.rows[number as usize].iter().flat_map(|value| value.calls.iter())
    }

    pub fn bytes(&self) -> usize {
        VALUE_BYTES * self.numbers.len() + ACCOUNT_BYTES * self.members.len() + LINK_BYTES * self.links
    }
}

fn read_of(rows: &[Option<Value>], number: ValueId) -> Option<Read> {
    rows[number as usize].as_ref().map(|value| value.read)
}

/// Return the account whose code or nonce a value is, or None.
fn account_of(read: &Read) -> Option<Address> {
    match read {
        Read::Code(address, _) | Read::Nonce(address, _) => Some(*address),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(number: u64) -> Read {
        Read::Slot(Address::ZERO, U256::from(number))
    }

    #[test]
    fn values_are_found_until_no_call_depends_on_them() {
        let mut values = Values::default();
        let reads: Vec<_> = (0..2_000).map(slot).collect();
        let linked = values.relink(1, &[], &reads);
        assert!(values.are(&linked, &reads));
        let later = values.relink(1, &linked, &reads[500..]);
        let other = values.relink(2, &[], &reads[..600]);
        for (number, read) in reads.iter().enumerate() {
            let mut calls: Vec<_> = values.calls(read).collect();
            calls.sort_unstable();
            let wanted: &[CallId] = match number {
                0..500 => &[2],
                500..600 => &[1, 2],
                _ => &[1],
            };
            assert_eq!(calls, wanted);
        }
        assert_eq!(values.bytes(), 2_000 * VALUE_BYTES + 2_100 * LINK_BYTES);
        values.unlink(1, &later);
        assert_eq!(values.calls(&slot(700)).count(), 0);
        values.unlink(2, &other);
        assert_eq!(values.bytes(), 0);
    }

    #[test]
    fn a_value_has_no_more_bytes_than_are_counted() {
        let mut values = Values::default();
        let reads: Vec<_> = (0..70_000).map(slot).collect();
        let linked = values.relink(1, &[], &reads);
        let kept = values.rows.capacity() * size_of::<Option<Value>>()
            + values.numbers.capacity() * 8 / 7 * (size_of::<ValueId>() + 1)
            + size_of_val(&*linked);
        assert!(kept <= values.bytes(), "{kept} {}", values.bytes());
    }
}
