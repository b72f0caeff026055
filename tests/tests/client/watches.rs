//! Watches.

use std::time::Duration;

use futures_util::StreamExt;
use pilothouse::{
    client::{DeleteParams, Patch, PatchParams, WatchEvent, WatchParams, WatchStream},
    k8s::api::core::v1::ConfigMap,
    resource::Object,
};
use serde_json::json;

use crate::target::Target;

/// Returns the type of the next event about an object, and the object's name.
async fn next(watch: &mut WatchStream<ConfigMap>) -> (&'static str, String) {
    loop {
        let event = tokio::time::timeout(Duration::from_secs(30), watch.next());
        let event = event.await.expect("an event").expect("more").unwrap();
        return match event {
            WatchEvent::Added(map) => ("added", map.name().to_owned()),
            WatchEvent::Modified(map) => ("modified", map.name().to_owned()),
            WatchEvent::Deleted(map) => ("deleted", map.name().to_owned()),
            WatchEvent::Bookmark { .. } => continue,
            other => panic!("{other:?}"),
        };
    }
}

fn labelled(value: &str) -> Patch {
    Patch::Merge(json!({"metadata": {"labels": {"in": value}}}))
}

pub(crate) async fn a_watch_delivers_all_changes(target: &Target) {
    let maps = target.api::<ConfigMap>();
    target.map("first", &[("in", "test")]).await;
    let mut watch = maps.watch(&WatchParams::default().labels("in")).await.unwrap();
    // Without a version the watch starts with the present objects.
    assert_eq!(next(&mut watch).await, ("added", "first".into()));
    target.map("second", &[("in", "test")]).await;
    assert_eq!(next(&mut watch).await, ("added", "second".into()));
    maps.patch("first", &PatchParams::default(), &labelled("other")).await.unwrap();
    assert_eq!(next(&mut watch).await, ("modified", "first".into()));
    maps.delete("second", &DeleteParams::default()).await.unwrap();
    assert_eq!(next(&mut watch).await, ("deleted", "second".into()));
}

pub(crate) async fn a_watch_from_an_expired_version_reports_it(target: &Target) {
    let maps = target.api::<ConfigMap>();
    let at = |version: &str| WatchParams::default().after(version);
    let error = maps.watch(&at("no-version")).await.err().unwrap();
    assert!(error.status().is_some(), "{error}");
    let short = at("1").timeout(Duration::from_secs(2));
    let answer = match maps.watch(&short).await {
        Ok(mut watch) => watch.next().await,
        Err(error) => Some(Err(error)),
    };
    // A server may still have this history. If it returns an error, it must be this one.
    if let Some(Err(error)) = answer {
        assert!(error.is_expired(), "{error}");
    }
}

pub(crate) async fn a_watch_with_a_selector_sees_objects_enter_and_leave(target: &Target) {
    let maps = target.api::<ConfigMap>();
    target.map("a", &[("in", "other")]).await;
    let list = maps.list(&Default::default()).await.unwrap();
    let watch = WatchParams::default().labels("in=test").after(list.resource_version().unwrap());
    let mut watch = maps.watch(&watch).await.unwrap();
    let params = PatchParams::default();
    maps.patch("a", &params, &labelled("test")).await.unwrap();
    assert_eq!(next(&mut watch).await, ("added", "a".into()));
    maps.patch("a", &params, &labelled("other")).await.unwrap();
    assert_eq!(next(&mut watch).await, ("deleted", "a".into()));
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    target.map("b", &[("in", "test")]).await;
    assert_eq!(next(&mut watch).await, ("added", "b".into()));
}
