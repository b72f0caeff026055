use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde_json::{Map, Value, json};

use super::{
    AdmissionRule,
    expression::Expression,
    install::VERSION,
    rule::{Change, Check},
};
use crate::resource::ApiResource;

/// The label with the name of a namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The policies of the rules of the operator `operator`, each with its binding. It works in `namespaces`; an empty set means all.
pub(crate) fn policies(
    rules: &[AdmissionRule],
    operator: &str,
    labels: &BTreeMap<String, String>,
    namespaces: &BTreeSet<String>,
) -> Vec<Value> {
    let mut all = Vec::new();
    for rule in rules {
        let metadata = json!({"name": format!("{operator}.{}", rule.name), "labels": labels});
        let object = |kind: &str, spec: Value| {
            json!({
                "apiVersion": format!("admissionregistration.k8s.io/{VERSION}"), "kind": kind,
                "metadata": metadata, "spec": spec,
            })
        };
        if rule.validates() {
            all.push(object("ValidatingAdmissionPolicy", rule.validation()));
            let mut binding = rule.binding(operator, namespaces);
            let actions: Vec<String> = rule.actions.iter().map(ToString::to_string).collect();
            binding["validationActions"] = json!(actions);
            all.push(object("ValidatingAdmissionPolicyBinding", binding));
        }
        if rule.mutates() {
            all.push(object("MutatingAdmissionPolicy", rule.mutation()));
            let binding = rule.binding(operator, namespaces);
            all.push(object("MutatingAdmissionPolicyBinding", binding));
        }
    }
    all
}

impl AdmissionRule {
    pub(super) fn validates(&self) -> bool {
        !self.checks.is_empty() || !self.annotations.is_empty()
    }

    pub(super) fn mutates(&self) -> bool {
        !self.changes.is_empty()
    }

    /// The spec of a ValidatingAdmissionPolicy.
    fn validation(&self) -> Value {
        let mut spec = self.common();
        let reason = self.reason.to_string();
        let checks = self.checks.iter().map(|check| validation(check, &reason));
        put(&mut spec, "validations", checks.collect());
        let annotations = self
            .annotations
            .iter()
            .map(|(key, value)| json!({"key": key, "valueExpression": value.text}));
        put(&mut spec, "auditAnnotations", annotations.collect());
        spec.into()
    }

    /// The spec of a MutatingAdmissionPolicy.
    fn mutation(&self) -> Value {
        let mut spec = self.common();
        let changes = self.changes.iter().map(|change| match change {
            Change::Apply(one) => json!({
                "patchType": "ApplyConfiguration", "applyConfiguration": {"expression": one.text},
            }),
            Change::JsonPatch(one) => json!({
                "patchType": "JSONPatch", "jsonPatch": {"expression": one.text},
            }),
        });
        put(&mut spec, "mutations", changes.collect());
        let reinvocation = if self.reinvokes { "IfNeeded" } else { "Never" };
        spec.insert("reinvocationPolicy".into(), reinvocation.into());
        spec.into()
    }

    /// What both kinds of policies have.
    fn common(&self) -> Map<String, Value> {
        let mut spec = Map::new();
        let failure = if self.ignores_failures {
            "Ignore"
        } else {
            "Fail"
        };
        spec.insert("failurePolicy".into(), failure.into());
        if let Some((kind, _)) = &self.params {
            let (version, kind) = (kind.resource.api_version(), &kind.resource.kind);
            spec.insert(
                "paramKind".into(),
                json!({"apiVersion": version, "kind": kind}),
            );
        }
        let mut constraints =
            json!({"matchPolicy": "Equivalent", "resourceRules": [self.resource_rule()]});
        if let Some(namespaces) = self.selected_namespaces() {
            constraints["namespaceSelector"] = json!(namespaces);
        }
        if let Some(objects) = &self.objects {
            constraints["objectSelector"] = json!(objects);
        }
        spec.insert("matchConstraints".into(), constraints);
        put(&mut spec, "matchConditions", named(&self.conditions));
        put(&mut spec, "variables", named(&self.variables));
        spec
    }

    fn resource_rule(&self) -> Value {
        let resource = &self.kind.resource;
        let resources = self.subresources.iter().map(|name| match &**name {
            "" => resource.plural.to_string(),
            name => format!("{}/{name}", resource.plural),
        });
        let operations: Vec<String> = self.operations.iter().map(ToString::to_string).collect();
        json!({
            "apiGroups": [resource.group], "apiVersions": [resource.version], "operations": operations,
            "resources": resources.collect::<Vec<_>>(),
            "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        })
    }

    /// The namespaces that the rule chooses. By default it keeps its hands off the cluster's own Pods and other objects.
    fn selected_namespaces(&self) -> Option<LabelSelector> {
        let is_default = self.namespaces.is_none();
        if is_default && self.kind.resource.namespaced && !self.kind.is_own() {
            return Some(by_name("NotIn", vec!["kube-system".into()]));
        }
        self.namespaces.clone()
    }

    /// The spec of a binding, without the actions.
    fn binding(&self, operator: &str, namespaces: &BTreeSet<String>) -> Value {
        let mut spec = json!({"policyName": format!("{operator}.{}", self.name)});
        if let Some((_, params)) = &self.params {
            let missing = if params.is_optional { "Allow" } else { "Deny" };
            let mut reference = json!({"parameterNotFoundAction": missing});
            match &params.name {
                Some(name) => reference["name"] = json!(name),
                None => reference["selector"] = json!(params.labels),
            }
            if let Some(namespace) = &params.namespace {
                reference["namespace"] = json!(namespace);
            }
            spec["paramRef"] = reference;
        }
        if !namespaces.is_empty() && is_in_namespaces(&self.kind.resource) {
            let names = namespaces.iter().cloned().collect();
            spec["matchResources"] = json!({"namespaceSelector": by_name("In", names)});
        }
        spec
    }
}

/// Whether an API server applies the selector of namespaces to the kind. A Namespace counts as an object in itself.
fn is_in_namespaces(resource: &ApiResource) -> bool {
    resource.namespaced || (resource.group.is_empty() && resource.kind == "Namespace")
}

fn by_name(operator: &str, values: Vec<String>) -> LabelSelector {
    LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: NAMESPACE_NAME.into(),
            operator: operator.into(),
            values: Some(values),
        }]),
        ..LabelSelector::default()
    }
}

fn validation(check: &Check, reason: &str) -> Value {
    let mut validation = json!({
        "expression": check.expression.text, "message": check.message.text, "reason": reason,
    });
    if let Some(message) = &check.message.expression {
        validation["messageExpression"] = json!(message.text);
    }
    validation
}

fn named(all: &[(String, Expression)]) -> Vec<Value> {
    let all = all.iter();
    all.map(|(name, one)| json!({"name": name, "expression": one.text}))
        .collect()
}

/// Adds a list, if it has items.
fn put(spec: &mut Map<String, Value>, field: &str, items: Vec<Value>) {
    if !items.is_empty() {
        spec.insert(field.to_owned(), items.into());
    }
}
