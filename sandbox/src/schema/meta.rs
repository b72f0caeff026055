use std::sync::LazyLock;

use serde_json::json;

use super::{Schema, parse};

/// The schema of `metadata`, which every kind has implicitly.
pub(crate) fn object_meta() -> &'static Schema {
    static OBJECT_META: LazyLock<Schema> = LazyLock::new(|| {
        let text = || json!({"type": "string"});
        let texts = || json!({"type": "object", "additionalProperties": {"type": "string"}});
        let time = || json!({"type": "string", "format": "date-time", "nullable": true});
        let json = json!({
            "type": "object",
            "properties": {
                "name": text(),
                "generateName": text(),
                "namespace": text(),
                "selfLink": text(),
                "uid": text(),
                "resourceVersion": text(),
                "generation": {"type": "integer", "format": "int64"},
                "creationTimestamp": time(),
                "deletionTimestamp": time(),
                "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
                "labels": texts(),
                "annotations": texts(),
                "finalizers": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-list-type": "set",
                    "x-kubernetes-patch-strategy": "merge"
                },
                "ownerReferences": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["uid"],
                    "x-kubernetes-patch-merge-key": "uid",
                    "x-kubernetes-patch-strategy": "merge",
                    "items": {
                        "type": "object",
                        "x-kubernetes-map-type": "atomic",
                        "required": ["apiVersion", "kind", "name", "uid"],
                        "properties": {
                            "apiVersion": text(),
                            "kind": text(),
                            "name": text(),
                            "uid": text(),
                            "controller": {"type": "boolean"},
                            "blockOwnerDeletion": {"type": "boolean"}
                        }
                    }
                },
                "managedFields": {
                    "type": "array",
                    "x-kubernetes-list-type": "atomic",
                    "items": {
                        "type": "object",
                        "properties": {
                            "manager": text(),
                            "operation": text(),
                            "apiVersion": text(),
                            "time": time(),
                            "fieldsType": text(),
                            "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                            "subresource": text()
                        }
                    }
                }
            }
        });
        Schema::here(parse::node(&json, None))
    });
    &OBJECT_META
}
