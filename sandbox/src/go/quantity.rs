use std::{cmp::Ordering, fmt, num::IntErrorKind};

/// The form in which a server returns a quantity: `0.5` as `500m`, `1024Mi` as `1Gi`. Returns `None` if the text is not
/// a quantity.
///
/// Precision ends at a billionth. Smaller parts are rounded away from zero, as servers do. Servers cap a quantity at
/// 2⁶³ - 1, except for a decimal one of at most 18 digits.
pub fn canonical_quantity(text: &str) -> Option<String> {
    Quantity::parse(text).map(|quantity| quantity.to_string())
}

/// A quantity to calculate with. It displays in its canonical form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    /// Billionths.
    nano: i128,
    form: Form,
}

impl Quantity {
    pub(crate) const ZERO: Self = Self::whole(0);

    pub(crate) const fn whole(number: u32) -> Self {
        Self {
            nano: number as i128 * ONE,
            form: Form::Decimal,
        }
    }

    /// Returns `None` if the text is not a quantity.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (nano, form) = read(text)?;
        Some(Self { nano, form })
    }

    pub(crate) fn is_zero(self) -> bool {
        self.nano == 0
    }

    pub(crate) fn is_negative(self) -> bool {
        self.nano < 0
    }

    /// The number of thousandths, rounded up.
    pub(crate) fn milli(self) -> i128 {
        ceil(self.nano, ONE / 1000)
    }

    /// The quantity rounded up to thousandths, unless it has no smaller part.
    pub(crate) fn rounded_to_milli(self) -> Option<Self> {
        const MILLI: i128 = ONE / 1000;
        let nano = ceil(self.nano, MILLI) * MILLI;
        (nano != self.nano).then_some(Self { nano, ..self })
    }

    /// The quantity in this notation, rounded up to a whole number.
    pub(crate) fn rounded_up(self) -> Self {
        Self {
            nano: ceil(self.nano, ONE) * ONE,
            ..self
        }
    }

    /// A sum has the notation of the first quantity, unless that is zero.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            nano: self.nano.saturating_add(other.nano),
            form: if self.is_zero() {
                other.form
            } else {
                self.form
            },
        }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        self.plus(Self {
            nano: -other.nano,
            ..other
        })
    }
}

fn ceil(nano: i128, unit: i128) -> i128 {
    nano.div_euclid(unit) + i128::from(nano.rem_euclid(unit) != 0)
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&match self.form {
            Form::Binary => binary(self.nano),
            Form::Scientific => scientific(self.nano),
            Form::Decimal => decimal(self.nano),
        })
    }
}

/// The notation of a quantity.
#[derive(Clone, Copy, Debug)]
enum Form {
    Binary,
    Scientific,
    Decimal,
}

fn read(text: &str) -> Option<(i128, Form)> {
    let text = text.trim();
    let split = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && matches!(c, '+' | '-'))))
        .map_or(text.len(), |(at, _)| at);
    let (number, suffix) = text.split_at(split);
    let nano = nano(number)?;
    if let Some(power) = BINARY.iter().position(|known| *known == suffix) {
        let value = nano.saturating_mul(1 << (10 * (power + 1)));
        return Some((value.clamp(-MAX, MAX), Form::Binary));
    }
    let (exponent, form) = match suffix.strip_prefix(['e', 'E']) {
        Some(exponent) if !exponent.is_empty() => (exponent.parse().ok()?, Form::Scientific),
        _ => {
            let (_, exponent) = DECIMAL.iter().find(|(known, _)| *known == suffix)?;
            (*exponent, Form::Decimal)
        }
    };
    let digits = number.trim_start_matches(['+', '-', '0']);
    let value = match digits.bytes().filter(u8::is_ascii_digit).count() {
        ..=18 => scale(nano, exponent)?,
        _ => scale(nano, exponent)
            .unwrap_or(MAX * nano.signum())
            .clamp(-MAX, MAX),
    };
    Some((value, form))
}

/// Compares two quantities. Returns `None` if one is invalid.
pub(crate) fn compare_quantities(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (read(one)?.0, read(other)?.0);
    Some(one.cmp(&other))
}

const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The largest unit first: the first one without a remainder is the canonical one.
const DECIMAL: [(&str, i32); 10] = [
    ("E", 18),
    ("P", 15),
    ("T", 12),
    ("G", 9),
    ("M", 6),
    ("k", 3),
    ("", 0),
    ("m", -3),
    ("u", -6),
    ("n", -9),
];
const ONE: i128 = 1_000_000_000;
/// The largest quantity in billionths.
const MAX: i128 = i64::MAX as i128 * ONE;

/// The number in billionths.
fn nano(number: &str) -> Option<i128> {
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let mut value = if whole.is_empty() {
        0
    } else {
        match whole.parse::<i128>() {
            Ok(whole) => whole.saturating_mul(ONE),
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => i128::MAX,
            Err(_) => return None,
        }
    };
    let kept: String = fraction.chars().take(9).collect();
    if !kept.is_empty() {
        let padded = format!("{kept:0<9}");
        value = value.saturating_add(padded.parse::<i128>().ok()?);
    }
    if fraction.chars().skip(9).any(|digit| digit != '0') {
        value = value.saturating_add(1);
    }
    Some(if negative { -value } else { value })
}

fn scale(nano: i128, exponent: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(exponent.unsigned_abs())?;
    if exponent >= 0 {
        nano.checked_mul(factor)
    } else {
        // Away from zero, as `nano` rounds.
        Some(nano / factor + (nano % factor).signum())
    }
}

fn decimal(nano: i128) -> String {
    if nano == 0 {
        return "0".to_owned();
    }
    for (suffix, exponent) in DECIMAL {
        let unit = 10_i128.pow((exponent + 9).unsigned_abs());
        if nano % unit == 0 {
            return format!("{}{suffix}", nano / unit);
        }
    }
    format!("{nano}n")
}

fn scientific(nano: i128) -> String {
    let plain = decimal(nano);
    let split = plain
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(plain.len());
    let (number, suffix) = plain.split_at(split);
    match DECIMAL.iter().find(|(known, _)| *known == suffix) {
        Some((_, exponent)) if *exponent != 0 => format!("{number}e{exponent}"),
        _ => plain,
    }
}

fn binary(nano: i128) -> String {
    if nano % ONE != 0 {
        return decimal(nano);
    }
    let mut value = nano / ONE;
    let mut suffix = "";
    for next in BINARY {
        if value == 0 || value % 1024 != 0 {
            break;
        }
        value /= 1024;
        suffix = next;
    }
    format!("{value}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::{Quantity, canonical_quantity};

    #[test]
    fn quantities_are_returned_in_canonical_form() {
        for (given, canonical) in [
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("100", "100"),
            ("1500M", "1500M"),
            ("1e3", "1e3"),
            ("0", "0"),
            ("-2000m", "-2"),
            ("0.0000000001", "1n"),
            ("-0.0000000001", "-1n"),
            ("1.5n", "2n"),
            ("-1.5n", "-2n"),
            ("10000000001.0000000001Ki", "10240000001024000001024n"),
            ("10240000001024000001024n", "10240000001024000001024n"),
            ("9999999.9998Ei", "9223372036854775807"),
            ("-9Ei", "-9223372036854775807"),
            ("7Ei", "7Ei"),
            ("10E", "10E"),
            ("9999999999999999999999999999999", "9223372036854775807"),
            (
                "-99999999999999999999999999999999999999999",
                "-9223372036854775807",
            ),
        ] {
            assert_eq!(
                canonical_quantity(given).as_deref(),
                Some(canonical),
                "{given}"
            );
        }
    }

    #[test]
    fn a_sum_has_the_notation_of_the_first_quantity_that_is_not_zero() {
        let quantity = |text| Quantity::parse(text).unwrap();
        for (one, other, sum, difference) in [
            ("0", "1Gi", "1Gi", "-1Gi"),
            ("1Gi", "512Mi", "1536Mi", "512Mi"),
            ("1500m", "500m", "2", "1"),
            ("1G", "1Mi", "1001048576", "998951424"),
        ] {
            assert_eq!(quantity(one).plus(quantity(other)).to_string(), sum);
            assert_eq!(quantity(one).minus(quantity(other)).to_string(), difference);
        }
        assert_eq!(quantity("1.0001").milli(), 1001);
        assert_eq!(quantity("1500m").rounded_up().to_string(), "2");
    }

    #[test]
    fn invalid_quantities_have_no_canonical_form() {
        for given in ["", "x", "1Q", "1.2.3", "--1", "1e"] {
            assert_eq!(canonical_quantity(given), None, "{given}");
        }
    }
}
