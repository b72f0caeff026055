use std::collections::HashMap;
use std::ops::Range;

/// How many lines without a difference surround one.
const CONTEXT: usize = 3;

/// Above this number of pairs of lines, the difference is not searched for: all lines between the first and the last different
/// one count as changed.
const MOST_PAIRS: usize = 4_000_000;

/// Lines of the old text, and those of the new text that replace them.
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// The difference between two texts in the unified format, without a header.
pub(super) fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut out = String::new();
    for group in groups(changes(&old, &new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let before = first.old.start.min(first.new.start).min(CONTEXT);
        let after = CONTEXT.min(old.len() - last.old.end);
        let of_old = first.old.start - before..last.old.end + after;
        let of_new = first.new.start - before..last.new.end + after;
        out.push_str(&format!("@@ -{} +{} @@\n", range(&of_old), range(&of_new)));
        let mut at = of_old.start;
        let mut lines = |sign: char, lines: &[&str]| {
            for line in lines {
                out.push(sign);
                out.push_str(line);
                out.push('\n');
            }
        };
        for change in &group {
            lines(' ', &old[at..change.old.start]);
            lines('-', &old[change.old.clone()]);
            lines('+', &new[change.new.clone()]);
            at = change.old.end;
        }
        lines(' ', &old[at..of_old.end]);
    }
    out
}

/// The first line and the number of lines.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        1 => (lines.start + 1).to_string(),
        0 => format!("{},0", lines.start),
        length => format!("{},{length}", lines.start + 1),
    }
}

/// Changes whose surrounding lines touch are shown together.
fn groups(changes: Vec<Change>) -> Vec<Vec<Change>> {
    let mut groups: Vec<Vec<Change>> = Vec::new();
    for change in changes {
        let last = groups.last().and_then(|group| group.last());
        let is_near = last.is_some_and(|last| change.old.start - last.old.end <= 2 * CONTEXT);
        match groups.last_mut().filter(|_| is_near) {
            Some(group) => group.push(change),
            None => groups.push(vec![change]),
        }
    }
    groups
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let same = old.iter().zip(new).take_while(|(old, new)| old == new);
    let start = same.count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let same = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = same.take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let mut equal = Vec::new();
    let (lines, others) = (old_end - start, new_end - start);
    if lines.saturating_mul(others) <= MOST_PAIRS {
        matches(old, new, start..old_end, start..new_end, &mut equal);
    }
    equal.push((old_end, new_end, 0));
    let (mut at_old, mut at_new) = (start, start);
    let mut changes = Vec::new();
    for (of_old, of_new, length) in equal {
        if of_old > at_old || of_new > at_new {
            changes.push(Change {
                old: at_old..of_old,
                new: at_new..of_new,
            });
        }
        (at_old, at_new) = (of_old + length, of_new + length);
    }
    changes
}

/// Finds equal lines in their order: the longest run, then those before it and after it.
fn matches(
    old: &[&str],
    new: &[&str],
    of_old: Range<usize>,
    of_new: Range<usize>,
    found: &mut Vec<(usize, usize, usize)>,
) {
    let mut pending = vec![(of_old, of_new)];
    let first = found.len();
    while let Some((of_old, of_new)) = pending.pop() {
        let Some((at_old, at_new, length)) = longest(old, new, &of_old, &of_new) else {
            continue;
        };
        found.push((at_old, at_new, length));
        pending.push((of_old.start..at_old, of_new.start..at_new));
        pending.push((at_old + length..of_old.end, at_new + length..of_new.end));
    }
    found[first..].sort_unstable();
}

/// The longest run of equal lines; of several, the first.
fn longest(
    old: &[&str],
    new: &[&str],
    of_old: &Range<usize>,
    of_new: &Range<usize>,
) -> Option<(usize, usize, usize)> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for index in of_new.clone() {
        places.entry(new[index]).or_default().push(index);
    }
    let mut best = (0, 0, 0);
    // How long the runs are that end at a line of the new text.
    let mut runs: HashMap<usize, usize> = HashMap::new();
    for at_old in of_old.clone() {
        let mut longer = HashMap::new();
        for at_new in places.get(old[at_old]).into_iter().flatten() {
            let before = at_new.checked_sub(1).and_then(|before| runs.get(&before));
            let length = before.copied().unwrap_or(0) + 1;
            longer.insert(*at_new, length);
            if length > best.2 {
                best = (at_old + 1 - length, at_new + 1 - length, length);
            }
        }
        runs = longer;
    }
    (best.2 > 0).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_is_shown_between_its_neighbours() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni";
        let new = old.replace('e', "E");
        let shown = "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n";
        assert_eq!(unified(old, &new), shown);
    }

    #[test]
    fn distant_changes_are_shown_apart() {
        let old: Vec<String> = (0..30).map(|line| line.to_string()).collect();
        let mut new = old.clone();
        new[2] = "x".into();
        new.insert(20, "y".into());
        let shown = unified(&old.join("\n"), &new.join("\n"));
        assert_eq!(
            shown,
            "@@ -1,6 +1,6 @@\n 0\n 1\n-2\n+x\n 3\n 4\n 5\n@@ -18,6 +18,7 @@\n 17\n 18\n 19\n+y\n 20\n 21\n 22\n"
        );
    }

    #[test]
    fn equal_lines_of_large_texts_are_not_searched_for() {
        let text = |first: usize, lines: usize| {
            let lines = (first..first + lines).map(|line| (line % 7).to_string());
            lines.collect::<Vec<_>>().join("\n")
        };
        let shows_equal_lines = |lines: usize| {
            let shown = unified(&text(0, lines), &text(3, lines));
            shown.lines().any(|line| line.starts_with(' '))
        };
        assert!(shows_equal_lines(20));
        assert!(!shows_equal_lines(2100));
    }
}
