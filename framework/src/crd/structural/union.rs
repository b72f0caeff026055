//! Variants of enums.
//!
//! A structural schema has the fields of all variants in one object. Branches beside it say which fields belong together;
//! they only require and compare fields.

use serde_json::{Map, Value, json};

use super::{INT_OR_STRING, PRESERVE, SchemaProblem, flag};

type Node = Map<String, Value>;

/// Joins the structural schemas of the variants, `branches`, with `outer`, which holds for all of them.
pub(super) fn any(
    mut outer: Node,
    branches: Vec<Node>,
    exactly_one: bool,
    path: &str,
) -> Result<Node, SchemaProblem> {
    let mut types: Vec<String> = branches
        .iter()
        .chain(outer.contains_key("properties").then_some(&outer))
        .map(|branch| json_type(branch).to_owned())
        .collect();
    types.sort_unstable();
    types.dedup();
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    match types.as_slice() {
        ["object"] => objects(outer, branches, exactly_one, path),
        ["string"] if branches.iter().all(|branch| branch.contains_key("enum")) => {
            strings(&mut outer, branches);
            Ok(outer)
        }
        [] => Ok(outer),
        [one @ ("string" | "boolean" | "integer" | "number")] => {
            // Variants of one scalar type. Their bounds are dropped, because no branch can say to which variant they belong.
            outer.entry("type").or_insert((*one).into());
            Ok(outer)
        }
        ["integer", "string"] | ["int-or-string"] => {
            outer.insert(INT_OR_STRING.into(), true.into());
            Ok(outer)
        }
        several => Err(SchemaProblem::new(
            path,
            format!(
                "the variants have the types {}: Kubernetes allows one type for a field (or an integer and a string): write a struct with a field for each variant, or take any value with `#[schema(with = \"serde_json::Value\")]`",
                several.join(" and ")
            ),
        )),
    }
}

/// Joins two schemas that must both hold.
pub(super) fn all(mut one: Node, mut other: Node, path: &str) -> Result<Node, SchemaProblem> {
    let properties = take_properties(&mut other);
    let required = take_required(&mut other);
    for (name, property) in properties {
        insert(&mut one, &name, property, path)?;
    }
    require(&mut one, required);
    if let Some(Value::Array(more)) = other.remove("allOf") {
        let conditions = one.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(conditions) = conditions {
            conditions.extend(more);
        }
    }
    for (key, value) in other {
        one.entry(key).or_insert(value);
    }
    Ok(one)
}

fn json_type(node: &Node) -> &str {
    if flag(node, INT_OR_STRING) {
        return "int-or-string";
    }
    node.get("type")
        .and_then(Value::as_str)
        .unwrap_or("anything")
}

/// Makes `outer` a string enum. The doc comments of the variants become part of its description.
fn strings(outer: &mut Node, branches: Vec<Node>) {
    let mut values = Vec::new();
    let mut lines = Vec::new();
    for mut branch in branches {
        let description = branch.remove("description");
        if let Some(Value::Array(names)) = branch.remove("enum") {
            if let (Some(Value::String(text)), [Value::String(name), ..]) =
                (&description, &names[..])
            {
                lines.push(format!("- {name}: {text}"));
            }
            values.extend(names);
        }
    }
    add_lines(outer, &lines);
    outer.insert("type".into(), "string".into());
    outer.insert("enum".into(), Value::Array(values));
}

/// Adds lines about the values of a string to its description.
fn add_lines(node: &mut Node, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let lines = lines.join("\n");
    let text = match node.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text}\n\n{lines}"),
        None => lines,
    };
    node.insert("description".into(), text.into());
}

/// Where the doc comment of a variant stands in the schema.
enum Described {
    /// Beside the value of the tag.
    Tag(String, String),
    /// On the only field of the variant's object.
    Field(String),
    /// Nowhere: serde writes no name of the variant.
    Nowhere,
}

impl Described {
    fn of(properties: &Node) -> Self {
        let tag = properties.iter().find_map(|(name, property)| {
            match property.get("enum")?.as_array()?.as_slice() {
                [Value::String(value)] => Some(Self::Tag(name.clone(), value.clone())),
                _ => None,
            }
        });
        tag.unwrap_or_else(|| {
            let mut names = properties.keys();
            match (names.next(), names.next()) {
                (Some(only), None) => Self::Field(only.clone()),
                _ => Self::Nowhere,
            }
        })
    }
}

fn objects(
    mut outer: Node,
    branches: Vec<Node>,
    exactly_one: bool,
    path: &str,
) -> Result<Node, SchemaProblem> {
    outer.insert("type".into(), "object".into());
    let count = branches.len();
    let mut parts: Vec<(Map<String, Value>, Vec<String>)> = Vec::with_capacity(count);
    let mut of_tags: Vec<(String, String)> = Vec::new();
    for mut branch in branches {
        let mut properties = take_properties(&mut branch);
        if let Some(Value::String(text)) = branch.remove("description") {
            match Described::of(&properties) {
                Described::Tag(tag, value) => of_tags.push((tag, format!("- {value}: {text}"))),
                Described::Field(name) => properties[&name]["description"] = text.into(),
                Described::Nowhere => {}
            }
        }
        parts.push((properties, take_required(&mut branch)));
        rest(&mut outer, &branch, path)?;
    }
    let required_by_all: Vec<String> = match parts.split_first() {
        Some(((_, first), rest)) => first
            .iter()
            .filter(|name| rest.iter().all(|(_, required)| required.contains(name)))
            .cloned()
            .collect(),
        None => Vec::new(),
    };
    let names: Vec<String> = parts
        .iter()
        .flat_map(|(properties, _)| properties.keys().cloned())
        .collect();
    for (properties, _) in &parts {
        for (name, mut property) in properties.clone() {
            // The server would set the default for every variant.
            let everywhere = names.iter().filter(|other| **other == name).count() == count;
            if !everywhere && let Value::Object(property) = &mut property {
                property.remove("default");
            }
            insert(&mut outer, &name, property, path)?;
        }
    }
    if let Some(Value::Object(properties)) = outer.get_mut("properties") {
        for (name, property) in properties {
            let lines = of_tags.iter().filter(|(tag, _)| tag == name);
            let lines: Vec<String> = lines.map(|(_, line)| line.clone()).collect();
            if let Value::Object(property) = property {
                add_lines(property, &lines);
            }
        }
    }
    let mut conditions = Vec::with_capacity(count);
    for (properties, required) in &parts {
        let mut condition = Node::new();
        let required: Vec<&String> = required
            .iter()
            .filter(|name| !required_by_all.contains(name))
            .collect();
        if !required.is_empty() {
            condition.insert("required".into(), json!(required));
        }
        // A tag is a required string that has another value in each branch.
        let is_tag = |name: &String, property: &Value| {
            required_by_all.contains(name) && property.get("enum").is_some()
        };
        let inner: Node = properties
            .iter()
            .filter_map(|(name, property)| {
                let demanded = match is_tag(name, property) {
                    true => Some(json!({"enum": property["enum"]})),
                    false => demanded(property, &outer["properties"][name]),
                };
                Some((name.clone(), demanded?))
            })
            .collect();
        if !inner.is_empty() {
            condition.insert("properties".into(), Value::Object(inner));
        }
        conditions.push(Value::Object(condition));
    }
    require(&mut outer, required_by_all);
    // A branch without conditions would allow everything, so the branches would have no effect.
    let says_something = conditions
        .iter()
        .all(|condition| condition.as_object().is_some_and(|map| !map.is_empty()));
    if says_something && count > 1 {
        let key = if exactly_one { "oneOf" } else { "anyOf" };
        outer.insert(key.into(), Value::Array(conditions));
    }
    Ok(outer)
}

/// What a variant demands of a field, and the field of all variants together does not: parts of it, and values of an enum.
fn demanded(of_variant: &Value, of_all: &Value) -> Option<Value> {
    let mut condition = Node::new();
    let is_required = |name: &&Value| {
        let required = of_all["required"].as_array();
        required.is_some_and(|required| required.contains(name))
    };
    let required = of_variant["required"].as_array().into_iter().flatten();
    let required: Vec<&Value> = required.filter(|name| !is_required(name)).collect();
    if !required.is_empty() {
        condition.insert("required".into(), json!(required));
    }
    if of_variant["enum"].is_array() && of_variant["enum"] != of_all["enum"] {
        condition.insert("enum".into(), of_variant["enum"].clone());
    }
    let inner = of_variant["properties"].as_object().into_iter().flatten();
    let inner: Node = inner
        .filter_map(|(name, inner)| {
            let demanded = demanded(inner, &of_all["properties"][name])?;
            Some((name.clone(), demanded))
        })
        .collect();
    if !inner.is_empty() {
        condition.insert("properties".into(), inner.into());
    }
    (!condition.is_empty()).then(|| condition.into())
}

/// Handles the keys of a variant other than its fields.
fn rest(outer: &mut Node, branch: &Node, path: &str) -> Result<(), SchemaProblem> {
    if branch.contains_key("x-kubernetes-validations") {
        return Err(SchemaProblem::new(
            path,
            "a rule on the type of one variant would apply to all variants: write it on the enum, as `!has(self.field) || …`",
        ));
    }
    if branch.contains_key("allOf") {
        return Err(SchemaProblem::new(
            path,
            "a field of one variant has an alias, and the schema has the fields of all variants in one object: write a field of its own for the older name",
        ));
    }
    if branch.contains_key("additionalProperties") {
        return Err(SchemaProblem::new(
            path,
            "a variant that is a map would allow every key in the other variants too: move the map into a field",
        ));
    }
    if flag(branch, PRESERVE) {
        outer.insert(PRESERVE.into(), true.into());
    }
    Ok(())
}

fn take_properties(node: &mut Node) -> Map<String, Value> {
    match node.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    }
}

fn take_required(node: &mut Node) -> Vec<String> {
    match node.remove("required") {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}

fn require(node: &mut Node, names: Vec<String>) {
    let mut required = take_required(node);
    required.extend(names);
    required.sort_unstable();
    required.dedup();
    if !required.is_empty() {
        node.insert("required".into(), json!(required));
    }
}

/// Adds a property. If there is one of this name already, both must have the same type.
fn insert(node: &mut Node, name: &str, property: Value, path: &str) -> Result<(), SchemaProblem> {
    let properties = node
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(properties) = properties else {
        return Ok(());
    };
    let Some(present) = properties.get_mut(name) else {
        properties.insert(name.to_owned(), property);
        return Ok(());
    };
    let place = format!("{path}.{name}");
    let (Value::Object(present), Value::Object(property)) = (present, property) else {
        return Ok(());
    };
    join(present, property, &place)
}

fn join(present: &mut Node, mut property: Node, place: &str) -> Result<(), SchemaProblem> {
    let conflict = || {
        SchemaProblem::new(
            place,
            "two variants have a field of this name with different types: give both the same type, or rename one",
        )
    };
    if json_type(present) != json_type(&property) {
        return Err(conflict());
    }
    let is_object = json_type(present) == "object" && property.contains_key("properties");
    match (present.get_mut("enum"), property.remove("enum")) {
        (Some(Value::Array(values)), Some(Value::Array(more))) => {
            values.extend(more);
            let mut seen = Vec::new();
            values.retain(|value| {
                let new = !seen.contains(value);
                seen.push(value.clone());
                new
            });
            Ok(())
        }
        (Some(_), None) => {
            present.remove("enum");
            Ok(())
        }
        (None, Some(_)) => Ok(()),
        _ if is_object => {
            // No branch can say to which variant a condition belongs.
            for key in ["allOf", "anyOf", "oneOf", "not"] {
                if present.get(key) != property.get(key) {
                    present.remove(key);
                }
            }
            let required = take_required(&mut property);
            let both: Vec<String> = take_required(present)
                .into_iter()
                .filter(|name| required.contains(name))
                .collect();
            for (name, inner) in take_properties(&mut property) {
                insert(present, &name, inner, place)?;
            }
            require(present, both);
            Ok(())
        }
        _ => {
            let (one, other) = (without_prose(present), without_prose(&property));
            if one == other {
                Ok(())
            } else {
                Err(conflict())
            }
        }
    }
}

fn without_prose(node: &Node) -> Node {
    node.iter()
        .filter(|(key, _)| {
            !matches!(key.as_str(), "description" | "default" | "example")
                && !key.starts_with("x-pilothouse-")
        })
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
