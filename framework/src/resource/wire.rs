//! Serialization of derived kinds. Only the code that `#[derive(Resource)]` generates calls it.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
    ser::SerializeStruct,
};

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
    let fields = 3 + usize::from(spec.is_some()) + usize::from(status.is_some());
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
    let visitor = KindVisitor {
        api_version,
        kind,
        parts: PhantomData,
    };
    deserializer.deserialize_struct(kind, FIELDS, visitor)
}

enum Field {
    ApiVersion,
    Kind,
    Metadata,
    Spec,
    Status,
    Other,
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldVisitor;

        impl Visitor<'_> for FieldVisitor {
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
                    _ => Field::Other,
                })
            }
        }

        deserializer.deserialize_identifier(FieldVisitor)
    }
}

struct KindVisitor<Spec, Status> {
    api_version: &'static str,
    kind: &'static str,
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
        while let Some(field) = map.next_key()? {
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
                Field::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Parts {
            metadata: metadata.flatten().unwrap_or_default(),
            spec: spec.flatten(),
            status: status.flatten(),
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
