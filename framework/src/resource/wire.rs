//! Serialization of derived kinds. Only the code that `#[derive(Resource)]` generates calls it.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
    ser::{Error as _, SerializeStruct},
};

use serde_json::{Map, Value};

use super::ObjectMeta;

/// The type of a `spec` or `status` that the kind does not have. Reading skips the value.
#[derive(Debug)]
pub struct Absent;

impl Serialize for Absent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_none()
    }
}

impl<'de> Deserialize<'de> for Absent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// The parts of an object that was read.
#[derive(Debug)]
pub struct Parts<Spec, Status> {
    /// Metadata; empty if it is missing.
    pub metadata: ObjectMeta,
    /// Specification.
    pub spec: Option<Spec>,
    /// Status.
    pub status: Option<Status>,
    /// The other fields that the kind has.
    others: Map<String, Value>,
}

impl<Spec, Status> Parts<Spec, Status> {
    /// The specification of a kind that requires one.
    ///
    /// # Errors
    ///
    /// Returns a "missing field" error if the object has no `spec`.
    pub fn required_spec<E: Error>(&mut self) -> Result<Spec, E> {
        self.spec.take().ok_or_else(|| E::missing_field("spec"))
    }

    /// A field beside `spec` and `status`; null if the object does not have it.
    ///
    /// # Errors
    ///
    /// Returns an error with the name of the field if its value does not fit the type.
    pub fn other<T: DeserializeOwned, E: Error>(&mut self, name: &'static str) -> Result<T, E> {
        let value = self.others.remove(name).unwrap_or_default();
        serde_json::from_value(value).map_err(|error| E::custom(format_args!("{name}: {error}")))
    }
}

/// Writes `apiVersion`, `kind` and `metadata`, and `spec` and `status` if they are `Some`.
///
/// # Errors
///
/// Returns the serializer's error.
pub fn serialize_kind<Spec: Serialize, Status: Serialize, S: Serializer>(
    serializer: S,
    api_version: &'static str,
    kind: &'static str,
    metadata: &ObjectMeta,
    spec: Option<&Spec>,
    status: Option<&Status>,
) -> Result<S::Ok, S::Error> {
    serialize_kind_with(serializer, api_version, kind, metadata, spec, status, &[])
}

/// [`serialize_kind`] for a foreign kind with more fields. It leaves out those that are null.
///
/// # Errors
///
/// Returns the serializer's error.
pub fn serialize_kind_with<Spec: Serialize, Status: Serialize, S: Serializer>(
    serializer: S,
    api_version: &'static str,
    kind: &'static str,
    metadata: &ObjectMeta,
    spec: Option<&Spec>,
    status: Option<&Status>,
    others: &[(&'static str, Result<Value, serde_json::Error>)],
) -> Result<S::Ok, S::Error> {
    let mut written = Vec::with_capacity(others.len());
    for (name, value) in others {
        match value {
            Ok(Value::Null) => {}
            Ok(value) => written.push((*name, value)),
            Err(error) => return Err(S::Error::custom(format_args!("{name}: {error}"))),
        }
    }
    let fields = 3 + usize::from(spec.is_some()) + usize::from(status.is_some());
    let fields = fields + written.len();
    let mut object = serializer.serialize_struct(kind, fields)?;
    object.serialize_field("apiVersion", api_version)?;
    object.serialize_field("kind", kind)?;
    object.serialize_field("metadata", metadata)?;
    if let Some(spec) = spec {
        object.serialize_field("spec", spec)?;
    }
    if let Some(status) = status {
        object.serialize_field("status", status)?;
    }
    for (name, value) in written {
        object.serialize_field(name, value)?;
    }
    object.end()
}

/// Reads an object. It compares `apiVersion` and `kind` if they are present, and skips unknown fields.
///
/// It calls `deserialize_struct` with a field `metadata`, so that a wrapping deserializer can leave out parts of the
/// metadata.
///
/// # Errors
///
/// Returns the deserializer's error, or one that says which of `apiVersion` and `kind` differs.
pub fn deserialize_kind<'de, Spec, Status, D>(
    deserializer: D,
    api_version: &'static str,
    kind: &'static str,
) -> Result<Parts<Spec, Status>, D::Error>
where
    Spec: Deserialize<'de>,
    Status: Deserialize<'de>,
    D: Deserializer<'de>,
{
    const FIELDS: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];
    deserialize_kind_with(deserializer, api_version, kind, FIELDS)
}

/// [`deserialize_kind`] for a foreign kind with more fields: `fields` has the names of all.
///
/// # Errors
///
/// Returns the errors of [`deserialize_kind`].
pub fn deserialize_kind_with<'de, Spec, Status, D>(
    deserializer: D,
    api_version: &'static str,
    kind: &'static str,
    fields: &'static [&'static str],
) -> Result<Parts<Spec, Status>, D::Error>
where
    Spec: Deserialize<'de>,
    Status: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let visitor = KindVisitor {
        api_version,
        kind,
        fields,
        parts: PhantomData,
    };
    deserializer.deserialize_struct(kind, fields, visitor)
}

enum Field {
    ApiVersion,
    Kind,
    Metadata,
    Spec,
    Status,
    /// A field that only this kind has.
    Own(&'static str),
    Other,
}

/// Reads the name of a field, one of these.
struct FieldName(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = Field;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Field, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for FieldName {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Field, E> {
        Ok(match name {
            "apiVersion" => Field::ApiVersion,
            "kind" => Field::Kind,
            "metadata" => Field::Metadata,
            "spec" => Field::Spec,
            "status" => Field::Status,
            name => match self.0.iter().find(|one| **one == name) {
                Some(name) => Field::Own(name),
                None => Field::Other,
            },
        })
    }
}

struct KindVisitor<Spec, Status> {
    api_version: &'static str,
    kind: &'static str,
    fields: &'static [&'static str],
    parts: PhantomData<(Spec, Status)>,
}

impl<'de, Spec: Deserialize<'de>, Status: Deserialize<'de>> Visitor<'de>
    for KindVisitor<Spec, Status>
{
    type Value = Parts<Spec, Status>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object of kind {}", self.kind)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut metadata, mut spec, mut status) = (None, None, None);
        let mut others = Map::new();
        while let Some(field) = map.next_key_seed(FieldName(self.fields))? {
            match field {
                Field::ApiVersion => map.next_value_seed(Expected {
                    field: "apiVersion",
                    value: self.api_version,
                })?,
                Field::Kind => map.next_value_seed(Expected {
                    field: "kind",
                    value: self.kind,
                })?,
                Field::Metadata => set(&mut metadata, map.next_value()?, "metadata")?,
                Field::Spec => set(&mut spec, map.next_value()?, "spec")?,
                Field::Status => set(&mut status, map.next_value()?, "status")?,
                Field::Own(name) => {
                    if others.insert(name.into(), map.next_value()?).is_some() {
                        return Err(A::Error::duplicate_field(name));
                    }
                }
                Field::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Parts {
            metadata: metadata.flatten().unwrap_or_default(),
            spec: spec.flatten(),
            status: status.flatten(),
            others,
        })
    }
}

/// Refuses a second value for a field, because one of the two would be lost silently.
fn set<T, E: Error>(slot: &mut Option<T>, value: T, name: &'static str) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(name)),
    }
}

/// Compares `apiVersion` or `kind` with the expected value and drops it. `null` counts as missing.
struct Expected {
    field: &'static str,
    value: &'static str,
}

impl<'de> DeserializeSeed<'de> for Expected {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Expected {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.field, self.value)
    }

    fn visit_str<E: Error>(self, found: &str) -> Result<(), E> {
        if found == self.value {
            return Ok(());
        }
        Err(E::custom(format_args!(
            "{} is `{found}`, expected `{}`",
            self.field, self.value
        )))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}
