//! Splits an input into its parts.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// The byte between the parts of an input. No UTF-8 text contains it.
const BETWEEN: u8 = 0xff;

/// Returns the parts of an input; the last contains the rest.
pub(crate) fn parts<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut all = data.splitn(N, |byte| *byte == BETWEEN);
    std::array::from_fn(|_| all.next().unwrap_or_default())
}

/// Returns all parts of an input.
pub(crate) fn all_parts(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|byte| *byte == BETWEEN)
}

/// Returns the first byte, which selects a form of the target, and the rest.
pub(crate) fn choice(data: &[u8]) -> (u8, &[u8]) {
    match data {
        [first, rest @ ..] => (*first, rest),
        [] => (0, data),
    }
}

/// Returns the nesting depth of a JSON text, counted by brackets, including brackets in strings.
pub(crate) fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in text {
        match byte {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The depth to which the reference reads.
pub(crate) const DEEPEST: usize = 120;

/// Returns the value with every number as a float, because YAML does not distinguish `1.0` from `1`.
pub(crate) fn floats(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().expect("a number");
            // Turns -0.0 into 0.0.
            Value::from(float + 0.0)
        }
        Value::Array(items) => items.into_iter().map(floats).collect(),
        Value::Object(map) => {
            let entries = map.into_iter().map(|(key, value)| (key, floats(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// Any JSON without duplicate keys, because readers differ in what such a key means.
pub(crate) struct Unique;

impl Unique {
    pub(crate) fn is(text: &[u8]) -> bool {
        serde_json::from_slice::<Self>(text).is_ok()
    }
}

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        while items.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Unique, A::Error> {
        let mut keys = std::collections::BTreeSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if !keys.insert(key) {
                return Err(A::Error::custom("duplicate key"));
            }
            entries.next_value::<Unique>()?;
        }
        Ok(Unique)
    }
}
