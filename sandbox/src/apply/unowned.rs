use serde_json::Value;

use super::check::check;
use super::field_set::path_text;
use super::merge::merge;
use super::path_element::PathElement;
use super::typed::{Atom, Typed};
use crate::schema::Schema;

/// Merges a configuration into an object as [`apply`](super::apply()) does, without a record of who owns which field.
///
/// # Errors
/// The text of kube-apiserver if the configuration does not fit the schema, or sets atomic lists, maps or objects.
pub(crate) fn merge_unowned(
    schema: &Schema,
    object: &Value,
    configuration: &Value,
) -> Result<Value, String> {
    let typed = Typed::root(schema);
    check(typed, configuration)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let mut atomic = Vec::new();
    find_atomic(typed, configuration, &mut Vec::new(), &mut atomic);
    match atomic.is_empty() {
        true => Ok(merge(typed, Some(object), Some(configuration))),
        false => Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomic.join(", ")
        )),
    }
}

fn find_atomic(
    typed: Typed<'_>,
    value: &Value,
    path: &mut Vec<PathElement>,
    found: &mut Vec<String>,
) {
    match (typed.atom(Some(value)), value) {
        (Atom::Map, Value::Object(fields)) => {
            if typed.is_atomic_map() {
                found.push(path_text(path));
            }
            for (name, value) in fields.iter().filter(|(name, _)| typed.is_named(name)) {
                path.push(PathElement::Field(name.as_str().into()));
                find_atomic(typed.field(name), value, path, found);
                path.pop();
            }
        }
        (Atom::List, Value::Array(items)) => {
            if typed.is_atomic_list() {
                found.push(path_text(path));
            }
            for (index, item) in items.iter().enumerate() {
                path.push(PathElement::Index(index as i64));
                find_atomic(typed.item(), item, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}
