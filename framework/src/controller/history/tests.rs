use serde_json::{Value, json};
use std::time::Duration;

use super::{Ended, History, changed_fields};
use crate::{
    controller::cause::{Cause, Causes},
    queue::Note,
    resource::ObjectKey,
};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name)
}

fn done() -> Ended {
    Ended {
        how: "succeeded",
        is_failure: false,
        text: None,
        again_after: None,
    }
}

fn differ(old: Value, new: Value) -> String {
    changed_fields(&old, &new).to_string()
}

#[test]
fn the_paths_of_changed_fields_are_named_and_what_each_write_changes_is_not() {
    let old = json!({
        "apiVersion": "v1", "kind": "A",
        "metadata": {"resourceVersion": "1", "generation": 1, "labels": {"a/b": "1"}, "managedFields": [1]},
        "spec": {"size": 1, "list": [{"name": "x", "image": "1"}, {"name": "y"}], "gone": 1, "none": null, "short": [1]},
    });
    let new = json!({
        "apiVersion": "v2", "kind": "A",
        "metadata": {"resourceVersion": "2", "generation": 2, "labels": {"a/b": "2"}, "managedFields": [2, 3]},
        "spec": {"size": 2, "list": [{"name": "x", "image": "2"}, {"name": "y"}], "short": [1, 2], "new": true},
    });
    assert_eq!(
        differ(old.clone(), new),
        "metadata.labels.a/b, spec.gone, spec.list[0].image, spec.new, spec.short, spec.size"
    );
    assert_eq!(differ(old.clone(), old), "nothing");
    let many: Value = (0..13)
        .map(|one| (format!("f{one:02}"), json!(1)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let text = differ(json!({}), many);
    assert!(text.ends_with("f09 and 3 more"), "{text}");
    let text = differ(json!({}), json!({"x".repeat(500): 1}));
    assert!(text.len() < 200, "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_has_the_causes_that_were_noted_before_it_and_its_writes() {
    let history = History::new();
    let one = key("one");
    history.caused(
        &one,
        Cause::Owned,
        "ConfigMap default/a updated: data.b".into(),
    );
    history.caused(
        &one,
        Cause::Owned,
        "ConfigMap default/a updated: data.b".into(),
    );
    history.parked(&one);
    tokio::time::advance(Duration::from_secs(2)).await;
    history.parked(&one);
    tokio::time::advance(Duration::from_secs(1)).await;
    let mut causes = Causes::from(Cause::Owned);
    causes.merge(Cause::Retry.into());
    history.began(&one, causes, 2);
    history.caused(&one, Cause::Updated, "spec.size".into());
    tokio::time::advance(Duration::from_millis(250)).await;
    let (before, after) = (
        json!({"data": {"a": "secret 1"}}),
        json!({"data": {"a": "secret 2"}}),
    );
    history.wrote(
        &one,
        "apply",
        "Secret default/s".into(),
        Some(&before),
        Ok(Some(&after)),
    );
    history.wrote(
        &one,
        "create",
        "Pod default/p".into(),
        None,
        Err("no".into()),
    );
    tokio::time::advance(Duration::from_millis(250)).await;
    let failed = Ended {
        how: "failed",
        is_failure: true,
        text: Some("x".repeat(2000)),
        again_after: Some(Duration::from_secs(7)),
    };
    history.ended(&one, failed);
    tokio::time::advance(Duration::from_secs(1)).await;

    let (pending, reconciles) = history.report(&one);
    let pending: Vec<_> = pending
        .iter()
        .map(|one| (one.cause, one.what.as_deref()))
        .collect();
    assert_eq!(pending, [("updated", Some("spec.size"))]);
    let [only] = reconciles.as_slice() else {
        panic!("{reconciles:?}")
    };
    let mut shown = serde_json::to_value(only).unwrap();
    let text = shown["text"].take();
    assert!(text.as_str().unwrap().len() < 600, "{text}");
    let expected = json!({
        "secondsAgo": 1.5, "attempt": 2, "waitedForOwnWritesSeconds": 3.0, "seconds": 0.5, "outcome": "failed", "failed": true,
        "text": null, "againAfterSeconds": 7.0, "moreWrites": 0,
        "causes": [
            {"cause": "retry", "secondsAgo": 1.5, "times": 1},
            {"cause": "owned", "what": "ConfigMap default/a updated: data.b", "secondsAgo": 4.5, "times": 2},
        ],
        "writes": [
            {"verb": "apply", "object": "Secret default/s", "afterSeconds": 0.25, "changed": ["data.a"], "moreChanged": 0},
            {"verb": "create", "object": "Pod default/p", "afterSeconds": 0.25, "moreChanged": 0, "error": "no"},
        ],
    });
    assert_eq!(shown, expected);
    assert!(
        !format!("{reconciles:?}").contains("secret"),
        "an object's content"
    );
}

#[tokio::test(start_paused = true)]
async fn the_history_of_one_object_and_of_all_objects_has_a_limit() {
    let history = History::with_room_for(1000);
    let one = key("one");
    for number in 0..60_u32 {
        for cause in 0..60 {
            history.caused(&one, Cause::Watched, format!("{number} {cause}"));
        }
        history.began(&one, Cause::Watched.into(), number);
        for _ in 0..60 {
            history.wrote(&one, "apply", "ConfigMap a".into(), None, Ok(None));
        }
        history.ended(&one, done());
    }
    let (_, reconciles) = history.report(&one);
    // Alone it is over the limit of all: then it is forgotten as a whole, and begins again.
    assert!(reconciles.len() <= 50, "{}", reconciles.len());
    assert!(
        reconciles
            .iter()
            .all(|one| one.causes.len() <= 50 && one.writes.len() <= 50)
    );

    for number in 0..2000 {
        let key = key(&format!("k{number}"));
        history.began(&key, Cause::Created.into(), 1);
        history.ended(&key, done());
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    let kept = history.keys();
    assert!((100..=500).contains(&kept.len()), "{}", kept.len());
    assert!(kept.contains(&key("k1999")) && !kept.contains(&key("k0")) && !kept.contains(&one));
    assert_eq!(history.report(&key("k1999")).1.len(), 1);
}
