//! What passes over a connection: WebSocket frames, and the plainest of the requests in them.
//!
//! Only what is usual is read here. Whatever is not, right or wrong, is left to others.

pub mod frame;
pub mod request;
