use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{depth, meta, stack};

/// The state of an object at one resource version, as JSON.
///
/// A decoded object takes about eight times the memory of its JSON, and most objects are only sent to clients. So the store
/// holds this, and decodes it when something looks inside. Those that look at the same time share one decoded value.
pub(crate) struct Encoded {
    pub(crate) version: u64,
    json: Box<[u8]>,
    pub(crate) is_deleting: bool,
    /// Whether it needs a [`large`](stack::large) stack.
    pub(crate) is_deep: bool,
    decoded: Mutex<Weak<Value>>,
}

impl Encoded {
    /// Encodes a state.
    pub(crate) fn new(version: u64, object: &Arc<Value>) -> Self {
        Self {
            version,
            // A `Value` always serialises.
            json: serde_json::to_vec(&**object).unwrap_or_default().into(),
            is_deleting: meta::is_deleting(object),
            is_deep: !depth::within(object, depth::USUAL),
            decoded: Mutex::new(Arc::downgrade(object)),
        }
    }

    /// A state that was encoded earlier.
    ///
    /// # Errors
    /// The error of the decoder if the text is not JSON.
    pub(crate) fn read(version: u64, json: &[u8]) -> serde_json::Result<Self> {
        let is_deep = depth::of_text(json) > depth::USUAL;
        let is_deleting = on_stack(is_deep, || {
            decode(json).map(|object| meta::is_deleting(&object))
        })?;
        Ok(Self {
            version,
            json: json.into(),
            is_deleting,
            is_deep,
            decoded: Mutex::default(),
        })
    }

    pub(crate) fn json(&self) -> &[u8] {
        &self.json
    }

    /// Appends the JSON without the fields `apiVersion` and `kind`, as in lists of built-in kinds.
    pub(crate) fn write_untyped(&self, text: &mut Vec<u8>) {
        let mut reader = serde_json::Deserializer::from_slice(&self.json);
        reader.disable_recursion_limit();
        let begin = text.len();
        if reader.deserialize_map(Untyped(text)).is_err() {
            // It is not an object.
            text.truncate(begin);
            text.extend_from_slice(&self.json);
        }
    }

    /// The decoded object.
    pub(crate) fn value(&self) -> Arc<Value> {
        if let Some(value) = self.held() {
            return value;
        }
        // It was encoded from a value, or decoded once.
        let value = on_stack(self.is_deep, || decode(&self.json).unwrap_or_default());
        let value = Arc::new(value);
        *self.decoded.lock() = Arc::downgrade(&value);
        value
    }

    /// The object with at least what lies at these paths, which are names with dots between them. For most objects this takes a
    /// fraction of the time of [`value`](Self::value).
    pub(super) fn part(&self, paths: &[&str]) -> Arc<Value> {
        if let Some(value) = self.held() {
            return value;
        }
        let text = std::str::from_utf8(&self.json).unwrap_or_default();
        part(text, paths).map_or_else(|_| self.value(), Arc::new)
    }

    /// The decoded object, if somebody holds it.
    pub(super) fn held(&self) -> Option<Arc<Value>> {
        self.decoded.lock().upgrade()
    }

    /// Whether it has this `apiVersion`.
    pub(crate) fn has_api_version(&self, wanted: &str) -> bool {
        // In most kinds it is the first of the sorted fields.
        let rest = self.json.strip_prefix(br#"{"apiVersion":""#);
        match rest.and_then(|rest| rest.strip_prefix(wanted.as_bytes())) {
            Some([b'"', ..]) => true,
            _ => {
                let object = self.part(&["apiVersion"]);
                object.get("apiVersion").and_then(Value::as_str) == Some(wanted)
            }
        }
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.json))
    }
}

/// Copies the fields of an object, except for its `apiVersion` and its `kind`.
struct Untyped<'a>(&'a mut Vec<u8>);

impl<'de> Visitor<'de> for Untyped<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let text = self.0;
        text.push(b'{');
        while let Some((name, value)) = fields.next_entry::<&RawValue, &RawValue>()? {
            if matches!(name.get(), r#""apiVersion""# | r#""kind""#) {
                continue;
            }
            if text.last() != Some(&b'{') {
                text.push(b',');
            }
            for part in [name.get(), ":", value.get()] {
                text.extend_from_slice(part.as_bytes());
            }
        }
        text.push(b'}');
        Ok(())
    }
}

/// Decodes what lies at these paths. The empty path is the whole value.
fn part(text: &str, paths: &[&str]) -> serde_json::Result<Value> {
    if paths.contains(&"") || !text.starts_with('{') {
        return serde_json::from_str(text);
    }
    let fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(text)?;
    let mut found = Map::new();
    for (name, value) in fields {
        let below = paths
            .iter()
            .filter_map(|path| match path.strip_prefix(&*name)? {
                "" => Some(""),
                rest => rest.strip_prefix('.'),
            });
        let below: Vec<&str> = below.collect();
        if !below.is_empty() {
            found.insert(name.into_owned(), part(value.get(), &below)?);
        }
    }
    Ok(found.into())
}

fn on_stack<T>(is_deep: bool, work: impl FnOnce() -> T) -> T {
    match is_deep {
        true => stack::large(work),
        false => work(),
    }
}

/// Decodes JSON of any depth.
fn decode(json: &[u8]) -> serde_json::Result<Value> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    reader.disable_recursion_limit();
    let value = Value::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}
