use serde_json::{Value, json};

use super::{
    BreakingChange,
    definition::KEEP,
    json::{fields, list, lost, text},
};

const STORED: &str =
    "objects that are stored already may not fit: allow what was allowed, or add a version";
const SHARED: &str =
    "appliers that share the value now own other parts of it: keep it, or add a version";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// Limits, and whether a larger value is stricter.
const LIMITS: [(&str, bool); 8] = [
    ("minimum", true),
    ("maximum", false),
    ("minLength", true),
    ("maxLength", false),
    ("minItems", true),
    ("maxItems", false),
    ("minProperties", true),
    ("maxProperties", false),
];

/// Compares two schemas at `path` of the objects of `version`.
pub(super) fn compare(
    version: &str,
    path: &str,
    old: &Value,
    new: &Value,
    found: &mut Vec<BreakingChange>,
) {
    let place = format!("{version} {}", if path.is_empty() { "." } else { path });
    let (before, now) = (form(old), form(new));
    let is_wider = matches!(
        (before, now),
        ("integer", "number") | ("integer" | "string", "integer or string")
    );
    if before != now && now != ANYTHING && !is_wider {
        let problem = format!("the type was {before:?} and is {now:?}");
        found.push(BreakingChange::new(place, problem, KEEP));
        return;
    }
    let mut here = |problem: String, fix| found.push(BreakingChange::new(&place, problem, fix));
    values(old, new, &mut here);
    parts(old, new, &mut here);
    sharing(old, new, &mut here);
    for (field, old) in fields(&old["properties"]) {
        let inner = format!("{path}.{field}");
        match &new["properties"][field] {
            Value::Null if new[PRESERVE] == true => {}
            Value::Null if new["additionalProperties"].is_object() => {
                compare(version, &inner, old, &new["additionalProperties"], found);
            }
            Value::Null => found.push(BreakingChange::new(
                format!("{version} {inner}"),
                "the field is gone, and the API server drops its values",
                KEEP,
            )),
            new => compare(version, &inner, old, new, found),
        }
    }
    for (inner, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
        if old[inner].is_object() && new[inner].is_object() {
            let path = format!("{path}{suffix}");
            compare(version, &path, &old[inner], &new[inner], found);
        }
    }
}

const ANYTHING: &str = "anything";

/// The type of a value.
fn form(schema: &Value) -> &str {
    if schema["x-kubernetes-int-or-string"] == true {
        return "integer or string";
    }
    match &schema["type"] {
        Value::String(name) => name,
        _ => ANYTHING,
    }
}

/// Compares which values are valid.
fn values(old: &Value, new: &Value, found: &mut impl FnMut(String, &'static str)) {
    for (limit, larger_is_stricter) in LIMITS {
        let (before, now) = (old[limit].as_f64(), new[limit].as_f64());
        let is_stricter = now.is_some_and(|now| {
            before.is_none_or(|before| match larger_is_stricter {
                true => now > before,
                false => now < before,
            })
        });
        if is_stricter {
            found(
                format!("`{limit}` is stricter than before: {}", new[limit]),
                STORED,
            );
        }
    }
    for (exclusive, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if new[exclusive] == true && old[exclusive] != true && new[limit] == old[limit] {
            found(
                format!("the {limit} itself is not allowed any more: {}", new[limit]),
                STORED,
            );
        }
    }
    if !new["multipleOf"].is_null() && !is_multiple(&old["multipleOf"], &new["multipleOf"]) {
        found(
            format!("the value must be a multiple of {}", new["multipleOf"]),
            STORED,
        );
    }
    for (key, what) in [("pattern", "pattern"), ("format", "format")] {
        // Each integer is an int64, and each number a double.
        let is_open = key == "format" && matches!(text(&new[key]), "int64" | "double");
        if new[key] != old[key] && !new[key].is_null() && !is_open {
            let problem = match old[key].is_null() {
                true => format!("there is a {what} now: {}", text(&new[key])),
                false => format!("the {what} is another one: {}", text(&new[key])),
            };
            found(problem, STORED);
        }
    }
    if !new["enum"].is_null() {
        if old["enum"].is_null() {
            found("only some values are allowed".into(), STORED);
        }
        for gone in lost(&old["enum"], &new["enum"]) {
            found(format!("the value {gone} is not allowed any more"), STORED);
        }
    }
    if old["nullable"] == true && new["nullable"] != true {
        found("null is not allowed any more".into(), STORED);
    }
    for rule in list(&new["x-kubernetes-validations"]) {
        let text = &rule["rule"];
        let is_known = list(&old["x-kubernetes-validations"])
            .iter()
            .any(|known| known["rule"] == *text);
        // Such a rule decides itself what it demands of a value that was valid before.
        let ratchets = rule["optionalOldSelf"] == true && self::text(text).contains("oldSelf");
        if !is_known && !ratchets {
            found(
                format!("there is a rule that was not there: {text}"),
                "objects that are stored already may not fit: let the rule accept an old value, with `optional_old_self` and `oldSelf`, or add a version",
            );
        }
    }
    for key in ["allOf", "anyOf", "oneOf", "not"] {
        if new[key] != old[key] && !new[key].is_null() && !only_adds_branches(key, old, new) {
            found(
                format!("the conditions in `{key}` are others than before"),
                STORED,
            );
        }
    }
}

/// Whether each multiple of the old value is a multiple of the new one.
fn is_multiple(old: &Value, new: &Value) -> bool {
    match (old.as_f64(), new.as_f64()) {
        (Some(old), Some(new)) => (old / new).fract() == 0.0,
        _ => false,
    }
}

/// Whether the new conditions accept each value that the old ones accepted.
fn only_adds_branches(key: &str, old: &Value, new: &Value) -> bool {
    match key {
        "anyOf" => !old[key].is_null() && lost(&old[key], &new[key]).next().is_none(),
        "allOf" => lost(&new[key], &old[key]).all(|added| is_new_alias(added, old)),
        "oneOf" => {
            let mut added = lost(&new[key], &old[key]);
            !old[key].is_null()
                && lost(&old[key], &new[key]).next().is_none()
                && added.all(|branch| accepts_no_old_value(branch, old))
        }
        _ => false,
    }
}

/// Whether it is the condition of a field's older names, which `alias` writes, and old objects fulfil it: at most one of the names was known.
fn is_new_alias(condition: &Value, old: &Value) -> bool {
    let branches = condition["oneOf"].as_array().into_iter().flatten();
    let (names, none): (Vec<&Value>, Vec<&Value>) =
        branches.partition(|branch| branch["not"].is_null());
    let is_name = |branch: &&Value| {
        let alone = branch.as_object().is_some_and(|keys| keys.len() == 1);
        let required = branch["required"].as_array();
        alone && required.is_some_and(|required| required.len() == 1)
    };
    let is_none = |branch: &&Value| **branch == json!({"not": {"anyOf": names}});
    if names.is_empty() || !names.iter().all(is_name) || !none.iter().all(is_none) {
        return false;
    }
    let known = names.iter().map(|branch| &branch["required"][0]);
    let known: Vec<&Value> = known
        .filter(|name| !old["properties"][text(name)].is_null())
        .collect();
    let is_required = |name| {
        let required = old["required"].as_array().into_iter().flatten();
        required.into_iter().any(|one| one == name)
    };
    match known[..] {
        [] => !none.is_empty(),
        [name] => !none.is_empty() || is_required(name),
        _ => false,
    }
}

/// Whether a branch demands a field, or the value of a field, that the old schema does not have.
fn accepts_no_old_value(branch: &Value, old: &Value) -> bool {
    let is_new_field = |field: &Value| old["properties"][text(field)].is_null();
    let has_new_values = |(field, demanded): (&String, &Value)| {
        let (demanded, before) = (&demanded["enum"], &old["properties"][field]["enum"]);
        let demanded = list(demanded);
        !demanded.is_empty()
            && !before.is_null()
            && demanded.iter().all(|value| !list(before).contains(value))
    };
    list(&branch["required"]).iter().any(is_new_field)
        || fields(&branch["properties"]).any(has_new_values)
}

/// Compares which parts a value has and must have.
fn parts(old: &Value, new: &Value, found: &mut impl FnMut(String, &'static str)) {
    for field in list(&new["required"]) {
        let is_given = !new["properties"][text(field)]["default"].is_null();
        if !list(&old["required"]).contains(field) && !is_given {
            let problem = format!("the field `{}` is required now", text(field));
            found(problem, "give it a default, or make it optional");
        }
    }
    if old["default"] != new["default"] && !old["default"].is_null() {
        let problem = match new["default"].is_null() {
            true => format!("there is no default any more; it was {}", old["default"]),
            false => format!(
                "the default was {} and is {}",
                old["default"], new["default"]
            ),
        };
        found(
            problem,
            "objects that rely on the default change: keep it, or add a version",
        );
    }
    let keeps_any = |schema: &Value| schema[PRESERVE] == true;
    let has_any_name = |schema: &Value| schema["additionalProperties"].is_object();
    let drops = "keep it, because the API server drops fields that the schema does not have";
    if keeps_any(old) && !keeps_any(new) {
        found("unknown fields are not kept any more".into(), drops);
    }
    if has_any_name(old) && !has_any_name(new) && !keeps_any(new) {
        found("keys of any name are not kept any more".into(), drops);
    }
    const EMBEDDED: &str = "x-kubernetes-embedded-resource";
    if new[EMBEDDED] == true && old[EMBEDDED] != true {
        let problem = "the value must be an object with `apiVersion`, `kind` and `metadata`";
        found(problem.into(), STORED);
    }
}

/// Compares how appliers share the value.
fn sharing(old: &Value, new: &Value, found: &mut impl FnMut(String, &'static str)) {
    for (key, what, usual) in [
        ("x-kubernetes-list-type", "the list type", "atomic"),
        ("x-kubernetes-map-type", "the map type", "granular"),
    ] {
        let shown = |schema: &Value| schema[key].as_str().unwrap_or(usual).to_owned();
        let (before, now) = (shown(old), shown(new));
        if before != now {
            found(format!("{what} was {before} and is {now}"), SHARED);
        }
    }
    let key = "x-kubernetes-list-map-keys";
    if !old[key].is_null() && !new[key].is_null() && old[key] != new[key] {
        found("the items of the list have other keys".into(), SHARED);
    }
}
