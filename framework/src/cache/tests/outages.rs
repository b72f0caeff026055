//! A server that goes away and comes back.

use std::sync::atomic::{AtomicBool, Ordering};

use http::{Request, Response};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::*;
use crate::{
    cache::{
        InformerScope,
        fake::{Answer, refused, status, throttled},
    },
    client::{Api, Body, BoxError, Client, ConnectError, ConnectProblem},
    metrics::Metrics,
};

/// A client whose server can go away: then requests get no answer, and watches end. It records its answers.
struct Cluster {
    client: Client,
    away: Arc<AtomicBool>,
    answered: Arc<Mutex<Vec<Instant>>>,
    open: Arc<Mutex<Vec<tokio::sync::oneshot::Sender<()>>>>,
}

impl Cluster {
    fn start() -> Self {
        let away = Arc::<AtomicBool>::default();
        let answered = Arc::<Mutex<Vec<Instant>>>::default();
        let open = Arc::<Mutex<Vec<_>>>::default();
        let (is_away, notes, watches) = (away.clone(), answered.clone(), open.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let watches = request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch=true"))
                .then(|| watches.clone());
            let outcome = match is_away.load(Ordering::SeqCst) {
                true => Err(BoxError::from(ConnectError::new(
                    "there",
                    ConnectProblem::Refused,
                ))),
                false => Ok(()),
            };
            if outcome.is_ok() {
                notes.lock().push(Instant::now());
            }
            async move {
                outcome?;
                let body = match watches {
                    None => Body::from(bytes::Bytes::from_static(
                        br#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[]}"#,
                    )),
                    Some(open) => {
                        let (sender, ended) = tokio::sync::oneshot::channel::<()>();
                        open.lock().push(sender);
                        let end = futures_util::stream::once(async move {
                            let _ = ended.await;
                            Err::<http_body::Frame<bytes::Bytes>, _>(BoxError::from("the connection was reset"))
                        });
                        Body::new(http_body_util::StreamBody::new(Box::pin(end)))
                    }
                };
                let answer = Response::builder().header("content-type", "application/json");
                Ok::<_, BoxError>(answer.body(body)?)
            }
        });
        Self {
            client: Client::from_service(service),
            away,
            answered,
            open,
        }
    }

    fn go_away(&self) {
        self.away.store(true, Ordering::SeqCst);
        self.open.lock().clear();
        self.answered.lock().clear();
    }

    fn come_back(&self) {
        self.away.store(false, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn one_answered_request_after_an_outage_brings_all_informers_back_within_a_second() {
    let (cluster, metrics) = (Cluster::start(), Metrics::new());
    let running: Vec<Running> = (0..20)
        .map(|number| {
            let maps = Api::<ConfigMap>::namespaced(&cluster.client, &format!("n{number}"));
            let metrics = metrics.informer("", "v1", "configmaps");
            Running::of(SharedInformer::new(maps, InformerScope::all(), metrics))
        })
        .collect();
    seconds(60).await;
    assert!(running.iter().all(|one| one.informer.has_synced()));
    cluster.go_away();
    seconds(60).await;
    assert!(
        running
            .iter()
            .all(|one| one.informer.status().last_error.is_some())
    );
    cluster.come_back();
    seconds(70).await;
    assert!(
        running
            .iter()
            .all(|one| one.informer.status().last_error.is_none())
    );
    let answered = cluster.answered.lock().clone();
    assert!(answered.len() >= running.len());
    let spread = answered[running.len() - 1] - answered[0];
    assert!(spread <= Duration::from_millis(1010), "{spread:?}");
    let at_once = answered.iter().filter(|at| **at == answered[0]).count();
    assert!(at_once < running.len(), "not all at the same moment");
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_server_asked_for_lasts_even_if_other_requests_are_answered() {
    let server = FakeServer::new();
    server.answer_lists([Answer::Fail(throttled(30))]);
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    server.come_back();
    seconds(29).await;
    assert!(!running.informer.has_synced());
    seconds(2).await;
    assert!(running.informer.has_synced());
}

#[tokio::test(start_paused = true)]
async fn a_path_that_stays_broken_while_others_work_is_retried_with_growing_pauses() {
    let server = FakeServer::new();
    server.answer_lists((0..1000).map(|_| Answer::Fail(refused())));
    let _running = Running::of(server.informer());
    for _ in 0..1200 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        server.come_back();
    }
    let lists = server.requests().len();
    assert!((5..=10).contains(&lists), "{lists}");
}

#[tokio::test(start_paused = true)]
async fn pauses_start_over_after_a_watch_that_worked_for_a_while() {
    let server = FakeServer::new();
    let failure = || status(500, "InternalError", "oops");
    server.answer_lists((0..6).map(|_| Answer::Fail(failure())));
    let running = Running::of(server.informer());
    running.informer.synced().await;
    seconds(31).await;
    server.requests();
    server.fail_watches([failure()]);
    server.close_watches();
    seconds(2).await;
    assert_eq!(
        server.requests(),
        ["watch from 0"; 2],
        "the pause is the first one again"
    );
}
