use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::civil::{DateTime, date};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::decode::Malformed;
use crate::{depth, go, json};

/// The JSON of a type that is not simply the JSON of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Text of RFC 3339 in whole seconds.
    Time,
    /// Text of RFC 3339 with microseconds.
    MicroTime,
    Quantity,
    IntOrString,
    /// A message that contains JSON as text.
    Json,
    /// A message that contains a list.
    Items,
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrStrings,
}

/// The seconds of Go's zero time, the first day of the year 1.
const ZERO_TIME: i64 = -62_135_596_800;
const NANOS: i64 = 1_000_000_000;
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// The fields of a message.
pub(super) type Fields<'a> = Vec<(&'static str, Cow<'a, Value>)>;

impl Form {
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

    /// Whether a later value replaces an earlier one, instead of adding to it. No bytes are the zero value then.
    pub(super) fn is_replaced(self) -> bool {
        matches!(self, Self::Time | Self::MicroTime | Self::Quantity)
    }

    pub(super) fn zero(self) -> Value {
        match self {
            Self::Quantity => "0".into(),
            Self::IntOrString => 0.into(),
            Self::SchemaOrBool => false.into(),
            _ => Value::Null,
        }
    }

    /// The JSON of a message with these fields, none of which is missing.
    pub(super) fn to_json(
        self,
        mut fields: Map<String, Value>,
        levels: usize,
    ) -> Result<Value, Malformed> {
        let mut take = |name: &str| fields.get_mut(name).map_or(Value::Null, Value::take);
        Ok(match self {
            Self::Time => time(take("seconds").as_i64().unwrap_or_default(), 0, false)?,
            Self::MicroTime => {
                let nanos = take("nanos").as_i64().unwrap_or_default();
                time(take("seconds").as_i64().unwrap_or_default(), nanos, true)?
            }
            Self::Quantity => {
                let text = take("string");
                let canonical = go::canonical_quantity(text.as_str().unwrap_or_default());
                canonical
                    .ok_or(Malformed::Value(go::QUANTITY.into()))?
                    .into()
            }
            Self::IntOrString => match take("type").as_i64() {
                Some(0) => take("intVal"),
                Some(1) => take("strVal"),
                _ => return Err(Malformed::Value("impossible IntOrString.Type".into())),
            },
            Self::Json => text(&take("raw"), levels)?,
            Self::Items => take("items"),
            Self::SchemaOrArray => filled(take("jSONSchemas")).unwrap_or_else(|| take("schema")),
            Self::SchemaOrStrings => filled(take("property")).unwrap_or_else(|| take("schema")),
            Self::SchemaOrBool => match take("schema") {
                Value::Null => take("allows"),
                schema => schema,
            },
        })
    }

    /// The fields of the message of this JSON. Returns `None` if the message is empty.
    pub(super) fn to_fields(self, value: &Value) -> Option<Fields<'_>> {
        let owned = |name, value: Value| (name, Cow::Owned(value));
        let borrowed = |name, value| (name, Cow::Borrowed(value));
        Some(match self {
            Self::Time | Self::MicroTime => {
                let since = since_epoch(value.as_str()?)?;
                let (seconds, nanos) = cut(since.as_secs(), since.subsec_nanos().into());
                if seconds == ZERO_TIME && nanos == 0 {
                    return None;
                }
                let nanos = if self == Self::Time { 0 } else { nanos };
                vec![
                    owned("seconds", seconds.into()),
                    owned("nanos", nanos.into()),
                ]
            }
            Self::Quantity => {
                let text = match value {
                    Value::Null => "0".to_owned(),
                    Value::String(text) => text.clone(),
                    number => number.to_string(),
                };
                let canonical = go::canonical_quantity(&text).unwrap_or(text);
                vec![owned("string", canonical.into())]
            }
            Self::IntOrString => match value {
                Value::String(_) => vec![owned("type", 1.into()), borrowed("strVal", value)],
                number => vec![borrowed("intVal", number)],
            },
            Self::Json if value.is_null() => return None,
            Self::Json => vec![owned("raw", STANDARD.encode(value.to_string()).into())],
            Self::Items => vec![borrowed("items", value)],
            Self::SchemaOrArray if value.is_array() => vec![borrowed("jSONSchemas", value)],
            Self::SchemaOrArray => vec![borrowed("schema", value)],
            Self::SchemaOrStrings if value.is_array() => vec![borrowed("property", value)],
            Self::SchemaOrStrings => vec![borrowed("schema", value)],
            Self::SchemaOrBool if value.is_object() => {
                vec![owned("allows", true.into()), borrowed("schema", value)]
            }
            Self::SchemaOrBool => vec![borrowed("allows", value)],
        })
    }
}

fn filled(list: Value) -> Option<Value> {
    let is_filled = list.as_array().is_some_and(|items| !items.is_empty());
    is_filled.then_some(list)
}

/// The JSON in a text.
fn text(raw: &Value, levels: usize) -> Result<Value, Malformed> {
    let raw = STANDARD.decode(raw.as_str().unwrap_or_default());
    let raw = raw.unwrap_or_default();
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    if depth::of_text(&raw) > levels {
        return Err(Malformed::TooDeep);
    }
    let document = json::read(&raw).map_err(|error| Malformed::Value(error.into()))?;
    Ok(document.value)
}

/// The time of a text since 1970. `Timestamp` ends a day before the year 10000, so it reads only what has an offset.
fn since_epoch(text: &str) -> Option<SignedDuration> {
    match text.strip_suffix('Z') {
        Some(text) => Some(text.parse::<DateTime>().ok()?.duration_since(EPOCH)),
        None => Some(text.parse::<Timestamp>().ok()?.as_duration()),
    }
}

/// A time without what is less than a microsecond, and with positive nanoseconds. Go cuts off towards zero.
fn cut(seconds: i64, nanos: i64) -> (i64, i64) {
    let nanos = nanos - nanos % 1000;
    let seconds = seconds.saturating_add(nanos.div_euclid(NANOS));
    (seconds, nanos.rem_euclid(NANOS))
}

fn time(seconds: i64, nanos: i64, micro: bool) -> Result<Value, Malformed> {
    let (seconds, nanos) = cut(seconds, nanos);
    if seconds == ZERO_TIME && nanos == 0 {
        return Ok(Value::Null);
    }
    let since = SignedDuration::from_secs(seconds).checked_add(SignedDuration::from_nanos(nanos));
    let time = since.and_then(|since| EPOCH.checked_add(since).ok());
    let Some(time) = time.filter(|time| time.year() > 0) else {
        let text = format!("the time {seconds} is not in the years 1 to 9999");
        return Err(Malformed::Value(text.into()));
    };
    let format = match micro {
        true => "%Y-%m-%dT%H:%M:%S.%6fZ",
        false => "%Y-%m-%dT%H:%M:%SZ",
    };
    Ok(time.strftime(format).to_string().into())
}

/// A number in JSON. Go writes whole numbers without a fraction.
pub(super) fn number(value: f64) -> Result<Value, Malformed> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        return Ok((value as i64).into());
    }
    let number = serde_json::Number::from_f64(value);
    let number = number.ok_or_else(|| {
        let shown = match value {
            value if value.is_nan() => "NaN",
            f64::INFINITY => "+Inf",
            _ => "-Inf",
        };
        Malformed::Value(format!("json: unsupported value: {shown}").into())
    });
    number.map(Value::Number)
}
