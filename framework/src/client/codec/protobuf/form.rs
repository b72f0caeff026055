use super::{
    error::ProtobufError::{self, Malformed},
    fields::find,
    input::Input,
    table::{Kind, MessageId},
    wire,
};

/// The JSON of a type that is not simply the JSON of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// RFC 3339 in whole seconds.
    Time,
    /// RFC 3339 with microseconds.
    MicroTime,
    Quantity,
    IntOrString,
    /// A message that holds JSON as text.
    Json,
    /// A message that holds a list.
    Items,
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrStrings,
}

impl Form {
    pub(super) const ALL: [Self; 9] = [
        Self::Time,
        Self::MicroTime,
        Self::Quantity,
        Self::IntOrString,
        Self::Json,
        Self::Items,
        Self::SchemaOrArray,
        Self::SchemaOrBool,
        Self::SchemaOrStrings,
    ];

    /// By the name of the Go type.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "Time" => Self::Time,
            "MicroTime" => Self::MicroTime,
            "Quantity" => Self::Quantity,
            "IntOrString" => Self::IntOrString,
            "RawExtension" | "FieldsV1" | "JSON" => Self::Json,
            "Items" => Self::Items,
            "JSONSchemaPropsOrArray" => Self::SchemaOrArray,
            "JSONSchemaPropsOrBool" => Self::SchemaOrBool,
            "JSONSchemaPropsOrStringArray" => Self::SchemaOrStrings,
            _ => return None,
        })
    }

    /// The value that JSON has for a message of this form.
    pub(super) fn input<'de>(
        self,
        message: MessageId,
        bytes: &'de [u8],
    ) -> Result<Input<'de>, ProtobufError> {
        let field = |number| find(message, bytes, number);
        // A list that is not empty, or the other field.
        let either = |list, other| match field(list)? {
            Some(list) => Ok(list),
            None => Ok(field(other)?.unwrap_or(Input::Null)),
        };
        match self {
            Self::Time | Self::MicroTime => {
                let time = moment(self, message, bytes)?;
                let time = time.map(|(seconds, nanos)| Time::of(seconds, nanos, self));
                Ok(time.transpose()?.map_or(Input::Null, Input::Time))
            }
            Self::Quantity => Ok(field(1)?.unwrap_or(Input::Value(Kind::String, b"0"))),
            Self::IntOrString => Ok(match number(message, bytes, 1)? {
                0 => field(2)?.unwrap_or(Input::Value(Kind::Int32, b"")),
                1 => field(3)?.unwrap_or(Input::Value(Kind::String, b"")),
                _ => return Err(Malformed("neither a number nor a string")),
            }),
            Self::Json => Input::of_raw(raw(message, bytes)?),
            Self::Items => either(1, 1),
            Self::SchemaOrArray | Self::SchemaOrStrings => either(2, 1),
            Self::SchemaOrBool => Ok(match field(2)? {
                Some(schema) => schema,
                None => field(1)?.unwrap_or(Input::Value(Kind::Bool, b"")),
            }),
        }
    }

    /// Whether JSON has `null` for a message of this form.
    pub(super) fn is_null(self, message: MessageId, bytes: &[u8]) -> Result<bool, ProtobufError> {
        Ok(match self {
            Self::Time | Self::MicroTime => moment(self, message, bytes)?.is_none(),
            Self::Quantity | Self::IntOrString | Self::SchemaOrBool => false,
            Self::Json => {
                let raw = raw(message, bytes)?;
                raw.is_empty() || raw.trim_ascii() == b"null"
            }
            _ => matches!(self.input(message, bytes)?, Input::Null),
        })
    }
}

fn number(message: MessageId, bytes: &[u8], field: u32) -> Result<u64, ProtobufError> {
    match find(message, bytes, field)? {
        Some(Input::Value(_, bytes)) => Ok(wire::number(bytes)),
        _ => Ok(0),
    }
}

/// The text of a message that holds JSON.
pub(super) fn raw(message: MessageId, bytes: &[u8]) -> Result<&[u8], ProtobufError> {
    match find(message, bytes, 1)? {
        Some(Input::Value(_, raw)) => Ok(raw),
        _ => Ok(b""),
    }
}

/// Seconds since 1970 and nanoseconds. `None` for Go's zero time, as which Go also reads a message without content.
fn moment(
    form: Form,
    message: MessageId,
    bytes: &[u8],
) -> Result<Option<(i64, i64)>, ProtobufError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let seconds = number(message, bytes, 1)?.cast_signed();
    let nanos = match form {
        Form::MicroTime => i64::from(number(message, bytes, 2)? as i32),
        _ => 0,
    };
    // Go cuts off towards zero what is less than a microsecond.
    let nanos = nanos - nanos % 1000;
    let seconds = seconds.saturating_add(nanos.div_euclid(NANOS));
    let moment = (seconds, nanos.rem_euclid(NANOS));
    Ok((moment != (ZERO, 0)).then_some(moment))
}

/// A time in the form of JSON.
#[derive(Clone, Copy)]
pub(super) struct Time {
    text: [u8; 27],
    length: usize,
}

/// Go's zero time, the first day of the year 1, in seconds since 1970.
const ZERO: i64 = -62_135_596_800;
const NANOS: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

impl Time {
    pub(super) fn text(&self) -> &str {
        let text = self.text.get(..self.length).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }

    fn of(seconds: i64, nanos: i64, form: Form) -> Result<Self, ProtobufError> {
        let (year, month, day) = date(seconds.div_euclid(DAY));
        if !(1..=9999).contains(&year) {
            return Err(Malformed("a time that is not in the years 1 to 9999"));
        }
        let second = seconds.rem_euclid(DAY);
        let mut time = Self {
            text: *b"0000-00-00T00:00:00.000000Z",
            length: 27,
        };
        let parts = [
            (0, 4, year),
            (5, 2, month),
            (8, 2, day),
            (11, 2, second / 3600),
            (14, 2, second / 60 % 60),
            (17, 2, second % 60),
            (20, 6, nanos / 1000),
        ];
        for (at, digits, value) in parts {
            time.put(at, digits, value);
        }
        if form == Form::Time {
            time.text[19] = b'Z';
            time.length = 20;
        }
        Ok(time)
    }

    fn put(&mut self, at: usize, digits: usize, mut value: i64) {
        let digits = self.text.iter_mut().skip(at).take(digits);
        for digit in digits.rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
        }
    }
}

/// Year, month and day of a day since 1970. The calendar repeats every 400 years, which have 146097 days; years begin in March here, so that
/// the day that may be missing is the last one.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, is_next) = match month {
        0..10 => (month + 3, 0),
        _ => (month - 9, 1),
    };
    (era * 400 + year + is_next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::codec::protobuf::{table::table, wire::write_varint};
    use proptest::prelude::*;

    fn text(seconds: i64, nanos: i32, form: Form) -> Result<Option<String>, ProtobufError> {
        let created = table().object_meta.field("creationTimestamp").unwrap();
        let Kind::Own(Form::Time, timestamp) = created.get().unwrap().kind else {
            panic!("no time");
        };
        let mut bytes = vec![0x08];
        write_varint(seconds.cast_unsigned(), &mut bytes);
        bytes.push(0x10);
        write_varint(i64::from(nanos).cast_unsigned(), &mut bytes);
        let is_null = form.is_null(timestamp, &bytes)?;
        let time = match form.input(timestamp, &bytes)? {
            Input::Time(time) => Some(time.text().to_owned()),
            _ => None,
        };
        assert_eq!(time.is_none(), is_null);
        Ok(time)
    }

    #[test]
    fn times_at_the_edges_are_those_of_go() {
        let shown = |seconds, nanos| text(seconds, nanos, Form::MicroTime).unwrap().unwrap();
        assert_eq!(text(ZERO, 999, Form::MicroTime).unwrap(), None);
        assert_eq!(text(ZERO, 999_999_999, Form::Time).unwrap(), None);
        assert_eq!(shown(ZERO, 1000), "0001-01-01T00:00:00.000001Z");
        assert_eq!(shown(0, -1), "1970-01-01T00:00:00.000000Z");
        assert_eq!(shown(0, -1000), "1969-12-31T23:59:59.999999Z");
        assert_eq!(shown(253_402_300_799, 0), "9999-12-31T23:59:59.000000Z");
        let leap = text(951_782_400, 5, Form::Time).unwrap();
        assert_eq!(leap.unwrap(), "2000-02-29T00:00:00Z");
        for seconds in [253_402_300_800, ZERO - 1, i64::MIN, i64::MAX] {
            assert!(text(seconds, 0, Form::Time).is_err(), "{seconds}");
        }
    }

    proptest! {
        #[test]
        fn times_are_those_of_the_calendar(seconds in ZERO + 1..253_402_207_200, micros in 0..1_000_000i32) {
            let nanos = micros * 1000;
            let time = jiff::Timestamp::new(seconds, 0).unwrap() + jiff::SignedDuration::new(0, nanos);
            let expected = jiff::fmt::strtime::format("%Y-%m-%dT%H:%M:%S.%6fZ", time).unwrap();
            prop_assert_eq!(text(seconds, nanos, Form::MicroTime).unwrap(), Some(expected));
        }
    }
}
