//! Something outside of the cluster that is polled.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::apps::v1::Deployment;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::world::*;
use crate::{
    controller::{Controller, Failure, Poll, Request, Result},
    logged::logged,
    metrics::Metrics,
    resource::Object,
};

/// Things with a state, each with the name of a Deployment.
#[derive(Clone, Default)]
struct Outside(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    things: BTreeMap<&'static str, u32>,
    answers: Answers,
    /// When each poll began.
    polls: Vec<Instant>,
}

#[derive(Clone, Copy, Default)]
enum Answers {
    #[default]
    Things,
    After(Duration),
    Error,
    Panic,
}

impl Outside {
    fn set(&self, thing: &'static str, state: u32) {
        self.0.lock().things.insert(thing, state);
    }

    fn remove(&self, thing: &str) {
        self.0.lock().things.remove(thing);
    }

    fn answers(&self, answers: Answers) {
        self.0.lock().answers = answers;
    }

    /// The seconds between the last polls.
    fn pauses(&self, last: usize) -> Vec<u64> {
        let polls = &self.0.lock().polls;
        let pauses = polls.windows(2).map(|pair| (pair[1] - pair[0]).as_secs());
        let skipped = (polls.len() - 1).saturating_sub(last);
        pauses.skip(skipped).collect()
    }

    async fn poll(self) -> Result<Vec<(&'static str, u32)>> {
        let answers = {
            let mut state = self.0.lock();
            state.polls.push(Instant::now());
            state.answers
        };
        match answers {
            Answers::Things => {}
            Answers::After(time) => tokio::time::sleep(time).await,
            Answers::Error => return Err(Failure::new("the cloud is away")),
            Answers::Panic => panic!("on purpose"),
        }
        let things = self.0.lock().things.clone();
        Ok(things.into_iter().collect())
    }

    fn every(&self, seconds: u64) -> Poll<&'static str, u32> {
        let outside = self.clone();
        Poll::every(Duration::from_secs(seconds), move || outside.clone().poll()).named("the cloud")
    }
}

fn request(thing: &'static str) -> Request {
    named_key(thing).into()
}

/// A controller of the Deployments a, b and c that polls every 10 s, before its first reconciles.
fn polling(
    outside: &Outside,
    poll: fn(Poll<&'static str, u32>) -> Poll<&'static str, u32>,
) -> (World, Calls<Deployment>) {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    ["a", "b", "c"]
        .iter()
        .for_each(|name| webs.put(named(name)));
    let outside = outside.clone();
    let probe = Probe::<Deployment>::new().wired(move |wire| {
        wire.polls_with(poll(outside.every(10)), |thing, _| Ok(vec![request(thing)]))
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    (world, calls)
}

fn failures(metrics: &Metrics) -> u64 {
    metrics.controller("deployment").poll_failures.get()
}

#[tokio::test(start_paused = true)]
async fn only_a_difference_between_two_polls_leads_to_reconciles() {
    let outside = Outside::default();
    ["a", "b"].iter().for_each(|thing| outside.set(thing, 1));
    let (_world, calls) = polling(&outside, |poll| poll);
    settle().await;
    calls.clear();
    pass(100_000).await;
    assert!(calls.keys().is_empty(), "{:?}", calls.keys());

    outside.set("a", 2);
    pass(11_100).await;
    assert_eq!(calls.keys(), ["default/a"]);
    outside.remove("b");
    pass(11_100).await;
    assert_eq!(calls.keys(), ["default/a", "default/b"]);
    outside.set("c", 1);
    // No object has the name of this thing.
    outside.set("x", 1);
    pass(100_000).await;
    assert_eq!(calls.keys(), ["default/a", "default/b", "default/c"]);
}

#[tokio::test(start_paused = true)]
async fn after_the_first_poll_each_object_is_reconciled_because_it_may_have_changed_before() {
    let outside = Outside::default();
    outside.answers(Answers::After(Duration::from_secs(5)));
    let (_world, calls) = polling(&outside, |poll| poll);
    pass(4_000).await;
    assert_eq!(calls.keys().len(), 3);
    calls.clear();
    pass(2_000).await;
    let mut keys = calls.keys();
    keys.sort();
    assert_eq!(keys, ["default/a", "default/b", "default/c"]);
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_fails_panics_or_hangs_is_no_deletion_and_is_logged_once() {
    let (log, _guard) = logged(tracing::Level::INFO);
    let outside = Outside::default();
    outside.set("a", 1);
    let (world, calls) = polling(&outside, |poll| poll.timeout(Duration::from_secs(5)));
    pass(12_000).await;
    calls.clear();
    let kinds = [
        Answers::Error,
        Answers::Panic,
        Answers::After(Duration::from_secs(600)),
    ];
    for kind in kinds {
        outside.answers(kind);
        pass(60_000).await;
    }
    assert!(calls.keys().is_empty(), "{:?}", calls.keys());
    assert!(failures(&world.metrics) > 12);
    let panics = world.metrics.controller("deployment").handler_panics.get();
    assert!(panics > 3, "{panics}");
    let text = log.text();
    let line = "the cloud failed, further failures are logged at debug level: the cloud is away";
    assert_eq!(text.matches("the cloud failed").count(), 1, "{text}");
    assert!(
        text.contains(line) && !text.contains("works again"),
        "{text}"
    );

    // What changed meanwhile is compared with the last poll that succeeded.
    outside.set("b", 1);
    outside.answers(Answers::Things);
    pass(20_000).await;
    assert_eq!(calls.keys(), ["default/b"]);
    assert_eq!(log.text().matches("the cloud works again").count(), 1);
}

/// A state that cannot be compared.
struct Incomparable;

impl PartialEq for Incomparable {
    fn eq(&self, _: &Self) -> bool {
        panic!("on purpose")
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_panic_of_a_comparison_all_objects_are_reconciled_and_the_polls_go_on() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    ["a", "b"].iter().for_each(|name| webs.put(named(name)));
    let probe = Probe::<Deployment>::new().wired(|wire| {
        let poll = Poll::every(Duration::from_secs(10), || async {
            Ok(vec![("a", Incomparable)])
        });
        wire.polls_with(poll, |thing, _| Ok(vec![request(thing)]))
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(5_000).await;
    for _ in 0..2 {
        calls.clear();
        pass(11_000).await;
        let mut keys = calls.keys();
        keys.sort();
        assert_eq!(keys, ["default/a", "default/b"]);
    }
    let metrics = world.metrics.controller("deployment");
    assert!(metrics.handler_panics.get() >= 2);
}

#[tokio::test(start_paused = true)]
async fn failed_polls_are_repeated_after_growing_pauses_up_to_the_period() {
    let outside = Outside::default();
    outside.answers(Answers::Error);
    let (world, _calls) = polling(&outside, |poll| poll);
    pass(60_000).await;
    let polls = outside.0.lock().polls.len();
    assert_eq!(outside.pauses(polls)[..5], [1, 2, 4, 8, 10]);
    assert_eq!(failures(&world.metrics), polls as u64);
    outside.answers(Answers::Things);
    pass(12_000).await;
    outside.answers(Answers::Error);
    pass(12_000).await;
    // After a success it begins with the shortest pause.
    assert!(outside.pauses(3).contains(&1), "{:?}", outside.pauses(3));
}

#[tokio::test(start_paused = true)]
async fn a_poll_with_too_many_things_fails() {
    let (log, _guard) = logged(tracing::Level::WARN);
    let outside = Outside::default();
    ["a", "b", "c"]
        .iter()
        .for_each(|thing| outside.set(thing, 1));
    let (world, _calls) = polling(&outside, |poll| poll.limit(2));
    settle().await;
    assert_eq!(failures(&world.metrics), 1);
    let line = "it returned 3 things, and the limit is 2: raise it with `Poll::limit`";
    assert!(log.text().contains(line), "{}", log.text());
}

#[tokio::test(start_paused = true)]
async fn keys_of_objects_need_no_mapping_and_a_mapping_reads_the_caches() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    for (name, zone) in [("a", "north"), ("b", "south"), ("c", "north")] {
        let mut web: Deployment = named(name);
        web.metadata.labels = Some([("zone".to_owned(), zone.to_owned())].into());
        webs.put(web);
    }
    let (zones, things) = (Outside::default(), Outside::default());
    let (one, other) = (zones.clone(), things.clone());
    let probe = Probe::<Deployment>::new().wired(move |wire| {
        let keys = other.clone();
        let keys = Poll::every(Duration::from_secs(10), move || {
            let polled = keys.clone().poll();
            async move {
                Ok(polled
                    .await?
                    .into_iter()
                    .map(|(name, state)| (named_key(name), state)))
            }
        });
        wire.polls(keys).polls_with(one.every(10), |zone, lookup| {
            let webs = lookup.list::<Deployment>()?.into_iter();
            let webs = webs.filter(|web| web.label("zone") == Some(zone));
            Ok(webs.map(|web| web.key().into()).collect())
        })
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    settle().await;
    calls.clear();
    things.set("b", 1);
    pass(12_000).await;
    assert_eq!(calls.keys(), ["default/b"]);
    calls.clear();
    zones.set("north", 1);
    pass(12_000).await;
    let mut keys = calls.keys();
    keys.sort();
    assert_eq!(keys, ["default/a", "default/c"]);
}
