use std::time::Duration;

/// The units of a duration, in nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// How many digits after the point count.
const FRACTION: usize = 18;

/// Reads a duration as `time.ParseDuration` of Go does, such as `1m30s` or `1.5h`. Returns zero for a negative one.
///
/// # Errors
/// The text of Go.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let is_negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit());
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        if name.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let known = UNITS.iter().find(|(known, _)| *known == name);
        let Some((_, unit)) = known else {
            return Err(format!("time: unknown unit {name:?} in duration {text:?}"));
        };
        let part = nanoseconds(whole, fraction, *unit);
        let next = part.and_then(|part| sum.checked_add(part));
        // Go counts with a sign.
        sum = next
            .filter(|sum| i64::try_from(*sum).is_ok())
            .ok_or_else(invalid)?;
        rest = after;
    }
    Ok(match is_negative {
        true => Duration::ZERO,
        false => Duration::from_nanos(sum),
    })
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// Returns `None` if they are too many.
fn nanoseconds(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole: u64 = match whole {
        "" => 0,
        whole => whole.parse().ok()?,
    };
    // More digits are less than a nanosecond, also of an hour.
    let fraction = fraction.get(..FRACTION).unwrap_or(fraction);
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let part = match fraction {
        "" => 0,
        fraction => fraction.parse::<u128>().ok()? * u128::from(unit) / scale,
    };
    whole.checked_mul(unit)?.checked_add(part.try_into().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_by_go() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("-0", 0),
            ("5s", 5_000_000_000),
            ("+1m30s", 90_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".25ms", 250_000),
            ("1.s", 1_000_000_000),
            ("3µs2ns", 3_002),
            ("0.0000000005s", 0),
            ("-5s", 0),
        ] {
            let expected = Duration::from_nanos(nanoseconds);
            assert_eq!(duration(text), Ok(expected), "{text}");
        }
        for (text, why) in [
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            ("x", "time: invalid duration \"x\""),
            (".s", "time: invalid duration \".s\""),
            ("5", "time: missing unit in duration \"5\""),
            ("1s5", "time: missing unit in duration \"1s5\""),
            ("5d", "time: unknown unit \"d\" in duration \"5d\""),
            ("2562048h", "time: invalid duration \"2562048h\""),
            (
                "99999999999999999999s",
                "time: invalid duration \"99999999999999999999s\"",
            ),
        ] {
            assert_eq!(duration(text).unwrap_err(), why);
        }
    }
}
