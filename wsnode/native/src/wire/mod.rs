//! What passes over a connection: WebSocket frames, the plainest of the requests in them, and their answers.
//!
//! Only the usual form is parsed as a request. Of any other text, valid or not, only the places of its parts are
//! found.

pub mod fair_queue;
pub mod frame;
pub mod json_walk;
pub mod native_methods;
pub mod parameters;
pub mod request;
pub mod socket;
pub mod syntax;
pub mod turn_clock;
