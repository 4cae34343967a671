//! A list held against the shape that it should have, as geth's decoder does.

use super::reader::{Fault, Kind, Reader};
use super::shape::Shape;

/// Why an item has not its shape.
enum Misfit {
    /// There is no item left.
    End,
    /// Said as it is.
    Plain(&'static str),
    /// Said with the type, and the members that lead to it, the innermost first.
    Typed { words: String, path: Vec<String> },
}

const LEADING_ZERO: &str = "non-canonical integer (leading zero bytes)";
const SIZE: &str = "non-canonical size information";
const WANT_STRING: &str = "expected input string or byte";
const WANT_LIST: &str = "expected input list";

/// Check that `bytes` are one item of `shape`; otherwise what geth says.
pub fn check(bytes: &[u8], shape: Shape) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    match walk(&mut reader, shape) {
        Ok(()) if reader.is_empty() => Ok(()),
        Ok(()) => Err("rlp: input contains more than one value".into()),
        Err(Misfit::End) => Err("EOF".into()),
        Err(Misfit::Plain(words)) => Err(words.into()),
        Err(Misfit::Typed { words, path }) if path.is_empty() => Err(format!("rlp: {words}")),
        Err(Misfit::Typed { words, path }) => {
            let path: String = path.iter().rev().map(String::as_str).collect();
            Err(format!("rlp: {words}, decoding into ({}){path}", name(shape)))
        }
    }
}

fn walk(reader: &mut Reader<'_>, shape: Shape) -> Result<(), Misfit> {
    match shape {
        Shape::Number(_, width) => number(reader, shape, width),
        Shape::BigNumber => big_number(reader, shape, None),
        Shape::WideNumber => big_number(reader, shape, Some(32)),
        Shape::Bytes => bytes(reader, shape),
        Shape::Array(_, length) => array(reader, shape, length),
        Shape::Recipient => recipient(reader, shape),
        Shape::List(_, item) => list(reader, shape, *item),
        Shape::Struct(_, members) => members_of(reader, shape, members),
    }
}

fn name(shape: Shape) -> &'static str {
    match shape {
        Shape::Number(name, _) | Shape::Array(name, _) | Shape::List(name, _) | Shape::Struct(name, _) => {
            name
        }
        Shape::BigNumber => "*big.Int",
        Shape::WideNumber => "*uint256.Int",
        Shape::Bytes => "[]uint8",
        Shape::Recipient => "*common.Address",
    }
}

fn typed(words: &str, shape: Shape) -> Misfit {
    Misfit::Typed { words: format!("{words} for {}", name(shape)), path: Vec::new() }
}

/// A fault of the stream, with its type where geth names it.
fn of_stream(fault: Fault, shape: Shape) -> Misfit {
    match fault {
        Fault::End => Misfit::End,
        Fault::Size => typed(SIZE, shape),
        Fault::TooLarge { .. } => Misfit::Plain(fault.words()),
    }
}

fn plain(fault: Fault) -> Misfit {
    match fault {
        Fault::End => Misfit::End,
        fault => Misfit::Plain(fault.words()),
    }
}

fn number(reader: &mut Reader<'_>, shape: Shape, width: usize) -> Result<(), Misfit> {
    let (kind, _, length) = reader.head().map_err(|fault| of_stream(fault, shape))?;
    match kind {
        Kind::List => return Err(typed(WANT_STRING, shape)),
        Kind::String if length > width => return Err(typed("input string too long", shape)),
        _ => {}
    }
    canonical(reader, shape)
}

fn big_number(reader: &mut Reader<'_>, shape: Shape, widest: Option<usize>) -> Result<(), Misfit> {
    let (kind, _, length) = reader.head().map_err(|fault| of_stream(fault, shape))?;
    if kind == Kind::List {
        return Err(typed(WANT_STRING, shape));
    }
    if widest.is_some_and(|widest| length > widest) {
        return Err(Misfit::Plain("rlp: value too large for uint256"));
    }
    canonical(reader, shape)
}

/// Read a number that has as few bytes as it needs.
fn canonical(reader: &mut Reader<'_>, shape: Shape) -> Result<(), Misfit> {
    match reader.take().map_err(plain)? {
        (Kind::Byte, [0]) | (Kind::String, [0, _, ..]) => Err(typed(LEADING_ZERO, shape)),
        (Kind::String, [..0x80]) => Err(typed(SIZE, shape)),
        _ => Ok(()),
    }
}

fn bytes(reader: &mut Reader<'_>, shape: Shape) -> Result<(), Misfit> {
    let (kind, _, _) = reader.head().map_err(|fault| of_stream(fault, shape))?;
    if kind == Kind::List {
        return Err(typed(WANT_STRING, shape));
    }
    match reader.take().map_err(plain)? {
        (Kind::String, [..0x80]) => Err(typed(SIZE, shape)),
        _ => Ok(()),
    }
}

fn array(reader: &mut Reader<'_>, shape: Shape, wanted: usize) -> Result<(), Misfit> {
    let (kind, _, length) = reader.head().map_err(plain)?;
    match kind {
        Kind::List => return Err(typed(WANT_STRING, shape)),
        _ if length > wanted => return Err(typed("input string too long", shape)),
        _ if length < wanted => return Err(typed("input string too short", shape)),
        _ => {}
    }
    reader.take().map(drop).map_err(plain)
}

fn recipient(reader: &mut Reader<'_>, shape: Shape) -> Result<(), Misfit> {
    match reader.head().map_err(|fault| of_stream(fault, shape))? {
        (Kind::List, _, 0) => Err(typed("wrong kind of empty value (got List, want String)", shape)),
        (Kind::String, _, 0) => reader.take().map(drop).map_err(plain),
        _ => walk(reader, Shape::Array("common.Address", 20)),
    }
}

fn open<'a>(reader: &mut Reader<'a>, shape: Shape) -> Result<Reader<'a>, Misfit> {
    match reader.head().map_err(|fault| of_stream(fault, shape))? {
        (Kind::List, ..) => reader.take().map(|(_, payload)| Reader::of_list(payload)).map_err(plain),
        _ => Err(typed(WANT_LIST, shape)),
    }
}

fn list(reader: &mut Reader<'_>, shape: Shape, item: Shape) -> Result<(), Misfit> {
    let mut items = open(reader, shape)?;
    let mut index = 0;
    while !items.is_empty() {
        walk(&mut items, item).map_err(|misfit| inside(misfit, format!("[{index}]")))?;
        index += 1;
    }
    Ok(())
}

fn members_of(
    reader: &mut Reader<'_>,
    shape: Shape,
    members: &[(&'static str, Shape)],
) -> Result<(), Misfit> {
    let mut items = open(reader, shape)?;
    for (name, member) in members {
        match walk(&mut items, *member) {
            Err(Misfit::End) => return Err(typed("too few elements", shape)),
            result => result.map_err(|misfit| inside(misfit, format!(".{name}")))?,
        }
    }
    if items.is_empty() {
        return Ok(());
    }
    Err(typed("input list has too many elements", shape))
}

fn inside(misfit: Misfit, step: String) -> Misfit {
    match misfit {
        Misfit::Typed { words, mut path } => {
            path.push(step);
            Misfit::Typed { words, path }
        }
        other => other,
    }
}
