//! Tests of damaged rows: they give a typed error or some text, never a panic.

use super::super::{
    render_block, render_header, render_logs, render_receipts, render_uncle, BlockStyle, LogSelection,
    TotalDifficulty,
};
use super::random::Random;
use crate::chain::rows::{
    block_rlp, encode_receipts, log_entries, BodyRow, HeaderRow, ReceiptsRow, RowError,
};
use crate::json::Writer;

fn read_all(header: &[u8], body: &[u8], receipts: &[u8]) -> Result<(), RowError> {
    let mut text = Writer::default();
    let style = BlockStyle { full: true, pending: false, total_difficulty: TotalDifficulty::Absent };
    let (header, body, receipts) =
        (HeaderRow::new(header)?, BodyRow::new(body)?, ReceiptsRow::new(receipts)?);
    render_block(&mut text, &header, &body, &style)?;
    render_header(&mut text, &header)?;
    render_receipts(&mut text, &header, &body, &receipts)?;
    render_uncle(&mut text, &body, 0, TotalDifficulty::Absent)?;
    render_logs(&mut text, &LogSelection { header, body, receipts, numbers: None }, false)?;
    log_entries(&[receipts], 0)?;
    block_rlp(&header, &body)?;
    body.transactions()?;
    body.ommers()?;
    body.withdrawals()?;
    header.header().map(drop)
}

#[test]
fn damaged_rows_are_errors_or_other_values_and_never_panics() {
    let mut random = Random(17);
    for _ in 0..60 {
        let sample = random.sample(6);
        let receipts = encode_receipts(&random.receipts(&sample.block.body.transactions));
        let rows = [sample.header, sample.body, receipts];
        for _ in 0..400 {
            let mut damaged = rows.clone();
            damage(&mut damaged[random.below(3)], &mut random);
            let _ = read_all(&damaged[0], &damaged[1], &damaged[2]);
        }
    }
}

fn damage(row: &mut Vec<u8>, random: &mut Random) {
    let length = row.len();
    match random.below(3) {
        0 => row.truncate(random.below(length)),
        // The numbers at the beginning of a row determine where every later read takes place.
        1 => row[random.below(length.min(64))] = random.number() as u8,
        _ => row[random.below(length)] ^= 1 << random.below(8),
    }
}

#[test]
fn every_short_row_is_an_error() {
    let mut random = Random(19);
    let sample = random.sample(6);
    for length in 0..sample.header.len() {
        let row = HeaderRow::new(&sample.header[..length]);
        assert!(row.is_err() || row.unwrap().fields().is_err());
    }
}

#[test]
fn an_unknown_version_is_named() {
    let error = BodyRow::new(&[9; 40]).unwrap_err();
    assert_eq!(error.to_string(), "body row: unknown version 9");
}
