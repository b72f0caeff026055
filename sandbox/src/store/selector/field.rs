use std::borrow::Cow;

use serde_json::Value;

use crate::builtin;

/// A field selector: every term must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Reads a selector over the fields of `resource` in `group`.
    ///
    /// # Errors
    /// The text of the API server if the selector is malformed or a field cannot be selected.
    pub(crate) fn parse(text: &str, group: &str, resource: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        for part in split(text).into_iter().filter(|part| !part.is_empty()) {
            let wrong = || format!("invalid selector: '{text}'; can't understand '{part}'");
            let (field, equal, value) = operator(part).ok_or_else(wrong)?;
            let field = match (group, field.strip_prefix("regarding.")) {
                // Events are stored in their core form, which has another name for the object.
                ("events.k8s.io", Some(rest)) => {
                    known(&format!("involvedObject.{rest}"), "", "events")?.to_owned()
                }
                ("events.k8s.io", None) if field == "reportingController" => {
                    "reportingComponent".to_owned()
                }
                ("events.k8s.io", None) if field == "reason" || field == "type" => field.to_owned(),
                _ => known(field, group, resource)?.to_owned(),
            };
            let value = unescape(value).ok_or_else(wrong)?;
            terms.push(Term {
                field,
                equal,
                value,
            });
        }
        Ok(Self { terms })
    }

    /// Whether the text is a selector, of whichever fields.
    pub(crate) fn is_well_formed(text: &str) -> bool {
        let mut parts = split(text).into_iter().filter(|part| !part.is_empty());
        parts.all(|part| operator(part).is_some_and(|(_, _, value)| unescape(value).is_some()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.terms
            .iter()
            .all(|term| (text(object, &term.field) == term.value) == term.equal)
    }
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
    let at = part.find(['=', '!'])?;
    let (field, rest) = part.split_at(at);
    for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some(value) = rest.strip_prefix(operator) {
            return Some((field, equal, value));
        }
    }
    None
}

fn unescape(value: &str) -> Option<String> {
    let mut result = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => result.push(letters.next().filter(|letter| "\\,=".contains(*letter))?),
            ',' | '=' => return None,
            letter => result.push(letter),
        }
    }
    Some(result)
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

/// The field of the stored object for a field of a selector.
fn known<'a>(field: &'a str, group: &str, resource: &str) -> Result<&'a str, String> {
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
        ("certificates.k8s.io", _) => &["spec.signerName"],
        ("resource.k8s.io", "resourceslices") => match field {
            "spec.nodeName" | "spec.driver" => return Ok(field),
            _ => {
                let kind = "resource.k8s.io/v1, Kind=ResourceSlice";
                return Err(format!("field label not supported for {kind}: {field}"));
            }
        },
        _ if !builtin::resources().iter().any(|own| own.group == group) => &[],
        _ => {
            return Err(format!(
                "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ));
        }
    };
    if own.contains(&field) {
        Ok(field)
    } else {
        Err(format!("field label not supported: {field}"))
    }
}

/// The value of the field as text; empty if it is missing.
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
    let value = field
        .split('.')
        .try_fold(object, |value, part| value.get(part));
    match value {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Bool(flag)) => Cow::Owned(flag.to_string()),
        Some(Value::Number(number)) => Cow::Owned(number.to_string()),
        // Booleans and counts that are not set read as their zero value.
        _ => match field {
            "spec.hostNetwork" | "spec.unschedulable" => Cow::Borrowed("false"),
            "status.successful" | "status.replicas" => Cow::Borrowed("0"),
            _ => Cow::Borrowed(""),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            let parsed = FieldSelector::parse(selector, "", "pods");
            assert_eq!(
                parsed.map(|parsed| parsed.matches(&pod)),
                Ok(expected),
                "{selector}"
            );
        }
    }

    #[test]
    fn unknown_fields_are_refused() {
        assert_eq!(
            FieldSelector::parse("spec.foo=1", "", "pods"),
            Err("field label not supported: spec.foo".into())
        );
        assert_eq!(
            FieldSelector::parse("spec.foo=1", "demo.dev", "websites"),
            Err("field label not supported: spec.foo".into())
        );
        assert_eq!(
            FieldSelector::parse("spec.foo=1", "", "configmaps"),
            Err("\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"".into())
        );
        assert!(FieldSelector::parse("metadata.name", "", "pods").is_err());
        let event = json!({"involvedObject": {"name": "a"}});
        let regarding = FieldSelector::parse("regarding.name=a", "events.k8s.io", "events");
        assert_eq!(regarding.map(|selector| selector.matches(&event)), Ok(true));
    }
}
