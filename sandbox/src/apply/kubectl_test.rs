//! Server-side apply by kubectl, which used client-side apply before.

use serde_json::{Value, json};

use super::tests::*;
use super::{apply, update};

#[test]
fn kubectl_changes_nothing_when_only_its_annotation_in_the_patch_is_old() {
    let mut site = site(json!({"replicas": 1}));
    site["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
    let live = apply(&schema(), None, &site, &options("kubectl")).expect("applies");
    let again = apply(&schema(), Some(&live.object), &site, &later("kubectl")).expect("applies");
    assert!(!again.changed);
}

#[test]
fn kubectl_does_not_conflict_with_what_it_applied_on_the_client_side() {
    let annotate = |mut object: Value| {
        let last = object.to_string();
        object["metadata"]["annotations"] =
            json!({"kubectl.kubernetes.io/last-applied-configuration": last});
        object
    };
    let live = update(
        &schema(),
        None,
        annotate(site(json!({"replicas": 1}))),
        &options("kubectl-client-side-apply"),
    );
    let live = applied(Some(&live), &options("kubectl"), json!({"replicas": 2}));
    assert_eq!(live["spec"]["replicas"], 2);
    let last = &live["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    let last: Value = serde_json::from_str(last.as_str().expect("text")).expect("json");
    assert_eq!(last["spec"]["replicas"], 2);
}

#[test]
fn kubectl_conflicts_with_changes_made_after_its_client_side_apply() {
    let mut first = site(json!({"replicas": 1, "image": "x"}));
    let last = first.to_string();
    first["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": last});
    let live = update(
        &schema(),
        None,
        first,
        &options("kubectl-client-side-apply"),
    );
    let mut changed = live.clone();
    changed["spec"]["replicas"] = json!(5);
    let live = update(&schema(), Some(&live), changed, &later("other"));
    let text = refused(
        &live,
        &options("kubectl"),
        json!({"replicas": 2, "image": "y"}),
    );
    assert!(
        text.contains(".spec.replicas") && text.contains("\"other\""),
        "{text}"
    );
    // The fields of other managers are still checked.
    let text = refused(&live, &options("somebody"), json!({"image": "y"}));
    assert!(text.contains(".spec.image"), "{text}");
}
