use serde_json::Value;

use super::node::{ListType, Node, Schema};

/// A part of an object and the part of the older object that it replaces.
///
/// A part that did not change is not refused for a schema that became stricter meanwhile. The server compares only what the
/// schema describes: a part with a field that the schema does not name counts as changed.
#[derive(Clone, Copy)]
pub(super) struct Correlated<'a> {
    node: &'a Node,
    new: &'a Value,
    old: &'a Value,
    is_top: bool,
}

impl<'a> Correlated<'a> {
    /// The value that a check begins with.
    pub(super) fn top(schema: &'a Schema, new: &'a Value, old: &'a Value) -> Self {
        Self {
            is_top: true,
            ..Self::part(schema, new, old)
        }
    }

    fn part(schema: &'a Schema, new: &'a Value, old: &'a Value) -> Self {
        Self {
            node: schema.node(),
            new,
            old,
            is_top: false,
        }
    }

    /// A field, for the check of its value. Both objects were read in the version of the request, so `apiVersion` and `kind` do not
    /// show whether they changed.
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        let is_hidden = self.is_top && matches!(name, "apiVersion" | "kind");
        (!is_hidden).then(|| self.key(name)).flatten()
    }

    /// A field or an entry of a map.
    pub(super) fn key(&self, name: &str) -> Option<Self> {
        let (new, old) = (self.new.get(name)?, self.old.get(name)?);
        Some(Self::part(self.node.field(name)?, new, old))
    }

    /// An item of a list.
    pub(super) fn index(&self, index: usize) -> Option<Self> {
        let item = self.new.get(index)?;
        let old = counterpart(self.node, item, self.old, index)?;
        Some(Self::part(self.node.items.as_ref()?, item, old))
    }

    /// Whether nothing changed in this part.
    pub(super) fn is_unchanged(&self) -> bool {
        match (self.new, self.old) {
            (Value::Object(new), Value::Object(old)) => {
                let same = |name: &String| self.key(name).is_some_and(|part| part.is_unchanged());
                new.len() == old.len() && new.keys().all(same)
            }
            (Value::Array(new), Value::Array(old))
                if self.node.list_type == Some(ListType::Map) =>
            {
                let same = |index| self.index(index).is_some_and(|item| item.is_unchanged());
                new.len() == old.len() && (0..new.len()).all(same)
            }
            (new, old) => new == old,
        }
    }
}

/// The item that an item replaces. Items can be matched only in lists that are maps. It is looked for at `index` first: most updates
/// leave the order of a list as it is.
pub(super) fn counterpart<'a>(
    node: &Node,
    item: &Value,
    old: &'a Value,
    index: usize,
) -> Option<&'a Value> {
    if node.list_type != Some(ListType::Map) {
        return None;
    }
    let old = old.as_array()?;
    let is_same = |other: &&Value| {
        let mut keys = node.list_map_keys.iter();
        keys.all(|key| {
            item.get(&**key)
                .is_some_and(|value| other.get(&**key) == Some(value))
        })
    };
    let there = old.get(index).filter(is_same);
    there.or_else(|| old.iter().find(is_same))
}

/// What rules compare to decide whether a value that they refuse is unchanged.
#[derive(Clone, Copy, Default)]
pub(super) struct Ratchet<'a> {
    /// The value itself, if it can be matched with an older one.
    here: Option<Correlated<'a>>,
    /// The closest value around it that can be matched.
    around: Option<Correlated<'a>>,
}

impl<'a> Ratchet<'a> {
    pub(super) fn of(object: Option<Correlated<'a>>) -> Self {
        Self {
            here: object,
            around: None,
        }
    }

    pub(super) fn key(self, name: &str) -> Self {
        match self.here {
            None => self,
            Some(here) if here.is_top && matches!(name, "apiVersion" | "kind") => Self::default(),
            Some(here) => Self {
                here: here.key(name),
                around: Some(here),
            },
        }
    }

    pub(super) fn index(self, index: usize) -> Self {
        match self.here {
            None => self,
            Some(here) => Self {
                here: here.index(index),
                around: Some(here),
            },
        }
    }

    pub(super) fn is_unchanged(self) -> bool {
        let compared = self.here.or(self.around);
        compared.is_some_and(|compared| compared.is_unchanged())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::{Schema, Written};

    /// A schema that became stricter after [`stored`] was written.
    fn strict() -> Schema {
        let short = json!({"type": "string", "maxLength": 3});
        let ruled =
            json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == 'right'"}]});
        let item = json!({"type": "object", "required": ["key", "size"], "properties": {
            "key": {"type": "string"}, "size": {"type": "integer"}, "note": {"type": "string"},
        }});
        let either = json!({"type": "object", "properties": {"a": short, "b": short}, "anyOf": [
            {"properties": {"a": {"maxLength": 1}}},
        ]});
        let spec = json!({"type": "object", "properties": {
            "name": short, "note": {"type": "string"}, "ruled": ruled, "either": either,
            "list": {"type": "array", "items": short},
            "items": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"], "items": item,
            },
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "free": {"type": "object", "maxProperties": 0, "x-kubernetes-preserve-unknown-fields": true},
        }});
        let status = json!({"type": "object", "properties": {"phase": short}});
        let schema = json!({
            "type": "object", "required": ["extra"],
            "properties": {"spec": spec, "status": status, "extra": {"type": "string"}},
        });
        Schema::from_json(&schema).unwrap()
    }

    fn stored() -> Value {
        json!({
            "extra": "x", "status": {"phase": "toolong"},
            "spec": {
                "name": "toolong", "ruled": "wrong", "either": {"a": "toolong"}, "list": ["toolong"],
                "items": [{"key": "a"}, {"key": "b"}], "set": ["a", "a"],
            },
        })
    }

    /// The fields with errors and the warnings after `changes` to the stored object.
    fn found(changes: &[(&str, Value)], only_status: bool) -> (Vec<String>, Vec<String>) {
        let (old, mut new) = (stored(), stored());
        for (pointer, value) in changes {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            new.pointer_mut(parent).unwrap()[name] = value.clone();
        }
        let found = strict().validate_written(Written {
            object: &new,
            old: Some(&old),
            only_status,
            others: Vec::new(),
            rules_are_blocked: false,
        });
        let mut errors = found.errors;
        errors.retain(|error| {
            !error
                .detail
                .starts_with("some validation rules were not checked")
        });
        let fields = errors.into_iter().map(|error| error.field);
        (fields.collect(), found.warnings)
    }

    #[test]
    fn only_changed_parts_are_refused() {
        let table: &[(&str, Value, &[&str])] = &[
            ("/spec/note", json!("x"), &[]),
            ("/spec/name", json!("longer"), &["spec.name"]),
            // A list that is no map is compared as a whole.
            ("/spec/list", json!(["toolong", "a"]), &["spec.list[0]"]),
            ("/spec/items", json!([{"key": "b"}, {"key": "a"}]), &[]),
            (
                "/spec/items",
                json!([{"key": "b", "note": "x"}, {"key": "a"}, {"key": "c"}]),
                &["spec.items[0].size", "spec.items[2].size"],
            ),
            ("/spec/set", json!(["a", "a", "b"]), &[]),
            (
                "/spec/either",
                json!({"a": "toolong", "b": "b"}),
                &["<nil>", "spec.either.a"],
            ),
            ("/spec/free", json!({"a": 1}), &["spec.free"]),
        ];
        for (pointer, value, fields) in table {
            let (errors, _) = found(&[(pointer, value.clone())], false);
            assert_eq!(&errors, fields, "{pointer}: {value}");
        }
    }

    #[test]
    fn a_rule_that_refuses_what_did_not_change_is_a_warning() {
        let (errors, warnings) = found(&[("/spec/note", json!("x"))], false);
        let warning = "spec.ruled: Invalid value: \"wrong\": failed rule: self == 'right'";
        assert_eq!((errors, warnings), (vec![], vec![warning.to_owned()]));
        let (errors, warnings) = found(&[("/spec/ruled", json!("other"))], false);
        assert_eq!((errors, warnings), (vec!["spec.ruled".to_owned()], vec![]));
    }

    #[test]
    fn a_write_to_the_status_checks_only_its_values() {
        let (errors, _) = found(&[("/extra", Value::Null)], true);
        assert_eq!(errors, [""; 0]);
        let (errors, _) = found(&[("/status/phase", json!("longer"))], true);
        assert_eq!(errors[0], "status.phase");
    }
}
