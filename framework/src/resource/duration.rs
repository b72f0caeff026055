//! Durations in Kubernetes' form, for serde: `1h30m0s`.
//!
//! Go writes and reads durations so, and with it Kubernetes, Helm and Prometheus. Use the module for each field of a spec or
//! status that is a `Duration`, or an `Option`, a list or a map of them. `#[derive(Schema)]` describes such a field as a string
//! of the format `duration`, so that CEL rules compare it: `self.timeout <= duration('1h')`.
//!
//! ```
//! use std::time::Duration;
//!
//! use pilothouse::Schema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
//! struct Schedule {
//!     #[serde(with = "pilothouse::resource::duration")]
//!     period: Duration,
//!     #[serde(default, with = "pilothouse::resource::duration")]
//!     timeout: Option<Duration>,
//! }
//!
//! let schedule: Schedule = serde_json::from_str(r#"{"period": "1h30m", "timeout": "2.5s"}"#)?;
//! assert_eq!(schedule.period, Duration::from_secs(5400));
//! assert_eq!(
//!     serde_json::to_string(&schedule)?,
//!     r#"{"period":"1h30m0s","timeout":"2.5s"}"#
//! );
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! A text is one or more numbers with the units `h`, `m`, `s`, `ms`, `us` (`µs`) and `ns`, or `0`. It is not negative, and at
//! most 2⁶³−1 ns, as in Go: about 292 years.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    hash::{BuildHasher, Hash},
    time::Duration,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// The texts that [`deserialize`] reads.
pub(crate) const PATTERN: &str = r"^(0|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$";

/// Writes a `Duration`, or an `Option`, a list or a map of them.
///
/// # Errors
/// If a duration is longer than Go's, or the serializer fails.
pub fn serialize<T: InGoForm, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.write(serializer)
}

/// Reads what [`serialize`] writes.
///
/// # Errors
/// If a text is not a duration, or the deserializer fails.
pub fn deserialize<'de, T: InGoForm, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::read(deserializer)
}

/// The duration as Go writes it: `1h30m0s`, `1.5s`, `100ms`, `0s`.
pub fn format(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let fraction = |value: u128, unit: u128, name: &str| {
        let rest = value % unit;
        if rest == 0 {
            return format!("{}{name}", value / unit);
        }
        let digits = unit.ilog10() as usize;
        let rest = format!("{rest:0digits$}");
        format!("{}.{}{name}", value / unit, rest.trim_end_matches('0'))
    };
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => fraction(nanos, 1_000, "µs"),
        1_000_000..1_000_000_000 => fraction(nanos, 1_000_000, "ms"),
        _ => {
            let minutes = nanos / 60_000_000_000;
            let seconds = fraction(nanos % 60_000_000_000, 1_000_000_000, "s");
            match (minutes / 60, minutes % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

/// Reads a duration in Go's form: `1h30m`, `1.5s`, `0`.
///
/// # Errors
/// If the text is not a duration, is negative, or is longer than Go's durations.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let error = |problem| DurationError {
        text: text.chars().take(64).collect(),
        problem,
    };
    const FORM: &str = "it needs numbers with the units h, m, s, ms, us or ns";
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    if text.starts_with('-') {
        return Err(error("it is negative"));
    }
    let mut rest = text;
    let mut nanos: u128 = 0;
    if rest.is_empty() {
        return Err(error(FORM));
    }
    while !rest.is_empty() {
        let end = |text: &str, is: fn(char) -> bool| text.find(|c| !is(c)).unwrap_or(text.len());
        let (number, after) = rest.split_at(end(rest, |c| c.is_ascii_digit() || c == '.'));
        let (unit, after) = after.split_at(end(after, |c| !c.is_ascii_digit() && c != '.'));
        let scale: u128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(error(FORM)),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || fraction.contains('.') {
            return Err(error(FORM));
        }
        let whole: u128 = whole.parse().map_err(|_| error(LONG))?;
        let mut part = scale;
        let mut more = 0;
        for digit in fraction.chars().take(18) {
            // Digits beyond a nanosecond are dropped, as in Go.
            more += part * u128::from(digit.to_digit(10).unwrap_or_default()) / 10;
            part /= 10;
        }
        nanos = whole
            .checked_mul(scale)
            .and_then(|whole| whole.checked_add(more))
            .and_then(|one| nanos.checked_add(one))
            .ok_or_else(|| error(LONG))?;
        rest = after;
    }
    match i64::try_from(nanos) {
        Ok(nanos) => Ok(Duration::from_nanos(nanos.unsigned_abs())),
        Err(_) => Err(error(LONG)),
    }
}

const LONG: &str = "it is longer than 2562047h47m16s";

/// A text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a duration such as `1h30m`: {problem}")]
pub struct DurationError {
    text: String,
    problem: &'static str,
}

/// A duration, or a container of durations.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `std::time::Duration`",
    note = "`pilothouse::resource::duration` writes a `Duration`, and an `Option`, `Box`, `Vec`, `BTreeMap` or `HashMap` of them"
)]
pub trait InGoForm: Sized + sealed::Sealed {
    /// Writes it.
    #[doc(hidden)]
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads it.
    #[doc(hidden)]
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl InGoForm for Duration {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if i64::try_from(self.as_nanos()).is_err() {
            return Err(ser::Error::custom(format_args!(
                "the duration {self:?}: {LONG}"
            )));
        }
        serializer.serialize_str(&format(*self))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl de::Visitor<'_> for Text {
            type Value = Duration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as \"1h30m\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
                parse(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// One duration in a container.
struct One<T>(T);

impl<T: InGoForm> Serialize for One<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

impl<'de, T: InGoForm> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(One)
    }
}

impl<T: InGoForm> InGoForm for Option<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(One).serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Option::<One<T>>::deserialize(deserializer)?;
        Ok(read.map(|One(value)| value))
    }
}

impl<T: InGoForm> InGoForm for Box<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).write(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Box::new)
    }
}

impl<T: InGoForm> InGoForm for Vec<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(One))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Vec::<One<T>>::deserialize(deserializer)?;
        Ok(read.into_iter().map(|One(value)| value).collect())
    }
}

impl<K, T> InGoForm for BTreeMap<K, T>
where
    K: Serialize + for<'de> Deserialize<'de> + Ord,
    T: InGoForm,
{
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(key, value)| (key, One(value))))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = BTreeMap::<K, One<T>>::deserialize(deserializer)?;
        Ok(read
            .into_iter()
            .map(|(key, One(value))| (key, value))
            .collect())
    }
}

impl<K, T, H> InGoForm for HashMap<K, T, H>
where
    K: Serialize + for<'de> Deserialize<'de> + Eq + Hash,
    T: InGoForm,
    H: BuildHasher + Default,
{
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(key, value)| (key, One(value))))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = HashMap::<K, One<T>, H>::deserialize(deserializer)?;
        Ok(read
            .into_iter()
            .map(|(key, One(value))| (key, value))
            .collect())
    }
}

mod sealed {
    use std::{
        collections::{BTreeMap, HashMap},
        time::Duration,
    };

    pub trait Sealed {}
    impl Sealed for Duration {}
    impl<T: Sealed> Sealed for Option<T> {}
    impl<T: Sealed> Sealed for Box<T> {}
    impl<T: Sealed> Sealed for Vec<T> {}
    impl<K, T: Sealed> Sealed for BTreeMap<K, T> {}
    impl<K, T: Sealed, H> Sealed for HashMap<K, T, H> {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (100_000_000, "100ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (5_400_000_000_000, "1h30m0s"),
            (3_600_000_000_001, "1h0m0.000000001s"),
            (i64::MAX as u64, "2562047h47m16.854775807s"),
        ] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(format(duration), text);
            assert_eq!(parse(text), Ok(duration));
        }
    }

    #[test]
    fn other_forms_of_go_are_read() {
        for (text, nanos) in [
            ("0", 0),
            ("90s", 90_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("1.s", 1_000_000_000),
            ("1h2ms", 3_600_002_000_000),
            ("1us", 1_000),
            ("0.0000000019s", 1),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_not_a_duration_says_why() {
        for (text, problem) in [
            ("", "units"),
            ("5", "units"),
            ("1 h", "units"),
            ("2 days", "units"),
            ("1d", "units"),
            (".5s", "units"),
            ("1.2.3s", "units"),
            ("h", "units"),
            ("-1s", "negative"),
            ("2562048h", "longer"),
            ("99999999999999999999999999999999999999999999s", "longer"),
            ("340282366920938463463374607431768211.999us", "longer"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn containers_of_durations_are_written_and_read() {
        #[derive(Debug, PartialEq, Deserialize, Serialize)]
        struct All {
            #[serde(with = "super")]
            one: Duration,
            #[serde(default, with = "super")]
            none: Option<Duration>,
            #[serde(with = "super")]
            list: Vec<Option<Duration>>,
            #[serde(with = "super")]
            map: BTreeMap<String, Duration>,
        }
        let all = All {
            one: Duration::from_secs(1),
            none: None,
            list: vec![Some(Duration::from_secs(2)), None],
            map: [("a".to_owned(), Duration::from_secs(3))].into(),
        };
        let text = r#"{"one":"1s","none":null,"list":["2s",null],"map":{"a":"3s"}}"#;
        assert_eq!(serde_json::to_string(&all).unwrap(), text);
        assert_eq!(serde_json::from_str::<All>(text).unwrap(), all);
        let missing = text.replace(r#""none":null,"#, "");
        assert_eq!(serde_json::from_str::<All>(&missing).unwrap(), all);
        let number = serde_json::from_str::<All>(&text.replace(r#""1s""#, "1"));
        let error = number.unwrap_err().to_string();
        assert!(
            error.contains("expected a duration such as \"1h30m\""),
            "{error}"
        );
        let long = All {
            one: Duration::MAX,
            ..all
        };
        assert!(serde_json::to_string(&long).is_err());
    }
}
