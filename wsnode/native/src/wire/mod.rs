//! What passes over a connection: WebSocket frames, the plainest of the requests in them, and their answers.
//!
//! Only what is usual is read as a request. Of whatever is not, right or wrong, there is only told what lies where.

pub mod answers;
pub mod frame;
pub mod parameters;
pub mod request;
pub mod valid;
