//! Which fields an object of a built-in kind has when a real server writes it: the fields that its Go types hold and
//! write.

use serde_json::{Map, Value, json};

use super::defaults::keeps_json;
use crate::go::types::{Field, Type, fields};
use crate::registry::ServedKind;

/// Drops values that the Go types cannot tell from absent fields: nulls, and empty and zero values of fields that are
/// not pointers. Clients in Go send such values, and a field may have a default.
pub(super) fn drop_unset(kind: &ServedKind, object: &mut Value) {
    if let Some(name) = super::definition_of(kind) {
        drop_from(name, object);
    }
}

/// Adds the fields that the Go types always write.
pub(super) fn fill_written(kind: &ServedKind, object: &mut Value) {
    if let Some(name) = super::definition_of(kind) {
        fill_in(name, object);
    }
}

/// An object of the kind before anything was set.
///
/// A create is compared with it: the creator does not own a structure that exists in any case, only the fields in it.
pub(crate) fn blank_object(kind: &ServedKind) -> Value {
    let mut object = Value::Object(Map::new());
    fill_written(kind, &mut object);
    object
}

fn drop_from(name: &str, value: &mut Value) {
    let (Some(types), Value::Object(object)) = (fields(name), value) else {
        return;
    };
    object.retain(|key, value| {
        let Some(field) = types.get(key.as_str()) else {
            return true;
        };
        drop_within(&field.kind, value);
        !is_unset(field, value)
    });
}

fn drop_within(kind: &Type, value: &mut Value) {
    match (kind, value) {
        (Type::Struct(name), value) => drop_from(name, value),
        (Type::List(inner, _), Value::Array(items)) => {
            items.iter_mut().for_each(|item| drop_within(inner, item));
        }
        (Type::Map(inner, _), Value::Object(entries)) => {
            entries
                .values_mut()
                .for_each(|value| drop_within(inner, value));
        }
        _ => {}
    }
}

/// Turns nulls in lists and maps into the zero values of their types: of a built-in kind, or of the metadata of a custom one.
pub(crate) fn complete_nulls(kind: &ServedKind, object: &mut Value) {
    const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    if let Some(name) = super::definition_of(kind) {
        complete_in(name, object);
    } else if let Some(metadata) = object.get_mut("metadata") {
        complete_in(META, metadata);
    }
}

fn complete_in(name: &str, value: &mut Value) {
    let (Some(types), Value::Object(object)) = (fields(name), value) else {
        return;
    };
    for (key, value) in object {
        if let Some(field) = types.get(key.as_str()) {
            complete_within(&field.kind, value);
        }
    }
}

fn complete_within(kind: &Type, value: &mut Value) {
    match (kind, value) {
        (Type::Struct(name), value) => complete_in(name, value),
        (Type::List(inner, _), Value::Array(items)) => {
            items.iter_mut().for_each(|item| complete_item(inner, item));
        }
        (Type::Map(inner, _), Value::Object(entries)) => {
            let values = entries.values_mut();
            values.for_each(|value| complete_item(inner, value));
        }
        _ => {}
    }
}

fn complete_item(kind: &Type, item: &mut Value) {
    if item.is_null() {
        *item = match kind {
            // What is stored is not null.
            Type::Bytes => json!(""),
            kind => zero_of(kind),
        };
    }
    complete_within(kind, item);
}

/// Turns empty lists and maps that are always written into null: a server stores them in the same form. Their writer owns them, so the owners are recorded
/// before.
pub(crate) fn forget_empty_lists(kind: &ServedKind, object: &mut Value) {
    if keeps_json(kind) {
        return;
    }
    if let Some(name) = super::definition_of(kind) {
        forget_empty(name, object);
    }
}

fn forget_empty(name: &str, value: &mut Value) {
    let (Some(types), Value::Object(object)) = (fields(name), value) else {
        return;
    };
    for (key, field) in types {
        if let Some(value) = object.get_mut(&**key) {
            if field.always && is_empty_list(field, value) {
                *value = Value::Null;
            }
            forget_within(&field.kind, value);
        }
    }
}

fn forget_within(kind: &Type, value: &mut Value) {
    match (kind, value) {
        (Type::Struct(name), value) => forget_empty(name, value),
        (Type::List(inner, _), Value::Array(items)) => {
            items.iter_mut().for_each(|item| forget_within(inner, item));
        }
        (Type::Map(inner, _), Value::Object(entries)) => {
            entries
                .values_mut()
                .for_each(|value| forget_within(inner, value));
        }
        _ => {}
    }
}

/// Whether the value is an empty list or map.
fn is_empty_list(field: &Field, value: &Value) -> bool {
    match (&field.kind, value) {
        (Type::List(..), Value::Array(items)) => items.is_empty(),
        (Type::Map(..), Value::Object(entries)) => entries.is_empty(),
        _ => false,
    }
}

fn is_unset(field: &Field, value: &Value) -> bool {
    let is_port = matches!(&field.kind, Type::Own(name) if &**name == "IntOrString");
    match value {
        Value::Null => true,
        // The writer of an empty list owns it, if it is written. It is stored as null later.
        _ if field.pointer || field.always && is_empty_list(field, value) => false,
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty() && matches!(field.kind, Type::Map(..)),
        Value::String(text) => {
            let is_text = match field.kind {
                Type::Basic(..) => true,
                // Bytes that are always written can be empty or not be there.
                Type::Bytes => !field.always,
                _ => is_port,
            };
            text.is_empty() && is_text
        }
        Value::Bool(set) => !set,
        Value::Number(number) => {
            number.as_f64() == Some(0.0) && (matches!(field.kind, Type::Basic(..)) || is_port)
        }
    }
}

fn fill_in(name: &str, value: &mut Value) {
    let (Some(types), Value::Object(object)) = (fields(name), value) else {
        return;
    };
    for (key, field) in types {
        if field.always && !object.contains_key(&**key) {
            object.insert(key.to_string(), zero(field));
        }
        if let Some(value) = object.get_mut(&**key) {
            fill_within(&field.kind, value);
        }
    }
}

fn fill_within(kind: &Type, value: &mut Value) {
    match (kind, value) {
        (Type::Struct(name), value) => fill_in(name, value),
        (Type::List(inner, _), Value::Array(items)) => {
            items.iter_mut().for_each(|item| fill_within(inner, item));
        }
        (Type::Map(inner, _), Value::Object(entries)) => {
            entries
                .values_mut()
                .for_each(|value| fill_within(inner, value));
        }
        _ => {}
    }
}

fn zero(field: &Field) -> Value {
    if field.pointer {
        return Value::Null;
    }
    zero_of(&field.kind)
}

fn zero_of(kind: &Type) -> Value {
    match kind {
        Type::Struct(_) => json!({}),
        Type::Basic(basic, _) => match &**basic {
            "string" => json!(""),
            "bool" => json!(false),
            _ => json!(0),
        },
        Type::Own(name) => match &**name {
            "Quantity" => json!("0"),
            "IntOrString" => json!(0),
            _ => Value::Null,
        },
        Type::List(..) | Type::Map(..) | Type::Bytes => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> std::sync::Arc<ServedKind> {
        let mut kinds = crate::builtin::kinds().into_iter();
        kinds.find(|kind| kind.kind == name).unwrap()
    }

    #[test]
    fn unset_fields_are_written_only_if_the_types_always_write_them() {
        let set = kind("StatefulSet");
        let mut object = json!({
            "spec": {"replicas": 0, "serviceName": "", "minReadySeconds": 0, "selector": null,
                "template": {"spec": {"hostNetwork": false, "nodeSelector": {}, "securityContext": {},
                    "containers": [{"name": "a", "args": [], "stdin": false}]}}},
            "status": {"readyReplicas": 0},
        });
        drop_unset(&set, &mut object);
        fill_written(&set, &mut object);
        assert_eq!(
            object,
            json!({
                "metadata": {},
                "spec": {"replicas": 0, "serviceName": "", "selector": null, "updateStrategy": {},
                    "template": {"metadata": {}, "spec": {"securityContext": {},
                        "containers": [{"name": "a", "resources": {}}]}}},
                "status": {"replicas": 0, "availableReplicas": 0},
            })
        );
    }

    #[test]
    fn zero_values_of_fields_that_are_always_written_are_unset_too() {
        let service = kind("Service");
        let mut object = json!({"spec": {"ports": [{"port": 80, "targetPort": 0}, {"port": 81, "targetPort": ""}]}});
        drop_unset(&service, &mut object);
        assert_eq!(
            object,
            json!({"spec": {"ports": [{"port": 80}, {"port": 81}]}})
        );
    }

    #[test]
    fn a_null_in_a_map_or_a_list_is_the_zero_value() {
        let mut secret =
            json!({"metadata": {"labels": {"a": null}, "finalizers": [null]}, "data": {"b": null}});
        complete_nulls(&kind("Secret"), &mut secret);
        assert_eq!(
            secret,
            json!({"metadata": {"labels": {"a": ""}, "finalizers": [""]}, "data": {"b": ""}})
        );
        let mut pod =
            json!({"spec": {"containers": [null, {"resources": {"limits": {"cpu": null}}}]}});
        complete_nulls(&kind("Pod"), &mut pod);
        assert_eq!(
            pod,
            json!({"spec": {"containers": [{}, {"resources": {"limits": {"cpu": "0"}}}]}})
        );
    }

    #[test]
    fn a_blank_object_has_its_structures() {
        assert_eq!(
            blank_object(&kind("Service")),
            json!({"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}})
        );
        assert_eq!(blank_object(&kind("ConfigMap")), json!({"metadata": {}}));
    }
}
