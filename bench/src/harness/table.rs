//! The report, in Markdown.

use std::fmt::Write;

use super::{
    run::{Run, Runs},
    stats::Spread,
};

/// A number that is compared.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    /// The column's head.
    pub(super) name: &'static str,
    /// Whether more is better.
    pub(super) more: bool,
    /// Digits after the point.
    pub(super) digits: usize,
    /// What it is in a run.
    pub(super) value: fn(&Run) -> f64,
}

/// Less is better.
pub(super) const fn less(name: &'static str, digits: usize, value: fn(&Run) -> f64) -> Measure {
    Measure {
        name,
        more: false,
        digits,
        value,
    }
}

/// More is better.
pub(super) const fn more(name: &'static str, digits: usize, value: fn(&Run) -> f64) -> Measure {
    Measure {
        more: true,
        ..less(name, digits, value)
    }
}

/// A peer's rows.
pub(super) struct Row {
    /// The peer.
    pub(super) peer: String,
    /// Whether it is ours: then it is compared, and nobody is compared with it.
    pub(super) ours: bool,
    /// What was measured.
    pub(super) runs: Runs,
}

/// A table: a peer a row, a measure a column; median, smallest and largest, and the ratio to the best peer's median.
pub(super) fn table(measures: &[Measure], rows: &[Row]) -> String {
    let mut text = String::from("| peer | runs |");
    for measure in measures {
        let _ = write!(text, " {} |", measure.name);
    }
    text.push_str("\n| --- | --- |");
    text.push_str(&" --- |".repeat(measures.len()));
    text.push('\n');
    for row in rows {
        let _ = write!(text, "| {} | {}", row.peer, row.runs.counted.len());
        if row.runs.discarded > 0 {
            let _ = write!(text, " ({} discarded)", row.runs.discarded);
        }
        text.push_str(" |");
        for measure in measures {
            let _ = write!(text, " {} |", cell(measure, row, best(measure, rows)));
        }
        text.push('\n');
    }
    text
}

fn cell(measure: &Measure, row: &Row, best: Option<f64>) -> String {
    let Some(Spread { median, min, max }) = spread(measure, row) else {
        return "–".to_owned();
    };
    let digits = measure.digits;
    let mut text = format!("{median:.digits$} ({min:.digits$}–{max:.digits$})");
    if let Some(best) = best.filter(|best| *best > 0.0) {
        let _ = write!(text, " ×{:.2}", median / best);
    }
    text
}

/// The best median of those that are not ours.
fn best(measure: &Measure, rows: &[Row]) -> Option<f64> {
    let medians = rows
        .iter()
        .filter(|row| !row.ours)
        .filter_map(|row| spread(measure, row))
        .map(|spread| spread.median);
    if measure.more {
        medians.max_by(f64::total_cmp)
    } else {
        medians.min_by(f64::total_cmp)
    }
}

/// What was measured of a peer; nothing, if no run counts.
pub(super) fn spread(measure: &Measure, row: &Row) -> Option<Spread> {
    Spread::of(row.runs.counted.iter().map(measure.value))
}
