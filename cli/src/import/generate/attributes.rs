//! `#[schema(..)]` for what the operator is going to define itself.

use serde_json::Value;

use super::{
    definition::Version,
    schema::{flag, names_on, text, texts},
    types::{Field, Slot, Type},
};

/// The formats that a text may have in a definition.
const FORMATS: &[&str] = &[
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
];

const REASONS: &[&str] = &[
    "FieldValueInvalid",
    "FieldValueForbidden",
    "FieldValueRequired",
    "FieldValueDuplicate",
];

/// A text as a literal of Rust.
pub(super) fn literal(text: &str) -> String {
    format!("{text:?}")
}

fn list(name: &str, values: &[&str]) -> String {
    let values: Vec<String> = values.iter().map(|value| literal(value)).collect();
    format!("{name}({})", values.join(", "))
}

/// What a field says beside its type. `path` has the names of the fields that lead to it, if it has one value.
pub(super) fn of_field(
    field: &Field<'_>,
    path: Option<&[String]>,
    version: &Version,
) -> Vec<String> {
    let mut all = of_value(&field.ty, field.schema);
    if field.nullable && !matches!(field.ty, Type::Item(_) if field.schema["enum"].is_array()) {
        all.push("nullable".into());
    }
    if let Some(path) = path {
        all.extend(of_path(field, path, version));
    }
    all
}

/// What the schema says about a value beside its type, and about the values in it.
fn of_value(ty: &Type, schema: &Value) -> Vec<String> {
    let mut all = Vec::new();
    match ty {
        Type::Int32 | Type::Int64 | Type::Number => all.extend(numbers(schema, ty)),
        Type::Text => {
            all.extend(texts_of(schema));
            let format = text(schema, "format");
            if FORMATS.contains(&format) {
                all.push(format!("format = {}", literal(format)));
            }
        }
        Type::IntOrString | Type::Quantity => {
            all.extend(numbers(schema, ty));
            all.extend(texts_of(schema));
        }
        Type::List(slot) => {
            all.extend(counts(schema, &["minItems", "maxItems"]));
            let list_type = text(schema, "x-kubernetes-list-type");
            if ["map", "set", "atomic"].contains(&list_type) {
                all.push(format!("list_type = {}", literal(list_type)));
            }
            let keys = texts(schema, "x-kubernetes-list-map-keys");
            if list_type == "map" && !keys.is_empty() {
                all.push(list("list_map_keys", &keys));
            }
            all.extend(of_values("items", slot, &schema["items"]));
        }
        Type::Map(slot) => {
            all.extend(counts(schema, &["minProperties", "maxProperties"]));
            let values = &schema["additionalProperties"];
            all.extend(of_values("additional_properties", slot, values));
        }
        Type::AnyObject => all.extend(counts(schema, &["minProperties", "maxProperties"])),
        Type::Item(_) if schema["type"] != "string" => {
            all.extend(counts(schema, &["minProperties", "maxProperties"]));
        }
        _ => {}
    }
    if text(schema, "x-kubernetes-map-type") == "atomic"
        && matches!(ty, Type::Map(_) | Type::AnyObject | Type::Item(_))
    {
        all.push("map_type = \"atomic\"".into());
    }
    if flag(schema, "x-kubernetes-embedded-resource") {
        all.push("embedded_resource".into());
    }
    // The rules of a struct stand on its type.
    if !matches!(ty, Type::Item(_)) || schema["type"] == "string" {
        all.extend(rules(schema));
    }
    all
}

/// What holds for each value of a list or of a map.
fn of_values(attribute: &str, slot: &Slot, schema: &Value) -> Option<String> {
    let all = of_value(&slot.ty, schema);
    (!all.is_empty()).then(|| format!("{attribute}({})", all.join(", ")))
}

/// The parts of the schema of a value that `#[schema(..)]` cannot say, of the values in it too, each once.
pub(super) fn left_out(ty: &Type, schema: &Value) -> Vec<&'static str> {
    let mut all = Vec::new();
    let is_either = |branches: &Value| {
        let types: Vec<&str> = branches
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| text(one, "type"))
            .collect();
        types == ["integer", "string"]
    };
    for key in ["allOf", "anyOf", "oneOf", "not"] {
        let is_known = matches!(ty, Type::IntOrString | Type::Quantity) && is_either(&schema[key]);
        // The generated type takes nothing over from a value of any type. A comment says so.
        if !schema[key].is_null() && !is_known && !matches!(ty, Type::Any(_)) {
            all.push(key);
        }
    }
    let inner = match ty {
        Type::List(slot) => Some((slot, &schema["items"])),
        Type::Map(slot) => Some((slot, &schema["additionalProperties"])),
        _ => None,
    };
    if let Some((slot, values)) = inner {
        if !values["default"].is_null() {
            all.push("default");
        }
        if schemars_enum(&slot.ty, values).is_some() {
            all.push("enum");
        }
        all.extend(left_out(&slot.ty, values));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The values of an enum of numbers, booleans, or numbers and texts. One of texts is a type of its own.
pub(super) fn schemars_enum<'a>(ty: &Type, schema: &'a Value) -> Option<&'a Value> {
    let is_scalar = matches!(
        ty,
        Type::Boolean
            | Type::Int32
            | Type::Int64
            | Type::Number
            | Type::Text
            | Type::IntOrString
            | Type::Quantity
    );
    let values = &schema["enum"];
    (is_scalar && values.is_array()).then_some(values)
}

/// The parts of subresources and selectors that the field at this path is.
fn of_path(field: &Field<'_>, path: &[String], version: &Version) -> Vec<String> {
    let mut all = Vec::new();
    let is_here = |one: &str| names_on(one).is_some_and(|names| names == path);
    if version.selectable.iter().any(|one| is_here(one)) {
        all.push("selectable".into());
    }
    let scale = &version.scale;
    for (key, part) in [
        ("specReplicasPath", "spec"),
        ("statusReplicasPath", "status"),
        ("labelSelectorPath", "selector"),
    ] {
        let fits = matches!(
            (&field.ty, part),
            (Type::Text, "selector") | (Type::Int32 | Type::Int64, "spec" | "status")
        );
        if is_here(text(scale, key)) && fits {
            all.push(format!("scale = {}", literal(part)));
        }
    }
    all
}

fn numbers(schema: &Value, ty: &Type) -> Vec<String> {
    let mut all = Vec::new();
    let bounds = [
        ("minimum", "exclusiveMinimum", "exclusive_minimum"),
        ("maximum", "exclusiveMaximum", "exclusive_maximum"),
        ("multipleOf", "", "multiple_of"),
    ];
    for (key, exclusive, name) in bounds {
        let name = match key {
            "multipleOf" => name,
            key if !flag(schema, exclusive) => key,
            _ => name,
        };
        let number = match ty {
            Type::Int32 => whole(&schema[key])
                .filter(|number| i32::try_from(*number).is_ok())
                .map(|number| number.to_string()),
            Type::Int64 => whole(&schema[key]).map(integer),
            Type::IntOrString | Type::Quantity => match whole(&schema[key]) {
                Some(number) => Some(integer(number)),
                None => schema[key].as_f64().map(|number| format!("{number:?}")),
            },
            _ => schema[key].as_f64().map(|number| format!("{number:?}")),
        };
        all.extend(number.map(|number| format!("{name} = {number}")));
    }
    all
}

/// The number as a literal of Rust, which has 32 bits unless it says more.
fn integer(number: i64) -> String {
    match i32::try_from(number) {
        Ok(number) => number.to_string(),
        Err(_) => format!("{number}_i64"),
    }
}

/// The value as `serde_json::json!` takes it.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::Number(number) => number.as_i64().map_or_else(|| number.to_string(), integer),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(json).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| format!("{}: {}", literal(name), json(value));
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::String(text) => literal(text),
        other => other.to_string(),
    }
}

/// The number, if it is a whole one: `5` and `5.0`.
fn whole(value: &Value) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the fraction and the size were looked at"
    )]
    let of_float = |number: f64| {
        (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then_some(number as i64)
    };
    value.as_i64().or_else(|| value.as_f64().and_then(of_float))
}

fn counts(schema: &Value, keys: &[&str]) -> Vec<String> {
    let count = |key: &&str| {
        let count = u32::try_from(whole(&schema[*key])?).ok()?;
        let name = key.replacen("Length", "_length", 1);
        let name = name.replacen("Items", "_items", 1);
        let name = name.replacen("Properties", "_properties", 1);
        Some(format!("{name} = {count}"))
    };
    keys.iter().filter_map(count).collect()
}

/// The bounds of a text, apart from its format.
fn texts_of(schema: &Value) -> Vec<String> {
    let mut all = counts(schema, &["minLength", "maxLength"]);
    let pattern = schema["pattern"].as_str();
    all.extend(pattern.map(|pattern| format!("pattern = {}", literal(pattern))));
    all
}

/// The CEL rules.
pub(super) fn rules(schema: &Value) -> Vec<String> {
    let rules = schema["x-kubernetes-validations"].as_array();
    let rules = rules.into_iter().flatten().filter_map(|one| {
        let rule = text(one, "rule").trim();
        if rule.is_empty() {
            return None;
        }
        let message = text(one, "message");
        let message = match message.trim().is_empty() {
            true => format!("failed rule: {rule}"),
            false => message.to_owned(),
        };
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut parts = vec![literal(rule), literal(&message)];
        let reason = text(one, "reason");
        if REASONS.contains(&reason) {
            parts.push(format!("reason = {}", literal(reason)));
        }
        for (key, name) in [
            ("fieldPath", "field_path"),
            ("messageExpression", "message_expression"),
        ] {
            let value = text(one, key).trim();
            if !value.is_empty() {
                parts.push(format!("{name} = {}", literal(value)));
            }
        }
        if flag(one, "optionalOldSelf") {
            parts.push("optional_old_self".into());
        }
        Some(format!("rule({})", parts.join(", ")))
    });
    rules.collect()
}

/// The columns of `kubectl get`. The derive adds the age.
pub(super) fn columns(version: &Version) -> Vec<String> {
    let columns = version.columns.iter().filter_map(|column| {
        let path = text(column, "jsonPath");
        if path == ".metadata.creationTimestamp" || path.is_empty() || is_age(column) {
            return None;
        }
        let mut parts = Vec::new();
        for (name, key) in [
            ("name", "name"),
            ("json_path", "jsonPath"),
            ("type", "type"),
        ] {
            parts.push(format!("{name} = {}", literal(text(column, key))));
        }
        for key in ["format", "description"] {
            let value = text(column, key);
            if !value.is_empty() {
                parts.push(format!("{key} = {}", literal(value)));
            }
        }
        if let Some(priority) = column["priority"].as_i64().filter(|one| *one != 0) {
            parts.push(format!("priority = {priority}"));
        }
        Some(format!("column({})", parts.join(", ")))
    });
    columns.collect()
}

/// Whether the column has the name of the one that the derive adds.
fn is_age(column: &Value) -> bool {
    text(column, "name") == "Age"
}

/// The columns that cannot stand beside the one that the derive adds.
pub(super) fn second_columns(version: &Version) -> Vec<String> {
    let columns = version.columns.iter().filter(|column| {
        is_age(column) && text(column, "jsonPath") != ".metadata.creationTimestamp"
    });
    let shown = |column: &Value| {
        let path = text(column, "jsonPath");
        format!("the column `Age` of `{path}`, whose name the column of the creation time has,")
    };
    columns.map(shown).collect()
}
