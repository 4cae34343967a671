//! Data on a connection: WebSocket frames, the simplest requests in them, and their replies.
//!
//! Only the usual form of a request is parsed. In any other text, valid or not, only the positions of its
//! parts are found.

pub mod fair_queue;
pub mod frame;
pub mod json_walk;
pub mod native_methods;
pub mod parameters;
pub mod request;
pub mod socket;
pub mod turn_clock;
