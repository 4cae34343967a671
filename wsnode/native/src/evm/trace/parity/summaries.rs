//! A transaction's calls as Otterscan shows them.

use alloy_primitives::{Address, Bytes, U256};
use alloy_rpc_types_trace::otterscan::{InternalOperation, OperationType, TraceEntry};
use revm_inspectors::tracing::types::{CallKind, CallTrace, CallTraceNode};
use revm_inspectors::tracing::TracingInspector;

/// A call, or the end of a contract, and how many calls it is inside of.
enum Event<'a> {
    Call(&'a CallTrace, usize),
    Destruction { contract: Address, heir: Address, balance: U256, depth: usize },
}

/// Every call, creation and destruction; only those that move ether of their own have a value, as erigon says.
pub fn entries(traces: TracingInspector) -> Vec<TraceEntry> {
    events(&traces.into_traces().into_nodes(), entry)
}

/// What happened inside the transaction: ether that moved, creations, destructions.
pub fn operations(traces: TracingInspector) -> Vec<InternalOperation> {
    let all = events(&traces.into_traces().into_nodes(), operation);
    all.into_iter().flatten().collect()
}

fn events<T>(nodes: &[CallTraceNode], mut show: impl FnMut(Event<'_>) -> T) -> Vec<T> {
    let mut shown = Vec::with_capacity(nodes.len());
    if let Some(root) = nodes.first() {
        walk(nodes, root, 0, &mut |event| shown.push(show(event)));
    }
    shown
}

/// Visit a call, those inside of it, and what it destroyed; no more than a thousand are inside of each other.
fn walk<'a>(
    nodes: &'a [CallTraceNode],
    node: &'a CallTraceNode,
    depth: usize,
    visit: &mut impl FnMut(Event<'a>),
) {
    visit(Event::Call(&node.trace, depth));
    let inner = node.children.iter().filter_map(|index| nodes.get(*index));
    inner.for_each(|child| walk(nodes, child, depth + 1, visit));
    let trace = &node.trace;
    if let (Some(contract), Some(heir)) = (trace.selfdestruct_address, trace.selfdestruct_refund_target) {
        let balance = trace.selfdestruct_transferred_value.unwrap_or_default();
        visit(Event::Destruction { contract, heir, balance, depth: depth + 1 });
    }
}

fn entry(event: Event<'_>) -> TraceEntry {
    match event {
        Event::Call(call, depth) => TraceEntry {
            r#type: call.kind.to_string(),
            depth: depth as u32,
            from: call.caller,
            to: call.address,
            value: (!matches!(call.kind, CallKind::DelegateCall | CallKind::StaticCall))
                .then_some(call.value),
            input: call.data.clone(),
            output: call.output.clone(),
        },
        Event::Destruction { contract, heir, balance, depth } => TraceEntry {
            r#type: "SELFDESTRUCT".into(),
            depth: depth as u32,
            from: contract,
            to: heir,
            value: Some(balance),
            input: Bytes::new(),
            output: Bytes::new(),
        },
    }
}

fn operation(event: Event<'_>) -> Option<InternalOperation> {
    let (kind, from, to, value) = match event {
        Event::Call(_, 0) => return None,
        Event::Call(call, _) => {
            let kind = match call.kind {
                CallKind::Create => OperationType::OpCreate,
                CallKind::Create2 => OperationType::OpCreate2,
                CallKind::Call if !call.value.is_zero() => OperationType::OpTransfer,
                _ => return None,
            };
            (kind, call.caller, call.address, call.value)
        }
        Event::Destruction { contract, heir, balance, .. } => {
            (OperationType::OpSelfDestruct, contract, heir, balance)
        }
    };
    Some(InternalOperation { r#type: kind, from, to, value })
}
