use k8s_openapi::{
    api::{
        batch::v1::CronJob,
        core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Secret, Service},
        policy::v1::PodDisruptionBudget,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    kube_aggregator::pkg::apis::apiregistration::v1::APIService,
};
use serde_json::{Value, json};

use super::{check, condition, failed, not_ready, template, with};
use crate::resource::{DynamicObject, HasReadiness, NotReady, Readiness::Ready, readiness::rules};

#[test]
fn a_load_balancer_needs_an_address_and_other_services_nothing() {
    let balancer = json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"});
    let cases = [
        (json!({"type": "ClusterIP"}), json!({}), Ready),
        (
            json!({"type": "ExternalName", "externalName": "a"}),
            json!({}),
            Ready,
        ),
        (
            json!({"type": "LoadBalancer"}),
            json!({}),
            not_ready("it has no cluster IP"),
        ),
        (
            balancer.clone(),
            json!({"loadBalancer": {}}),
            not_ready("its load balancer has no address yet"),
        ),
        (
            balancer,
            json!({"loadBalancer": {"ingress": [{"hostname": "a.example.com"}]}}),
            Ready,
        ),
    ];
    for (spec, status, expected) in cases {
        check::<Service>(spec, status, expected);
    }
}

#[test]
fn a_claim_is_ready_when_it_is_bound_and_has_failed_when_its_volume_is_lost() {
    for (status, expected) in [
        (json!({}), not_ready("it has no phase yet")),
        (
            json!({"phase": "Pending"}),
            not_ready("its phase is Pending, not Bound"),
        ),
        (json!({"phase": "Bound"}), Ready),
        (json!({"phase": "Lost"}), failed("its volume is lost")),
    ] {
        check::<PersistentVolumeClaim>(json!({}), status, expected);
    }
}

#[test]
fn other_built_in_kinds_have_their_rules() {
    let counts = json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0});
    let unseen = not_ready("its controller has not seen it yet");
    check::<PodDisruptionBudget>(json!({}), counts.clone(), unseen);
    let seen = with(&counts, json!({"observedGeneration": 3}));
    check::<PodDisruptionBudget>(json!({}), seen.clone(), Ready);
    let broken = condition("DisruptionAllowed", "False", "SyncFailed", "no scale");
    let broken = with(&seen, json!({"conditions": [broken]}));
    check::<PodDisruptionBudget>(json!({}), broken, not_ready("SyncFailed: no scale"));

    let spec = json!({
        "group": "a.b", "names": {"kind": "A", "plural": "as"}, "scope": "Cluster", "versions": [],
    });
    for (conditions, expected) in [
        (json!([]), not_ready("it has no condition Established yet")),
        (
            json!([condition(
                "NamesAccepted",
                "False",
                "PluralConflict",
                "as is taken"
            )]),
            failed("PluralConflict: as is taken"),
        ),
        (
            json!([condition("Established", "False", "Installing", "soon")]),
            not_ready("Installing: soon"),
        ),
        (
            json!([condition("Established", "False", "NotAccepted", "names")]),
            failed("NotAccepted: names"),
        ),
        (
            json!([
                condition("NamesAccepted", "True", "", ""),
                condition("Established", "True", "", ""),
            ]),
            Ready,
        ),
    ] {
        let status = json!({"conditions": conditions});
        check::<CustomResourceDefinition>(spec.clone(), status, expected);
    }

    let service = json!({"groupPriorityMinimum": 1, "versionPriority": 1});
    for (conditions, expected) in [
        (json!([]), not_ready("it has no condition Available yet")),
        (
            json!([condition("Available", "False", "MissingEndpoints", "none")]),
            not_ready("MissingEndpoints: none"),
        ),
        (json!([condition("Available", "True", "", "")]), Ready),
    ] {
        let status = json!({"conditions": conditions});
        check::<APIService>(service.clone(), status, expected);
    }

    for (status, expected) in [
        (json!({}), not_ready("it has no phase yet")),
        (json!({"phase": "Active"}), Ready),
        (
            json!({"phase": "Terminating"}),
            not_ready("its phase is Terminating, not Active"),
        ),
    ] {
        check::<Namespace>(json!({}), status, expected);
    }
    let cron = json!({"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template()}}});
    check::<CronJob>(cron, json!({}), Ready);
    assert!(ConfigMap::default().is_ready() && Secret::default().is_ready());
}

/// An object of a kind that is not built into Kubernetes.
fn custom(metadata: Value, status: Value) -> DynamicObject {
    let mut object = json!({
        "apiVersion": "demo.example.com/v1", "kind": "Database", "metadata": metadata, "status": status,
    });
    if status.is_null() {
        object.as_object_mut().unwrap().remove("status");
    }
    serde_json::from_value(object).unwrap()
}

#[test]
fn a_kind_of_others_is_ready_by_its_conditions() {
    let of = |status: &str| json!([condition("Ready", status, "Reason", "text")]);
    let cases = [
        (
            Value::Null,
            not_ready("it has no status: its controller has not seen it yet"),
        ),
        (json!({}), Ready),
        (json!({"conditions": of("True")}), Ready),
        (
            json!({"conditions": of("False")}),
            not_ready("Reason: text"),
        ),
        (
            json!({"conditions": of("Unknown")}),
            not_ready("Reason: text"),
        ),
        (
            json!({"conditions": [{"type": "Ready", "status": "False"}]}),
            not_ready("the condition Ready is False"),
        ),
        (
            json!({"conditions": [condition("Available", "False", "", "down")]}),
            not_ready("down"),
        ),
        (
            json!({"conditions": [condition("Available", "True", "", "")]}),
            Ready,
        ),
        // Ready counts before Available.
        (
            json!({"conditions": [condition("Available", "False", "", ""), of("True")[0]]}),
            Ready,
        ),
        (
            json!({"conditions": [of("True")[0], condition("Reconciling", "True", "Updating", "1 of 2")]}),
            not_ready("Updating: 1 of 2"),
        ),
        (
            json!({"conditions": [of("True")[0], condition("Stalled", "True", "NoQuota", "")]}),
            failed("NoQuota"),
        ),
        (
            json!({"conditions": [of("True")[0], condition("Stalled", "False", "", ""), condition("Reconciling", "False", "", "")]}),
            Ready,
        ),
        (
            json!({"conditions": of("True"), "observedGeneration": 3}),
            Ready,
        ),
        (
            json!({"conditions": of("True"), "observedGeneration": 2}),
            not_ready("its controller has seen generation 2, not yet 3"),
        ),
        // Odd values count as missing.
        (
            json!({"conditions": "none", "observedGeneration": "x"}),
            Ready,
        ),
    ];
    for (status, expected) in cases {
        let object = custom(json!({"name": "a", "generation": 3}), status.clone());
        assert_eq!(object.readiness(), expected, "{status}");
    }
}

#[test]
fn a_condition_of_an_older_generation_does_not_count() {
    let of = |kind: &str, generation: i64| {
        let mut condition = condition(kind, "True", "Reason", "");
        condition["observedGeneration"] = generation.into();
        condition
    };
    let object = |conditions: Value| {
        let status = json!({"conditions": conditions});
        custom(json!({"name": "a", "generation": 3}), status)
    };
    assert_eq!(object(json!([of("Ready", 3)])).readiness(), Ready);
    assert_eq!(
        object(json!([of("Ready", 2)])).readiness(),
        not_ready("the condition Ready is of an older generation")
    );
    let restarted = object(json!([of("Stalled", 2), of("Ready", 3)]));
    assert_eq!(restarted.readiness(), Ready);
}

#[test]
fn an_object_that_is_being_deleted_is_not_ready() {
    let metadata = json!({"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"});
    let object = custom(
        metadata.clone(),
        json!({"conditions": [condition("Ready", "True", "", "")]}),
    );
    assert_eq!(object.readiness(), not_ready("it is being deleted"));
    let map: ConfigMap = serde_json::from_value(json!({"metadata": metadata})).unwrap();
    assert_eq!(map.readiness(), not_ready("it is being deleted"));
}

#[test]
fn the_error_names_the_object_and_the_reason() {
    let claim =
        json!({"metadata": {"name": "data", "namespace": "shop"}, "status": {"phase": "Lost"}});
    let claim: PersistentVolumeClaim = serde_json::from_value(claim).unwrap();
    let error = claim.ready_or_wait().unwrap_err();
    assert_eq!(
        error.to_string(),
        "PersistentVolumeClaim shop/data has failed: its volume is lost"
    );
    assert_eq!(error.readiness.reason(), Some("its volume is lost"));
    let object = custom(json!({"name": "a"}), Value::Null);
    let error: NotReady = object.ready_or_wait().unwrap_err();
    assert_eq!(
        error.to_string(),
        "Database a is not ready: it has no status: its controller has not seen it yet"
    );
    let map = ConfigMap::default();
    assert!(std::ptr::eq(map.ready_or_wait().unwrap(), &map));
    assert_eq!(map.readiness().reason(), None);
}

#[test]
fn every_group_of_kubernetes_is_known_as_such() {
    for kind in pilothouse_sandbox::internals::builtin::kinds() {
        let object = json!({"apiVersion": format!("{}/v1", kind.group), "kind": "Unknown"});
        let found = rules::readiness(&object);
        assert_eq!(
            found, Ready,
            "{}: add the group to `is_built_in`",
            kind.group
        );
    }
}
