use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// At most this many fields are named.
const MOST_FIELDS: usize = 10;
/// A longer path is cut. A key of a map may have 253 letters.
const LONGEST_PATH: usize = 160;

/// Fields that the API server changes with each write, and the names of the type.
const LEFT_OUT: [&str; 5] = [
    "metadata.managedFields",
    "metadata.resourceVersion",
    "metadata.generation",
    "apiVersion",
    "kind",
];

/// The paths of the fields that differ, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedFields {
    pub(crate) paths: Vec<String>,
    /// The number of further fields.
    pub(crate) more: usize,
}

impl ChangedFields {
    fn note(&mut self, path: &str) {
        if self.paths.len() == MOST_FIELDS {
            self.more += 1;
            return;
        }
        let end = path.floor_char_boundary(LONGEST_PATH);
        let cut = if end < path.len() { "…" } else { "" };
        self.paths.push(format!("{}{cut}", &path[..end]));
    }
}

/// Such as `spec.size, metadata.labels.app and 3 more`; `nothing` if no field differs.
impl fmt::Display for ChangedFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.paths.is_empty() {
            return f.write_str("nothing");
        }
        f.write_str(&self.paths.join(", "))?;
        match self.more {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// An object as JSON; `None` if it cannot be written as JSON.
pub(crate) fn whole(object: &impl Serialize) -> Option<Value> {
    // As bytes first: other parts of the program need that code too, so no second copy of it is compiled for each type.
    serde_json::from_slice(&serde_json::to_vec(object).ok()?).ok()
}

/// The fields that differ between two versions of one object.
///
/// The path of a field is like `spec.template.spec.containers[0].image`. Lists of different length count as one field. Fields that
/// the API server changes with each write are left out.
pub(crate) fn changed_fields(old: &Value, new: &Value) -> ChangedFields {
    let mut changed = ChangedFields::default();
    compare(&mut String::new(), old, new, &mut changed);
    changed
}

fn compare(path: &mut String, old: &Value, new: &Value, changed: &mut ChangedFields) {
    let length = path.len();
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                if length > 0 {
                    path.push('.');
                }
                path.push_str(name);
                if !LEFT_OUT.contains(&path.as_str()) {
                    let of = |fields: &serde_json::Map<String, Value>| {
                        fields.get(name).cloned().unwrap_or(Value::Null)
                    };
                    match (old.get(name), new.get(name)) {
                        (Some(old), Some(new)) => compare(path, old, new, changed),
                        // A field with the value null is no field.
                        _ if of(old) == of(new) => {}
                        _ => changed.note(path),
                    }
                }
                path.truncate(length);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (number, (old, new)) in old.iter().zip(new).enumerate() {
                path.push_str(&format!("[{number}]"));
                compare(path, old, new, changed);
                path.truncate(length);
            }
        }
        _ if old == new => {}
        _ => changed.note(path),
    }
}
