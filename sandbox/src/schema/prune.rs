use serde_json::Value;

use super::node::{Additional, Node, Schema};
use super::object_meta;

/// The fields that every object has.
const TYPE_AND_META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops unknown fields of a whole object.
pub(super) fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut walk = Walk {
        at: Vec::new(),
        dropped: Vec::new(),
    };
    walk.value(Some(schema.node()), true, object);
    walk.dropped.sort();
    walk.dropped
}

/// Drops unknown fields of a part of an object.
pub(super) fn prune_part(schema: &Schema, value: &mut Value) {
    let mut walk = Walk {
        at: Vec::new(),
        dropped: Vec::new(),
    };
    walk.value(Some(schema.node()), false, value);
}

struct Walk {
    at: Vec<String>,
    dropped: Vec<String>,
}

impl Walk {
    fn value(&mut self, node: Option<&Node>, is_resource: bool, value: &mut Value) {
        match node {
            Some(node) if node.preserve_unknown => self.keep(node, is_resource, value),
            _ => self.drop_unknown(node, is_resource, value),
        }
    }

    fn drop_unknown(&mut self, node: Option<&Node>, is_resource: bool, value: &mut Value) {
        match value {
            Value::Object(map) => {
                let is_resource = is_resource || node.is_some_and(|n| n.embedded_resource);
                map.retain(|key, value| {
                    if is_resource && TYPE_AND_META.contains(&key.as_str()) {
                        self.meta(key, value);
                        return true;
                    }
                    let known =
                        node.and_then(|n| match (n.properties.get(key.as_str()), &n.additional) {
                            (Some(schema), _) | (None, Some(Additional::Of(schema))) => {
                                Some(Some(schema.node()))
                            }
                            (None, Some(Additional::Any)) => Some(None),
                            _ => None,
                        });
                    match known {
                        Some(Some(child)) => {
                            self.within(key, |w| w.value(Some(child), false, value))
                        }
                        // `additionalProperties: true`: the entry is known, its content is not.
                        Some(None) => self.within(key, |w| w.drop_unknown(None, false, value)),
                        None => self.record(key),
                    }
                    known.is_some()
                });
            }
            Value::Array(items) => {
                let child = node.and_then(|n| n.items.as_ref()).map(Schema::node);
                for (i, item) in items.iter_mut().enumerate() {
                    self.within_index(i, |w| w.value(child, false, item));
                }
            }
            _ => {}
        }
    }

    /// Below `x-kubernetes-preserve-unknown-fields` only the named fields are visited.
    fn keep(&mut self, node: &Node, is_resource: bool, value: &mut Value) {
        match value {
            Value::Object(map) => {
                let is_resource = is_resource || node.embedded_resource;
                for (key, value) in map {
                    if is_resource && TYPE_AND_META.contains(&key.as_str()) {
                        self.meta(key, value);
                    } else if let Some(child) = node.field(key) {
                        self.within(key, |w| w.value(Some(child.node()), false, value));
                    }
                }
            }
            Value::Array(items) => {
                if let Some(child) = &node.items {
                    for (i, item) in items.iter_mut().enumerate() {
                        self.within_index(i, |w| w.keep(child.node(), false, item));
                    }
                }
            }
            _ => {}
        }
    }

    fn meta(&mut self, key: &str, value: &mut Value) {
        if key == "metadata" {
            self.within(key, |w| w.value(Some(object_meta().node()), false, value));
        }
    }

    fn within(&mut self, key: &str, run: impl FnOnce(&mut Self)) {
        let segment = if self.at.is_empty() {
            key.to_owned()
        } else {
            format!(".{key}")
        };
        self.at.push(segment);
        run(self);
        self.at.pop();
    }

    fn within_index(&mut self, index: usize, run: impl FnOnce(&mut Self)) {
        self.at.push(format!("[{index}]"));
        run(self);
        self.at.pop();
    }

    fn record(&mut self, key: &str) {
        self.within(key, |w| w.dropped.push(w.at.concat()));
    }
}
