//! What the log says when the API server refuses Events.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    client::{Body, Client},
    events::{NewEvent, Recorder},
    logged::logged,
    resource::{ApiResource, ObjectKey, ObjectRef},
};

#[tokio::test(start_paused = true)]
async fn the_first_refused_event_is_one_warning_with_the_rule_also_after_another_failure() {
    let (log, _guard) = logged(tracing::Level::WARN);
    let is_away = Arc::new(AtomicBool::new(true));
    let away = is_away.clone();
    let client = Client::from_service(tower::service_fn(move |_: Request<Body>| {
        let code = if away.load(Ordering::SeqCst) {
            503
        } else {
            403
        };
        async move {
            let message = "events.events.k8s.io is forbidden: User \"op\" cannot create resource \"events\" in API \
                           group \"events.k8s.io\" in the namespace \"shop\"";
            let status = json!({"code": code, "message": message});
            Response::builder().status(code).body(status.to_string())
        }
    }));
    let recorder = Recorder::new(&client.in_all_namespaces(), "op");
    recorder.start(&CancellationToken::new());
    let record = |name: &str| {
        let key = ObjectKey::namespaced("shop", name);
        let object = ObjectRef::new(ApiResource::of::<ConfigMap>(), key);
        recorder.event_on(&object, NewEvent::warning("Broken", "Break"));
    };
    record("a");
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    is_away.store(false, Ordering::SeqCst);
    record("b");
    record("c");
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    let said = log.text();
    let refused = said.lines().filter(|line| line.contains("refuses Events"));
    let refused: Vec<_> = refused.collect();
    assert_eq!(refused.len(), 1, "{said}");
    let rule = "bind op to a ClusterRole with apiGroups: [\"\", \"events.k8s.io\"], resources: [\"events\"], \
                verbs: [\"create\", \"patch\"]";
    assert!(refused[0].ends_with(rule), "{said}");
}
