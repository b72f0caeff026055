//! Events over the whole client and the sandbox, in memory, on tokio's paused clock.

use std::{sync::Arc, time::Duration};

use crate::probe::{Widget, widget};
use pilothouse::{
    client::{Api, DeleteParams, ListParams},
    events::{NewEvent, Recorder},
    k8s::api::{core::v1 as core, core::v1::ConfigMap, core::v1::Node, events::v1 as api},
    metrics::Metrics,
    operator::Operator,
    prelude::*,
    resource::{ApiResource, DynamicObject},
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// A running recorder, and an object to record Events about.
struct Recording {
    cluster: Cluster,
    recorder: Recorder,
    metrics: Metrics,
    map: ConfigMap,
}

impl Recording {
    async fn start() -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1)).unwrap();
        let metrics = Metrics::new();
        let recorder = Recorder::with_metrics(cluster.client(), "tests.example.com/maps", &metrics);
        recorder.start(&CancellationToken::new());
        let map = cluster.create(&ConfigMap::named("page")).await.unwrap();
        cluster.forget_requests();
        Self {
            cluster,
            recorder,
            metrics,
            map,
        }
    }

    fn record(&self, note: &str) {
        let event = NewEvent::normal("Changed", "Change").note(note);
        self.recorder.event(&self.map, event);
    }

    /// Returns the Events of the namespace after the recorder has sent everything that is due.
    async fn events(&self) -> Vec<api::Event> {
        self.cluster.settle().await;
        events(&self.cluster).await
    }

    /// Returns the count and the note of the only Event.
    async fn only(&self) -> (i32, String) {
        let events = self.events().await;
        assert_eq!(events.len(), 1, "{events:?}");
        count_and_note(&events[0])
    }
}

async fn events(cluster: &Cluster) -> Vec<api::Event> {
    let listed = cluster.api::<api::Event>();
    listed.list(&ListParams::default()).await.unwrap().items
}

/// The number of events that were dropped for this reason.
fn dropped(metrics: &Metrics, reason: &str) -> f64 {
    let labels = [("reason", reason)];
    let value = metrics.value("pilothouse_events_dropped_total", &labels);
    value.unwrap_or_default()
}

fn count_and_note(event: &api::Event) -> (i32, String) {
    let count = event.series.as_ref().map_or(1, |series| series.count);
    (count, event.note.clone().unwrap_or_default())
}

fn events_requests() -> RequestMatcher {
    RequestMatcher::any().resource("events")
}

#[tokio::test(start_paused = true)]
async fn an_event_has_all_fields_that_the_api_requires() {
    let at = Recording::start().await;
    let other = at.cluster.create(&ConfigMap::named("other")).await.unwrap();
    let event = NewEvent::warning("Broken", "Render")
        .note("no title")
        .related(&other);
    at.recorder.event(&at.map, event);
    let events = at.events().await;
    let [event] = &events[..] else {
        panic!("{events:?}")
    };
    assert!(event.name().starts_with("page."), "{}", event.name());
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(event.reason.as_deref(), Some("Broken"));
    assert_eq!(event.action.as_deref(), Some("Render"));
    assert_eq!(count_and_note(event), (1, "no title".into()));
    let controller = event.reporting_controller.as_deref();
    assert_eq!(controller, Some("tests.example.com/maps"));
    let instance = event.reporting_instance.as_deref().unwrap();
    assert!(
        instance.starts_with("tests.example.com/maps-"),
        "{instance}"
    );
    assert!(event.event_time.is_some());
    for (reference, object) in [(&event.regarding, &at.map), (&event.related, &other)] {
        let reference = reference.as_ref().unwrap();
        assert_eq!(reference.kind.as_deref(), Some("ConfigMap"));
        assert_eq!(reference.api_version.as_deref(), Some("v1"));
        assert_eq!(reference.namespace.as_deref(), Some("default"));
        assert_eq!(reference.name.as_deref(), Some(object.name()));
        assert_eq!(reference.uid.as_deref(), object.uid());
    }
}

#[tokio::test(start_paused = true)]
async fn repeats_become_one_event_with_a_count_and_the_newest_note() {
    let at = Recording::start().await;
    at.record("one");
    assert_eq!(at.only().await, (1, "one".into()));
    at.record("two");
    assert_eq!(at.only().await, (2, "two".into()));
    for number in 3..=100 {
        at.record(&number.to_string());
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(at.only().await, (100, "100".into()));
    let writes = at.cluster.writes().len();
    assert_eq!(writes, 3, "a request each for 1, 2 and 100");

    // The same Event in the form that `kubectl describe` reads.
    let described = at.cluster.api::<core::Event>();
    let described = described.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(described[0].message.as_deref(), Some("100"));
    assert_eq!(described[0].involved_object.name.as_deref(), Some("page"));
    let metrics = at.metrics.encode();
    for line in [
        "pilothouse_events_recorded_total{type=\"Normal\"} 100\n",
        "pilothouse_events_recorded_total{type=\"Warning\"} 0\n",
        "pilothouse_events_sent_total{verb=\"create\"} 1\n",
        "pilothouse_events_sent_total{verb=\"patch\"} 2\n",
        "pilothouse_events_dropped_total{reason=\"spam\"} 0\n",
        "pilothouse_events_retries_total 0\n",
        "pilothouse_events_series 1\n",
    ] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_event_is_created_again() {
    let at = Recording::start().await;
    at.record("one");
    let name = at.events().await[0].name().to_owned();
    at.cluster.delete::<api::Event>(&name).await.unwrap();
    at.record("two");
    assert_eq!(at.only().await, (2, "two".into()));
}

#[tokio::test(start_paused = true)]
async fn an_event_about_a_cluster_scoped_object_goes_to_the_default_namespace() {
    let at = Recording::start().await;
    let node = Node {
        metadata: ObjectMeta {
            name: Some("node-1".into()),
            ..ObjectMeta::default()
        },
        ..Node::default()
    };
    let node = at.cluster.create(&node).await.unwrap();
    at.recorder.event(&node, NewEvent::normal("Seen", "Look"));
    let events = at.events().await;
    assert_eq!(events[0].namespace(), Some("default"));
    assert_eq!(events[0].regarding.as_ref().unwrap().namespace, None);
}

#[tokio::test(start_paused = true)]
async fn long_or_missing_event_fields_are_adjusted_to_the_limits() {
    let at = Recording::start().await;
    let event = NewEvent::normal("R".repeat(300), "").note("ß".repeat(1000));
    at.recorder.event(&at.map, event);
    let events = at.events().await;
    assert_eq!(events[0].reason.as_ref().unwrap().len(), 128);
    assert_eq!(events[0].action, events[0].reason);
    assert_eq!(events[0].note.as_deref(), Some(&*"ß".repeat(512)));
}

#[tokio::test(start_paused = true)]
async fn a_failed_event_is_retried_and_delays_no_other() {
    let at = Recording::start().await;
    let other = at.cluster.in_namespace("other");
    let namespace = core::Namespace::named("other");
    at.cluster.create(&namespace).await.unwrap();
    let elsewhere = other.create(&ConfigMap::named("page")).await.unwrap();
    let broken = events_requests().namespace("default");
    let answer = Answer::status(503, "ServiceUnavailable");
    at.cluster.faults().answer(broken, answer, usize::MAX);
    // More than the recorder's concurrent requests.
    for number in 0..20 {
        let event = NewEvent::normal(format!("Broken{number}"), "Test");
        at.recorder.event(&at.map, event);
    }
    at.recorder
        .event(&elsewhere, NewEvent::normal("Fine", "Test"));
    at.cluster.settle().await;
    assert_eq!(events(&other).await.len(), 1);

    at.cluster.faults().clear();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(at.events().await.len(), 20);
    assert_eq!(dropped(&at.metrics, "failed"), 0.0);
    assert!(at.metrics.value("pilothouse_events_retries_total", &[]) > Some(0.0));
}

#[tokio::test(start_paused = true)]
async fn a_refused_event_is_counted_and_not_retried() {
    let at = Recording::start().await;
    let refused = Answer::status(403, "Forbidden");
    at.cluster
        .faults()
        .answer(events_requests(), refused, usize::MAX);
    at.record("one");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(dropped(&at.metrics, "refused"), 1.0);
    assert_eq!(at.cluster.writes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_count_is_written_even_without_permission_to_change_notes() {
    let at = Recording::start().await;
    let core_events = events_requests().group("");
    let refused = Answer::status(403, "Forbidden");
    at.cluster.faults().answer(core_events, refused, usize::MAX);
    at.record("one");
    at.cluster.settle().await;
    at.record("two");
    at.cluster.settle().await;
    at.cluster.faults().clear();
    assert_eq!(at.only().await, (2, "one".into()));
}

#[tokio::test(start_paused = true)]
async fn unsent_events_are_sent_at_the_stop_and_none_afterwards() {
    let at = Recording::start().await;
    at.record("one");
    at.cluster.settle().await;
    for number in 2..=50 {
        at.record(&number.to_string());
    }
    at.recorder.shutdown(Duration::from_secs(2)).await;
    at.record("late");
    assert_eq!(at.only().await, (50, "50".into()));
    assert_eq!(dropped(&at.metrics, "stopped"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn the_stop_of_the_recorder_keeps_its_time_limit() {
    let at = Recording::start().await;
    let down = Answer::status(503, "ServiceUnavailable");
    at.cluster
        .faults()
        .answer(events_requests(), down, usize::MAX);
    at.record("one");
    let start = tokio::time::Instant::now();
    at.recorder.shutdown(Duration::from_secs(2)).await;
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(dropped(&at.metrics, "stopped"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn recording_is_bounded_and_never_blocks_even_if_no_event_is_sent() {
    let cluster = Cluster::start().unwrap();
    let metrics = Metrics::new();
    let recorder = Recorder::with_metrics(cluster.client(), "tests/maps", &metrics);
    for number in 0..10_000 {
        let map = ConfigMap::named(number.to_string());
        recorder.event(&map, NewEvent::normal("Changed", "Change"));
    }
    let recorded = metrics.value("pilothouse_events_recorded_total", &[("type", "Normal")]);
    assert_eq!(recorded, Some(10_000.0));
    assert_eq!(dropped(&metrics, "full"), 10_000.0 - 4096.0);
    assert_eq!(metrics.value("pilothouse_events_series", &[]), Some(4096.0));
    recorder.shutdown(Duration::from_secs(2)).await;
    assert_eq!(dropped(&metrics, "stopped"), 4096.0);
}

/// Records an Event for each widget.
struct Announcer;

impl Reconciler for Announcer {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context<Widget>) -> Result<Action> {
        let note = format!("of size {}", widget.spec.size);
        cx.event(NewEvent::normal("Seen", "Look").note(note));
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_records_events_and_the_operator_sends_the_rest_at_its_stop() {
    let cluster = Cluster::start().unwrap();
    let operator = Operator::new("announcer").controller(Announcer);
    let running = cluster.run(operator).await.unwrap();
    let widget = cluster.create(&widget("a", 1)).await.unwrap();
    for size in 2..=5 {
        cluster.settle().await;
        let patch = json!({"spec": {"size": size}});
        cluster.patch::<Widget>("a", patch).await.unwrap();
    }
    cluster.settle().await;
    running.stop().await;
    let events = events(&cluster).await;
    assert_eq!(events.len(), 1);
    assert_eq!(count_and_note(&events[0]), (5, "of size 5".into()));
    assert_eq!(
        events[0].regarding.as_ref().unwrap().uid.as_deref(),
        widget.uid()
    );
    let controller = events[0].reporting_controller.as_deref();
    assert_eq!(controller, Some("announcer/widget"));
}

/// (R8)
#[tokio::test(start_paused = true)]
async fn r8_an_undecodable_object_is_reported_in_one_event() {
    let cluster = Cluster::start().unwrap();
    // In the program's type `data` is a map. The server accepts other values.
    cluster.install::<Widget>().await.unwrap();
    let loose: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.test.pilothouse.dev"},
    }))
    .unwrap();
    let definitions = Api::<DynamicObject>::of(cluster.client(), definitions(), None);
    definitions
        .delete(loose.name(), &DeleteParams::default())
        .await
        .unwrap();
    cluster.settle().await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.test.pilothouse.dev"},
        "spec": {
            "group": "test.pilothouse.dev", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    });
    let definition = serde_json::from_value(definition).unwrap();
    definitions
        .create(&Default::default(), &definition)
        .await
        .unwrap();
    cluster.settle().await;
    let widgets = ApiResource::of::<Widget>();
    let bad = serde_json::from_value(json!({
        "apiVersion": "test.pilothouse.dev/v1", "kind": "Widget",
        "metadata": {"name": "bad"}, "spec": {"size": "large"},
    }));
    let widgets = Api::<DynamicObject>::of(cluster.client(), widgets, Some("default"));
    let bad = widgets
        .create(&Default::default(), &bad.unwrap())
        .await
        .unwrap();

    let operator = Operator::new("announcer").controller(Announcer);
    let running = operator.start(cluster.client().clone()).await.unwrap();
    running.synced().await;
    cluster.settle().await;
    let events = events(&cluster).await;
    assert_eq!(events.len(), 1, "{events:?}");
    let (count, note) = count_and_note(&events[0]);
    assert_eq!(
        (count, events[0].reason.as_deref()),
        (1, Some("Undecodable"))
    );
    assert!(
        note.contains("spec.size") && !note.contains("large"),
        "{note}"
    );
    assert_eq!(
        events[0].regarding.as_ref().unwrap().uid.as_deref(),
        bad.uid()
    );
    running.stop().await;
}

fn definitions() -> ApiResource {
    ApiResource {
        group: "apiextensions.k8s.io".into(),
        version: "v1".into(),
        kind: "CustomResourceDefinition".into(),
        plural: "customresourcedefinitions".into(),
        namespaced: false,
    }
}
