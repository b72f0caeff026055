use std::borrow::Cow;

use serde_json::Value;

use crate::registry::ServedKind;
use crate::schema::Schema;

/// A field selector: every term must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
    /// The schema of custom resources: fields are selected with the defaults that a reader sees.
    custom: Option<Schema>,
}

#[derive(Clone, Debug)]
struct Term {
    field: String,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Reads a selector over the fields of a kind.
    ///
    /// # Errors
    /// The text of the API server if the selector is malformed or a field cannot be selected.
    pub(crate) fn parse(text: &str, kind: &ServedKind) -> Result<Self, String> {
        let mut terms = Vec::new();
        for (field, equal, value) in read(text)? {
            let field = match (&*kind.group, field.strip_prefix("regarding.")) {
                // Events are stored in their core form, which has another name for the object.
                ("events.k8s.io", Some(rest)) => {
                    built_in(&format!("involvedObject.{rest}"), "", "events")?.to_owned()
                }
                ("events.k8s.io", None) if field == "reportingController" => {
                    "reportingComponent".to_owned()
                }
                ("events.k8s.io", None) if field == "reason" || field == "type" => field.to_owned(),
                _ if kind.is_custom() => custom(field, kind)?.to_owned(),
                _ => built_in(field, &kind.group, &kind.plural)?.to_owned(),
            };
            terms.push(Term {
                field,
                equal,
                value,
            });
        }
        let is_custom = kind.is_custom() && !terms.is_empty();
        let custom = is_custom.then(|| kind.structural());
        Ok(Self { terms, custom })
    }

    /// Whether the text is a selector, of whichever fields.
    pub(crate) fn is_well_formed(text: &str) -> bool {
        read(text).is_ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value that a field must have; `None` if no term says so.
    pub(crate) fn required(&self, field: &str) -> Option<&str> {
        let mut terms = self.terms.iter();
        let term = terms.find(|term| term.equal && term.field == field)?;
        Some(&term.value)
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let Some(schema) = &self.custom else {
            return self.hold(|field| text(object, field));
        };
        let filled = (!schema.has_all_defaults(object)).then(|| {
            let mut filled = object.clone();
            schema.apply_defaults(&mut filled);
            filled
        });
        let object = filled.as_ref().unwrap_or(object);
        self.hold(|field| value(object, field).unwrap_or_default())
    }

    /// The paths of the fields that it looks at. `None` if defaults are filled in first.
    pub(super) fn paths(&self) -> Option<Vec<&str>> {
        let paths = self.terms.iter().flat_map(|term| match &*term.field {
            "source" => vec!["source.component", "reportingComponent"],
            field => vec![field],
        });
        self.custom.is_none().then(|| paths.collect())
    }

    fn hold<'a>(&self, text: impl Fn(&str) -> Cow<'a, str>) -> bool {
        let mut terms = self.terms.iter();
        terms.all(|term| (text(&term.field) == term.value) == term.equal)
    }
}

/// The terms of a selector: field, whether it must be equal, and value.
///
/// # Errors
/// The text of the API server if the selector is malformed. It is about the first wrong term in the order of their texts.
fn read(text: &str) -> Result<Vec<(&str, bool, String)>, String> {
    let mut parts = split(text);
    parts.sort_unstable();
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let term = |part| {
        let wrong = || format!("invalid selector: '{text}'; can't understand '{part}'");
        let (field, equal, value) = operator(part).ok_or_else(wrong)?;
        Ok((field, equal, unescape(value)?))
    };
    parts.map(term).collect()
}

/// The parts between commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|letter| {
        let ends = letter == ',' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    })
    .collect()
}

fn operator(part: &str) -> Option<(&str, bool, &str)> {
    let (field, value) = part.split_once('=')?;
    if let Some(field) = field.strip_suffix('!') {
        return Some((field, false, value));
    }
    Some((field, true, value.strip_prefix('=').unwrap_or(value)))
}

fn unescape(value: &str) -> Result<String, String> {
    let wrong = |what: &str, shown: &str| Err(format!("invalid field selector: {what}: {shown}"));
    let mut result = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => result.push(escaped),
                other => {
                    let sequence: String = ['\\'].into_iter().chain(other).collect();
                    return wrong("invalid escape sequence", &sequence);
                }
            },
            // A real server shows the number of the letter.
            ',' | '=' => {
                let number = u32::from(letter).to_string();
                return wrong("unescaped character in value", &number);
            }
            letter => result.push(letter),
        }
    }
    Ok(result)
}

const POD: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];
const EVENT: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

/// A field of a selector over custom resources.
fn custom<'a>(field: &'a str, kind: &ServedKind) -> Result<&'a str, String> {
    let known = match field {
        "metadata.name" => true,
        "metadata.namespace" => kind.namespaced,
        _ => kind.selectable_fields.iter().any(|known| known == field),
    };
    if known {
        Ok(field)
    } else {
        Err(unknown(field))
    }
}

fn unknown(field: &str) -> String {
    format!("field label not supported: {field}")
}

/// The field of the stored object for a field of a selector over a built-in kind.
fn built_in<'a>(field: &'a str, group: &str, resource: &str) -> Result<&'a str, String> {
    if field == "metadata.name" || field == "metadata.namespace" {
        return Ok(field);
    }
    let own: &[&str] = match (group, resource) {
        ("", "pods") => POD,
        ("", "events") => EVENT,
        ("", "nodes") => &["spec.unschedulable"],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("batch", "jobs") => &["status.successful"],
        ("", "replicationcontrollers") => &["status.replicas"],
        ("certificates.k8s.io", "podcertificaterequests") => {
            &["spec.signerName", "spec.podName", "spec.nodeName"]
        }
        ("certificates.k8s.io", _) => &["spec.signerName"],
        ("resource.k8s.io", "resourceslices") => match field {
            "spec.nodeName" | "spec.driver" | "spec.pool.name" => return Ok(field),
            _ => {
                let kind = "resource.k8s.io/v1, Kind=ResourceSlice";
                return Err(format!("field label not supported for {kind}: {field}"));
            }
        },
        _ => {
            return Err(format!(
                "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ));
        }
    };
    if own.contains(&field) {
        Ok(field)
    } else {
        Err(unknown(field))
    }
}

/// The value of a field of a built-in kind as text; empty if it is missing.
fn text<'a>(object: &'a Value, field: &str) -> Cow<'a, str> {
    if field == "source" {
        // Older Events name their source by component, newer ones by the reporting controller.
        let component = text(object, "source.component");
        return if component.is_empty() {
            text(object, "reportingComponent")
        } else {
            component
        };
    }
    // Booleans and counts that are not set read as their zero value.
    value(object, field).unwrap_or(match field {
        "spec.hostNetwork" | "spec.unschedulable" => Cow::Borrowed("false"),
        "status.successful" | "status.replicas" => Cow::Borrowed("0"),
        _ => Cow::Borrowed(""),
    })
}

/// The value at a path of names as text.
fn value<'a>(object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
    let mut names = field.split('.');
    match names.try_fold(object, |value, name| value.get(name))? {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(flag) => Some(Cow::Owned(flag.to_string())),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::{builtin, definitions};

    fn built_in(group: &str, plural: &str) -> Arc<ServedKind> {
        let mut kinds = builtin::kinds().into_iter();
        kinds
            .find(|kind| kind.group == group && kind.plural == plural)
            .unwrap()
    }

    /// A custom kind whose field `spec.color` can be selected.
    fn custom(scope: &str) -> Arc<ServedKind> {
        let color = json!({"type": "string", "default": "red"});
        let replicas = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "default": {}, "properties": {"color": color}}, "status": replicas,
        }});
        let kinds = definitions::kinds(&json!({"spec": {
            "group": "demo.dev", "scope": scope, "names": {"plural": "websites", "kind": "Website"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "selectableFields": [{"jsonPath": ".spec.color"}, {"jsonPath": ".status.replicas"}],
            }],
        }}));
        kinds[0].clone()
    }

    #[test]
    fn terms_are_joined_by_and() {
        let pod = json!({"metadata": {"name": "a", "namespace": "x"}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}});
        for (selector, expected) in [
            ("", true),
            ("metadata.name=a", true),
            ("metadata.name==a,metadata.namespace=x", true),
            ("metadata.name!=a", false),
            ("spec.nodeName=n1,status.phase!=Failed", true),
            ("spec.hostNetwork=false", true),
            ("status.podIP=", true),
        ] {
            let parsed = FieldSelector::parse(selector, &built_in("", "pods"));
            assert_eq!(parsed.unwrap().matches(&pod), expected, "{selector}");
        }
    }

    #[test]
    fn a_malformed_selector_is_refused_with_the_text_of_a_real_server() {
        for (selector, expected) in [
            (
                "nonsense",
                "invalid selector: 'nonsense'; can't understand 'nonsense'",
            ),
            (
                "metadata.name=a,b!c",
                "invalid selector: 'metadata.name=a,b!c'; can't understand 'b!c'",
            ),
            (
                r"metadata.name=a\x",
                r"invalid field selector: invalid escape sequence: \x",
            ),
            (
                r"metadata.name=a\",
                r"invalid field selector: invalid escape sequence: \",
            ),
            (
                "metadata.name=a=b",
                "invalid field selector: unescaped character in value: 61",
            ),
            // Each term is read before the fields are looked at.
            ("a=1,z", "invalid selector: 'a=1,z'; can't understand 'z'"),
            ("a!b=c", "field label not supported: a!b"),
        ] {
            let refused = FieldSelector::parse(selector, &built_in("", "pods")).unwrap_err();
            assert_eq!(refused, expected, "{selector}");
        }
    }

    #[test]
    fn an_escaped_value_is_compared_without_its_escapes() {
        let pod = json!({"spec": {"nodeName": r"a,b=c\d"}});
        for (selector, expected) in [
            (r"spec.nodeName=a\,b\=c\\d", true),
            (r"spec.nodeName==a\,b\=c\\d", true),
            (r"spec.nodeName!=a\,b\=c\\d", false),
            (r"spec.nodeName=a\,b", false),
        ] {
            let parsed = FieldSelector::parse(selector, &built_in("", "pods"));
            assert_eq!(parsed.unwrap().matches(&pod), expected, "{selector}");
        }
    }

    #[test]
    fn fields_of_custom_resources_are_selected_with_their_defaults() {
        let blue = json!({"spec": {"color": "blue"}, "status": {"replicas": 0}});
        let plain = json!({});
        for (selector, expected) in [
            ("spec.color=blue", [true, false]),
            ("spec.color=red", [false, true]),
            ("spec.color!=red,status.replicas=0", [true, false]),
            // What is not set is empty, also a number.
            ("status.replicas=", [false, true]),
        ] {
            let parsed = FieldSelector::parse(selector, &custom("Namespaced")).unwrap();
            let found = [&blue, &plain].map(|object| parsed.matches(object));
            assert_eq!(found, expected, "{selector}");
        }
    }

    #[test]
    fn unknown_fields_are_refused() {
        let refused = |text, kind: &ServedKind| FieldSelector::parse(text, kind).err();
        let unsupported = |field| Some(format!("field label not supported: {field}"));
        assert_eq!(
            refused("spec.foo=1", &built_in("", "pods")),
            unsupported("spec.foo")
        );
        let (namespaced, cluster) = (custom("Namespaced"), custom("Cluster"));
        assert_eq!(refused("spec.foo=1", &namespaced), unsupported("spec.foo"));
        assert_eq!(refused("metadata.namespace=a", &namespaced), None);
        assert_eq!(
            refused("metadata.namespace=a", &cluster),
            unsupported("metadata.namespace")
        );
        assert_eq!(
            refused("spec.foo=1", &built_in("", "configmaps")),
            Some("\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"".into())
        );
        assert_eq!(refused("b=1,a=1", &namespaced), unsupported("a"));
        assert!(refused("metadata.name", &built_in("", "pods")).is_some());
        let event = json!({"involvedObject": {"name": "a"}});
        let regarding =
            FieldSelector::parse("regarding.name=a", &built_in("events.k8s.io", "events"));
        assert!(regarding.unwrap().matches(&event));
    }
}
