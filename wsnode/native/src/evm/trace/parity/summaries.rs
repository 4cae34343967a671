//! Calls of a transaction in Otterscan's form.

use alloy_primitives::{Address, Bytes, U256};
use alloy_rpc_types_trace::otterscan::{InternalOperation, OperationType, TraceEntry};
use revm_inspectors::tracing::types::{CallKind, CallTrace, CallTraceNode};
use revm_inspectors::tracing::TracingInspector;

/// Call or self-destruction, with the number of calls around it.
enum Event<'a> {
    Call(&'a CallTrace, usize),
    Destruction { contract: Address, heir: Address, balance: U256, depth: usize },
}

/// Return every call, creation and self-destruction. As in erigon, a DELEGATECALL or STATICCALL has no value.
pub fn entries(traces: TracingInspector) -> Vec<TraceEntry> {
    events(&traces.into_traces().into_nodes(), entry)
}

/// Return the internal operations of a transaction: transfers of ether, creations, self-destructions.
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

/// Visit a call, the calls inside it, and its self-destruction. The EVM bounds the depth to 1,024.
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
