use std::sync::Arc;

use serde_json::Value;

use crate::builtin;
use crate::core::Core;
use crate::registry::ServedKind;
use crate::schema::Declarations;

/// What is wrong with an expression of a policy, for the types of the objects that it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpressionWarning {
    /// The field of the policy, such as `spec.validations[0].expression`.
    pub field: String,
    /// The kind for which the expression is wrong, as in `apps/v1, Kind=Deployment`.
    pub kind: String,
    /// The problem.
    pub warning: String,
}

/// Checks the expressions of a ValidatingAdmissionPolicy or MutatingAdmissionPolicy for each kind that it names.
pub(crate) fn check_types(core: &Core, policy: &Value) -> Vec<ExpressionWarning> {
    let mutates = policy["kind"] == "MutatingAdmissionPolicy";
    let registry = core.registry();
    let kinds = registry.kinds();
    let named = &policy["spec"]["paramKind"];
    let params = kinds
        .iter()
        .find(|kind| named["apiVersion"] == kind.api_version() && named["kind"] == *kind.kind);
    let mut warnings = Vec::new();
    for (kind, schema) in typed_objects(kinds, policy) {
        let shown = format!("{}, Kind={}", kind.api_version(), kind.kind);
        let mut declarations = Declarations::of_request().with_object(&kind.kind, schema);
        if let Some(params) = params {
            declarations = declarations.with_params_of(&params.kind, &schema_of(params));
        }
        let mut found = Vec::new();
        builtin::policy_with(policy, mutates, declarations, &mut found);
        // A policy has to be complete only when it is created.
        let of_expressions = found
            .into_iter()
            .filter(|error| error.field.ends_with("xpression"));
        warnings.extend(of_expressions.map(|error| ExpressionWarning {
            field: error.field,
            kind: shown.clone(),
            warning: error.detail,
        }));
    }
    warnings
}

/// The kinds that the rules of a policy name without a wildcard, each with the schema of the objects. As on a real server, other kinds are
/// not checked.
fn typed_objects<'a>(
    kinds: &'a [Arc<ServedKind>],
    policy: &Value,
) -> Vec<(&'a ServedKind, Arc<Value>)> {
    let mut found = Vec::new();
    let rules = policy["spec"]["matchConstraints"]["resourceRules"].as_array();
    for rule in rules.into_iter().flatten() {
        let names = |field: &str, name: &str| {
            let names = rule[field].as_array();
            names.is_some_and(|names| names.iter().any(|one| one == name))
        };
        for kind in kinds {
            if !names("apiGroups", &kind.group) || !names("apiVersions", &kind.version) {
                continue;
            }
            if names("resources", &kind.plural)
                || names("resources", &format!("{}/status", kind.plural))
            {
                found.push((&**kind, Arc::new(schema_of(kind))));
            } else if names("resources", &format!("{}/scale", kind.plural)) {
                let scale = builtin::schema_json("io.k8s.api.autoscaling.v1.Scale");
                found.push((&**kind, Arc::new(scale)));
            }
        }
    }
    found
}

/// The schema of a kind, with all fields of `metadata`.
fn schema_of(kind: &ServedKind) -> Value {
    let mut schema = Value::clone(&kind.schema.json());
    if kind.is_custom()
        && let Some(properties) = schema["properties"].as_object_mut()
    {
        let text = || serde_json::json!({"type": "string"});
        properties.insert("apiVersion".into(), text());
        properties.insert("kind".into(), text());
        let metadata = builtin::schema_json("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
        properties.insert("metadata".into(), metadata);
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::sandbox::Sandbox;

    /// What is wrong with this validation of Deployments, and with this mutation.
    async fn problems(field: &str, expression: &str) -> Vec<String> {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let rule = json!({"operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]});
        let mut policy = json!({
            "kind": "ValidatingAdmissionPolicy",
            "spec": {
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "matchConstraints": {"resourceRules": [rule]},
                "variables": [{"name": "labels", "expression": "object.metadata.labels"}],
            },
        });
        match field {
            "mutations" => {
                policy["kind"] = "MutatingAdmissionPolicy".into();
                policy["spec"]["reinvocationPolicy"] = "Never".into();
                policy["spec"]["mutations"] = json!([
                    {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
                ]);
            }
            field => {
                policy["spec"]["validations"] = json!([{"expression": "true", field: expression}])
            }
        }
        let warnings = sandbox.check_expressions(&policy).into_iter();
        warnings
            .map(|one| format!("{}: {}: {}", one.field, one.kind, one.warning))
            .collect()
    }

    #[tokio::test]
    async fn what_works_for_an_object_is_no_warning() {
        for expression in [
            "object.spec.replicas <= 5 && oldObject.spec.replicas > 1",
            "oldObject == null || object.spec == oldObject.spec",
            "object.metadata.namespace == request.namespace",
            "'app' in object.metadata.labels && variables.labels['app'] == params.data['app']",
            // It is a text in JSON.
            "object.metadata.creationTimestamp.startsWith('2')",
            "timestamp(object.metadata.creationTimestamp) < timestamp('2030-01-01T00:00:00Z')",
            "object.spec.template.spec.containers.all(c, c.resources.limits['cpu'] == '1' && c.name != '')",
            "object.spec.template.spec.containers.all(c, !has(c.ports) || c.ports.all(p, p.containerPort > 0))",
            "namespaceObject.metadata.labels['a'] == 'b' && authorizer.requestResource.check('get').allowed()",
        ] {
            assert_eq!(
                problems("expression", expression).await,
                [""; 0],
                "{expression}"
            );
        }
        let made = "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
            containers: [Object.spec.template.spec.containers{name: 'a'}]}}, replicas: 3}, metadata: Object.metadata{labels: {'x-y': 'z'}}}";
        assert_eq!(problems("mutations", made).await, [""; 0]);
    }

    #[tokio::test]
    async fn a_field_that_no_object_has_is_named() {
        for (field, expression, expected) in [
            (
                "expression",
                "object.spec.replica <= 5",
                "undefined field 'replica'",
            ),
            (
                "expression",
                "object.spec.replicas <= '5'",
                "found no matching overload for '_<=_' applied to '(int, string)'",
            ),
            (
                "expression",
                "oldObject.spec.replica <= 5",
                "undefined field 'replica'",
            ),
            (
                "expression",
                "params.dota.size() > 0",
                "undefined field 'dota'",
            ),
            (
                "expression",
                "variables.label['a'] == ''",
                "undefined field 'label'",
            ),
            (
                "messageExpression",
                "string(object.spec.replica)",
                "undefined field 'replica'",
            ),
            (
                "mutations",
                "Object{spec: Object.spec{replica: 3}}",
                "undefined field 'Object.spec.replica'",
            ),
            (
                "mutations",
                "Object{specs: Object.specs{replica: 3}}",
                "undefined field 'Object.specs'",
            ),
        ] {
            let problems = problems(field, expression).await;
            assert_eq!(problems.len(), 1, "{expression}: {problems:?}");
            assert!(problems[0].contains(expected), "{problems:?}");
            assert!(
                problems[0].contains(": apps/v1, Kind=Deployment: "),
                "{problems:?}"
            );
        }
    }
}
