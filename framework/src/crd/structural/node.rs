use serde_json::{Map, Value, json};

use super::{
    INT_OR_STRING, PRESERVE, REWRITTEN, SchemaProblem, alias, default, flag, number, union,
};

/// Keys of JSON Schema that a structural schema does not have.
const DROPPED: [&str; 16] = [
    "$schema",
    "$id",
    "$defs",
    "$comment",
    "definitions",
    "title",
    "readOnly",
    "writeOnly",
    "deprecated",
    "contentEncoding",
    "contentMediaType",
    "unevaluatedProperties",
    "propertyNames",
    "uniqueItems",
    "examples",
    "const",
];

/// Formats that the API server knows (k8s.io/apiextensions-apiserver, `supportedFormats`).
const FORMATS: [&str; 28] = [
    "int32",
    "int64",
    "float",
    "double",
    "bsonobjectid",
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
    "date-time",
    "duration",
];

/// What the attributes of a list or of a map say about the values in it: the key of their schema, the key of the attribute, and why it does not fit.
const OF_VALUES: [(&str, &str, &str); 2] = [
    (
        "items",
        "x-pilothouse-items",
        "`items` applies to lists, and the type of this field is no list: remove it",
    ),
    (
        "additionalProperties",
        "x-pilothouse-additional-properties",
        "`additional_properties` applies to maps, and the type of this field is no map: remove it",
    ),
];

/// Rewrites a schema, which is at `path` of an object, into its structural form, and all schemas in it.
///
/// # Errors
///
/// Returns a [`SchemaProblem`] for the first place that has no structural form.
pub(in crate::crd) fn rewrite(
    schema: Value,
    path: &str,
) -> Result<Map<String, Value>, SchemaProblem> {
    let mut map = match schema {
        Value::Bool(true) => Map::new(),
        Value::Object(map) => map,
        _ => {
            return Err(SchemaProblem::new(
                path,
                "the schema allows no value at all",
            ));
        }
    };
    if map.contains_key(REWRITTEN) {
        // A list may say more about its items since then.
        join_rules(&mut map);
        number::translate(&mut map);
        return Ok(map);
    }
    if map.contains_key("$ref") {
        return Err(SchemaProblem::new(
            path,
            "the type contains itself, and Kubernetes schemas have no references: end the recursion with a field `#[schema(with = \"serde_json::Value\")]`",
        ));
    }
    let unique = map.get("uniqueItems") == Some(&Value::Bool(true));
    if let Some(only) = map.remove("const") {
        let older = match map.remove(alias::NAMES) {
            Some(Value::Array(older)) => older,
            _ => Vec::new(),
        };
        let names: Vec<Value> = std::iter::once(only).chain(older).collect();
        map.insert("enum".into(), names.into());
    }
    if let Some(Value::Array(examples)) = map.remove("examples") {
        examples
            .into_iter()
            .next()
            .map(|example| map.insert("example".into(), example));
    }
    for key in DROPPED {
        map.remove(key);
    }
    trim_description(&mut map);
    one_type(&mut map, path)?;
    let mut map = combine(map, path)?;
    join_rules(&mut map);
    if flag(&map, INT_OR_STRING) {
        // Bounds of numbers hold for those values that are numbers, and those of texts for texts.
        for key in ["type", "format"] {
            map.remove(key);
        }
    }
    number::translate(&mut map);
    let format = map.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| !FORMATS.contains(&format)) {
        map.remove("format");
    }
    if flag(&map, "x-kubernetes-embedded-resource") {
        map.insert("type".into(), "object".into());
        if !map.contains_key("properties") {
            map.insert(PRESERVE.into(), true.into());
        }
    }
    if map.get("type").is_none() && !flag(&map, INT_OR_STRING) {
        if let Some(text) = map.get("enum").and_then(Value::as_array)
            && text.iter().all(Value::is_string)
        {
            map.insert("type".into(), "string".into());
        } else {
            map.insert(PRESERVE.into(), true.into());
        }
    }
    children(&mut map, path)?;
    lists(&mut map, unique);
    default::check(&mut map, path)?;
    map.insert(REWRITTEN.into(), true.into());
    Ok(map)
}

fn trim_description(map: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = text.trim().to_owned();
        if text.is_empty() {
            map.remove("description");
        }
    }
}

/// Joins the CEL rules of a type, of the types flattened into it, and of the field. All of them must hold.
fn join_rules(map: &mut Map<String, Value>) {
    const RULES: &str = "x-kubernetes-validations";
    let keys: Vec<String> = map
        .keys()
        .filter(|key| key.starts_with("x-pilothouse-rules"))
        .cloned()
        .collect();
    for key in keys {
        let more = map.remove(&key);
        let rules = map.entry(RULES).or_insert_with(|| json!([]));
        if let (Value::Array(rules), Some(Value::Array(more))) = (rules, more) {
            rules.extend(more);
        }
    }
}

/// Replaces a list of types by one type. `["string", "null"]` becomes an optional string, and integer with string becomes
/// int-or-string. Any other list of several types is a problem.
fn one_type(map: &mut Map<String, Value>, path: &str) -> Result<(), SchemaProblem> {
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(types)) = map.get("type") else {
        return match map.get("type").and_then(Value::as_str) {
            Some("null") => Err(SchemaProblem::new(
                path,
                "the value is always null, which Kubernetes removes: remove the field",
            )),
            _ => Ok(()),
        };
    };
    let mut types: Vec<&str> = types
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| *name != "null")
        .collect();
    types.sort_unstable();
    match types.as_slice() {
        [one] => {
            let one = Value::from(*one);
            map.insert("type".into(), one);
        }
        ["integer", "string"] => {
            map.remove("type");
            map.insert(INT_OR_STRING.into(), true.into());
        }
        several => {
            let text = format!(
                "the value has one of the types {}: Kubernetes allows one type for a field",
                several.join(", ")
            );
            return Err(SchemaProblem::new(path, text));
        }
    }
    Ok(())
}

/// Whether the branches only say which texts are valid, which a structural schema may leave to its branches.
fn is_validation(outer: &Map<String, Value>, branches: &[Value]) -> bool {
    let is_text = outer.get("type").and_then(Value::as_str) == Some("string");
    let only_validates = |branch: &Value| {
        branch.as_object().is_some_and(|branch| {
            let mut keys = branch.keys();
            keys.all(|key| matches!(key.as_str(), "format" | "pattern"))
        })
    };
    is_text && branches.iter().all(only_validates)
}

/// Resolves `allOf`, `anyOf` and `oneOf`.
fn combine(mut map: Map<String, Value>, path: &str) -> Result<Map<String, Value>, SchemaProblem> {
    for (key, exactly_one) in [("oneOf", true), ("anyOf", false), ("allOf", false)] {
        let Some(Value::Array(branches)) = map.remove(key) else {
            continue;
        };
        if is_validation(&map, &branches) {
            map.insert(key.into(), branches.into());
            continue;
        }
        let mut branches: Vec<Map<String, Value>> = branches
            .into_iter()
            .filter(|branch| branch.get("type").and_then(Value::as_str) != Some("null"))
            .map(|branch| rewrite(branch, path))
            .collect::<Result<_, _>>()?;
        map = if key == "allOf" {
            let mut all = map;
            for branch in branches {
                all = union::all(all, branch, path)?;
            }
            all
        } else if branches.len() == 1 && !map.contains_key("properties") {
            // An `Option` of a type whose schema schemars could not mark as optional.
            let mut one = branches.swap_remove(0);
            one.append(&mut map);
            one
        } else {
            union::any(map, branches, exactly_one, path)?
        };
    }
    Ok(map)
}

fn children(map: &mut Map<String, Value>, path: &str) -> Result<(), SchemaProblem> {
    if map.contains_key("patternProperties") {
        return Err(SchemaProblem::new(
            path,
            "the keys of a Kubernetes map are strings of any form: use `String` as the key type",
        ));
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            let inner = rewrite(property.take(), &format!("{path}.{name}"))?;
            *property = Value::Object(inner);
        }
    }
    alias::expand(map);
    for (key, of_values, misplaced) in OF_VALUES {
        let Some(Value::Object(more)) = map.remove(of_values) else {
            continue;
        };
        match map.get_mut(key) {
            Some(Value::Object(values)) => values.extend(more),
            Some(any @ Value::Bool(true)) => *any = more.into(),
            _ => return Err(SchemaProblem::new(path, misplaced)),
        }
    }
    match map.remove("additionalProperties") {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => {
            map.insert(PRESERVE.into(), true.into());
        }
        Some(_) if map.contains_key("properties") => {
            return Err(SchemaProblem::new(
                path,
                "an object has either fields or keys of any name: move the flattened map into a field of its own",
            ));
        }
        Some(schema) => {
            let has_null = allows_null(&schema);
            let mut inner = rewrite(schema, &format!("{path}{{}}"))?;
            if has_null {
                allow_null(&mut inner, &format!("{path}{{}}"))?;
            }
            map.insert("additionalProperties".into(), Value::Object(inner));
        }
    }
    let is_list = map.get("type").and_then(Value::as_str) == Some("array");
    match map.remove("items") {
        Some(items) if !items.is_array() && !map.contains_key("prefixItems") => {
            let has_null = allows_null(&items);
            let mut inner = rewrite(items, &format!("{path}[]"))?;
            if has_null {
                allow_null(&mut inner, &format!("{path}[]"))?;
            }
            map.insert("items".into(), Value::Object(inner));
        }
        None if !is_list => {}
        _ => {
            return Err(SchemaProblem::new(
                path,
                "Kubernetes has no schema for a list of mixed types: use a struct with named fields",
            ));
        }
    }
    Ok(())
}

/// Whether serde writes null here: an `Option`, or any value. A field may be left out instead, but neither an item of a list
/// nor a value of a map: the server refuses a null in a list and drops one in a map, unless the schema allows it.
fn allows_null(schema: &Value) -> bool {
    let Value::Object(map) = schema else {
        return *schema == Value::Bool(true);
    };
    let has_null = |key: &str, null: &Value| match map.get(key) {
        Some(Value::Array(values)) => values.contains(null),
        _ => false,
    };
    has_null("type", &"null".into())
        || has_null("enum", &Value::Null)
        || has_null("anyOf", &json!({"type": "null"}))
        || has_null("oneOf", &json!({"type": "null"}))
}

/// Allows null at this place.
fn allow_null(map: &mut Map<String, Value>, path: &str) -> Result<(), SchemaProblem> {
    if map.contains_key("enum") {
        return Err(SchemaProblem::new(
            path,
            "an API server refuses null in place of a value of an enum, even if the schema allows it: leave the missing ones out, or add a variant for them",
        ));
    }
    map.insert("nullable".into(), true.into());
    Ok(())
}

/// Adds the list type, which says how field managers share the list: `map` for conditions, `set` for unique scalars.
fn lists(map: &mut Map<String, Value>, unique: bool) {
    const TYPE: &str = "x-kubernetes-list-type";
    let Some(Value::Object(items)) = map.get("items") else {
        return;
    };
    if map.contains_key(TYPE) {
        return;
    }
    let scalar = items
        .get("type")
        .and_then(Value::as_str)
        .is_some_and(|name| !matches!(name, "object" | "array"));
    if is_condition(items) {
        map.insert(TYPE.into(), "map".into());
        map.insert("x-kubernetes-list-map-keys".into(), json!(["type"]));
    } else if unique && scalar {
        map.insert(TYPE.into(), "set".into());
    }
}

/// Whether the schema has exactly the fields of `metav1.Condition`.
fn is_condition(schema: &Map<String, Value>) -> bool {
    const FIELDS: [&str; 6] = [
        "lastTransitionTime",
        "message",
        "observedGeneration",
        "reason",
        "status",
        "type",
    ];
    schema
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|properties| {
            properties.len() == FIELDS.len()
                && FIELDS.iter().all(|field| properties.contains_key(*field))
        })
}
