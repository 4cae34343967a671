//! Filter of logs.

use alloy_primitives::{Address, B256};

use super::values::{ADDRESS, HASH};
use super::{address, block, hash};
use crate::json::Text;

const MAX_TOPICS: usize = 4;

/// Criteria of logs, and a range of blocks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// First block; None for the latest. `last` is the last one.
    pub first: Option<u64>,
    pub last: Option<u64>,
    /// Addresses; none for any.
    pub addresses: Vec<Address>,
    /// Alternative topics of each position; none for any.
    pub topics: Vec<Vec<B256>>,
}

/// Member of a filter, as a bit.
#[derive(Clone, Copy)]
enum FilterMember {
    First = 1,
    Last = 2,
    Addresses = 4,
    Topics = 8,
}

/// Return the filter in the parameters `[filter]`, if it is for a range of blocks; otherwise None.
pub fn log_parameters(params: &[u8]) -> Option<LogFilter> {
    let mut text = Text(params);
    text.take(b'[')?;
    let mut filter = LogFilter::default();
    text.members(|text, name| Some(set(&mut filter, name, text)? as u8))?;
    text.take(b']')?;
    text.end()?;
    Some(filter)
}

fn set(filter: &mut LogFilter, name: &[u8], text: &mut Text<'_>) -> Option<FilterMember> {
    Some(match name {
        b"fromBlock" => {
            filter.first = block(text.string()?)?;
            FilterMember::First
        }
        b"toBlock" => {
            filter.last = block(text.string()?)?;
            FilterMember::Last
        }
        b"address" => {
            filter.addresses = one_or_more(text, ADDRESS, address)?;
            FilterMember::Addresses
        }
        b"topics" => {
            text.take(b'[')?;
            filter.topics = text.items(alternatives)?;
            if filter.topics.len() > MAX_TOPICS {
                return None;
            }
            FilterMember::Topics
        }
        _ => return None,
    })
}

fn alternatives(text: &mut Text<'_>) -> Option<Vec<B256>> {
    match text.null() {
        Some(()) => Some(Vec::new()),
        None => one_or_more(text, HASH, hash),
    }
}

fn one_or_more<T>(text: &mut Text<'_>, size: usize, value: fn(&[u8]) -> Option<T>) -> Option<Vec<T>> {
    match text.take(b'[') {
        Some(()) => text.items(|text| value(text.sized(size)?)),
        None => Some(vec![value(text.sized(size)?)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(number: u8) -> (String, B256) {
        (format!("\"0x{number:064x}\""), B256::with_last_byte(number))
    }

    #[test]
    fn usual_filters_are_read() {
        assert_eq!(log_parameters(b"[{}]"), Some(LogFilter::default()));
        let ((one, first), (two, second)) = (words(1), words(2));
        let address = format!("\"0x{:040x}\"", 3);
        let text = format!(
            r#" [ {{ "fromBlock" : "0x0", "toBlock":"0x10","address":{address},"topics":[{one}, null,[ ],[{one},{two}]] }} ] "#
        );
        let filter = log_parameters(text.as_bytes()).unwrap();
        assert_eq!((filter.first, filter.last), (Some(0), Some(16)));
        assert_eq!(filter.addresses, [Address::with_last_byte(3)]);
        assert_eq!(filter.topics, [vec![first], vec![], vec![], vec![first, second]]);
        let text = format!(r#"[{{"toBlock":"latest","address":[{address},{address}],"topics":[]}}]"#);
        let filter = log_parameters(text.as_bytes()).unwrap();
        assert_eq!((filter.last, filter.addresses.len(), filter.topics.len()), (None, 2, 0));
    }

    #[test]
    fn whatever_is_unusual_is_left_to_others() {
        let (one, _) = words(1);
        let five = [one.as_str(); 5].join(",");
        for filter in [
            r#""fromBlock":"pending""#.into(),
            r#""fromBlock":null"#.into(),
            r#""FromBlock":"0x0""#.into(),
            r#""fromBlock":"0x0","fromBlock":"0x0""#.into(),
            format!(r#""blockHash":{one}"#),
            r#""limit":"0x1""#.into(),
            format!(r#""address":{one}"#),
            r#""address":[null]"#.into(),
            format!(r#""topics":{one}"#),
            format!(r#""topics":[[{one},null]]"#),
            format!(r#""topics":[{five}]"#),
            format!(r#""topics":[{one},]"#),
            r#""topics":[nulls]"#.into(),
            r#""topics":[0]"#.into(),
        ] {
            assert!(log_parameters(format!("[{{{filter}}}]").as_bytes()).is_none(), "{filter}");
        }
        for params in ["[]", "{}", "[{},{}]", "[{}", "[{}] 1", "[null]"] {
            assert!(log_parameters(params.as_bytes()).is_none(), "{params}");
        }
    }
}
