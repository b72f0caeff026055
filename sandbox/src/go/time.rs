//! Parses times as Go does, with the errors of Go's `time` package.

/// Checks a time of RFC 3339. With `micro` the fraction of the second must have exactly six digits.
///
/// # Errors
/// The text of Go: which part could not be parsed, and as what.
pub(crate) fn parse(text: &str, micro: bool) -> Result<(), String> {
    let fraction = if micro { ".000000" } else { "" };
    let layout = format!("2006-01-02T15:04:05{fraction}Z07:00");
    let mut rest = text;
    let fail = |rest: &str, element: &str| {
        Err(format!(
            "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}"
        ))
    };
    let mut numbers = Vec::new();
    for element in [
        "2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05",
    ] {
        let taken = match element.parse::<u32>() {
            Ok(_) => digits(rest, element.len()),
            Err(_) => rest.strip_prefix(element).map(|after| (0, after)),
        };
        match taken {
            Some((number, after)) => {
                if element.len() > 1 {
                    numbers.push((element, number));
                }
                rest = after;
            }
            None => return fail(rest, element),
        }
    }
    if micro {
        let whole = rest.strip_prefix('.').and_then(|after| digits(after, 6));
        match whole {
            Some((_, after)) => rest = after,
            None => return fail(rest, fraction),
        }
    } else if let Some(after) = rest.strip_prefix(['.', ','])
        && after.starts_with(|c: char| c.is_ascii_digit())
    {
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    match zone(rest) {
        Some("") => in_range(text, &numbers),
        Some(extra) => Err(format!("parsing time {text:?}: extra text: {extra:?}")),
        None => fail(rest, "Z07:00"),
    }
}

fn digits(text: &str, count: usize) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(count)?;
    let all = number.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| number.parse().ok())
        .flatten()
        .map(|number| (number, rest))
}

/// The text after the time zone, which is `Z` or `+01:00`.
fn zone(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some(rest);
    }
    let (_, rest) = digits(text.strip_prefix(['+', '-'])?, 2)?;
    digits(rest.strip_prefix(':')?, 2).map(|(_, rest)| rest)
}

fn in_range(text: &str, numbers: &[(&str, u32)]) -> Result<(), String> {
    let of = |element: &str| {
        let found = numbers.iter().find(|(name, _)| *name == element);
        found.map_or(0, |(_, number)| *number)
    };
    let (year, month) = (of("2006"), of("01"));
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    for (what, number, first, last) in [
        ("month", month, 1, 12),
        ("hour", of("15"), 0, 23),
        ("minute", of("04"), 0, 59),
        ("second", of("05"), 0, 59),
        ("day", of("02"), 1, days),
    ] {
        if !(first..=last).contains(&number) {
            return Err(format!("parsing time {text:?}: {what} out of range"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_by_a_real_server() {
        for text in [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.5Z",
            "2024-02-29T23:59:59+01:00",
        ] {
            assert_eq!(parse(text, false), Ok(()));
        }
        assert_eq!(parse("2026-01-01T00:00:00.500000Z", true), Ok(()));
        for (text, micro, wrong) in [
            ("x", false, "cannot parse \"x\" as \"2006\""),
            ("2026-01-01", false, "cannot parse \"\" as \"T\""),
            (
                "2026-01-01T00:00:00",
                false,
                "cannot parse \"\" as \"Z07:00\"",
            ),
            (
                "2026-01-01T00:00:00.5Z",
                true,
                "cannot parse \".5Z\" as \".000000\"",
            ),
            ("2026-13-01T00:00:00Z", false, "month out of range"),
            ("2026-02-29T00:00:00Z", false, "day out of range"),
            ("2026-01-01T00:00:00Zx", false, "extra text: \"x\""),
        ] {
            let found = parse(text, micro).unwrap_err();
            assert!(found.ends_with(wrong), "{found}");
        }
    }
}
