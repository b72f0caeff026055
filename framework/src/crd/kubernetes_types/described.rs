//! Schemas of the types that occur most often in specs and statuses, and of those that k8s-openapi does not describe well.
//!
//! They follow the published OpenAPI document of the newest Kubernetes.

use std::borrow::Cow;

use k8s_openapi::{
    ByteString,
    api::core::v1,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
        JSONSchemaPropsOrStringArray,
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{
            Condition, FieldsV1, LabelSelector, LabelSelectorRequirement, MicroTime, Time,
        },
        runtime::RawExtension,
        util::intstr::IntOrString,
    },
};
use schemars::{JsonSchema, SchemaGenerator, json_schema};

use crate::crd::Schema;

/// The schema of `$ty`, for a field in the schema of another type.
macro_rules! of {
    ($generator:ident, $ty:ty) => {
        (<<$ty as Schema>::Json as JsonSchema>::json_schema($generator))
    };
}

macro_rules! described {
    (fn $all:ident; $($name:ident for $($ty:ty),+ => |$generator:ident| $json:tt;)+) => { $(
        /// Describes the k8s-openapi types that name it as their `Schema::Json`.
        #[derive(Debug)]
        pub struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }

            fn json_schema($generator: &mut SchemaGenerator) -> schemars::Schema {
                // Not every schema uses the generator.
                let _ = &$generator;
                json_schema!($json)
            }
        }

        $(impl Schema for $ty { type Json = $name; })+
    )+
        /// The types, for tests.
        #[cfg(test)]
        pub(super) fn $all() -> Vec<(&'static str, crate::crd::Describe)> {
            vec![$($((stringify!($ty), <$ty as Schema>::describe as crate::crd::Describe)),+),+]
        }
    };
}

described! {
    fn all;
    DateTime for Time, MicroTime, k8s_openapi::jiff::Timestamp => |generator| {"type": "string", "format": "date-time"};
    QuantityJson for Quantity => |generator| {
        "x-kubernetes-int-or-string": true,
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    };
    IntOrStringJson for IntOrString => |generator| {"x-kubernetes-int-or-string": true};
    ConditionJson for Condition => |generator| {
        "type": "object",
        "properties": {
            "type": {"type": "string", "description": "Type of the condition, in CamelCase.", "maxLength": 316,
                "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"},
            "status": {"type": "string", "description": "Whether the condition holds.", "enum": ["True", "False", "Unknown"]},
            "reason": {"type": "string", "description": "Why, for programs.", "minLength": 1, "maxLength": 1024,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
            "message": {"type": "string", "description": "Why, for people; may be empty.", "maxLength": 32768},
            "lastTransitionTime": {"type": "string", "format": "date-time", "description": "When the status last changed."},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0, "description": "The metadata.generation that the condition is about."},
        },
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
    };
    LabelRequirement for LabelSelectorRequirement => |generator| {
        "type": "object",
        "properties": {
            "key": {"type": "string", "description": "The label's key."},
            "operator": {"type": "string", "description": "In, NotIn, Exists or DoesNotExist."},
            "values": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
        },
        "required": ["key", "operator"],
    };
    LabelSelectorJson for LabelSelector => |generator| {
        "type": "object",
        "properties": {
            "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
            "matchExpressions": {"type": "array", "items": of!(generator, LabelSelectorRequirement), "x-kubernetes-list-type": "atomic"},
        },
        "x-kubernetes-map-type": "atomic",
    };
    LocalReference for v1::LocalObjectReference => |generator| {
        "type": "object",
        "properties": {"name": {"type": "string", "default": ""}},
        "x-kubernetes-map-type": "atomic",
    };
    Reference for v1::ObjectReference => |generator| {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"},
            "namespace": {"type": "string"}, "uid": {"type": "string"},
            "resourceVersion": {"type": "string"}, "fieldPath": {"type": "string"},
        },
        "x-kubernetes-map-type": "atomic",
    };
    TypedReference for v1::TypedLocalObjectReference => |generator| {
        "type": "object",
        "properties": {"apiGroup": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"}},
        "required": ["kind", "name"],
        "x-kubernetes-map-type": "atomic",
    };
    SecretReferenceJson for v1::SecretReference => |generator| {
        "type": "object",
        "properties": {"name": {"type": "string"}, "namespace": {"type": "string"}},
        "x-kubernetes-map-type": "atomic",
    };
    KeySelector for v1::SecretKeySelector, v1::ConfigMapKeySelector => |generator| {
        "type": "object",
        "properties": {"name": {"type": "string", "default": ""}, "key": {"type": "string"}, "optional": {"type": "boolean"}},
        "required": ["key"],
        "x-kubernetes-map-type": "atomic",
    };
    FieldSelector for v1::ObjectFieldSelector => |generator| {
        "type": "object",
        "properties": {"apiVersion": {"type": "string"}, "fieldPath": {"type": "string"}},
        "required": ["fieldPath"],
        "x-kubernetes-map-type": "atomic",
    };
    ResourceFieldSelectorJson for v1::ResourceFieldSelector => |generator| {
        "type": "object",
        "properties": {"containerName": {"type": "string"}, "resource": {"type": "string"}, "divisor": of!(generator, Quantity)},
        "required": ["resource"],
        "x-kubernetes-map-type": "atomic",
    };
    Requirements for v1::ResourceRequirements => |generator| {
        "type": "object",
        "properties": {
            "limits": {"type": "object", "additionalProperties": of!(generator, Quantity)},
            "requests": {"type": "object", "additionalProperties": of!(generator, Quantity)},
            "claims": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "request": {"type": "string"}},
                    "required": ["name"],
                },
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
        },
    };
    TolerationJson for v1::Toleration => |generator| {
        "type": "object",
        "properties": {
            "key": {"type": "string"}, "operator": {"type": "string"}, "value": {"type": "string"},
            "effect": {"type": "string"}, "tolerationSeconds": {"type": "integer", "format": "int64"},
        },
    };
    OpenObject for RawExtension, FieldsV1, JSONSchemaProps => |generator| {"type": "object", "x-kubernetes-preserve-unknown-fields": true};
    Bytes for ByteString => |generator| {"type": "string", "format": "byte"};
    AnyValue for JSON, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, JSONSchemaPropsOrStringArray => |generator| {};
}
