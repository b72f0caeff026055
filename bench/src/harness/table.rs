//! The tables of the report in Markdown.

use std::fmt::Write;

use super::{
    run::{Run, Runs},
    stats::Spread,
};

/// A number that the table compares.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    /// The heading of its column.
    pub(super) name: &'static str,
    /// Whether more is better.
    pub(super) more: bool,
    /// Digits after the point.
    pub(super) digits: usize,
    /// Returns its value in a run.
    pub(super) value: fn(&Run) -> f64,
}

/// Returns a measure. A smaller value is better.
pub(super) const fn less(name: &'static str, digits: usize, value: fn(&Run) -> f64) -> Measure {
    Measure {
        name,
        more: false,
        digits,
        value,
    }
}

/// Returns a measure. A larger value is better.
pub(super) const fn more(name: &'static str, digits: usize, value: fn(&Run) -> f64) -> Measure {
    Measure {
        more: true,
        ..less(name, digits, value)
    }
}

/// A row of a table: one peer.
pub(super) struct Row {
    /// The peer.
    pub(super) peer: String,
    /// Whether it is Pilothouse, which is compared with the peers and never serves as the reference.
    pub(super) ours: bool,
    /// The measured runs.
    pub(super) runs: Runs,
}

/// Formats a table with a row per peer and a column per measure. A cell has the median, the smallest, the largest,
/// and the ratio to the best peer's median.
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

/// Returns the best median among the peers without Pilothouse.
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

/// Returns the spread of a measure for a peer, or `None` if no run counts or none has measured it.
pub(super) fn spread(measure: &Measure, row: &Row) -> Option<Spread> {
    let values = row.runs.counted.iter().map(measure.value);
    Spread::of(values.filter(|value| value.is_finite()))
}
