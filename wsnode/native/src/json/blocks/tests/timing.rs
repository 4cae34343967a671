//! Times of the usual texts; run with `--release -- --ignored --nocapture timing`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::super::{
    render_block, render_logs, render_receipt, render_receipts, render_transaction, BlockStyle, LogSelection,
    TotalDifficulty,
};
use super::busy::busy_block;
use super::random::Random;
use crate::chain::rows::{log_entries, BodyRow, HeaderRow, ReceiptsRow, RowError};
use crate::json::Writer;

/// Print the shortest time of writing into a reused buffer, and the length of the text.
fn measure(name: &str, rounds: usize, mut write: impl FnMut(&mut Writer) -> Result<(), RowError>) {
    let mut buffer = Vec::new();
    let (mut least, mut length) = (Duration::MAX, 0);
    for _ in 0..rounds {
        buffer.clear();
        let mut text = Writer::new(buffer);
        let start = Instant::now();
        write(&mut text).unwrap();
        least = least.min(start.elapsed());
        buffer = text.into_text();
        length = black_box(&buffer).len();
    }
    println!("{name}: {:.2} us, {length} bytes", least.as_nanos() as f64 / 1000.0);
}

#[test]
#[ignore = "prints times"]
fn timing() {
    let (header, body, receipts) = busy_block(&mut Random(23));
    println!("rows: header {} body {} receipts {} bytes", header.len(), body.len(), receipts.len());
    let style = BlockStyle { full: true, pending: false, total_difficulty: TotalDifficulty::Absent };
    let hashes = BlockStyle { full: false, ..style };
    let rows = || -> Result<_, RowError> { Ok((HeaderRow::new(&header)?, BodyRow::new(&body)?)) };
    let logs = || ReceiptsRow::new(&receipts);
    measure("block, full", 2000, |text| {
        rows().and_then(|(header, body)| render_block(text, &header, &body, &style))
    });
    measure("block, hashes", 2000, |text| {
        rows().and_then(|(header, body)| render_block(text, &header, &body, &hashes))
    });
    measure("receipts", 2000, |text| {
        rows().and_then(|(header, body)| render_receipts(text, &header, &body, &logs()?))
    });
    measure("transaction", 2000, |text| {
        rows().and_then(|(header, body)| render_transaction(text, &header, &body, 50, false).map(drop))
    });
    measure("receipt", 2000, |text| {
        rows().and_then(|(header, body)| render_receipt(text, &header, &body, &logs()?, 50).map(drop))
    });
    let select = |numbers| -> Result<_, RowError> {
        Ok(LogSelection {
            header: HeaderRow::new(&header)?,
            body: BodyRow::new(&body)?,
            receipts: logs()?,
            numbers,
        })
    };
    measure("a log", 2000, |text| render_logs(text, &select(Some(vec![50]))?, false));
    measure("10,000 logs", 50, |text| (0..100).try_for_each(|_| render_logs(text, &select(None)?, true)));
    let many = vec![logs().unwrap(); 100];
    measure("index entries of 10,000 logs", 20, |_| log_entries(&many, 0).map(drop));
}
