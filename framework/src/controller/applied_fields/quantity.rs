/// Whether two texts are quantities of the same amount, such as `1000m` and `1`, or `1Gi` and `1024Mi`.
///
/// Returns `false` if one of them is no quantity, or too large or too precise to compare.
pub(super) fn same_quantity(one: &str, other: &str) -> bool {
    let amount = billionths(one);
    amount.is_some() && amount == billionths(other)
}

/// The suffixes, each with a factor and a power of ten.
const SUFFIXES: [(&str, i128, i32); 16] = [
    ("n", 1, -9),
    ("u", 1, -6),
    ("m", 1, -3),
    ("", 1, 0),
    ("k", 1, 3),
    ("M", 1, 6),
    ("G", 1, 9),
    ("T", 1, 12),
    ("P", 1, 15),
    ("E", 1, 18),
    ("Ki", 1 << 10, 0),
    ("Mi", 1 << 20, 0),
    ("Gi", 1 << 30, 0),
    ("Ti", 1 << 40, 0),
    ("Pi", 1 << 50, 0),
    ("Ei", 1 << 60, 0),
];

/// The amount, if it is a whole number of billionths.
fn billionths(text: &str) -> Option<i128> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let (factor, power) = factor(suffix)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    let amount: i128 = digits.parse().ok()?;
    let power = power + 9 - i32::try_from(fraction.len()).ok()?;
    let amount = amount.checked_mul(factor)?;
    let scale = 10_i128.checked_pow(power.unsigned_abs())?;
    let amount = match power {
        0.. => amount.checked_mul(scale)?,
        _ if amount % scale == 0 => amount / scale,
        _ => return None,
    };
    Some(if negative { -amount } else { amount })
}

fn factor(suffix: &str) -> Option<(i128, i32)> {
    if let Some((_, factor, power)) = SUFFIXES.iter().find(|(known, ..)| *known == suffix) {
        return Some((*factor, *power));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i32 = exponent.parse().ok()?;
    // A larger amount does not fit into the number.
    (exponent.abs() < 64).then_some((1, exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_of_one_amount_are_equal_in_every_notation() {
        for (one, other) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1Gi", "1024Mi"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("1E3", "1000"),
            ("1E", "1000P"),
            ("100n", "0.1u"),
            ("+2", "2"),
            ("-1", "-1000m"),
            ("0", "0m"),
        ] {
            assert!(same_quantity(one, other), "{one} {other}");
        }
    }

    #[test]
    fn other_amounts_and_other_texts_are_not_equal() {
        for (one, other) in [
            ("1", "1m"),
            ("1G", "1Gi"),
            ("1", "-1"),
            ("", ""),
            (".", "."),
            ("a", "a"),
            ("1.2.3", "1.2.3"),
            ("1 ", "1"),
            ("1e", "1"),
            ("1e999", "1e999"),
            ("0.1n", "0.1n"),
            ("99999999999999999999999999999999999999999", "0"),
        ] {
            assert!(!same_quantity(one, other), "{one} {other}");
        }
    }
}
