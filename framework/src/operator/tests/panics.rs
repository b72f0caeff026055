//! R10: a panic of a background task is noticed at once, and the operator stops in order with exit code 1.

use std::fs;

use pilothouse_sandbox::{Answer, RequestMatcher};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::world::*;
use crate::{
    metrics::Metrics,
    operator::{Operator, OperatorError, Serving},
    server::Address,
};

/// Runs an operator with an election until it ends by itself.
async fn ends(process: &Process, on: &'static str) -> (OperatorError, Metrics) {
    process.create("one").await;
    let operator = process.operator(&Scribe::quick());
    let metrics = operator.metrics().clone();
    let running = operator.run(process.client.clone(), CancellationToken::new());
    let running = tokio::spawn(running);
    process.network.panics(on);
    let ended = timeout(seconds(60), running).await;
    (ended.expect(on).unwrap().unwrap_err(), metrics)
}

/// Checks that the operator ended because of this panic of this task, with exit code 1.
fn is_of(error: &OperatorError, metrics: &Metrics, task: &str, reason: &str) {
    assert_eq!(
        error.to_string(),
        format!("the operator stops because a task failed: {reason} panicked: on purpose")
    );
    assert_eq!(error.code(), 1);
    let line = format!("operator_task_panics_total{{task=\"{task}\"}} 1\n");
    assert!(metrics.encode().contains(&line), "{line}");
}

/// Runs an operator with an election until it ends by itself, while a log line with that text makes the log panic.
async fn ends_of_a_line(
    process: &Process,
    operator: Operator,
    text: &'static str,
) -> (OperatorError, Metrics) {
    let metrics = operator.metrics().clone();
    let _log = tracing::subscriber::set_default(Fragile(text));
    let running = operator.run(process.client.clone(), CancellationToken::new());
    let ended = timeout(seconds(60), running).await;
    (ended.expect(text).unwrap_err(), metrics)
}

/// A log that panics at a line with that text, in the task that writes the line.
struct Fragile(&'static str);

impl tracing::field::Visit for Fragile {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}");
        let breaks = field.name() == "message" && text.contains(self.0);
        assert!(!breaks, "on purpose");
    }
}

impl tracing::Subscriber for Fragile {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("pilothouse")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Self(self.0));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_background_task_stops_the_operator_in_order() {
    let table = [
        ("/events", "events", "events"),
        ("/leases", "leader-election", "leader election"),
    ];
    for (path, task, reason) in table {
        let sandbox = sandbox();
        let a = Process::of(&sandbox, "a");
        let (error, metrics) = ends(&a, path).await;
        is_of(&error, &metrics, task, reason);
        if task != "leader-election" {
            assert_eq!(a.holder().await, "", "{task}: the Lease is released");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_renewal_stops_the_operator_in_order_at_once() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.create("one").await;
    let scribe = Scribe::taking(seconds(5));
    let operator = a.operator(&scribe);
    let metrics = operator.metrics().clone();
    let running = a.start(operator).await;
    let running = tokio::spawn(running.run_until(CancellationToken::new()));
    while count(&scribe.running) == 0 {
        sleep(seconds(1)).await;
    }
    let begun = Instant::now();
    a.network.panics("/leases");
    let ended = timeout(seconds(60), running).await.unwrap().unwrap();
    is_of(
        &ended.unwrap_err(),
        &metrics,
        "leader-election",
        "lease renewal",
    );
    // The running reconcile completed, and the operator did not wait for the end of the term.
    assert_eq!(count(&scribe.done), 1);
    assert!(begun.elapsed() < seconds(9), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_an_informer_stops_the_operator_in_order() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.create("one").await;
    // The reflector catches a panic while it reads, but not a panic while it logs.
    a.network.panics("/secrets");
    let operator = a.operator(&Scribe::quick());
    let (error, metrics) = ends_of_a_line(&a, operator, "decoding the answer panicked").await;
    is_of(&error, &metrics, "informer", "informer secrets/v1");
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_readiness_task_stops_the_operator_in_order() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.create("one").await;
    let secrets = RequestMatcher::any().resource("secrets");
    let gone = Answer::status(404, "NotFound");
    sandbox.faults().answer(secrets, gone, usize::MAX);
    let operator = a.operator(&Scribe::quick());
    let (error, metrics) = ends_of_a_line(&a, operator, "or remove it from `wire`").await;
    is_of(&error, &metrics, "readiness", "readiness");
    assert_eq!(a.holder().await, "", "the Lease is released");
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_listener_stops_the_operator_in_order() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.create("one").await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let certificate = || {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(file("tls.crt"), made.cert.pem()).unwrap();
        fs::write(file("tls.key"), made.signing_key.serialize_pem()).unwrap();
    };
    certificate();
    let operator = a
        .operator(&Scribe::quick())
        .metrics_address(Address::loopback(0))
        .serving(Serving::https(file("tls.crt"), file("tls.key")));
    let renewed = async {
        sleep(seconds(15)).await;
        certificate();
    };
    let ended = ends_of_a_line(&a, operator, "a new certificate is in use");
    let ((error, metrics), ()) = tokio::join!(ended, renewed);
    is_of(&error, &metrics, "listener", "listener");
    assert_eq!(a.holder().await, "", "the Lease is released");
}
