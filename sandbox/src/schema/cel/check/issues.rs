use cel::common::ast::SourceInfo;

/// The most errors that are shown.
const MOST: usize = 100;

/// The longest line that is shown with an error, in characters.
const LONGEST_LINE: usize = 16_384;

/// The errors of an expression.
#[derive(Default)]
pub(super) struct Issues {
    found: Vec<(u64, String)>,
    /// The errors that are not kept.
    others: usize,
}

impl Issues {
    /// Adds an error at an expression.
    pub(super) fn add(&mut self, id: u64, text: String) {
        match self.found.len() < MOST {
            true => self.found.push((id, text)),
            false => self.others += 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The errors in the order of the source, each with its line and a caret.
    pub(super) fn show(self, info: &SourceInfo) -> String {
        let found = self.found.into_iter();
        let mut placed: Vec<((usize, usize), String)> =
            found.map(|(id, text)| (place(info, id), text)).collect();
        placed.sort_by_key(|(place, _)| *place);
        let all = placed.len() + self.others;
        let placed = placed
            .iter()
            .map(|(place, text)| (Some(*place), text.as_str()));
        show(&info.source, placed, all)
    }
}

/// The first of these errors, each with its place if it has one. There are `all` errors.
pub(in crate::schema::cel) fn show<'a>(
    source: &str,
    errors: impl Iterator<Item = (Option<(usize, usize)>, &'a str)>,
    all: usize,
) -> String {
    let lines: Vec<&str> = source.split('\n').collect();
    let mut shown: Vec<String> = errors
        .take(MOST)
        .map(|(place, text)| match place {
            Some(place) => at_place(&lines, place, text),
            None => format!("ERROR: <input>:-1:0: {text}"),
        })
        .collect();
    if all > MOST {
        shown.push(format!("{} more errors were truncated", all - MOST));
    }
    shown.join("\n")
}

/// The line and the column of an expression, both from 0.
fn place(info: &SourceInfo, id: u64) -> (usize, usize) {
    let offset = info.offset_for(id).map_or(0, |(start, _)| start as usize);
    let mut at = (0, 0);
    for c in info.source.chars().take(offset) {
        match c {
            '\n' => at = (at.0 + 1, 0),
            _ => at.1 += 1,
        }
    }
    at
}

/// An error with the line of its place and a caret below it.
fn at_place(lines: &[&str], (row, column): (usize, usize), text: &str) -> String {
    let error = format!("ERROR: <input>:{}:{}: {text}", row + 1, column + 1);
    let line = lines.get(row).copied().unwrap_or_default();
    if line.len() > LONGEST_LINE {
        return error;
    }
    let line = line.replace('\t', " ");
    let mark = |c: Option<char>, narrow, wide| match c {
        Some(c) if c.len_utf8() > 1 => wide,
        _ => narrow,
    };
    let mut chars = line.chars();
    let dots: String = (&mut chars)
        .take(column)
        .map(|c| mark(Some(c), '.', '．'))
        .collect();
    let caret = mark(chars.next(), '^', '＾');
    format!("{error}\n | {line}\n | {dots}{caret}")
}
