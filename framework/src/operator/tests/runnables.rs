//! The user's runnables beside the controllers.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::world::*;
use crate::{
    client::{Api, ErrorKind},
    controller::Failure,
    operator::{Operator, Setup},
};

/// Records what happened, in order.
#[derive(Clone, Default)]
struct Story(Arc<Mutex<Vec<&'static str>>>);

impl Story {
    fn record(&self, what: &'static str) {
        self.0.lock().push(what);
    }

    fn recorded(&self) -> Vec<&'static str> {
        self.0.lock().clone()
    }

    /// A runnable that runs until it is told to stop.
    fn lasting(
        &self,
        begin: &'static str,
        end: &'static str,
    ) -> impl FnOnce(
        Setup,
        CancellationToken,
    ) -> futures_util::future::BoxFuture<'static, Result<(), Failure>>
    + Send
    + 'static {
        let story = self.clone();
        move |_, stop| {
            Box::pin(async move {
                story.record(begin);
                stop.cancelled().await;
                story.record(end);
                Ok(())
            })
        }
    }
}

fn with(operator: Operator, story: &Story) -> Operator {
    operator
        .runnable("always", story.lasting("always", "always ends"))
        .leader_runnable("leader", story.lasting("leads", "leader ends"))
}

#[tokio::test(start_paused = true)]
async fn runnables_run_always_or_only_while_leading_and_end_with_the_controllers() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    let (mine, yours) = (Story::default(), Story::default());
    let leader = a.start(with(a.operator(&Scribe::quick()), &mine)).await;
    sleep(seconds(5)).await;
    let standby = b.start(with(b.operator(&Scribe::quick()), &yours)).await;
    sleep(seconds(30)).await;
    assert_eq!(mine.recorded(), ["always", "leads"]);
    assert_eq!(yours.recorded(), ["always"]);
    let stop = Instant::now();
    leader.stop().await;
    assert!(stop.elapsed() < seconds(1));
    assert_eq!(
        mine.recorded(),
        ["always", "leads", "always ends", "leader ends"]
    );
    sleep(seconds(5)).await;
    assert_eq!(yours.recorded(), ["always", "leads"]);
    standby.stop().await;
}

#[tokio::test(start_paused = true)]
async fn runnables_start_with_full_caches_and_get_the_same_grace_as_reconciles() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.network.outage(true);
    let story = Story::default();
    let begun = story.clone();
    let operator = a
        .unelected(&Scribe::quick())
        .runnable("endless", move |_, _| async move {
            begun.record("begun");
            std::future::pending().await
        });
    let running = operator.start(a.client.clone()).await.unwrap();
    a.network.outage(false);
    running.synced().await;
    sleep(seconds(1)).await;
    assert_eq!(story.recorded(), ["begun"]);
    let stop = Instant::now();
    running.stop().await;
    let took = stop.elapsed();
    assert!(took >= seconds(25) && took < seconds(29), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_client_of_a_leader_runnable_is_fenced_and_the_others_are_not() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let clients = Arc::new(Mutex::new(Vec::new()));
    let keep = |name| {
        let clients = clients.clone();
        move |setup: Setup, stop: CancellationToken| async move {
            clients.lock().push((name, setup.client().clone()));
            stop.cancelled().await;
            Ok(())
        }
    };
    let operator = a
        .operator(&Scribe::quick())
        .runnable("always", keep("always"))
        .leader_runnable("leader", keep("leader"));
    let running = tokio::spawn(operator.run(a.client.clone(), CancellationToken::new()));
    sleep(seconds(20)).await;
    a.network.outage(true);
    running.await.unwrap().unwrap_err();
    a.network.outage(false);
    let clients = clients.lock().clone();
    for (name, client) in clients {
        let api: Api<ConfigMap> = Api::namespaced(&client, "default");
        let answer = api.get_opt("none").await;
        match name {
            "always" => assert!(answer.unwrap().is_none()),
            _ => assert!(
                matches!(&answer, Err(error) if matches!(error.kind(), ErrorKind::Fenced(_))),
                "{answer:?}"
            ),
        }
    }
}
