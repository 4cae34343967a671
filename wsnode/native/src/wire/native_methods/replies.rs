//! Replies to the simplest calls of a turn or a batch.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

use super::{HeadSnapshot, NativeMethod};
use crate::json::Writer;
use crate::wire::frame::{write_head, Whole};
use crate::wire::request::RequestParts;

/// Highest number of calls that are answered. `SLICE` is the time in which further calls are begun.
const MAX_REPLIES: usize = 64;
const SLICE: Duration = Duration::from_millis(1);
/// Longest text in bytes; Python reads longer ones.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Longest message in bytes of a frame that is answered directly.
const SHORT: usize = 1024;
/// Calls between two readings of the clock.
const STRETCH: usize = 8;
/// Highest number of calls that are left to Python between two attempts to run one.
const MAX_PAUSE: u8 = 63;
const OPENING: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
const MIDDLE: &[u8] = br#","result":"#;

/// Text between the replies of one output: heads of WebSocket frames, commas of a batch, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyFormat {
    /// Head of a text frame before each reply.
    Frames,
    /// Commas between replies, as in a batch.
    Joined,
    /// Nothing: one reply to one message.
    Bare,
}

#[derive(Debug, Clone, Copy)]
pub struct ReplyLimits {
    /// Longest single reply.
    pub largest: usize,
    /// Longest text of all replies together.
    pub whole: usize,
}

/// Attempts to run calls for a client. If the last ones did not succeed, most further ones are left to Python
/// immediately, because it would run each of them a second time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attempts {
    /// Number of calls that are left to Python before the next attempt.
    skipped: u8,
    /// Number of calls that the last failure has made skip.
    pause: u8,
}

impl Attempts {
    /// Return whether the next call is to be run.
    fn is_due(&mut self) -> bool {
        let is_due = self.skipped == 0;
        self.skipped = self.skipped.saturating_sub(1);
        is_due
    }

    /// Record the outcome of an attempt. Each failure in a row doubles the pause, up to `MAX_PAUSE`.
    fn record(&mut self, has_succeeded: bool) {
        self.pause = if has_succeeded { 0 } else { (2 * self.pause + 1).min(MAX_PAUSE) };
        self.skipped = self.pause;
    }
}

/// Replies so far, and the sources of further ones.
pub struct Replies<'a, 's, 'm> {
    pub form: ReplyFormat,
    room: ReplyLimits,
    /// Results by method, for calls without parameters.
    results: &'a [(&'a str, &'a [u8])],
    methods: &'a [(String, NativeMethod)],
    snapshot: Option<HeadSnapshot<'s, 'm>>,
    /// True if the last call was left because there is no snapshot.
    needs_snapshot: bool,
    pub attempts: Attempts,
    began: Instant,
    count: usize,
    text: Vec<u8>,
    /// Bytes of the replies in `text`, without frame heads and commas.
    size: usize,
    /// Number of answered calls for each of `results`, then for each of `methods`.
    counted: Vec<usize>,
    /// Result of the current call. The buffer is reused.
    result: Vec<u8>,
    /// True if the last call may have taken long.
    was_slow: bool,
}

impl<'a, 's, 'm> Replies<'a, 's, 'm> {
    pub fn new(
        form: ReplyFormat,
        room: ReplyLimits,
        results: &'a [(&'a str, &'a [u8])],
        methods: &'a [(String, NativeMethod)],
        snapshot: Option<HeadSnapshot<'s, 'm>>,
    ) -> Self {
        let counted = vec![0; results.len() + methods.len()];
        Self {
            form,
            room,
            results,
            methods,
            snapshot,
            needs_snapshot: false,
            attempts: Attempts::default(),
            began: Instant::now(),
            count: 0,
            text: Vec::new(),
            size: 0,
            counted,
            result: Vec::new(),
            was_slow: false,
        }
    }

    /// Return whether a snapshot is needed for the call at which the replies have ended.
    pub fn needs_snapshot(&self) -> bool {
        self.needs_snapshot
    }

    /// Return the same replies, to be continued in `snapshot`.
    pub fn within<'s2, 'm2>(self, snapshot: HeadSnapshot<'s2, 'm2>) -> Replies<'a, 's2, 'm2> {
        Replies {
            form: self.form,
            room: self.room,
            results: self.results,
            methods: self.methods,
            snapshot: Some(snapshot),
            needs_snapshot: false,
            attempts: self.attempts,
            began: self.began,
            count: self.count,
            text: self.text,
            size: self.size,
            counted: self.counted,
            result: self.result,
            was_slow: self.was_slow,
        }
    }

    /// Answer `calls` up to the first that is left to Python, or until a bound of number or time.
    ///
    /// `answer` answers one call, and returns whether it did.
    pub fn answer_all<Call, Failure>(
        &mut self,
        calls: impl Iterator<Item = Call>,
        mut answer: impl FnMut(&mut Self, Call) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        for call in calls {
            if self.is_late() || !answer(self, call)? {
                break;
            }
        }
        Ok(())
    }

    /// Answer the calls at the start of `data`, and return the length of what is answered, in bytes.
    ///
    /// For replies in frames, `data` has frames; it ends at the first call that is left to Python, or at a
    /// bound of number or time. Else `data` is one message.
    pub fn answer_data(&mut self, data: &[u8]) -> usize {
        if self.form == ReplyFormat::Frames {
            self.answer_frames(data)
        } else if self.answer_message(data) {
            data.len()
        } else {
            0
        }
    }

    fn answer_frames(&mut self, data: &[u8]) -> usize {
        let (mut message, mut size) = ([0; SHORT], 0);
        while !self.is_late() {
            let Some(whole) = Whole::read(&data[size..], SHORT) else {
                break;
            };
            let message = &mut message[..whole.message_size()];
            whole.unmask(message);
            if !self.answer_message(message) {
                break;
            }
            size += whole.size;
        }
        size
    }

    /// Answer the call in a message, and return false if it is left to Python.
    pub fn answer_message(&mut self, text: &[u8]) -> bool {
        text.len() <= MAX_TEXT_BYTES && RequestParts::read(text).is_some_and(|call| self.answer(&call))
    }

    /// Answer a call, and return false if it is left to Python.
    pub fn answer(&mut self, call: &RequestParts<'_>) -> bool {
        let mut result = std::mem::take(&mut self.result);
        result.clear();
        let index = self.write_result(call, &mut result);
        let is_pushed = index.is_some() && self.push(call.identity, &result);
        if let Some(index) = index.filter(|_| is_pushed) {
            self.counted[index] += 1;
            self.count += 1;
        }
        self.result = result;
        is_pushed
    }

    /// Return whether no more calls are begun.
    fn is_late(&mut self) -> bool {
        let is_due = std::mem::take(&mut self.was_slow) || self.count % STRETCH == STRETCH - 1;
        self.count >= MAX_REPLIES || (is_due && self.began.elapsed() > SLICE)
    }

    /// Return the text of all replies, and the number of replies for each of the results, then for each of
    /// the methods.
    pub fn into_parts(self) -> (Vec<u8>, Vec<usize>) {
        (self.text, self.counted)
    }

    /// Write the result of a call, and return the index of its method's counter; None if it is left to
    /// Python.
    fn write_result(&mut self, call: &RequestParts<'_>, result: &mut Vec<u8>) -> Option<usize> {
        if call.identity.is_empty() {
            return None;
        }
        if let Some(index) = self.results.iter().position(|(name, _)| *name == call.method) {
            result.extend_from_slice(self.results[index].1);
            return call.is_bare().then_some(index);
        }
        let index = self.methods.iter().position(|(name, _)| name == call.method)?;
        let read = self.methods[index].1;
        self.needs_snapshot = self.snapshot.is_none();
        let snapshot = self.snapshot.as_mut()?;
        if read.is_run() && !self.attempts.is_due() {
            return None;
        }
        self.was_slow = read.may_be_slow();
        let mut text = Writer::new(std::mem::take(result));
        // After a panic the call is left to Python, whose method panics, too, and reports it.
        let write = AssertUnwindSafe(|| snapshot.write(read, call.params, &mut text));
        let is_written = catch_unwind(write).unwrap_or(false);
        *result = text.into_text();
        if read.is_run() {
            self.attempts.record(is_written);
        }
        is_written.then_some(self.results.len() + index)
    }

    /// Append a reply, and return false if it is too long.
    fn push(&mut self, identity: &[u8], result: &[u8]) -> bool {
        let length = OPENING.len() + identity.len() + MIDDLE.len() + result.len() + 1;
        if length > self.room.largest || self.size + length > self.room.whole {
            return false;
        }
        match self.form {
            ReplyFormat::Frames => write_head(&mut self.text, length),
            ReplyFormat::Joined if self.size > 0 => self.text.push(b','),
            ReplyFormat::Joined | ReplyFormat::Bare => {}
        }
        for part in [OPENING, identity, MIDDLE, result, b"}"] {
            self.text.extend_from_slice(part);
        }
        self.size += length;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &[(&str, &[u8])] = &[("eth_chainId", b"\"0x1\"")];
    const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":[]}"#;
    const REPLY: &[u8] = br#"{"jsonrpc":"2.0","id":7,"result":"0x1"}"#;
    const AMPLE: ReplyLimits = ReplyLimits { largest: 1024, whole: 1024 };

    fn answered(form: ReplyFormat, room: ReplyLimits, calls: &[&[u8]]) -> (Vec<u8>, usize) {
        let mut replies = Replies::new(form, room, RESULTS, &[], None);
        let answer =
            |replies: &mut Replies<'_, '_, '_>, call: &&[u8]| Ok::<_, ()>(replies.answer_message(call));
        replies.answer_all(calls.iter(), answer).unwrap();
        let (text, counted) = replies.into_parts();
        (text, counted[0])
    }

    #[test]
    fn replies_are_frames_or_joined_by_commas() {
        let framed = [&[0x81, REPLY.len() as u8][..], REPLY].concat();
        assert_eq!(answered(ReplyFormat::Frames, AMPLE, &[CALL, CALL]), ([&framed[..], &framed].concat(), 2));
        assert_eq!(answered(ReplyFormat::Joined, AMPLE, &[CALL, CALL]), ([REPLY, b",", REPLY].concat(), 2));
    }

    fn masked(message: &[u8]) -> Vec<u8> {
        let mask = [1, 2, 3, 4];
        let payload = message.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
        [0x81, 0x80 | message.len() as u8].into_iter().chain(mask).chain(payload).collect()
    }

    #[test]
    fn frames_are_answered_up_to_the_first_that_is_left_to_others() {
        let call = masked(CALL);
        for (rest, count) in [
            (&call[..], 3),
            (&call[..call.len() - 1], 2),
            (&masked(b"{}"), 2),
            (b"\x89\x80\0\0\0\0", 2),
            (b"", 2),
        ] {
            let mut replies = Replies::new(ReplyFormat::Frames, AMPLE, RESULTS, &[], None);
            assert_eq!(replies.answer_data(&[&call, &call, rest].concat()), count * call.len());
            assert_eq!(replies.into_parts().1, [count]);
        }
    }

    #[test]
    fn a_message_is_answered_without_anything_around_the_reply() {
        for (data, size) in [(CALL, CALL.len()), (&masked(CALL), 0), (b"", 0)] {
            let mut replies = Replies::new(ReplyFormat::Bare, AMPLE, RESULTS, &[], None);
            assert_eq!(replies.answer_data(data), size);
            assert_eq!(replies.into_parts().0, if size > 0 { REPLY } else { b"" });
        }
    }

    #[test]
    fn a_call_of_a_native_method_needs_a_snapshot() {
        let methods = [("eth_getCode".to_owned(), NativeMethod::named("eth_getCode", &[]).unwrap())];
        for (method, is_native) in [("eth_getCode", true), ("eth_call", false)] {
            let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#);
            let data = [masked(CALL), masked(call.as_bytes())].concat();
            let mut replies = Replies::new(ReplyFormat::Frames, AMPLE, RESULTS, &methods, None);
            assert_eq!(replies.answer_data(&data), masked(CALL).len());
            assert_eq!(replies.needs_snapshot(), is_native);
        }
    }

    #[test]
    fn failures_in_a_row_are_followed_by_longer_pauses() {
        let mut attempts = Attempts::default();
        let pauses: Vec<usize> = (0..8)
            .map(|_| {
                let skipped =
                    std::iter::repeat_with(|| attempts.is_due()).take_while(|is_due| !is_due).count();
                attempts.record(false);
                skipped
            })
            .collect();
        assert_eq!(pauses, [0, 1, 3, 7, 15, 31, 63, 63]);
        attempts.record(true);
        assert!(attempts.is_due() && attempts.is_due());
    }

    #[test]
    fn the_first_call_that_is_left_to_others_ends_the_run() {
        for other in [&br#"{"jsonrpc":"2.0","id":7,"method":"eth_call"}"#[..], b"{", &CALL[..CALL.len() - 1]]
        {
            assert_eq!(answered(ReplyFormat::Joined, AMPLE, &[CALL, other, CALL]).1, 1);
        }
        let notification = br#"{"jsonrpc":"2.0","method":"eth_chainId"}"#;
        assert_eq!(answered(ReplyFormat::Joined, AMPLE, &[notification, CALL]).1, 0);
    }

    #[test]
    fn replies_stay_within_their_room() {
        let whole = 2 * REPLY.len();
        assert_eq!(answered(ReplyFormat::Joined, ReplyLimits { largest: 1024, whole }, &[CALL; 3]).1, 2);
        assert_eq!(
            answered(ReplyFormat::Joined, ReplyLimits { largest: REPLY.len() - 1, whole }, &[CALL]).1,
            0
        );
    }

    #[test]
    fn a_run_ends_after_sixty_four_calls() {
        let room = ReplyLimits { largest: 1024, whole: 1 << 20 };
        assert!(answered(ReplyFormat::Joined, room, &[CALL; 100]).1 <= MAX_REPLIES);
    }
}
