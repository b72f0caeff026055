//! The messages of gnostic's `openapi.v2` that Kubernetes clients read, with the field numbers of
//! `openapiv2/OpenAPIv2.proto` in github.com/google/gnostic-models.

use prost::Message;
use serde_json::{Map, Value};

use super::swagger::swagger;
use crate::registry::Registry;

/// `/openapi/v2` in protobuf: definitions, and the operations with their parameters.
pub(crate) fn swagger_protobuf(registry: &Registry) -> Vec<u8> {
    encode(&swagger(registry))
}

fn encode(document: &Value) -> Vec<u8> {
    let text = |pointer: &str| string(document.pointer(pointer));
    let document = Document {
        swagger: text("/swagger"),
        info: Some(Info {
            title: text("/info/title"),
            version: text("/info/version"),
        }),
        paths: Some(Paths {
            path: named(document.get("paths"))
                .map(|(name, item)| NamedPathItem {
                    name: name.clone(),
                    value: Some(path_item(item)),
                })
                .collect(),
        }),
        definitions: Some(NamedSchemas {
            additional_properties: named_schemas(document.get("definitions")),
        }),
    };
    document.encode_to_vec()
}

fn string(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn strings(value: Option<&Value>) -> Vec<String> {
    items(value).map(|item| string(Some(item))).collect()
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn named(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn named_schemas(value: Option<&Value>) -> Vec<NamedSchema> {
    named(value)
        .map(|(name, value)| NamedSchema {
            name: name.clone(),
            value: Some(schema(value)),
        })
        .collect()
}

/// Values of any type are sent as YAML, and JSON is YAML.
fn any(value: &Value) -> Any {
    Any {
        yaml: value.to_string(),
    }
}

fn extensions(fields: &Map<String, Value>) -> Vec<NamedAny> {
    fields
        .iter()
        .filter(|(name, _)| name.starts_with("x-"))
        .map(|(name, value)| NamedAny {
            name: name.clone(),
            value: Some(any(value)),
        })
        .collect()
}

fn schema(value: &Value) -> Schema {
    let Value::Object(fields) = value else {
        return Schema::default();
    };
    let integer = |key: &str| fields.get(key).and_then(Value::as_i64).unwrap_or_default();
    let float = |key: &str| fields.get(key).and_then(Value::as_f64).unwrap_or_default();
    let flag = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    let additional = fields.get("additionalProperties").map(|value| {
        let kind = match value {
            Value::Bool(allowed) => additional_properties::Kind::Boolean(*allowed),
            value => additional_properties::Kind::Schema(Box::new(schema(value))),
        };
        Box::new(AdditionalProperties { kind: Some(kind) })
    });
    Schema {
        reference: string(fields.get("$ref")),
        format: string(fields.get("format")),
        title: string(fields.get("title")),
        description: string(fields.get("description")),
        multiple_of: float("multipleOf"),
        maximum: float("maximum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        minimum: float("minimum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        max_length: integer("maxLength"),
        min_length: integer("minLength"),
        pattern: string(fields.get("pattern")),
        max_items: integer("maxItems"),
        min_items: integer("minItems"),
        unique_items: flag("uniqueItems"),
        max_properties: integer("maxProperties"),
        min_properties: integer("minProperties"),
        required: strings(fields.get("required")),
        enumeration: items(fields.get("enum")).map(any).collect(),
        additional_properties: additional,
        kind: fields.get("type").map(|kind| TypeItem {
            value: vec![string(Some(kind))],
        }),
        items: fields.get("items").map(|value| ItemsItem {
            schema: vec![schema(value)],
        }),
        properties: fields.get("properties").map(|properties| NamedSchemas {
            additional_properties: named_schemas(Some(properties)),
        }),
        vendor_extension: extensions(fields),
    }
}

fn path_item(item: &Value) -> PathItem {
    let operation = |method: &str| item.get(method).map(operation);
    PathItem {
        get: operation("get"),
        put: operation("put"),
        post: operation("post"),
        delete: operation("delete"),
        patch: operation("patch"),
        parameters: items(item.get("parameters")).map(parameter).collect(),
    }
}

fn operation(value: &Value) -> Operation {
    Operation {
        operation_id: string(value.get("operationId")),
        produces: strings(value.get("produces")),
        consumes: strings(value.get("consumes")),
        parameters: items(value.get("parameters")).map(parameter).collect(),
        vendor_extension: value.as_object().map(extensions).unwrap_or_default(),
    }
}

fn parameter(value: &Value) -> ParametersItem {
    let name = string(value.get("name"));
    let required = value.get("required") == Some(&Value::Bool(true));
    let place = string(value.get("in"));
    let kind = string(value.get("type"));
    let kind = match place.as_str() {
        "body" => parameter::Kind::Body(Box::new(BodyParameter {
            name,
            place,
            required,
            schema: value.get("schema").map(schema),
        })),
        "path" => parameter::Kind::NonBody(NonBodyParameter {
            kind: Some(non_body_parameter::Kind::Path(PathParameter {
                required,
                place,
                name,
                kind,
            })),
        }),
        _ => parameter::Kind::NonBody(NonBodyParameter {
            kind: Some(non_body_parameter::Kind::Query(QueryParameter {
                required,
                place,
                name,
                kind,
            })),
        }),
    };
    ParametersItem {
        parameter: Some(Parameter { kind: Some(kind) }),
    }
}

#[derive(Clone, PartialEq, Message)]
struct Document {
    #[prost(string, tag = "1")]
    swagger: String,
    #[prost(message, optional, tag = "2")]
    info: Option<Info>,
    #[prost(message, optional, tag = "8")]
    paths: Option<Paths>,
    #[prost(message, optional, tag = "9")]
    definitions: Option<NamedSchemas>,
}

#[derive(Clone, PartialEq, Message)]
struct Info {
    #[prost(string, tag = "1")]
    title: String,
    #[prost(string, tag = "2")]
    version: String,
}

/// `Definitions` and `Properties`, which have the same form.
#[derive(Clone, PartialEq, Message)]
struct NamedSchemas {
    #[prost(message, repeated, tag = "1")]
    additional_properties: Vec<NamedSchema>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedSchema {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "2")]
    yaml: String,
}

#[derive(Clone, PartialEq, Message)]
struct NamedAny {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Schema {
    #[prost(string, tag = "1")]
    reference: String,
    #[prost(string, tag = "2")]
    format: String,
    #[prost(string, tag = "3")]
    title: String,
    #[prost(string, tag = "4")]
    description: String,
    #[prost(double, tag = "6")]
    multiple_of: f64,
    #[prost(double, tag = "7")]
    maximum: f64,
    #[prost(bool, tag = "8")]
    exclusive_maximum: bool,
    #[prost(double, tag = "9")]
    minimum: f64,
    #[prost(bool, tag = "10")]
    exclusive_minimum: bool,
    #[prost(int64, tag = "11")]
    max_length: i64,
    #[prost(int64, tag = "12")]
    min_length: i64,
    #[prost(string, tag = "13")]
    pattern: String,
    #[prost(int64, tag = "14")]
    max_items: i64,
    #[prost(int64, tag = "15")]
    min_items: i64,
    #[prost(bool, tag = "16")]
    unique_items: bool,
    #[prost(int64, tag = "17")]
    max_properties: i64,
    #[prost(int64, tag = "18")]
    min_properties: i64,
    #[prost(string, repeated, tag = "19")]
    required: Vec<String>,
    #[prost(message, repeated, tag = "20")]
    enumeration: Vec<Any>,
    #[prost(message, optional, boxed, tag = "21")]
    additional_properties: Option<Box<AdditionalProperties>>,
    #[prost(message, optional, tag = "22")]
    kind: Option<TypeItem>,
    #[prost(message, optional, tag = "23")]
    items: Option<ItemsItem>,
    #[prost(message, optional, tag = "25")]
    properties: Option<NamedSchemas>,
    #[prost(message, repeated, tag = "31")]
    vendor_extension: Vec<NamedAny>,
}

#[derive(Clone, PartialEq, Message)]
struct AdditionalProperties {
    #[prost(oneof = "additional_properties::Kind", tags = "1, 2")]
    kind: Option<additional_properties::Kind>,
}

mod additional_properties {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(super) enum Kind {
        #[prost(message, tag = "1")]
        Schema(Box<super::Schema>),
        #[prost(bool, tag = "2")]
        Boolean(bool),
    }
}

#[derive(Clone, PartialEq, Message)]
struct TypeItem {
    #[prost(string, repeated, tag = "1")]
    value: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ItemsItem {
    #[prost(message, repeated, tag = "1")]
    schema: Vec<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct Paths {
    #[prost(message, repeated, tag = "2")]
    path: Vec<NamedPathItem>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedPathItem {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<PathItem>,
}

#[derive(Clone, PartialEq, Message)]
struct PathItem {
    #[prost(message, optional, tag = "2")]
    get: Option<Operation>,
    #[prost(message, optional, tag = "3")]
    put: Option<Operation>,
    #[prost(message, optional, tag = "4")]
    post: Option<Operation>,
    #[prost(message, optional, tag = "5")]
    delete: Option<Operation>,
    #[prost(message, optional, tag = "8")]
    patch: Option<Operation>,
    #[prost(message, repeated, tag = "9")]
    parameters: Vec<ParametersItem>,
}

#[derive(Clone, PartialEq, Message)]
struct Operation {
    #[prost(string, tag = "5")]
    operation_id: String,
    #[prost(string, repeated, tag = "6")]
    produces: Vec<String>,
    #[prost(string, repeated, tag = "7")]
    consumes: Vec<String>,
    #[prost(message, repeated, tag = "8")]
    parameters: Vec<ParametersItem>,
    #[prost(message, repeated, tag = "13")]
    vendor_extension: Vec<NamedAny>,
}

#[derive(Clone, PartialEq, Message)]
struct ParametersItem {
    #[prost(message, optional, tag = "1")]
    parameter: Option<Parameter>,
}

#[derive(Clone, PartialEq, Message)]
struct Parameter {
    #[prost(oneof = "parameter::Kind", tags = "1, 2")]
    kind: Option<parameter::Kind>,
}

mod parameter {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(super) enum Kind {
        #[prost(message, tag = "1")]
        Body(Box<super::BodyParameter>),
        #[prost(message, tag = "2")]
        NonBody(super::NonBodyParameter),
    }
}

#[derive(Clone, PartialEq, Message)]
struct BodyParameter {
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    place: String,
    #[prost(bool, tag = "4")]
    required: bool,
    #[prost(message, optional, tag = "5")]
    schema: Option<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct NonBodyParameter {
    #[prost(oneof = "non_body_parameter::Kind", tags = "3, 4")]
    kind: Option<non_body_parameter::Kind>,
}

mod non_body_parameter {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(super) enum Kind {
        #[prost(message, tag = "3")]
        Query(super::QueryParameter),
        #[prost(message, tag = "4")]
        Path(super::PathParameter),
    }
}

#[derive(Clone, PartialEq, Message)]
struct QueryParameter {
    #[prost(bool, tag = "1")]
    required: bool,
    #[prost(string, tag = "2")]
    place: String,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(string, tag = "6")]
    kind: String,
}

#[derive(Clone, PartialEq, Message)]
struct PathParameter {
    #[prost(bool, tag = "1")]
    required: bool,
    #[prost(string, tag = "2")]
    place: String,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(string, tag = "5")]
    kind: String,
}
