//! What a program learns of the failures of an informer.

use std::sync::Arc;

use parking_lot::Mutex;

use super::*;
use crate::{
    cache::{
        InformerScope, Informers,
        fake::{Answer, broken, refused, status},
    },
    client::Client,
    metrics::Metrics,
};

/// Records verb, class and text of each failure.
fn recorded(informer: &SharedInformer<ConfigMap>) -> Arc<Mutex<Vec<String>>> {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let log = lines.clone();
    informer.on_failure(move |failure| {
        let status = failure.error.and_then(|error| error.status());
        let code = status.map(|status| status.code);
        let namespace = failure.namespace.unwrap_or("-");
        log.lock()
            .push(format!("{} {namespace} {code:?} {failure}", failure.verb));
    });
    lines
}

#[tokio::test(start_paused = true)]
async fn each_failure_reaches_the_programs_function_with_its_error() {
    let server = FakeServer::new().in_namespace("default");
    server.answer_lists([
        Answer::Fail(status(403, "Forbidden", "no role")),
        Answer::Fail(status(403, "Forbidden", "no role")),
    ]);
    server.fail_watches([status(500, "InternalError", "oops")]);
    let informer = server.informer();
    let lines = recorded(&informer);
    let _running = Running::of(informer);
    seconds(30).await;
    let lines = lines.lock();
    let of = |verb: &str, code: &str| {
        let begin = format!(
            "{verb} default Some({code}) cannot {verb} configmaps in namespace \"default\": "
        );
        lines.iter().filter(|line| line.starts_with(&begin)).count()
    };
    assert_eq!(
        (of("list", "403"), of("watch", "500"), lines.len()),
        (2, 1, 3),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_normal_operation_is_no_failure() {
    let server = FakeServer::new();
    server.put("a");
    let (running, _) = Running::synced(&server).await;
    let lines = recorded(&running.informer);
    seconds(60).await;
    server.close_watches();
    seconds(60).await;
    server.end_watches(broken);
    seconds(60).await;
    server.compact();
    server.advance();
    server.end_watches(crate::cache::fake::expired);
    seconds(60).await;
    assert!(lines.lock().is_empty(), "{:?}", lines.lock());
}

#[tokio::test(start_paused = true)]
async fn a_function_that_panics_is_counted_and_the_informer_and_other_functions_go_on() {
    let server = FakeServer::new();
    server.answer_lists([Answer::Fail(refused())]);
    let metrics = Metrics::new();
    let informer = server.informer_with(&metrics);
    informer.on_failure(|_| panic!("on purpose"));
    let lines = recorded(&informer);
    let running = Running::of(informer);
    seconds(30).await;
    assert_eq!(lines.lock().len(), 1);
    assert!(running.informer.has_synced());
    let counted = metrics.informer("", "v1", "configmaps").listener_panics;
    assert_eq!(counted.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_functions_are_dropped_with_the_informer() {
    let server = FakeServer::new();
    let running = Running::of(server.informer());
    let (before, after) = (Arc::new(()), Arc::new(()));
    let held = before.clone();
    running.informer.on_failure(move |_| drop(held.clone()));
    running.cancel.cancel();
    running.task.await.unwrap();
    let held = after.clone();
    running.informer.on_failure(move |_| drop(held.clone()));
    assert_eq!(
        (Arc::strong_count(&before), Arc::strong_count(&after)),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_function_of_the_builder_receives_the_failures_of_all_informers() {
    let client = Client::from_service(tower::service_fn(|_| async {
        let answer = http::Response::builder().status(403);
        Ok::<_, std::convert::Infallible>(answer.body(String::new()).unwrap())
    }));
    let kinds = Arc::<Mutex<Vec<String>>>::default();
    let log = kinds.clone();
    let informers = Informers::builder(client, Metrics::new())
        .on_failure(move |failure| log.lock().push(failure.resource.plural.to_string()))
        .build();
    informers.informer::<ConfigMap>(InformerScope::all());
    informers.informer::<k8s_openapi::api::core::v1::Secret>(InformerScope::all());
    informers.start(&CancellationToken::new());
    seconds(1).await;
    informers.shutdown().await;
    let mut kinds = kinds.lock().clone();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds, ["configmaps", "secrets"]);
}
