//! Several versions of a kind, and the conversions between them.

#![allow(unreachable_pub, reason = "the types are written as in a library")]

mod autoscaler;
mod endpoint;
#[cfg(feature = "dev")]
mod lossy;
mod nulls;
mod route;
#[cfg(feature = "dev")]
mod scaled;
#[cfg(feature = "dev")]
mod server;
#[cfg(feature = "dev")]
mod variants;

use autoscaler::Autoscaler;
use endpoint::Endpoint;
#[cfg(feature = "dev")]
use lossy::Growing;
use pilothouse::{
    crd::{CustomResource, to_json},
    resource::{ObjectMeta, Resource, Versions},
};
use route::Route;
use serde_json::{Value, json};

const KEPT: &str = "conversion.pilothouse.dev/";

fn convert<K: Resource>(object: Value, version: &str) -> Result<Value, String> {
    let to = format!("{}/{version}", K::GROUP);
    let converted = Versions::of::<K>().convert(object, &to);
    converted.map_err(|error| error.to_string())
}

/// An object in a version of its kind.
fn object<K: Resource>(version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("{}/{version}", K::GROUP), "kind": K::KIND,
        "metadata": {"name": "a", "namespace": "default", "uid": "u", "generation": 3, "finalizers": ["a.b/c"]},
        "spec": spec,
    })
}

fn scaler() -> Value {
    object::<Autoscaler>(
        "v2",
        json!({
            "minReplicas": 2, "maxReplicas": 9,
            "metrics": [{"name": "cpu", "utilization": 70}, {"name": "memory", "utilization": 60}],
            "behavior": {"window": 300, "policies": ["Pods", "Percent"]},
        }),
    )
}

#[test]
fn the_definition_has_all_versions_and_stores_one() {
    let crd = to_json(&Autoscaler::crd().unwrap());
    let versions = crd["spec"]["versions"].as_array().unwrap();
    let shown: Vec<_> = versions
        .iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["served"] == true,
                one["storage"] == true,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("v2", true, true),
            ("v1", true, false),
            ("v2beta1", true, false)
        ]
    );
    assert_eq!(
        versions[1]["deprecationWarning"],
        "use autoscaling.example.com/v2"
    );
    assert_eq!(versions[1]["subresources"], json!({"status": {}}));
    let percentage = "/schema/openAPIV3Schema/properties/spec/properties/targetPercentage/type";
    assert_eq!(versions[1].pointer(percentage), Some(&json!("integer")));
    assert_eq!(versions[1]["additionalPrinterColumns"][0]["name"], "Target");
    let conversion =
        json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}});
    assert_eq!(crd["spec"]["conversion"], conversion);
}

#[test]
fn versions_with_the_same_fields_need_no_conversion() {
    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(
        group = "same.example.com",
        version = "v1",
        namespaced,
        served(NotTheSameBefore),
        conversion = "none"
    )]
    struct NotTheSame {
        metadata: ObjectMeta,
        spec: endpoint::TextSpec,
    }

    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(
        group = "same.example.com",
        version = "v1beta1",
        kind = "NotTheSame",
        namespaced
    )]
    struct NotTheSameBefore {
        metadata: ObjectMeta,
        spec: endpoint::NumberSpec,
    }

    let crd = to_json(&endpoint::Same::crd().unwrap());
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    let old = object::<endpoint::Same>("v1beta1", json!({"text": "a"}));
    let new = convert::<endpoint::Same>(old, "v1").unwrap();
    assert_eq!(new, object::<endpoint::Same>("v1", json!({"text": "a"})));
    let error = NotTheSame::crd().unwrap_err().to_string();
    assert!(
        error.starts_with("NotTheSame: spec.text: the field differs between v1 and v1beta1"),
        "{error}"
    );
}

#[test]
fn what_an_older_version_cannot_express_comes_back() {
    let old = convert::<Autoscaler>(scaler(), "v1").unwrap();
    let spec = json!({"minReplicas": 2, "maxReplicas": 9, "targetPercentage": 70});
    assert_eq!(old["spec"], spec);
    assert!(old["metadata"]["annotations"][format!("{KEPT}v2")].is_string());
    assert_eq!(convert::<Autoscaler>(old, "v2").unwrap(), scaler());
}

#[test]
fn what_a_newer_version_cannot_express_comes_back() {
    let old = json!({"rules": [{"host": "a", "service": "web", "port": "http", "legacy": true}]});
    let old = object::<Route>("v1beta1", old);
    let new = convert::<Route>(old.clone(), "v1").unwrap();
    let rule = json!({"host": "a", "pathType": "ImplementationSpecific", "backend": {"service": "web", "portName": "http"}});
    assert_eq!(new["spec"]["rules"][0], rule);
    assert_eq!(convert::<Route>(new, "v1beta1").unwrap(), old);
}

#[test]
fn a_change_in_the_older_version_wins_and_the_rest_stays() {
    let mut old = convert::<Autoscaler>(scaler(), "v1").unwrap();
    old["spec"]["targetPercentage"] = json!(50);
    old["spec"]["maxReplicas"] = json!(5);
    let new = convert::<Autoscaler>(old, "v2").unwrap();
    let mut expected = scaler();
    expected["spec"]["metrics"][0]["utilization"] = json!(50);
    expected["spec"]["maxReplicas"] = json!(5);
    assert_eq!(new, expected);
}

// The older version of `Growing` gives another number back than it got, so the number is kept beside it.
#[cfg(feature = "dev")]
#[test]
fn a_change_wins_over_a_kept_value_of_the_same_field() {
    let mut old =
        convert::<Growing>(object::<Growing>("v1", json!({"size": 5})), "v1beta1").unwrap();
    let unchanged = convert::<Growing>(old.clone(), "v1").unwrap();
    assert_eq!(unchanged["spec"]["size"], 5);
    old["spec"]["size"] = json!(9);
    let changed = convert::<Growing>(old, "v1").unwrap();
    assert_eq!(changed["spec"]["size"], 10);
}

#[test]
fn a_field_that_was_removed_in_the_older_version_does_not_come_back() {
    let mut old = convert::<Autoscaler>(scaler(), "v1").unwrap();
    let spec = old["spec"].as_object_mut().unwrap();
    spec.remove("targetPercentage");
    let new = convert::<Autoscaler>(old, "v2").unwrap();
    let names = json!([{"name": "memory", "utilization": 60}]);
    assert_eq!(new["spec"]["metrics"], names);
    assert_eq!(new["spec"]["behavior"], scaler()["spec"]["behavior"]);
}

fn routes() -> Value {
    let rule = |host: &str, path_type: &str| json!({"host": host, "pathType": path_type, "backend": {"service": "web", "portNumber": 80}});
    object::<Route>(
        "v1",
        json!({"rules": [rule("a", "Exact"), rule("b", "Prefix"), rule("c", "Exact")]}),
    )
}

#[test]
fn items_of_a_list_keep_their_fields_when_the_older_version_changes_moves_and_adds_items() {
    let mut old = convert::<Route>(routes(), "v1beta1").unwrap();
    let rules = old["spec"]["rules"].as_array_mut().unwrap();
    rules.remove(1);
    rules.insert(0, json!({"host": "d", "service": "new", "port": 8080}));
    rules[1]["host"] = json!("a2");
    let new = convert::<Route>(old, "v1").unwrap();
    let shown: Vec<_> = new["spec"]["rules"].as_array().unwrap().iter().collect();
    let shown: Vec<_> = shown
        .iter()
        .map(|rule| {
            (
                rule["host"].as_str().unwrap(),
                rule["pathType"].as_str().unwrap(),
            )
        })
        .collect();
    // Nobody can tell that the renamed rule is the same.
    let expected = [
        ("d", "ImplementationSpecific"),
        ("a2", "ImplementationSpecific"),
        ("c", "Exact"),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn two_other_versions_are_converted_by_way_of_the_stored_one() {
    let beta = convert::<Autoscaler>(scaler(), "v2beta1").unwrap();
    let old = convert::<Autoscaler>(beta.clone(), "v1").unwrap();
    assert_eq!(old["spec"]["targetPercentage"], 70);
    assert_eq!(
        convert::<Autoscaler>(old.clone(), "v2beta1").unwrap()["spec"],
        beta["spec"]
    );
    assert_eq!(
        convert::<Autoscaler>(old, "v2").unwrap()["spec"],
        scaler()["spec"]
    );
}

#[test]
fn only_labels_and_annotations_of_the_metadata_change() {
    let mut endpoint = object::<Endpoint>("v1alpha1", json!({"address": "db:5432"}));
    endpoint["metadata"]["annotations"] =
        json!({"endpoints.example.com/tls": "true", "other": "x"});
    let new = convert::<Endpoint>(endpoint.clone(), "v1").unwrap();
    assert_eq!(
        new["spec"],
        json!({"host": "db", "port": 5432, "tls": true})
    );
    assert_eq!(new["metadata"]["annotations"]["other"], "x");
    assert_eq!(new["metadata"]["finalizers"], json!(["a.b/c"]));
    assert_eq!(new["metadata"]["generation"], 3);
    assert_eq!(convert::<Endpoint>(new, "v1alpha1").unwrap(), endpoint);
}

#[test]
fn an_object_that_cannot_be_converted_is_named_with_its_field() {
    let error =
        |spec: Value| convert::<Endpoint>(object::<Endpoint>("v1alpha1", spec), "v1").unwrap_err();
    let start = "convert Endpoint default/a from endpoints.example.com/v1alpha1 to endpoints.example.com/v1: ";
    let refused = error(json!({"address": "db"}));
    assert_eq!(refused, format!("{start}spec.address: no port"));
    let unfit = error(json!({"address": ["secret"]}));
    assert_eq!(
        unfit,
        format!("{start}spec.address: expected a string, found a list")
    );
    let unknown = convert::<Endpoint>(object::<Endpoint>("v3", json!({})), "v1").unwrap_err();
    assert!(
        unknown.ends_with("the program has no version \"endpoints.example.com/v3\" of the kind"),
        "{unknown}"
    );
}

#[test]
fn an_annotation_that_no_conversion_wrote_is_an_error_that_names_the_field() {
    let error = |annotation: Value| {
        let mut old = convert::<Autoscaler>(scaler(), "v1").unwrap();
        old["metadata"]["annotations"][format!("{KEPT}v2")] = annotation;
        convert::<Autoscaler>(old, "v2").unwrap_err()
    };
    for forged in [
        json!("{"),
        json!("{}"),
        json!("[1]"),
        json!(r#"[{"path":["spec"]}]"#),
    ] {
        let text = error(forged);
        assert!(
            text.contains("metadata.annotations[conversion.pilothouse.dev/v2]"),
            "{text}"
        );
    }
    let uid = error(json!(r#"[{"path":["metadata","uid"],"value":"x"}]"#));
    assert!(
        uid.contains("names metadata.uid, which no conversion changes"),
        "{uid}"
    );
    let unfit = error(json!(r#"[{"path":["spec","behavior"],"value":"secret"}]"#));
    assert!(
        unfit.contains("keeps of spec.behavior") && !unfit.contains("secret"),
        "{unfit}"
    );
}

#[test]
fn an_annotation_that_was_dropped_gives_up_what_it_kept_and_nothing_else() {
    let mut old = convert::<Autoscaler>(scaler(), "v1").unwrap();
    old["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("annotations");
    let new = convert::<Autoscaler>(old, "v2").unwrap();
    let spec = json!({"minReplicas": 2, "maxReplicas": 9, "metrics": [{"name": "cpu", "utilization": 70}]});
    assert_eq!(new["spec"], spec);
}

#[test]
fn fields_that_do_not_fit_into_the_annotations_are_an_error_that_names_the_largest() {
    let mut large = scaler();
    large["spec"]["behavior"]["policies"] = json!(vec!["Percent"; 30_000]);
    let error = convert::<Autoscaler>(large, "v1").unwrap_err();
    assert!(
        error.contains("more than 262144: the largest of these fields is spec.behavior"),
        "{error}"
    );
}

#[test]
fn fields_that_the_program_does_not_know_stay() {
    let mut newer = scaler();
    newer["spec"]["newField"] = json!({"a": [1]});
    newer["spec"]["metrics"][0]["newer"] = json!("x");
    let old = convert::<Autoscaler>(newer.clone(), "v1").unwrap();
    assert_eq!(convert::<Autoscaler>(old, "v2").unwrap(), newer);
}
