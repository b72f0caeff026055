//! The output of a command beside what the book shows.

use std::sync::LazyLock;

use regex::Regex;

/// What differs between two runs, and what stands for it: times, ages and durations, ports, and the random ends of names.
static DIFFERENT: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let rules = [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"\b(\d{10})-[a-z0-9]{5}\b", "SECONDS-RANDOM"),
        (r"\b\d{10}\b", "SECONDS"),
        (r"\b(\d+(\.\d+)?(ms|s|m|h|d))+\b", "AGE"),
        (r"\b\d+\.\d+ s\b", "AGE"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
        // A column is as wide as its widest value.
        (r"\s+", " "),
    ];
    let compiled = |(rule, text)| Some((Regex::new(rule).ok()?, text));
    rules.into_iter().filter_map(compiled).collect()
});

/// The line without what may differ.
pub fn plain(line: &str) -> String {
    let line = line.trim().to_owned();
    let replace =
        |line: String, (rule, text): &(Regex, &str)| rule.replace_all(&line, *text).into();
    DIFFERENT.iter().fold(line, replace)
}

/// Whether a line is as the book shows it, in which `…` stands for any text.
pub fn line_fits(expected: &str, line: &str) -> bool {
    let (expected, line) = (plain(expected), plain(line));
    let mut parts = expected.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

/// Whether an output is as the book shows it. A line `…` stands for any lines, also for none.
pub fn fits(expected: &[String], output: &[&str]) -> bool {
    let Some((first, others)) = expected.split_first() else {
        return output.iter().all(|line| line.trim().is_empty());
    };
    if first.trim() == "…" {
        return (0..=output.len()).any(|skipped| fits(others, &output[skipped..]));
    }
    match output.split_first() {
        Some((line, rest)) => line_fits(first, line) && fits(others, rest),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(expected: &str, output: &str) -> bool {
        let expected: Vec<String> = expected.lines().map(str::to_owned).collect();
        fits(&expected, &output.lines().collect::<Vec<_>>())
    }

    #[test]
    fn times_ages_and_random_names_may_differ() {
        for (expected, output) in [
            (
                "job.batch/a-1767225660 created",
                "job.batch/a-1799999999   created",
            ),
            (
                "a-1767225660-x7k2p   1/1   4s",
                "a-1767225661-aaaaa 1/1 1m12s",
            ),
            ("at 2026-01-01T00:00:00Z", "at 2027-11-25T22:42:57.123Z"),
            (
                "Built in 3.1 s. Restarting …",
                "Built in 12.9 s. Restarting …",
            ),
            (
                "http://127.0.0.1:8080/metrics",
                "http://127.0.0.1:41233/metrics",
            ),
            ("a … b", "a anything b"),
            ("one\n…\nfour", "one\ntwo\nthree\nfour"),
            ("…\nfour", "four"),
            ("one\n…", "one"),
            ("", ""),
        ] {
            assert!(fit(expected, output), "{expected} / {output}");
        }
    }

    #[test]
    fn everything_else_has_to_be_equal() {
        for (expected, output) in [
            ("job.batch/a created", "job.batch/b created"),
            ("1/1   4s", "0/1   4s"),
            ("one\ntwo", "one"),
            ("one", "one\ntwo"),
            ("one\n…\nfour", "one\ntwo"),
            ("a … b", "a anything"),
            ("a…a", "a"),
            ("", "one"),
        ] {
            assert!(!fit(expected, output), "{expected} / {output}");
        }
    }
}
