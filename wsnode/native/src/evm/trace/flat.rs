//! geth's flatCallTracer: a list of the calls in Parity's form, each with its path in the tree.

use alloy_primitives::{Address, B256};
use revm::precompile::Precompiles;

use super::calls::CallFrame;
use crate::json::traces;

const EXACT: [(&str, &str); 10] = [
    ("contract creation code storage out of gas", "Out of gas"),
    ("out of gas", "Out of gas"),
    ("gas uint64 overflow", "Out of gas"),
    ("max code size exceeded", "Out of gas"),
    ("invalid jump destination", "Bad jump destination"),
    ("execution reverted", "Reverted"),
    ("return data out of bounds", "Out of bounds"),
    ("stack limit reached 1024 (1023)", "Out of stack"),
    ("precompiled failed", "Built-in failed"),
    ("invalid input length", "Built-in failed"),
];
const BEGINNINGS: [(&str, &str); 3] = [
    ("out of gas:", "Out of gas"),
    ("invalid opcode:", "Bad instruction"),
    ("stack underflow", "Stack underflow"),
];

/// Position of the traced transaction. A call has none: its members are empty or zero.
#[derive(Debug, Clone, Copy, Default)]
pub struct Position {
    pub block_hash: Option<B256>,
    pub block_number: u64,
    pub transaction_hash: Option<B256>,
    pub index: usize,
}

/// Writer of the calls of one run in the form of geth's `flatCallTracer`: a flat list, as Parity's.
#[derive(Debug)]
pub struct Flat<'a> {
    pub position: Position,
    pub converts_errors: bool,
    /// Precompiled contracts whose calls are left out.
    pub hidden: Option<&'a Precompiles>,
}

impl Flat<'_> {
    pub fn write(&self, text: &mut Vec<u8>, root: &mut CallFrame) {
        for call in &mut root.calls {
            self.prune(call);
        }
        root.calls.retain(|call| self.is_shown(call));
        text.push(b'[');
        self.write_call(text, root, &mut Vec::new());
        text.push(b']');
    }

    fn prune(&self, call: &mut CallFrame) {
        // Only a nested call can have no value (STATICCALL).
        call.value.get_or_insert_default();
        call.calls.iter_mut().for_each(|inner| self.prune(inner));
        call.calls.retain(|inner| self.is_shown(inner));
    }

    fn is_shown(&self, call: &CallFrame) -> bool {
        let is_plain = matches!(call.kind, "CALL" | "STATICCALL");
        !(is_plain && call.to.zip(self.hidden).is_some_and(|(to, hidden)| hidden.contains(&to)))
    }

    fn write_call(&self, text: &mut Vec<u8>, call: &CallFrame, path: &mut Vec<usize>) {
        text.extend_from_slice(b"{\"action\":");
        write_action(text, call);
        text.extend_from_slice(b",\"blockHash\":");
        write_hash(text, self.position.block_hash);
        text.extend_from_slice(format!(",\"blockNumber\":{}", self.position.block_number).as_bytes());
        if let Some(error) = &call.error {
            text.extend_from_slice(b",\"error\":");
            traces::string(text, self.error(error));
        }
        let has_result = call.error.as_deref().is_none_or(|error| error == "execution reverted");
        if has_result && call.kind != "SELFDESTRUCT" {
            write_result(text, call);
        }
        text.extend_from_slice(format!(",\"subtraces\":{}", call.calls.len()).as_bytes());
        text.extend_from_slice(b",\"traceAddress\":");
        traces::list(text, path.iter(), |text, index| traces::decimal(text, *index as u64));
        text.extend_from_slice(b",\"transactionHash\":");
        write_hash(text, self.position.transaction_hash);
        text.extend_from_slice(format!(",\"transactionPosition\":{}", self.position.index).as_bytes());
        let kind = match call.kind {
            "CREATE" | "CREATE2" => "create",
            "SELFDESTRUCT" => "suicide",
            _ => "call",
        };
        text.extend_from_slice(format!(",\"type\":\"{kind}\"}}").as_bytes());
        for (index, inner) in call.calls.iter().enumerate() {
            text.push(b',');
            path.push(index);
            self.write_call(text, inner, path);
            path.pop();
        }
    }

    fn error<'e>(&self, error: &'e str) -> &'e str {
        if !self.converts_errors {
            return error;
        }
        let exact = EXACT.iter().find(|(words, _)| error == *words);
        let beginning = || BEGINNINGS.iter().find(|(words, _)| error.starts_with(words));
        exact.or_else(beginning).map_or(error, |(_, words)| words)
    }
}

fn write_action(text: &mut Vec<u8>, call: &CallFrame) {
    let kind = call.kind.to_lowercase();
    let is_create = kind.starts_with("create");
    let mut members: Vec<(&str, Vec<u8>)> = Vec::new();
    let mut member = |name, write: &dyn Fn(&mut Vec<u8>)| {
        let mut piece = Vec::new();
        write(&mut piece);
        members.push((name, piece));
    };
    let address = |text: &mut Vec<u8>, address: Option<Address>| {
        traces::data(text, address.unwrap_or_default().as_slice());
    };
    let value = call.value.unwrap_or_default();
    if call.kind == "SELFDESTRUCT" {
        member("address", &|text| address(text, Some(call.from)));
        member("balance", &|text| traces::quantity(text, &value));
        member("refundAddress", &|text| address(text, call.to));
    } else {
        let method = if is_create { "creationMethod" } else { "callType" };
        member(method, &|text| traces::string(text, &kind));
        member("from", &|text| address(text, Some(call.from)));
        member("gas", &|text| traces::small_quantity(text, call.gas));
        member(if is_create { "init" } else { "input" }, &|text| traces::data(text, &call.input));
        if !is_create {
            member("to", &|text| address(text, call.to));
        }
        member("value", &|text| traces::quantity(text, &value));
    }
    traces::object(text, members, |text, (name, piece)| {
        text.extend_from_slice(format!("\"{name}\":").as_bytes());
        text.extend_from_slice(&piece);
    });
}

fn write_result(text: &mut Vec<u8>, call: &CallFrame) {
    text.extend_from_slice(b",\"result\":{");
    let is_create = call.kind.starts_with("CREATE");
    if let Some(address) = call.to.filter(|_| is_create) {
        text.extend_from_slice(b"\"address\":");
        traces::data(text, address.as_slice());
        text.push(b',');
    }
    if is_create {
        text.extend_from_slice(b"\"code\":");
        traces::data(text, &call.output);
        text.push(b',');
    }
    text.extend_from_slice(b"\"gasUsed\":");
    traces::small_quantity(text, call.gas_used);
    if !is_create {
        text.extend_from_slice(b",\"output\":");
        traces::data(text, &call.output);
    }
    text.push(b'}');
}

fn write_hash(text: &mut Vec<u8>, hash: Option<B256>) {
    match hash {
        Some(hash) => traces::data(text, hash.as_slice()),
        None => text.extend_from_slice(b"null"),
    }
}
