//! R5: before the first reconcile the caches reach a consistent list. Kinds that have not changed are not listed again for that.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use tokio::time::{Instant, sleep};

use super::world::*;
use crate::{
    controller::{Action, Context, Controller, Reconciler, Result},
    election::Phase,
    operator::Running,
};

/// Another controller that reads the same kinds.
struct Reader;

impl Reconciler for Reader {
    type Resource = Secret;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.reads::<ConfigMap>()
    }

    async fn reconcile(&self, _: Arc<Secret>, _: &Context<Secret>) -> Result<Action> {
        Ok(Action::wait())
    }
}

/// Waits until `standby` leads and a reconcile has started. Returns the time between the two.
async fn works_after(standby: &Running, scribe: &Scribe) -> Duration {
    while standby.election().unwrap().phase() != Phase::Leading {
        sleep(Duration::from_millis(1)).await;
    }
    let won = Instant::now();
    while count(&scribe.begun) == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    won.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_works_at_once_on_unchanged_kinds_after_one_request_for_each() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    for number in 0..20 {
        a.create(&format!("map-{number}")).await;
    }
    let leader = a.start(a.operator(&Scribe::quick())).await;
    sleep(seconds(5)).await;
    let scribe = Scribe::quick();
    let standby = b.start(b.operator(&scribe).controller(Reader)).await;
    sleep(seconds(90)).await;
    leader.stop().await;
    let before = sandbox.requests().len();
    let waited = works_after(&standby, &scribe).await;
    assert!(waited < Duration::from_millis(300), "{waited:?}");
    sleep(seconds(5)).await;
    let mut reads = sandbox.requests()[before..].to_vec();
    reads.retain(|one| sender(one) == "b" && matches!(one.verb.as_str(), "list" | "watch"));
    let reads = reads.iter().map(|one| {
        let words = [&one.verb, &one.resource, &one.query];
        words.map(String::as_str)
    });
    let mut reads: Vec<_> = reads.collect();
    reads.sort();
    let expected = [
        ["list", "configmaps", "limit=1000"],
        ["list", "secrets", "limit=1000"],
    ];
    assert_eq!(reads, expected);
    standby.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_an_election_a_first_list_of_the_newest_state_is_enough() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.create("one").await;
    let scribe = Scribe::quick();
    let running = a.start(a.unelected(&scribe)).await;
    sleep(seconds(1)).await;
    assert!(count(&scribe.done) > 0);
    let requests = sandbox.requests();
    let lists = requests.iter().filter(|one| one.verb == "list");
    assert_eq!(lists.count(), 0);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_waits_for_a_lagging_watch_and_does_not_list_again() {
    use pilothouse_sandbox::RequestMatcher;
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    a.create("one").await;
    let leader = a.start(a.operator(&Scribe::quick())).await;
    sleep(seconds(5)).await;
    let scribe = Scribe::quick();
    let standby = b.start(b.operator(&scribe)).await;
    let maps = RequestMatcher::any().verb("watch").resource("configmaps");
    sandbox.faults().hold_watches(maps);
    a.create("two").await;
    leader.stop().await;
    let before = sandbox.requests().len();
    while standby.election().unwrap().phase() != Phase::Leading {
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_millis(500)).await;
    assert_eq!(count(&scribe.begun), 0);
    sandbox.faults().release_watches();
    sleep(Duration::from_millis(100)).await;
    assert!(count(&scribe.begun) >= 2);
    let requests = sandbox.requests();
    let watches = requests[before..].iter().filter(|one| one.verb == "watch");
    assert_eq!(watches.count(), 0);
    standby.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_of_several_namespaces_works_at_once_too() {
    use crate::client::{Api, PostParams};
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    a.create("one").await;
    let mut two = ConfigMap::default();
    two.metadata.name = Some("two".into());
    let maps: Api<ConfigMap> = Api::namespaced(&a.client, "kube-system");
    maps.create(&PostParams::default(), &two).await.unwrap();
    let within =
        |operator: crate::operator::Operator| operator.namespaces(["default", "kube-system"]);
    let leader = a.start(within(a.operator(&Scribe::quick()))).await;
    sleep(seconds(5)).await;
    let scribe = Scribe::quick();
    let standby = b.start(within(b.operator(&scribe))).await;
    sleep(seconds(30)).await;
    leader.stop().await;
    let waited = works_after(&standby, &scribe).await;
    assert!(waited < Duration::from_millis(300), "{waited:?}");
    standby.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_starts_no_reconcile_while_the_consistent_list_fails() {
    use pilothouse_sandbox::{Answer, RequestMatcher};
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    a.create("one").await;
    let leader = a.start(a.operator(&Scribe::quick())).await;
    sleep(seconds(5)).await;
    let scribe = Scribe::quick();
    let standby = b.start(b.operator(&scribe)).await;
    let lists = RequestMatcher::any().verb("list").resource("configmaps");
    let refused = Answer::status(500, "InternalError");
    sandbox.faults().answer(lists, refused, usize::MAX);
    leader.stop().await;
    sleep(seconds(60)).await;
    assert_eq!(count(&scribe.begun), 0);
    sandbox.faults().clear();
    sleep(seconds(5)).await;
    assert!(count(&scribe.done) > 0);
    standby.stop().await;
}
