use serde_json::{Value, json};
use std::time::Duration;

use super::{CauseReport, Ended, History, ReconcileReport, changed_fields};
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
async fn the_newest_50_reconciles_and_causes_of_an_object_are_kept_the_newest_first() {
    let history = History::new();
    let one = key("one");
    for number in 1..=60_u32 {
        history.caused(&one, Cause::Updated, format!("updated: spec.{number}"));
        tokio::time::advance(Duration::from_secs(1)).await;
        history.began(&one, Cause::Updated.into(), number);
        history.ended(&one, done());
    }
    let (_, reconciles) = history.report(&one);
    let kept: Vec<_> = reconciles
        .iter()
        .map(|one| (one.attempt, one.causes[0].what.clone().unwrap()))
        .collect();
    // The oldest 10 are gone.
    let expected = (11..=60).rev();
    let expected = expected.map(|number| (number, format!("updated: spec.{number}")));
    assert_eq!(kept, expected.collect::<Vec<_>>());
    assert!(reconciles.iter().all(|one| one.causes.len() == 1));
    let ages: Vec<_> = reconciles.iter().map(|one| one.seconds_ago).collect();
    assert_eq!(ages, (0..50).map(f64::from).collect::<Vec<_>>());

    for number in 1..=60 {
        history.caused(&one, Cause::Watched, format!("Secret default/{number}"));
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    // What happens again is the newest, and takes the place of no other cause.
    history.caused(&one, Cause::Watched, "Secret default/30".into());
    let (pending, _) = history.report(&one);
    let kept: Vec<_> = pending
        .iter()
        .map(|one| (one.what.clone().unwrap(), one.times, one.seconds_ago))
        .collect();
    let others = (11..=60_u8).rev().filter(|number| *number != 30);
    let others = others.map(|number| {
        let age = f64::from(61 - number);
        (format!("Secret default/{number}"), 1, age)
    });
    let again = ("Secret default/30".to_owned(), 2, 0.0);
    assert_eq!(kept, [again].into_iter().chain(others).collect::<Vec<_>>());

    // The next reconcile has exactly these.
    history.began(&one, Cause::Watched.into(), 61);
    let (left, reconciles) = history.report(&one);
    let whats =
        |causes: &[CauseReport]| -> Vec<_> { causes.iter().map(|one| one.what.clone()).collect() };
    assert!(left.is_empty());
    assert_eq!(whats(&reconciles[0].causes), whats(&pending));
    assert_eq!((reconciles.len(), reconciles[49].attempt), (50, 12));
}

/// The number of records of all objects, as the limit counts them.
fn records(history: &History) -> usize {
    let of = |key: &ObjectKey| {
        let (pending, reconciles) = history.report(key);
        let of = |one: &ReconcileReport| 1 + one.causes.len() + one.writes.len();
        1 + pending.len() + reconciles.iter().map(of).sum::<usize>()
    };
    history.keys().iter().map(of).sum()
}

#[tokio::test(start_paused = true)]
async fn a_controller_keeps_at_most_50_000_records_and_forgets_the_objects_at_rest_first() {
    let history = History::new();
    let (mut most, busy) = (0, key("busy"));
    for number in 0..3000 {
        let key = key(&format!("k{number}"));
        for cause in 0..20 {
            history.caused(&key, Cause::Watched, cause.to_string());
        }
        history.began(&key, Cause::Watched.into(), 1);
        history.wrote(&key, "apply", "ConfigMap a".into(), None, Ok(None));
        history.ended(&key, done());
        history.caused(&busy, Cause::Resync, String::new());
        tokio::time::advance(Duration::from_millis(1)).await;
        if number >= 2000 && number % 50 == 0 {
            most = most.max(records(&history));
        }
    }
    assert!((45_000..=50_000).contains(&most), "{most}");
    let kept = history.keys();
    let has = |name: &str| kept.contains(&key(name));
    assert!(has("busy") && has("k2999") && has("k2000") && !has("k0"));
    // No object is forgotten in part.
    let (_, reconciles) = history.report(&key("k2000"));
    assert_eq!(
        (reconciles[0].causes.len(), reconciles[0].writes.len()),
        (20, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn no_text_of_the_history_is_long() {
    let history = History::new();
    let one = key("one");
    let long = || "x".repeat(100_000);
    history.caused(&one, Cause::Watched, long());
    history.began(&one, Cause::Watched.into(), 1);
    let (old, new): (Value, Value) = (json!({}), json!({long(): 1}));
    history.wrote(&one, "apply", long(), Some(&old), Ok(Some(&new)));
    history.wrote(&one, "create", long(), None, Err(long()));
    let text = Some(long());
    history.ended(&one, Ended { text, ..done() });
    let (_, reconciles) = history.report(&one);
    let shown = serde_json::to_string(&reconciles).unwrap();
    // One cause, three texts of the two writes, the path of a field, and the text of the end.
    assert!(shown.len() < 6 * 700, "{}", shown.len());
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
