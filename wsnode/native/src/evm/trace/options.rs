//! Options of a trace.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Tracer by geth's name, and its settings. Without a name, struct logs are written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceOptions {
    pub tracer: Option<String>,
    pub tracer_config: TracerConfig,
    #[serde(flatten)]
    pub steps: StepOptions,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepOptions {
    pub enable_memory: bool,
    pub disable_stack: bool,
    pub disable_storage: bool,
    pub enable_return_data: bool,
    /// Bytes of struct logs after which no more are written; 0 for no limit.
    pub limit: i64,
}

/// Settings of all tracers, and of each tracer inside a muxTracer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TracerConfig {
    pub only_top_call: bool,
    pub with_log: bool,
    pub diff_mode: bool,
    pub disable_code: bool,
    pub disable_storage: bool,
    pub include_empty: bool,
    pub convert_parity_errors: bool,
    pub include_precompiles: bool,
    pub tracers: BTreeMap<String, TracerConfig>,
}
