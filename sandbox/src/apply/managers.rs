use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::field_set::{FieldSet, FieldSetError};
use super::manager::{Manager, Operation};

/// `metadata.managedFields`: which manager owns which fields, and since when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managers {
    entries: BTreeMap<Manager, Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) fields: FieldSet,
    /// The API version of the fields.
    pub(super) api_version: String,
    /// The time as in the object: RFC 3339, or `None`.
    pub(super) time: Option<String>,
}

/// A list of managed fields cannot be decoded.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ManagersError {
    /// It is not a list of objects.
    #[error("metadata.managedFields must be a list of entries")]
    NotAList,
    /// An operation is neither `Apply` nor `Update`.
    #[error("metadata.managedFields[{index}].operation: unknown operation {operation:?}")]
    Operation {
        /// The index in the list.
        index: usize,
        /// The operation in the list.
        operation: String,
    },
    /// The fields are malformed.
    #[error("metadata.managedFields[{index}].fieldsV1: {source}")]
    Fields {
        /// The index in the list.
        index: usize,
        /// The error of the decoder.
        source: FieldSetError,
    },
}

impl Managers {
    /// Reads `metadata.managedFields`; `null` is the empty list.
    ///
    /// # Errors
    /// [`ManagersError`] if the list, an operation or the fields of an entry are malformed.
    pub fn from_json(json: &Value) -> Result<Self, ManagersError> {
        let items = match json {
            Value::Null => return Ok(Self::default()),
            Value::Array(items) => items,
            _ => return Err(ManagersError::NotAList),
        };
        let mut out = Self::default();
        for (index, item) in items.iter().enumerate() {
            let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
            if !item.is_object() {
                return Err(ManagersError::NotAList);
            }
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                other => {
                    let operation = other.to_owned();
                    return Err(ManagersError::Operation { index, operation });
                }
            };
            let empty = json!({});
            let fields = FieldSet::from_json(item.get("fieldsV1").unwrap_or(&empty))
                .map_err(|source| ManagersError::Fields { index, source })?;
            let manager = Manager {
                name: text("manager").to_owned(),
                operation,
                api_version: match operation {
                    Operation::Apply => String::new(),
                    Operation::Update => text("apiVersion").to_owned(),
                },
                subresource: text("subresource").to_owned(),
            };
            let entry = Entry {
                fields,
                api_version: text("apiVersion").to_owned(),
                time: item.get("time").and_then(Value::as_str).map(str::to_owned),
            };
            out.entries.insert(manager, entry);
        }
        Ok(out)
    }

    /// Writes `metadata.managedFields` in the order of the server: `Apply` first, then by time, name and version.
    pub fn to_json(&self) -> Value {
        let mut entries: Vec<(&Manager, &Entry)> = self.entries.iter().collect();
        entries.sort_by_key(|(manager, entry)| {
            (
                manager.operation,
                seconds(entry.time.as_deref()),
                manager.name.clone(),
                entry.api_version.clone(),
                manager.subresource.clone(),
            )
        });
        let items = entries.into_iter().map(|(manager, entry)| {
            let mut map = Map::new();
            map.insert("manager".into(), json!(manager.name));
            map.insert("operation".into(), json!(manager.operation.name()));
            map.insert("apiVersion".into(), json!(entry.api_version));
            if let Some(time) = &entry.time {
                map.insert("time".into(), json!(time));
            }
            map.insert("fieldsType".into(), json!("FieldsV1"));
            map.insert("fieldsV1".into(), entry.fields.to_json());
            if !manager.subresource.is_empty() {
                map.insert("subresource".into(), json!(manager.subresource));
            }
            Value::Object(map)
        });
        Value::Array(items.collect())
    }

    /// Whether no manager owns any field.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Every manager and its fields.
    pub fn iter(&self) -> impl Iterator<Item = (&Manager, &FieldSet)> {
        self.entries.iter().map(|(m, e)| (m, &e.fields))
    }

    /// The fields of this manager.
    pub fn fields(&self, manager: &Manager) -> Option<&FieldSet> {
        self.entries.get(manager).map(|e| &e.fields)
    }

    pub(super) fn entries(&self) -> &BTreeMap<Manager, Entry> {
        &self.entries
    }

    pub(super) fn entries_mut(&mut self) -> &mut BTreeMap<Manager, Entry> {
        &mut self.entries
    }

    /// Removes the managers that own nothing.
    pub(super) fn drop_empty(&mut self) {
        self.entries.retain(|_, e| !e.fields.is_empty());
    }

    /// The fields that the managers of these entries own.
    pub(super) fn owned(&self, of: impl Fn(&Entry) -> bool) -> FieldSet {
        let sets = self.entries.values().filter(|entry| of(entry));
        sets.fold(FieldSet::new(), |all, e| all.union(&e.fields))
    }
}

pub(super) fn seconds(time: Option<&str>) -> i64 {
    let time = time.and_then(|t| t.parse::<jiff::Timestamp>().ok());
    time.map_or(0, jiff::Timestamp::as_second)
}

/// Takes `metadata.managedFields` out of an object.
pub(super) fn take(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

/// Puts `metadata.managedFields` into an object; an empty list is left out.
pub(super) fn put(object: &mut Value, managers: &Managers) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    if managers.is_empty() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".into(), managers.to_json());
    }
}
