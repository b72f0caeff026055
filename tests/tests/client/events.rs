//! Events that the recorder writes.

use std::time::Duration;

use pilothouse::{
    client::{Api, ListParams, Patch, PatchParams, PostParams},
    events::{NewEvent, Recorder},
    k8s::api::{core::v1 as core, events::v1 as api},
    resource::Object,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::target::Target;

pub(crate) async fn events_are_recorded_counted_and_created_again(target: &Target) {
    let recorder = Recorder::new(&target.client, "tests.example.com/maps");
    recorder.start(&CancellationToken::new());
    let map = target.map("page", &[]).await;
    let about = ListParams::default().fields("regarding.name=page");
    let events = target.api::<api::Event>();
    let told = async |count: i32, note: &str| {
        let seen = || async {
            let found = events.list(&about).await.unwrap().items;
            let event = found.into_iter().next()?;
            let counted = event.series.as_ref().map_or(1, |series| series.count);
            (counted == count && event.note.as_deref() == Some(note)).then_some(event)
        };
        target.until(&format!("x{count} {note}"), seen).await
    };
    let record = |note: &str| {
        recorder.event(&map, NewEvent::warning("Broken", "Render").note(note));
    };
    record("one");
    let event = told(1, "one").await;
    record("two");
    told(2, "two").await;
    // The core group shows the same Event.
    let described = target.api::<core::Event>();
    let described = described.get(event.name()).await.unwrap();
    assert_eq!(described.message.as_deref(), Some("two"));

    let params = Default::default();
    events.delete(event.name(), &params).await.unwrap();
    record("three");
    recorder.shutdown(Duration::from_secs(30)).await;
    let event = told(3, "three").await;
    assert_eq!(event.reporting_controller.as_deref(), Some("tests.example.com/maps"));
}

/// Checks the rules of the API on which the recorder relies: its limits, and which fields of an Event may change.
pub(crate) async fn the_api_limits_event_fields_and_their_changes(target: &Target) {
    let events: Api<api::Event> = target.api();
    let create = async |change: serde_json::Value| {
        let mut event = json!({
            "metadata": {"name": "page.1", "namespace": target.namespace},
            "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "reason": "R", "action": "A",
            "reportingController": "c", "reportingInstance": "i",
            "regarding": {"kind": "ConfigMap", "name": "page", "namespace": target.namespace},
        });
        let (Some(event_), Some(change)) = (event.as_object_mut(), change.as_object()) else {
            unreachable!()
        };
        event_.extend(change.clone());
        let event = serde_json::from_value(event).unwrap();
        let dry = PostParams::default().dry_run();
        events.create(&dry, &event).await
    };
    let long = |length: usize| "x".repeat(length);
    create(json!({"note": long(1024), "reason": long(128), "action": long(128), "reportingInstance": long(128)}))
        .await
        .unwrap();
    for (change, field) in [
        (json!({"note": long(1025)}), "message"),
        (json!({"reason": long(129)}), "reason"),
        (json!({"reason": ""}), "reason"),
        (json!({"action": long(129)}), "action"),
        (json!({"action": ""}), "action"),
        (json!({"reportingInstance": long(129)}), "reportingInstance"),
        (json!({"reportingInstance": ""}), "reportingInstance"),
        (json!({"reportingController": "a b"}), "reportingController"),
        (json!({"reportingController": ""}), "reportingController"),
        (json!({"type": "Odd"}), "type"),
        (json!({"series": {"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}), "series.count"),
        (json!({"deprecatedCount": 1}), "count"),
    ] {
        let error = create(change.clone()).await.unwrap_err();
        let causes = error.status().map(|status| status.causes().to_vec());
        let fields: Vec<_> = causes.iter().flatten().map(|cause| &*cause.field).collect();
        assert!(error.is_invalid() && fields.contains(&field), "{change}: {error} {fields:?}");
    }

    let event = serde_json::from_value(json!({
        "metadata": {"name": "page.1", "namespace": target.namespace},
        "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "reason": "R", "action": "A", "note": "one",
        "reportingController": "c", "reportingInstance": "i",
        "regarding": {"kind": "ConfigMap", "name": "page", "namespace": target.namespace},
    }));
    events
        .create(&PostParams::default(), &event.unwrap())
        .await
        .unwrap();
    let series = json!({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}});
    let merge = |patch| Patch::Merge(patch);
    let params = PatchParams::default();
    let patched = events.patch("page.1", &params, &merge(series)).await;
    assert_eq!(patched.unwrap().series.unwrap().count, 2);
    let refused = events.patch("page.1", &params, &merge(json!({"note": "two"}))).await;
    assert!(refused.unwrap_err().is_invalid());
    let core = target.api::<core::Event>();
    let patched = core.patch("page.1", &params, &merge(json!({"message": "two"}))).await;
    assert_eq!(patched.unwrap().message.as_deref(), Some("two"));
}
