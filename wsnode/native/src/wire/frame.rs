//! WebSocket frames (RFC 6455, section 5.2).

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const PONG: u8 = 0x8a;
const MASKED: u8 = 0x80;
/// Longest payload of a control frame, in bytes.
const MAX_CONTROL: u8 = 125;
/// Length of the head of a client's frame with the shortest form of its length, in bytes.
const SHORT_HEAD: usize = 6;

/// Whole message of a client: one masked frame without extensions that has arrived completely.
#[derive(Debug)]
pub struct Whole<'a> {
    pub is_text: bool,
    mask: [u8; 4],
    payload: &'a [u8],
    /// Length of the frame in bytes, its head included.
    pub size: usize,
}

impl<'a> Whole<'a> {
    /// Return the message at the start of `data`. None if there is another frame, or a message longer than
    /// `limit` bytes.
    pub fn read(data: &'a [u8], limit: usize) -> Option<Self> {
        let [first @ (TEXT | BINARY), second, rest @ ..] = data else {
            return None;
        };
        let (length, rest) = match second.checked_sub(MASKED)? {
            126 => {
                let (length, rest) = rest.split_first_chunk()?;
                (u64::from(u16::from_be_bytes(*length)), rest)
            }
            127 => {
                let (length, rest) = rest.split_first_chunk()?;
                (u64::from_be_bytes(*length), rest)
            }
            length => (u64::from(length), rest),
        };
        let length = usize::try_from(length).ok().filter(|length| *length <= limit)?;
        let (mask, rest) = rest.split_first_chunk()?;
        let payload = rest.get(..length)?;
        Some(Self { is_text: *first == TEXT, mask: *mask, payload, size: data.len() - rest.len() + length })
    }

    /// Return the length of the message, in bytes.
    pub fn message_size(&self) -> usize {
        self.payload.len()
    }

    /// Write the message without its mask into `target`, which must have its length.
    pub fn unmask(&self, target: &mut [u8]) {
        unmask(self.payload, self.mask, target);
    }
}

/// Write masked bytes without their mask into `target`, which must be as long (RFC 6455, section 5.3).
pub fn unmask(masked: &[u8], mask: [u8; 4], target: &mut [u8]) {
    let (sources, source) = masked.as_chunks();
    let (targets, target) = target.as_chunks_mut();
    let word = u32::from_ne_bytes(mask);
    for (target, source) in targets.iter_mut().zip(sources) {
        *target = (u32::from_ne_bytes(*source) ^ word).to_ne_bytes();
    }
    for ((target, source), mask) in target.iter_mut().zip(source).zip(mask) {
        *target = source ^ mask;
    }
}

/// Return the length in bytes of the pong at the start of `data`, or None if there is no complete pong.
pub fn pong_size(data: &[u8]) -> Option<usize> {
    let [PONG, second, ..] = data else {
        return None;
    };
    let length = second.checked_sub(MASKED).filter(|length| *length <= MAX_CONTROL)?;
    Some(SHORT_HEAD + usize::from(length)).filter(|size| *size <= data.len())
}

/// Append the head of a server's text frame with a message of `size` bytes.
pub fn write_head(frames: &mut Vec<u8>, size: usize) {
    frames.push(TEXT);
    match (u8::try_from(size), u16::try_from(size)) {
        (Ok(size @ 0..126), _) => frames.push(size),
        (_, Ok(size)) => {
            frames.push(126);
            frames.extend_from_slice(&size.to_be_bytes());
        }
        _ => {
            frames.push(127);
            frames.extend_from_slice(&(size as u64).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unmasked(frame: &[u8], limit: usize) -> Option<(Vec<u8>, usize)> {
        let whole = Whole::read(frame, limit)?;
        let mut message = vec![0; whole.message_size()];
        whole.unmask(&mut message);
        Some((message, whole.size))
    }

    #[test]
    fn a_message_of_each_length_form_is_unmasked() {
        // The example of RFC 6455, section 5.7.
        let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(unmasked(&hello, 5), Some((b"Hello".to_vec(), 11)));
        let mut longer = vec![0x82, 0xfe, 0, 5];
        longer.extend_from_slice(&hello[2..]);
        longer.push(0x81);
        assert_eq!(unmasked(&longer, 5), Some((b"Hello".to_vec(), 13)));
        let mut longest = vec![0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 5];
        longest.extend_from_slice(&hello[2..]);
        assert_eq!(unmasked(&longest, 5), Some((b"Hello".to_vec(), 19)));
        assert_eq!(unmasked(&longest, 4), None);
        for end in 0..longest.len() {
            assert_eq!(unmasked(&longest[..end], 5), None);
        }
    }

    #[test]
    fn anything_else_is_left_alone() {
        for first in (0..=255).filter(|first| !matches!(*first, TEXT | BINARY)) {
            assert!(Whole::read(&[first, 0x80, 0, 0, 0, 0], 10).is_none());
        }
        assert!(Whole::read(&[TEXT, 0, 0, 0, 0, 0], 10).is_none());
        assert!(Whole::read(&[TEXT, 0xff, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0], usize::MAX)
            .is_none());
    }

    #[test]
    fn a_whole_pong_is_known_by_its_size() {
        // The first pong is empty, and the second is the masked pong of RFC 6455, section 5.7.
        assert_eq!(pong_size(&[PONG, 0x80, 1, 2, 3, 4, TEXT]), Some(6));
        let hello = [0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(pong_size(&hello), Some(11));
        for end in 0..hello.len() {
            assert_eq!(pong_size(&hello[..end]), None);
        }
    }

    #[test]
    fn a_pong_that_is_not_masked_or_too_long_is_none() {
        assert_eq!(pong_size(&[PONG, 0, 1, 2, 3, 4]), None);
        for second in 126..=127 {
            assert_eq!(pong_size(&[&[PONG, MASKED | second][..], &[0; 200]].concat()), None);
        }
        for first in (0..=255).filter(|first| *first != PONG) {
            assert_eq!(pong_size(&[first, 0x80, 1, 2, 3, 4]), None);
        }
    }

    #[test]
    fn a_head_takes_the_shortest_form() {
        for (size, head) in [
            (0, vec![0x81, 0]),
            (125, vec![0x81, 125]),
            (126, vec![0x81, 126, 0, 126]),
            (255, vec![0x81, 126, 0, 255]),
            (65_535, vec![0x81, 126, 255, 255]),
            (65_536, vec![0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let mut frames = Vec::new();
            write_head(&mut frames, size);
            assert_eq!(frames, head);
        }
    }
}
