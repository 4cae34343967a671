//! Length of bytes after compression by FastLZ (level 1), from which the OP stack estimates the cost of data
//! on L1.
//!
//! The length decides fees, so the search for matches is part of the protocol (specs.optimism.io,
//! protocol/fjord).

const TABLE: usize = 1 << 13;
/// Bytes at the end in which no match begins.
const TAIL: usize = 13;
const MAX_LITERALS: usize = 32;
const MAX_MATCH: usize = 262;
const FARTHEST: usize = 8192;

/// Return the length of the compressed form of `input`, in bytes.
pub fn compressed_length(input: &[u8]) -> u64 {
    let limit = input.len().saturating_sub(TAIL);
    let mut search = Search { input, limit, seen: Box::new([0; TABLE]) };
    let (mut length, mut written, mut position) = (0, 0, 2);
    while let Some((earlier, found)) = search.next_match(position) {
        length += literals(found - written);
        let matched = search.matched(earlier + 3, found + 3);
        length += copy(matched);
        search.note(found + matched);
        search.note(found + matched + 1);
        written = found + matched + 2;
        position = written;
    }
    (length + literals(input.len() - written)) as u64
}

struct Search<'a> {
    input: &'a [u8],
    limit: usize,
    /// Last position of each hash of three bytes.
    seen: Box<[usize; TABLE]>,
}

impl Search<'_> {
    /// Return the earlier and the later position of the next match of three bytes, searched from `position`
    /// on; None if there is none.
    fn next_match(&mut self, mut position: usize) -> Option<(usize, usize)> {
        while position < self.limit {
            let three = self.three(position);
            let slot = &mut self.seen[hash(three)];
            let earlier = std::mem::replace(slot, position);
            // The protocol's search advances once more before it compares, so the last position never
            // matches.
            if position + 1 < self.limit && position - earlier < FARTHEST && three == self.three(earlier) {
                return Some((earlier, position));
            }
            position += 1;
        }
        None
    }

    /// Return one more than the number of equal bytes at two positions, up to a bound before the end.
    fn matched(&self, earlier: usize, later: usize) -> usize {
        let most = self.limit + 9 - later;
        let equal =
            (0..most).take_while(|step| self.input[earlier + step] == self.input[later + step]).count();
        most.min(equal + 1)
    }

    fn note(&mut self, position: usize) {
        self.seen[hash(self.three(position))] = position;
    }

    fn three(&self, position: usize) -> u32 {
        let bytes = &self.input[position..position + 3];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])
    }
}

fn hash(three: u32) -> usize {
    ((2_654_435_769 * u64::from(three)) >> 19) as usize & (TABLE - 1)
}

/// Return the length of `count` literal bytes in the compressed form, in bytes.
fn literals(count: usize) -> usize {
    let rest = count % MAX_LITERALS;
    (MAX_LITERALS + 1) * (count / MAX_LITERALS) + if rest == 0 { 0 } else { rest + 1 }
}

/// Return the length of a match in the compressed form, in bytes.
fn copy(length: usize) -> usize {
    let beyond = length - 1;
    3 * (beyond / MAX_MATCH) + if beyond % MAX_MATCH >= 6 { 3 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_literals_a_match_and_the_tail() {
        assert_eq!(compressed_length(&[]), 0);
        assert_eq!(compressed_length(&[7]), 2);
        // Two literals, a match of 993 bytes (991 in `copy`, which counts two bytes fewer), and five
        // literals.
        assert_eq!(compressed_length(&[1; 1000]), 3 + 12 + 6);
    }

    #[test]
    fn bytes_without_a_repetition_are_literals() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(compressed_length(&bytes), 256 + 8);
    }
}
