//! What passes over a connection: WebSocket frames, and the plainest of the requests in them.
//!
//! Only what is usual is read as a request. Of whatever is not, right or wrong, there is only told what lies where.

pub mod frame;
pub mod request;
pub mod valid;
