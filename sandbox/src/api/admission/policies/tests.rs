use serde_json::{Value, json};

use crate::Sandbox;
use crate::api::{self, DeleteOptions, Handle, Target, WriteOptions, Written};
use crate::error::ApiError;
use crate::record::Audit;
use crate::registry::GroupResource;

struct World {
    sandbox: Sandbox,
    handle: Handle,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::builder()
            .seed(1)
            .controllers(false)
            .build()
            .unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        Self { sandbox, handle }
    }

    fn put(&self, plural: &str, name: &str, spec: &Value) {
        let resource = GroupResource::new("admissionregistration.k8s.io", plural);
        let object = json!({"metadata": {"name": name}, "spec": spec});
        self.handle.create(&resource, object).unwrap();
    }

    /// A mutating policy for ConfigMaps, bound to all requests.
    fn mutation(&self, name: &str, fields: &Value) {
        let rules = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]);
        let mut spec = json!({
            "matchConstraints": {"resourceRules": rules}, "reinvocationPolicy": "Never",
        });
        for (field, value) in fields.as_object().unwrap() {
            spec[field] = value.clone();
        }
        self.put("mutatingadmissionpolicies", name, &spec);
        let bound = json!({"policyName": name});
        self.put("mutatingadmissionpolicybindings", name, &bound);
    }

    /// A policy for ConfigMaps, bound to all requests.
    fn policy(&self, fields: &Value, binding: &Value) {
        let rules = json!([{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]);
        let mut spec = json!({"matchConstraints": {"resourceRules": rules}});
        let mut bound = json!({"policyName": "rules", "validationActions": ["Deny"]});
        for (to, from) in [(&mut spec, fields), (&mut bound, binding)] {
            for (field, value) in from.as_object().unwrap() {
                to[field] = value.clone();
            }
        }
        self.put("validatingadmissionpolicies", "rules", &spec);
        self.put("validatingadmissionpolicybindings", "all", &bound);
    }

    /// The data of a new ConfigMap.
    async fn created(&self, name: &str, data: Value) -> Value {
        self.create(name, data).await.unwrap().object["data"].clone()
    }

    async fn create(&self, name: &str, data: Value) -> Result<Written, ApiError> {
        self.create_audited(name, data, &Audit::default()).await
    }

    async fn create_audited(
        &self,
        name: &str,
        data: Value,
        audit: &Audit,
    ) -> Result<Written, ApiError> {
        let registry = self.sandbox.core().registry();
        let target = Target::new(registry.storage("", "configmaps").unwrap(), Some("default"));
        let options = WriteOptions {
            admitted: true,
            audit: audit.clone(),
            ..WriteOptions::default()
        };
        let object = json!({"metadata": {"name": name}, "data": data});
        api::create(self.sandbox.core(), &target, object, &options, false).await
    }
}

fn denied(name: &str, why: &str) -> String {
    format!(
        "configmaps \"{name}\" is forbidden: ValidatingAdmissionPolicy 'rules' with binding 'all' denied request: {why}"
    )
}

#[tokio::test(start_paused = true)]
async fn a_policy_denies_with_its_message_and_reason() {
    let world = World::new();
    world.policy(
        &json!({
            "variables": [{"name": "size", "expression": "size(object.data)"}],
            "validations": [
                {"expression": "variables.size < 2", "messageExpression": "'too many: ' + string(variables.size)", "reason": "Forbidden"},
                {"expression": "has(object.data.a)", "message": "a is missing"},
                {"expression": "object.data.a != 'x'"},
            ],
        }),
        &json!({}),
    );
    for (name, data, code, why) in [
        ("one", json!({"a": "1", "b": "2"}), 403, "too many: 2"),
        ("two", json!({"b": "2"}), 422, "a is missing"),
        (
            "three",
            json!({"a": "x"}),
            422,
            "failed expression: object.data.a != 'x'",
        ),
    ] {
        let error = world.create(name, data).await.unwrap_err();
        assert_eq!(
            (error.code, error.message.clone()),
            (code, denied(name, why))
        );
        assert!(
            error.to_status()["details"]["causes"][0]["message"]
                .as_str()
                .unwrap()
                .ends_with(why)
        );
    }
    world.create("four", json!({"a": "1"})).await.unwrap();
}

/// The resource of a kind of policies or bindings.
fn resource(plural: &str) -> GroupResource {
    GroupResource::new("admissionregistration.k8s.io", plural)
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_policy_counts_for_the_next_request() {
    let world = World::new();
    let denies = |name: &'static str| async {
        let created = world.create(name, json!({})).await;
        created.is_err()
    };
    let before = world.sandbox.core().store.save();
    assert!(!denies("a").await);
    let rules = json!({"validations": [{"expression": "false"}]});
    world.policy(&rules, &json!({}));
    assert!(denies("b").await);
    let policies = resource("validatingadmissionpolicies");
    for (expression, denied) in [("true", false), ("1 == 2", true)] {
        let changed = world.handle.update(&policies, None, "rules", "", |policy| {
            policy["spec"]["validations"][0]["expression"] = expression.into();
        });
        changed.unwrap();
        let name = if denied { "c" } else { "d" };
        assert_eq!(denies(name).await, denied, "{expression}");
    }
    let bindings = resource("validatingadmissionpolicybindings");
    let now = DeleteOptions::default();
    world.handle.delete(&bindings, None, "all", &now).unwrap();
    assert!(!denies("e").await);
    let bound = json!({"policyName": "rules", "validationActions": ["Deny"]});
    world.put("validatingadmissionpolicybindings", "all", &bound);
    assert!(denies("f").await);
    world.sandbox.core().store.restore(&before);
    assert!(!denies("f").await, "the restored state has no policy");
}

#[tokio::test(start_paused = true)]
async fn configurations_are_read_and_compiled_again_only_after_a_change() {
    let world = World::new();
    let core = world.sandbox.core();
    let load = || core.configurations.load(&core.store);
    world.policy(
        &json!({"validations": [{"expression": "true"}]}),
        &json!({}),
    );
    let first = load();
    world.create("a", json!({})).await.unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &load()));
    let bound = json!({"policyName": "rules", "validationActions": ["Warn"]});
    world.put("validatingadmissionpolicybindings", "more", &bound);
    assert!(!std::sync::Arc::ptr_eq(&first, &load()));
}

#[tokio::test(start_paused = true)]
async fn the_audit_log_gets_failed_validations_and_the_annotations_of_a_policy() {
    let world = World::new();
    world.policy(
        &json!({
            "validations": [{"expression": "true"}, {"expression": "false", "message": "a < b"}],
            "auditAnnotations": [
                {"key": "size", "valueExpression": "' ' + string(size(object.data))"},
                {"key": "none", "valueExpression": "null"},
                {"key": "blank", "valueExpression": "' '"},
            ],
        }),
        &json!({"validationActions": ["Audit"]}),
    );
    let audit = Audit::new(true);
    let created = world.create_audited("a", json!({"a": "1"}), &audit).await;
    created.unwrap();
    let failure = r#"[{"message":"a \u003c b","policy":"rules","binding":"all","expressionIndex":1,"validationActions":["Audit"]}]"#;
    let notes = json!(audit.notes().annotations);
    assert_eq!(
        notes,
        json!({"rules/size": "1", "validation.policy.admission.k8s.io/validation_failure": failure})
    );
}

#[tokio::test(start_paused = true)]
async fn an_audit_annotation_that_fails_denies_the_request_whatever_the_binding_says() {
    for (policy, denied) in [("Fail", true), ("Ignore", false)] {
        let world = World::new();
        let failing = json!({
            "failurePolicy": policy,
            "auditAnnotations": [{"key": "size", "valueExpression": "string(object.none)"}],
        });
        world.policy(&failing, &json!({"validationActions": ["Audit"]}));
        let created = world.create("a", json!({})).await;
        assert_eq!(created.is_err(), denied, "{policy}");
    }
}

#[tokio::test(start_paused = true)]
async fn match_conditions_see_the_resource_of_the_request_and_validations_that_of_the_rule() {
    let world = World::new();
    let registry = world.sandbox.core().registry();
    let kind = registry.storage("autoscaling", "horizontalpodautoscalers");
    let target = Target::new(kind.unwrap(), Some("default"));
    let own = target.kind.version.clone();
    let other = if own == "v1" { "v2" } else { "v1" };
    let rules = json!([{"operations": ["CREATE"], "apiGroups": ["autoscaling"], "apiVersions": [other], "resources": ["horizontalpodautoscalers"]}]);
    world.policy(
        &json!({
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": [{"name": "own", "expression": format!("request.resource.version == '{own}'")}],
            "validations": [{"expression": "false", "messageExpression": "request.resource.version"}],
        }),
        &json!({}),
    );
    let object = json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}});
    let options = WriteOptions {
        admitted: true,
        ..WriteOptions::default()
    };
    let created = api::create(world.sandbox.core(), &target, object, &options, false);
    let error = created.await.unwrap_err();
    assert!(error.message.ends_with(&format!(": {other}")), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_json_patch_that_sets_an_unknown_field_fails_the_request() {
    let world = World::new();
    let unknown = patch("[JSONPatch{op: 'add', path: '/other', value: 1}]");
    let ignored = json!({"mutations": unknown, "failurePolicy": "Ignore"});
    world.mutation("rules", &ignored);
    let error = world.create("one", json!({"a": "1"})).await.unwrap_err();
    let message = "Internal error occurred: strict decoding error: unknown field \"other\"";
    assert_eq!((error.code, error.message.as_str()), (500, message));
}

#[tokio::test(start_paused = true)]
async fn a_binding_can_warn_and_select() {
    let world = World::new();
    let never = json!({"validations": [{"expression": "false", "message": "never"}]});
    world.policy(&never, &json!({"validationActions": ["Warn", "Audit"]}));
    let written = world.create("one", json!({})).await.unwrap();
    let warning =
        "Validation failed for ValidatingAdmissionPolicy 'rules' with binding 'all': never";
    assert_eq!(written.warnings, [warning]);
    let elsewhere = json!({"policyName": "rules", "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}});
    world.put("validatingadmissionpolicybindings", "elsewhere", &elsewhere);
    world.create("two", json!({})).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn parameters_come_from_the_objects_that_the_binding_names() {
    let world = World::new();
    world.policy(
        &json!({
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConditions": [{"name": "not-params", "expression": "object.metadata.name != 'limits'"}],
            "validations": [{"expression": "size(object.data) <= int(params.data.most)", "messageExpression": "'at most ' + params.data.most"}],
        }),
        &json!({"paramRef": {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}}),
    );
    let error = world.create("one", json!({"a": "1"})).await.unwrap_err();
    let why = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert_eq!(error.message, denied("one", why));
    let limits =
        json!({"metadata": {"name": "limits", "namespace": "default"}, "data": {"most": "1"}});
    let target = GroupResource::new("", "configmaps");
    let registry = world.sandbox.core().registry();
    let maps = Target::new(registry.storage("", "configmaps").unwrap(), Some("default"));
    api::create(
        world.sandbox.core(),
        &maps,
        limits,
        &WriteOptions::default(),
        false,
    )
    .await
    .unwrap();
    assert!(
        world
            .handle
            .get(&target, Some("default"), "limits")
            .is_some()
    );
    world.create("one", json!({"a": "1"})).await.unwrap();
    let error = world
        .create("two", json!({"a": "1", "b": "2"}))
        .await
        .unwrap_err();
    assert_eq!(error.message, denied("two", "at most 1"));
}

#[tokio::test(start_paused = true)]
async fn the_failure_policy_decides_about_errors() {
    for (failure, fails) in [("Fail", true), ("Ignore", false)] {
        let world = World::new();
        let fields = json!({
            "failurePolicy": failure,
            "variables": [{"name": "broken", "expression": "object.spec.x"}],
            "validations": [{"expression": "variables.broken == 1"}],
        });
        world.policy(&fields, &json!({}));
        let created = world.create("one", json!({})).await;
        assert_eq!(created.is_err(), fails, "{failure}");
        if let Err(error) = created {
            assert!(
                error
                    .message
                    .contains("composited variable \"broken\" fails to evaluate"),
                "{error}"
            );
        }
    }
}

fn patch(expression: &str) -> Value {
    json!([{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}])
}

fn apply(expression: &str) -> Value {
    json!([{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}])
}

#[tokio::test(start_paused = true)]
async fn a_policy_changes_an_object_by_a_patch_or_a_configuration() {
    let world = World::new();
    let adds = patch("[JSONPatch{op: 'add', path: '/data/b', value: object.data.a + '!'}]");
    world.mutation("first", &json!({"mutations": adds}));
    let applies = apply("Object{data: {'c': variables.both}}");
    world.mutation(
        "second",
        &json!({
            "variables": [{"name": "both", "expression": "object.data.a + object.data.b"}],
            "mutations": applies,
        }),
    );
    let data = world.created("one", json!({"a": "1"})).await;
    assert_eq!(data, json!({"a": "1", "b": "1!", "c": "11!"}));
}

#[tokio::test(start_paused = true)]
async fn a_policy_sees_later_changes_again_if_it_wants() {
    for (again, seen) in [("IfNeeded", "xx"), ("Never", "x")] {
        let world = World::new();
        let counts = "[JSONPatch{op: 'add', path: '/data/seen', value: (has(object.data.seen) ? object.data.seen : '') + 'x'}]";
        world.mutation(
            "first",
            &json!({"mutations": patch(counts), "reinvocationPolicy": again}),
        );
        let later = apply("Object{data: {'later': 'yes'}}");
        world.mutation("second", &json!({"mutations": later}));
        let data = world.created("one", json!({"a": "1"})).await;
        assert_eq!(data, json!({"a": "1", "later": "yes", "seen": seen}));
    }
}

#[tokio::test(start_paused = true)]
async fn a_mutation_that_fails_refuses_the_request_unless_failures_are_ignored() {
    for (mutation, why) in [
        (
            patch("[JSONPatch{op: 'remove', path: '/data/none'}]"),
            "JSON Patch: ",
        ),
        (
            apply("Object{metadata: Object.spec{}}"),
            "type mismatch: unexpected type name \"Object.spec\", expected \"Object.metadata\", which matches field name path from root Object type",
        ),
        (
            apply("Object{other: 1}"),
            "error applying patch: failed to convert patch object to typed object: .other: field not declared in schema",
        ),
    ] {
        let world = World::new();
        world.mutation("rules", &json!({"mutations": mutation}));
        let error = world.create("one", json!({"a": "1"})).await.unwrap_err();
        let text = format!("policy 'rules' with binding 'rules' denied request: {why}");
        assert!(error.message.starts_with(&text), "{error}");
        let reason = error.to_status()["reason"].clone();
        assert_eq!((error.code, reason), (403, "Invalid".into()));
        let world = World::new();
        let ignored = json!({"mutations": mutation, "failurePolicy": "Ignore"});
        world.mutation("rules", &ignored);
        assert_eq!(
            world.created("one", json!({"a": "1"})).await,
            json!({"a": "1"})
        );
    }
}

#[tokio::test(start_paused = true)]
async fn expressions_ask_what_users_may_do() {
    let sandbox = Sandbox::builder()
        .seed(1)
        .controllers(false)
        .rbac(true)
        .build()
        .unwrap();
    let handle = Handle::new(sandbox.core(), "test");
    let world = World { sandbox, handle };
    let asks = |of: &str| format!("{of}.check('delete').allowed()");
    let account = "authorizer.serviceAccount('default', 'nobody').group('').resource('configmaps').namespace('default')";
    let (own, other) = (asks("authorizer.requestResource"), asks(account));
    world.mutation(
        "rules",
        &json!({"mutations": apply(&format!("Object{{data: {{'own': string({own}), 'other': string({other})}}}}"))}),
    );
    let data = world.created("one", json!({"a": "1"})).await;
    assert_eq!(data, json!({"a": "1", "other": "false", "own": "false"}));
}

#[tokio::test(start_paused = true)]
async fn an_expression_with_a_wrong_type_is_refused() {
    let world = World::new();
    for (plural, field, wrong) in [
        (
            "validatingadmissionpolicies",
            json!({"validations": [{"expression": "object.spec"}]}),
            "must evaluate to bool but got dyn",
        ),
        (
            "validatingadmissionpolicies",
            json!({"validations": [{"expression": "request.names == ''"}]}),
            "undefined field 'names'",
        ),
        (
            "validatingadmissionpolicies",
            json!({"validations": [{"expression": "true", "messageExpression": "authorizer.path('/').check('get').reason()"}]}),
            "undeclared reference to 'authorizer'",
        ),
        (
            "mutatingadmissionpolicies",
            json!({"mutations": apply("Object.spec{}"), "reinvocationPolicy": "Never"}),
            "must evaluate to Object but got Object.spec",
        ),
        (
            "mutatingadmissionpolicies",
            json!({
                "matchConstraints": {"resourceRules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]},
                "mutations": apply("Object{}"), "reinvocationPolicy": "Never",
            }),
            "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"UPDATE\"",
        ),
        (
            "mutatingadmissionpolicies",
            json!({"mutations": patch("[JSONPatch{op: 1}]"), "reinvocationPolicy": "Never"}),
            "expected type of field 'op' is 'string' but provided type is 'int'",
        ),
    ] {
        let resource = GroupResource::new("admissionregistration.k8s.io", plural);
        let rules = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]);
        let mut spec = json!({"matchConstraints": {"resourceRules": rules}});
        for (name, value) in field.as_object().unwrap() {
            spec[name] = value.clone();
        }
        let object = json!({"metadata": {"name": "rules"}, "spec": spec});
        let error = world.handle.create(&resource, object).unwrap_err();
        assert!(error.message.contains(wrong), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_shares_its_parts_a_million_times_is_refused() {
    let world = World::new();
    let mut variables = vec![json!({"name": "v0", "expression": "['x']"})];
    for number in 1..9 {
        let before = format!("variables.v{}", number - 1);
        let items = vec![before; 10].join(", ");
        variables.push(json!({"name": format!("v{number}"), "expression": format!("[{items}]")}));
    }
    let expression = "Object{data: {'a': string(size(variables.v8))}, metadata: Object.metadata{annotations: {'a': variables.v8}}}";
    let applies = json!([{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]);
    world.mutation(
        "rules",
        &json!({"variables": variables, "mutations": applies}),
    );
    let error = world.create("a", json!({})).await.unwrap_err();
    assert!(
        error.message.contains("the result is too large"),
        "{}",
        error.message
    );
}
