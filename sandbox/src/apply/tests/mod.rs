//! Server-side apply as kube-apiserver does it, as short stories.

mod fixture;

pub(super) use fixture::{applied, later, options, owned, refused, schema, site};
use serde_json::{Value, json};

use super::{ApplyError, ApplyOptions, FieldSet, PathElement, apply, update};
use crate::schema::Schema;

#[test]
fn an_applier_owns_what_it_applied_and_not_the_identity() {
    let live = applied(
        None,
        &options("a"),
        json!({"replicas": 1, "labels": {"x": "1"}, "args": ["a"], "tags": ["t"], "ports": [{"port": 80}], "selector": {"a": "1"}}),
    );
    assert_eq!(
        live["metadata"]["managedFields"],
        json!([{
            "manager": "a", "operation": "Apply", "apiVersion": "example.com/v1",
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {
                "f:replicas": {}, "f:labels": {"f:x": {}}, "f:args": {}, "f:selector": {},
                "f:tags": {"v:\"t\"": {}},
                "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}
            }}
        }])
    );
}

#[test]
fn applying_the_same_again_changes_nothing() {
    let spec = json!({"replicas": 1, "ports": [{"port": 80, "name": "x"}]});
    let live = applied(None, &options("a"), spec.clone());
    let again = apply(&schema(), Some(&live), &site(spec), &later("a")).expect("applies");
    assert_eq!(again.object, live);
    assert!(!again.changed);
}

#[test]
fn a_field_left_out_is_removed_unless_another_manager_owns_it() {
    let live = applied(
        None,
        &options("a"),
        json!({"replicas": 1, "image": "x", "labels": {"x": "1", "y": "2"}, "ports": [{"port": 80}, {"port": 81}]}),
    );
    let live = applied(
        Some(&live),
        &options("b"),
        json!({"image": "x", "ports": [{"port": 81}]}),
    );
    let live = applied(Some(&live), &later("a"), json!({"labels": {"y": "2"}}));
    assert_eq!(
        live["spec"],
        json!({"image": "x", "labels": {"y": "2"}, "ports": [{"port": 81}]})
    );
    let live = applied(Some(&live), &later("a"), json!({}));
    assert_eq!(live["spec"], json!({"image": "x", "ports": [{"port": 81}]}));
    let live = applied(Some(&live), &later("b"), json!({"image": "x"}));
    assert_eq!(live["spec"], json!({"image": "x"}));
}

#[test]
fn fields_of_updaters_stay_when_an_applier_leaves_them_out() {
    let live = applied(
        None,
        &options("a"),
        json!({"replicas": 1, "labels": {"x": "1"}}),
    );
    let mut new = live.clone();
    new["spec"]["image"] = json!("set by hand");
    let live = update(&schema(), Some(&live), new, &options("edit"));
    let live = applied(Some(&live), &later("a"), json!({"replicas": 2}));
    assert_eq!(live["spec"], json!({"replicas": 2, "image": "set by hand"}));
}

#[test]
fn a_changed_field_of_another_manager_is_a_conflict() {
    let live = update(
        &schema(),
        None,
        site(json!({"replicas": 1, "image": "x"})),
        &options("kubectl-client-side-apply"),
    );
    assert_eq!(
        refused(&live, &options("a"), json!({"replicas": 2})),
        "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using example.com/v1: .spec.replicas"
    );
    let other = applied(None, &options("b"), json!({"replicas": 1, "image": "x"}));
    assert_eq!(
        refused(&other, &options("a"), json!({"replicas": 2, "image": "y"})),
        "Apply failed with 2 conflicts: conflicts with \"b\":\n- .spec.image\n- .spec.replicas"
    );
    let Err(ApplyError::Conflicts(conflicts)) = apply(
        &schema(),
        Some(&other),
        &site(json!({"replicas": 2})),
        &options("a"),
    ) else {
        panic!("must conflict");
    };
    let causes: Vec<_> = conflicts.iter().map(|c| (c.message(), c.field())).collect();
    let expected = (
        "conflict with \"b\"".to_owned(),
        ".spec.replicas".to_owned(),
    );
    assert_eq!(causes, [expected]);
}

#[test]
fn force_transfers_ownership() {
    let live = applied(None, &options("b"), json!({"replicas": 1, "image": "x"}));
    let live = applied(
        Some(&live),
        &options("a").force(true),
        json!({"replicas": 2}),
    );
    assert_eq!(
        owned(&live),
        [
            ("a Apply".into(), json!({"f:spec": {"f:replicas": {}}})),
            ("b Apply".into(), json!({"f:spec": {"f:image": {}}})),
        ]
    );
    assert_eq!(live["spec"], json!({"replicas": 2, "image": "x"}));
    let text = refused(&live, &options("b"), json!({"replicas": 1, "image": "x"}));
    assert_eq!(
        text,
        "Apply failed with 1 conflict: conflict with \"a\": .spec.replicas"
    );
}

#[test]
fn the_same_value_is_shared() {
    let live = applied(None, &options("b"), json!({"replicas": 1}));
    let live = applied(Some(&live), &options("a"), json!({"replicas": 1}));
    let fields = json!({"f:spec": {"f:replicas": {}}});
    // The object did not change, so the server gives the new manager no time.
    assert_eq!(
        owned(&live),
        [
            ("a Apply".into(), fields.clone()),
            ("b Apply".into(), fields)
        ]
    );
}

#[test]
fn an_atomic_list_is_owned_and_replaced_as_a_whole() {
    let live = applied(None, &options("a"), json!({"args": ["x", "y"]}));
    let text = refused(&live, &options("b"), json!({"args": ["x"]}));
    assert!(text.ends_with(".spec.args"), "{text}");
    let live = applied(
        Some(&live),
        &options("b").force(true),
        json!({"args": ["z"]}),
    );
    assert_eq!(live["spec"]["args"], json!(["z"]));
    assert_eq!(
        owned(&live),
        [("b Apply".into(), json!({"f:spec": {"f:args": {}}}))]
    );
}

#[test]
fn items_keep_the_order_of_the_live_list() {
    let live = applied(None, &options("a"), json!({"tags": ["1", "2", "3"]}));
    let table = [
        (json!(["4"]), json!(["1", "2", "3", "4"])),
        (json!(["0", "2"]), json!(["1", "0", "2", "3"])),
        (json!(["3", "1"]), json!(["2", "3", "1"])),
        (json!(["2", "2a", "3"]), json!(["1", "2", "2a", "3"])),
    ];
    for (tags, expected) in table {
        let object = applied(Some(&live), &options("b"), json!({"tags": tags}));
        assert_eq!(object["spec"]["tags"], expected, "{tags}");
    }
}

#[test]
fn configurations_of_the_wrong_form_are_refused() {
    let prefix = "failed to create typed patch object (default/a; example.com/v1, Kind=Site): ";
    let table = [
        (
            json!({"color": 1}),
            ".spec.color: field not declared in schema",
        ),
        (
            json!({"replicas": "x"}),
            ".spec.replicas: expected numeric (int or float), got string",
        ),
        (
            json!({"image": 1}),
            ".spec.image: expected string, got &value.valueUnstructured{Value:1}",
        ),
        (
            json!({"labels": "x"}),
            ".spec.labels: expected map, got &{x}",
        ),
        (json!({"args": "x"}), ".spec.args: expected list, got &{x}"),
        (
            json!({"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]}),
            ".spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]",
        ),
        (
            json!({"tags": ["a", "a"]}),
            ".spec.tags: duplicate entries for key [=\"a\"]",
        ),
    ];
    for (spec, text) in table {
        assert_eq!(
            refused(&site(json!({})), &options("a"), spec),
            format!("{prefix}{text}")
        );
    }
    let mut patch = site(json!({}));
    patch["metadata"]["managedFields"] = json!([]);
    let error = apply(&schema(), None, &patch, &options("a")).expect_err("must be refused");
    assert_eq!(
        error,
        ApplyError::BadRequest("metadata.managedFields must be nil".into())
    );
    patch["apiVersion"] = json!("example.com/v2");
    let error = apply(&schema(), None, &patch, &options("a")).expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "Incorrect version specified in apply patch. Specified patch version: example.com/v2, expected: example.com/v1"
    );
}

#[test]
fn an_update_owns_what_it_changed_and_no_manager_owns_what_it_removed() {
    let live = applied(
        None,
        &options("a"),
        json!({"replicas": 1, "image": "x", "tags": ["t"]}),
    );
    let live = update(
        &schema(),
        Some(&live),
        {
            let mut new = live.clone();
            new["spec"] = json!({"replicas": 2, "labels": {"l": "1"}, "tags": ["t"]});
            new
        },
        &later("edit"),
    );
    assert_eq!(
        owned(&live),
        [
            (
                "a Apply".into(),
                json!({"f:spec": {"f:tags": {"v:\"t\"": {}}}})
            ),
            (
                "edit Update".into(),
                json!({"f:spec": {"f:replicas": {}, "f:labels": {".": {}, "f:l": {}}}}),
            ),
        ]
    );
    let again = update(&schema(), Some(&live), live.clone(), &options("other"));
    assert_eq!(again, live);
}

#[test]
fn status_belongs_to_the_status_endpoint() {
    let mut object = site(json!({"replicas": 1}));
    object["status"] = json!({"ready": true});
    let live = update(&schema(), None, object.clone(), &options("a"));
    assert_eq!(
        owned(&live),
        [(
            "a Update".into(),
            json!({"f:spec": {".": {}, "f:replicas": {}}})
        )]
    );
    let mut new = live.clone();
    new["status"]["ready"] = json!(false);
    new["spec"]["replicas"] = json!(5);
    let live = update(
        &schema(),
        Some(&live),
        new,
        &later("a").subresource(Some("status")),
    );
    assert_eq!(
        owned(&live),
        [
            (
                "a Update".into(),
                json!({"f:spec": {".": {}, "f:replicas": {}}})
            ),
            ("a Update".into(), json!({"f:status": {"f:ready": {}}})),
        ]
    );
    assert_eq!(
        live["metadata"]["managedFields"][1]["subresource"],
        "status"
    );
    let patch = json!({"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "a"}, "status": {"ready": true}});
    let error = apply(
        &schema(),
        Some(&live),
        &patch,
        &options("b").subresource(Some("status")),
    )
    .expect_err("must conflict");
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"a\" with subresource \"status\" using example.com/v1: .status.ready"
    );
    let live = update(&schema(), None, object, &options("a").has_status(false));
    assert_eq!(
        owned(&live)[0].1["f:status"],
        json!({".": {}, "f:ready": {}})
    );
}

#[test]
fn fields_from_before_the_first_apply_have_a_manager_of_their_own() {
    let live = site(json!({"replicas": 1}));
    assert_eq!(
        refused(&live, &options("a"), json!({"replicas": 2})),
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using example.com/v1: .spec.replicas"
    );
    let live = applied(Some(&live), &options("a"), json!({"image": "x"}));
    let managers: Vec<String> = owned(&live).into_iter().map(|o| o.0).collect();
    assert_eq!(managers, ["a Apply", "before-first-apply Update"]);
}

#[test]
fn a_client_may_write_managed_fields() {
    let live = update(
        &schema(),
        None,
        site(json!({"replicas": 1})),
        &options("kubectl-client-side-apply"),
    );
    // This is what kubectl does before its first server-side apply: it renames the manager and changes the operation.
    let mut new = live.clone();
    new["metadata"]["managedFields"][0]["manager"] = json!("kubectl");
    new["metadata"]["managedFields"][0]["operation"] = json!("Apply");
    let live = update(&schema(), Some(&live), new, &later("kubectl"));
    assert_eq!(owned(&live)[0].0, "kubectl Apply");
    let live = applied(Some(&live), &later("kubectl"), json!({"replicas": 3}));
    assert_eq!(live["spec"]["replicas"], 3);

    for reset in [json!([]), json!([{}])] {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = reset;
        let object = update(&schema(), Some(&live), new, &later("edit"));
        assert!(owned(&object).is_empty());
    }
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Destroy"}]);
    let object = update(&schema(), Some(&live), new, &later("edit"));
    assert_eq!(owned(&object), owned(&live));
}

#[test]
fn at_most_ten_updaters_keep_an_entry_of_their_own() {
    let mut live = site(json!({"labels": {}}));
    live = update(&schema(), None, live, &options("first"));
    for i in 0..12 {
        let mut new = live.clone();
        new["spec"]["labels"][format!("l{i}")] = json!("x");
        live = update(&schema(), Some(&live), new, &later(&format!("m{i:02}")));
    }
    let managers: Vec<String> = owned(&live).into_iter().map(|o| o.0).collect();
    assert_eq!(managers.len(), 10);
    assert!(
        managers.contains(&"ancient-changes Update".into()),
        "{managers:?}"
    );
}

#[test]
fn a_field_that_became_atomic_is_owned_as_a_whole() {
    let with = |map_type: &str| {
        Schema::from_json(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "x-kubernetes-map-type": map_type, "properties": {
                "a": {"type": "string"}, "b": {"type": "string"}}}
        }}))
        .expect("a structural schema")
    };
    let patch = site(json!({"a": "1", "b": "2"}));
    let live = apply(&with("granular"), None, &patch, &options("a"))
        .expect("applies")
        .object;
    let again = apply(&with("atomic"), Some(&live), &patch, &options("a")).expect("applies");
    assert_eq!(
        owned(&again.object),
        [("a Apply".into(), json!({"f:spec": {}}))]
    );
    let kept = update(&with("atomic"), Some(&live), live.clone(), &later("b"));
    assert_eq!(owned(&kept), owned(&again.object));
}

#[test]
fn built_in_kinds_are_merged_by_their_published_schemas() {
    let schema = Schema::trusted(&crate::builtin::schema_json(
        "io.k8s.api.apps.v1.Deployment",
    ));
    let deployment = |containers: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"template": {"spec": {"containers": containers}}}})
    };
    let options = |manager| {
        let time = "2026-01-01T00:00:00Z".parse().expect("a time");
        ApplyOptions::new(manager, "apps/v1", time)
    };
    let first =
        json!([{"name": "web", "image": "x", "ports": [{"containerPort": 80}], "args": ["a"]}]);
    let live = apply(&schema, None, &deployment(first), &options("a"))
        .expect("applies")
        .object;
    assert_eq!(
        owned(&live)[0].1["f:spec"]["f:template"]["f:spec"]["f:containers"],
        json!({"k:{\"name\":\"web\"}": {
            ".": {}, "f:name": {}, "f:image": {}, "f:args": {},
            "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}
        }})
    );
    let second = json!([{"name": "side", "image": "y"}]);
    let live = apply(&schema, Some(&live), &deployment(second), &options("b"))
        .expect("applies")
        .object;
    let names = |live: &Value| -> Vec<Value> {
        let containers = live["spec"]["template"]["spec"]["containers"].as_array();
        containers
            .into_iter()
            .flatten()
            .map(|c| c["name"].clone())
            .collect()
    };
    assert_eq!(names(&live), ["web", "side"]);
    let mut patched = live.clone();
    let patch = deployment(json!([{"name": "web", "$patch": "delete"}]));
    crate::patch::strategic_merge_patch(&schema, &mut patched, &patch).expect("applies");
    assert_eq!(names(&patched), ["side"]);
}

#[test]
fn managers_with_the_same_operation_are_sorted_by_time() {
    let live = applied(None, &options("z"), json!({"replicas": 1}));
    let live = applied(Some(&live), &later("a"), json!({"image": "x"}));
    let managers: Vec<String> = owned(&live).into_iter().map(|one| one.0).collect();
    assert_eq!(managers, ["z Apply", "a Apply"]);
}

#[test]
fn who_leaves_items_of_one_key_as_they_are_does_not_own_them() {
    let twice = json!([{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]);
    let live = update(
        &schema(),
        None,
        site(json!({"ports": twice})),
        &options("a"),
    );
    let spec = json!({"ports": twice, "image": "x"});
    let other = update(&schema(), Some(&live), site(spec), &later("b"));
    let (manager, fields) = owned(&other).remove(1);
    assert_eq!(manager, "b Update");
    assert_eq!(fields, json!({"f:spec": {"f:image": {}}}));
}

#[test]
fn finalizers_of_several_appliers_are_merged() {
    let with = |finalizer: &str| {
        let mut patch = site(json!({}));
        patch["metadata"]["finalizers"] = json!([finalizer]);
        patch
    };
    let (a, b) = (with("example.com/a"), with("example.com/b"));
    let live = apply(&schema(), None, &a, &options("a")).expect("applies");
    let live = apply(&schema(), Some(&live.object), &b, &options("b")).expect("applies");
    assert_eq!(
        live.object["metadata"]["finalizers"],
        json!(["example.com/a", "example.com/b"])
    );
}

#[test]
fn fields_that_a_schema_preserves_are_applied_and_owned() {
    let live = applied(None, &options("a"), json!({"open": {"any": 1}}));
    assert_eq!(live["spec"]["open"], json!({"any": 1}));
    let (_, fields) = owned(&live).remove(0);
    assert_eq!(fields, json!({"f:spec": {"f:open": {"f:any": {}}}}));
}

#[test]
fn an_empty_map_is_owned() {
    let live = applied(None, &options("a"), json!({"labels": {}}));
    let (_, fields) = owned(&live).remove(0);
    assert_eq!(fields, json!({"f:spec": {"f:labels": {}}}));
}

#[test]
fn the_fields_of_a_set_are_counted_at_every_depth() {
    let field = |name: &str| PathElement::Field(name.into());
    let mut set = FieldSet::new();
    set.insert(&[field("a")]);
    set.insert(&[field("a"), field("b")]);
    set.insert(&[field("c"), field("d")]);
    assert_eq!(set.len(), 3);
}

#[test]
fn a_list_with_items_of_one_key_is_compared_as_a_whole() {
    let twice =
        |name: &str| json!({"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": name}]});
    let live = update(&schema(), None, site(twice("b")), &options("a"));
    let other = update(&schema(), Some(&live), site(twice("c")), &later("b"));
    let managers: Vec<String> = owned(&other).into_iter().map(|one| one.0).collect();
    assert_eq!(managers, ["a Update", "b Update"]);
}

#[test]
fn merged_updaters_have_the_time_of_the_newest_one() {
    let at = |minute: usize| {
        let time = format!("2026-01-01T00:{minute:02}:00Z")
            .parse()
            .expect("a time");
        ApplyOptions::new(format!("m{minute:02}"), "example.com/v1", time)
    };
    let mut live = site(json!({"labels": {}}));
    for minute in 0..12 {
        let mut new = live.clone();
        new["spec"]["labels"][format!("l{minute}")] = json!("x");
        let before = (minute > 0).then_some(&live);
        live = update(&schema(), before, new, &at(minute));
    }
    let entries = live["metadata"]["managedFields"].as_array().expect("some");
    let joined = entries
        .iter()
        .find(|one| one["manager"] == "ancient-changes");
    let joined = joined.expect("an entry");
    assert_eq!(joined["time"], "2026-01-01T00:02:00Z");
    let labels = joined["fieldsV1"]["f:spec"]["f:labels"].as_object();
    let labels: Vec<&String> = labels.expect("some").keys().collect();
    assert_eq!(labels, [".", "f:l0", "f:l1", "f:l2"]);
    assert_eq!(entries.len(), 10);
}

#[test]
fn a_client_can_remove_all_owners_but_not_through_a_subresource() {
    let live = applied(None, &options("a"), json!({"replicas": 1}));
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([{}]);
    let status = later("b").subresource(Some("status"));
    let kept = update(&schema(), Some(&live), new.clone(), &status);
    assert_eq!(owned(&kept), owned(&live));
    let forgotten = update(&schema(), Some(&live), new, &later("b"));
    assert!(owned(&forgotten).is_empty());
}
