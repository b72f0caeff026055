//! Channels, timers, mappings that read the caches, and sources that are added and removed at run time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret},
};

use super::world::*;
use crate::{
    cache::InformerScope,
    controller::{
        Action, Channel, Closed, Context, Controller, Failure, Mapping, Reconciler, Request,
        Result, Timer, Watched,
        cause::Cause,
        sources::{Enqueuer, informer},
        state::ControllerState,
    },
    queue::{ExponentialBackoff, Priority},
    resource::{ApiResource, Object, ObjectKey},
};

/// A controller with this wiring and the Deployments `names`, after its first reconciles.
async fn at_rest(
    names: &[&str],
    wire: impl Fn(Controller<Probe<Deployment>>) -> Controller<Probe<Deployment>>
    + Send
    + Sync
    + 'static,
) -> (World, Script<Deployment>, Calls<Deployment>) {
    let world = World::new();
    let webs = world.kind();
    names.iter().for_each(|name| webs.put(named(name)));
    let probe = Probe::new().wired(wire);
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    settle().await;
    calls.clear();
    (world, webs, calls)
}

fn sorted(calls: &Calls<Deployment>) -> Vec<String> {
    let mut keys = calls.keys();
    keys.sort();
    keys
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_channel_lead_to_reconciles_of_cached_objects() {
    let channel = Channel::<Request>::new();
    let stream = channel.clone();
    let (_world, _webs, calls) =
        at_rest(&["a", "b"], move |wire| wire.source(stream.stream())).await;
    channel.send(named_key("a")).await.unwrap();
    channel.send(named_key("nobody")).await.unwrap();
    settle().await;
    assert_eq!(calls.keys(), ["default/a"]);
    calls.clear();
    channel.send(Request::all()).await.unwrap();
    settle().await;
    assert_eq!(sorted(&calls), ["default/a", "default/b"]);
}

#[tokio::test(start_paused = true)]
async fn a_sender_waits_while_the_controller_is_too_slow() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    // More than fit into the queue and the channel. Each takes a second.
    for number in 0..2000 {
        webs.put(named(&format!("web-{number}")));
    }
    webs.forbid(true);
    let channel = Channel::<Request>::with_capacity(10);
    let stream = channel.clone();
    let probe = Probe::new()
        .wired(move |wire| wire.concurrency(1).source(stream.stream()))
        .does(|_: Call<Deployment>| async {
            pass(1000).await;
            Ok(Action::wait())
        });
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let sender = channel.clone();
    tokio::spawn(async move {
        for _ in 0..100 {
            sender.send(named_key("web-7")).await.unwrap();
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    world.start(Controller::new(probe));
    pass(10_000).await;
    assert_eq!(sent.load(Ordering::Relaxed), 10, "it does not work yet");
    webs.forbid(false);
    pass(100_000).await;
    assert_eq!(sent.load(Ordering::Relaxed), 10, "2000 keys wait");
    pass(1_200_000).await;
    assert_eq!(sent.load(Ordering::Relaxed), 100);
}

#[tokio::test(start_paused = true)]
async fn a_sender_gets_an_error_when_its_controller_has_ended() {
    let channel = Channel::<Request>::new();
    let stream = channel.clone();
    let (world, _webs, _) = at_rest(&["a"], move |wire| wire.source(stream.stream())).await;
    world.cancel.cancel();
    settle().await;
    assert_eq!(channel.send(named_key("a")).await, Err(Closed));
}

#[tokio::test(start_paused = true)]
async fn timers_request_one_object_or_all() {
    let second = Duration::from_secs(1);
    let (_world, _webs, calls) = at_rest(&["a", "b"], move |wire| {
        wire.source(Timer::every(10 * second).spread(0.0))
            .source(Timer::every(4 * second).spread(0.0).of(named_key("b")))
    })
    .await;
    pass(10_500).await;
    assert_eq!(
        sorted(&calls),
        ["default/a", "default/b", "default/b", "default/b"]
    );
}

#[tokio::test(start_paused = true)]
async fn every_object_is_reconciled_again_after_the_resync_period() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    webs.put(named("a"));
    let probe = Probe::new()
        .wired(|wire| wire.every(Duration::from_secs(100)))
        .does(|call: Call<Deployment>| async move {
            match call.number {
                2 => Err(Failure::new("on purpose").terminal()),
                3 => Ok(Action::requeue_after(Duration::from_secs(10_000))),
                _ => Ok(Action::wait()),
            }
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(450_000).await;
    let times = calls.times();
    assert_eq!(times.len(), 5, "{times:?}");
    for pair in times.windows(2) {
        assert!(
            (90_000..=100_001).contains(&(pair[1] - pair[0])),
            "{times:?}"
        );
    }
    webs.delete("a");
    pass(1_000_000).await;
    assert_eq!(calls.keys().len(), 6, "and not when it is gone");
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_source_or_its_mapping_affects_no_other_source() {
    let channel = Channel::<u8>::new();
    let stream = channel.clone();
    let (world, webs, calls) = at_rest(&["a"], move |wire| {
        let broken = stream::iter([1]).map(|_: u8| -> Request { panic!("on purpose") });
        wire.source(broken)
            .source_with(stream.stream(), |item, _| match item {
                0 => panic!("on purpose"),
                1 => Err(Failure::new("on purpose")),
                _ => Ok(vec![named_key("a").into()]),
            })
    })
    .await;
    for item in 0..3_u8 {
        channel.send(item).await.unwrap();
    }
    settle().await;
    assert_eq!(calls.keys(), ["default/a"]);
    webs.put(named("a"));
    settle().await;
    assert_eq!(calls.keys().len(), 2);
    let metrics = world.metrics.controller("deployment");
    assert_eq!(metrics.handler_panics.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_mapping_of_changes_sees_the_change_and_reads_the_caches() {
    let world = World::new();
    let (webs, settings) = (world.kind::<Deployment>(), world.kind::<ConfigMap>());
    let probe = Probe::<Deployment>::new().wired(|wire| {
        wire.watch(Watched::<ConfigMap>::new(Mapping::changes(
            |change, caches| {
                if change.old().is_none() {
                    return Ok(Vec::new());
                }
                let webs = caches.list::<Deployment>()?;
                Ok(webs.iter().map(|web| web.key()).collect())
            },
        )))
    });
    let calls = probe.calls.clone();
    webs.put(named("a"));
    webs.put(named("b"));
    world.start(Controller::new(probe));
    settle().await;
    calls.clear();
    settings.put(named("settings"));
    settle().await;
    assert!(calls.keys().is_empty(), "it was created");
    settings.put(named("settings"));
    settle().await;
    assert_eq!(sorted(&calls), ["default/a", "default/b"]);
}

/// Reads a Secret, which `wire` does not declare.
struct Reader(Calls<Deployment>);

impl Reconciler for Reader {
    type Resource = Deployment;

    async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        if web.annotation("reads").is_some() {
            let secret = cx.get::<Secret>("token")?;
            assert!(secret.is_some());
        }
        self.0.note(cx.key(), Some(web.clone()));
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_added_at_run_time_waits_only_for_its_own_kind_and_delays_no_other() {
    let world = World::new();
    let (webs, secrets) = (world.kind::<Deployment>(), world.kind::<Secret>());
    secrets.forbid(true);
    secrets.put(named("token"));
    let calls = Probe::<Deployment>::new().calls;
    let controller = Controller::new(Reader(calls.clone()));
    let sources = controller.sources();
    webs.put(named("a"));
    world.start(controller);
    settle().await;
    let added = sources.watches::<Secret>(|_| vec![named_key("a")]);
    pass(1000).await;
    webs.put(named("a"));
    settle().await;
    assert_eq!(calls.keys().len(), 2, "others go on");

    secrets.forbid(false);
    let mut reading = named::<Deployment>("a");
    reading.metadata.annotations = Some([("reads".to_owned(), String::new())].into());
    assert!(added.synced().await);
    settle().await;
    assert_eq!(calls.keys().len(), 3, "what its first list asks for");
    webs.put(reading.clone());
    settle().await;
    assert_eq!(calls.keys().len(), 4, "and it can be read");
    let metrics = world.metrics.controller("deployment");
    assert_eq!(metrics.errors.get(), 0);
    secrets.put(named("token"));
    settle().await;
    assert_eq!(calls.keys().len(), 5);

    added.remove().await;
    secrets.put(named("token"));
    settle().await;
    assert_eq!(calls.keys().len(), 5, "nothing comes from it any more");
    webs.put(reading);
    settle().await;
    assert!(metrics.errors.get() > 0, "and it cannot be read");
}

#[tokio::test(start_paused = true)]
async fn keys_of_a_new_source_are_held_until_it_has_synced() {
    let world = World::new();
    let environment = world.environment();
    let limiter = Box::new(ExponentialBackoff::default());
    let webs = ApiResource::of::<Deployment>();
    let cache = informer(&environment, &webs).lister();
    let controller = ControllerState::new("test".into(), webs, limiter, &environment);
    let controller = Arc::new(controller);
    let enqueuer = Enqueuer::<Deployment>::open(&controller, &cache).closed();
    enqueuer.enqueue(named_key("a"), Priority::Low, Cause::Initial);
    enqueuer.enqueue(named_key("a"), Priority::Normal, Cause::Watched);
    assert_eq!(controller.queue.remembered(), 0);
    enqueuer.gate.open();
    enqueuer.enqueue(named_key("b"), Priority::Normal, Cause::Watched);
    let work = controller.queue.get().await.unwrap();
    assert_eq!(
        (&work.key, work.priority),
        (&named_key("a"), Priority::Normal)
    );
    assert_eq!(work.note.to_string(), "initial,watched");
    assert_eq!(controller.queue.get().await.unwrap().key, named_key("b"));
}

#[tokio::test(start_paused = true)]
async fn a_source_may_be_added_before_the_start_and_after_the_end() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    webs.put(named("a"));
    let probe = Probe::<Deployment>::new();
    let calls = probe.calls.clone();
    let controller = Controller::new(probe);
    let sources = controller.sources();
    // Also before the start: a stream waits only for the start.
    let early = sources.source(Timer::every(Duration::from_secs(1)).of(named_key("a")));
    world.start(controller);
    settle().await;
    assert!(early.synced().await);
    pass(2500).await;
    assert!(calls.keys().len() >= 3);
    early.remove().await;
    calls.clear();
    pass(10_000).await;
    assert!(calls.keys().is_empty());

    let late = sources.reads::<ConfigMap>();
    world.cancel.cancel();
    assert!(!late.synced().await, "it never will");
    settle().await;
    assert!(!sources.reads::<Secret>().synced().await);
    late.remove().await;
}

#[tokio::test(start_paused = true)]
async fn keys_of_the_first_list_come_after_changes() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    (0..100).for_each(|number| webs.put(named(&format!("old-{number}"))));
    let probe = Probe::new()
        .wired(|wire| wire.concurrency(1))
        .does(|_: Call<Deployment>| async {
            pass(10).await;
            Ok(Action::wait())
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(55).await;
    webs.put(named("new"));
    pass(30).await;
    assert!(calls.keys().contains(&"default/new".to_owned()));
    assert!(calls.keys().len() < 12);
}

/// A hundred Deployments with a child and a Secret each, and one worker that takes 10 ms for each.
struct Crowd {
    world: World,
    webs: Script<Deployment>,
    children: Script<ConfigMap>,
    secrets: Script<Secret>,
    calls: Calls<Deployment>,
}

impl Crowd {
    async fn at_rest() -> Self {
        let world = World::new();
        let (webs, children, secrets) = (world.kind(), world.kind(), world.kind());
        let probe = Probe::new()
            .wired(|wire| {
                wire.concurrency(1)
                    .owns::<ConfigMap>()
                    .watches::<Secret>(|secret| vec![secret.key()])
            })
            .does(|_: Call<Deployment>| async {
                pass(10).await;
                Ok(Action::wait())
            });
        let calls = probe.calls.clone();
        let crowd = Self {
            world,
            webs,
            children,
            secrets,
            calls,
        };
        Self::names().for_each(|name| crowd.put(&name));
        crowd.world.start(Controller::new(probe));
        pass(5000).await;
        crowd.calls.clear();
        crowd
    }

    fn names() -> impl Iterator<Item = String> {
        (0..100).map(|number| format!("web-{number}"))
    }

    fn put(&self, name: &str) {
        self.webs.put(named(name));
        self.secrets.put(named(name));
        let child = named::<ConfigMap>(name);
        self.children
            .put(owned_by::<Deployment, _>(child, name, name));
    }

    /// Lists a kind again, and creates another object while its hundred keys wait.
    async fn relist<K: crate::resource::Resource>(&self) {
        let informer = self.world.informers.informer::<K>(InformerScope::all());
        informer.relist();
        // The informer lists after a pause.
        while self.calls.keys().is_empty() {
            pass(5).await;
        }
        self.webs.put(named("new"));
        pass(25).await;
        let keys = self.calls.keys();
        assert!(keys.contains(&"default/new".to_owned()), "{keys:?}");
        assert!(keys.len() < 10, "{keys:?}");
        pass(5000).await;
        let mut keys = self.calls.keys();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 101, "none is forgotten");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_from_a_relist_of_the_reconciled_kind_come_after_changes() {
    let crowd = Crowd::at_rest().await;
    crowd.webs.unseen(|webs| {
        for (number, name) in Crowd::names().enumerate() {
            match number % 2 {
                0 => webs.put(named(&name)),
                _ => webs.delete(&name),
            }
        }
    });
    crowd.relist::<Deployment>().await;
}

#[tokio::test(start_paused = true)]
async fn keys_from_a_relist_of_an_owned_kind_come_after_changes() {
    let crowd = Crowd::at_rest().await;
    crowd.children.unseen(|children| {
        for (number, name) in Crowd::names().enumerate() {
            let child = || owned_by::<Deployment, _>(named::<ConfigMap>(&name), &name, &name);
            match number % 2 {
                0 => children.put(child()),
                _ => children.delete(&name),
            }
        }
    });
    crowd.relist::<ConfigMap>().await;
}

#[tokio::test(start_paused = true)]
async fn keys_from_a_relist_of_a_watched_kind_come_after_changes() {
    let crowd = Crowd::at_rest().await;
    crowd.secrets.unseen(|secrets| {
        Crowd::names().for_each(|name| secrets.delete(&name));
    });
    crowd.relist::<Secret>().await;
}

#[tokio::test(start_paused = true)]
async fn an_action_may_set_the_priority() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe =
        Probe::new()
            .wired(|wire| wire.concurrency(1))
            .does(|call: Call<Deployment>| async move {
                if call.key.name() == "busy" {
                    pass(1000).await;
                    return Ok(Action::wait());
                }
                let urgency = match call.key.name() {
                    "a" => Priority::Low,
                    "b" => Priority::Normal,
                    _ => Priority::High,
                };
                match call.number {
                    1 => Ok(Action::requeue_after(Duration::from_millis(500)).priority(urgency)),
                    _ => Ok(Action::wait()),
                }
            });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    for name in ["a", "b", "c", "busy"] {
        webs.put(named(name));
        settle().await;
    }
    pass(2000).await;
    // The log is not cleared: the reconciler counts its lines.
    assert_eq!(calls.keys()[4..], ["default/c", "default/b", "default/a"]);
}

/// A key that the cache does not have takes no memory, even if it is requested often.
#[tokio::test(start_paused = true)]
async fn keys_of_objects_that_do_not_exist_take_no_memory() {
    let channel = Channel::<Request>::new();
    let stream = channel.clone();
    let (world, _webs, _) = at_rest(&["a"], move |wire| {
        wire.concurrency(1).source(stream.stream())
    })
    .await;
    for number in 0..5000 {
        let key = ObjectKey::namespaced("default", &format!("nobody-{number}"));
        channel.send(key).await.unwrap();
    }
    settle().await;
    assert_eq!(world.metrics.workqueue("deployment").adds.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_forged_owner_reference_costs_no_call_and_no_retry() {
    let world = World::new();
    let (webs, maps) = (world.kind::<Deployment>(), world.kind::<ConfigMap>());
    webs.put(named("a"));
    let probe = Probe::<Deployment>::new().wired(|wire| wire.owns::<ConfigMap>());
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    settle().await;
    calls.clear();
    let queue = world.metrics.workqueue("deployment");
    let adds = queue.adds.get();
    for (number, owner) in ["", ".", "..", "b/a", "../default/a", "a%2f"]
        .iter()
        .enumerate()
    {
        let map = named::<ConfigMap>(&format!("forged-{number}"));
        maps.put(owned_by::<Deployment, _>(map, owner, "1"));
    }
    settle().await;
    assert_eq!(queue.adds.get(), adds, "names that no object can have");

    // The object may be on its way, so its key is looked up in the cache, and forgotten.
    maps.put(owned_by::<Deployment, _>(
        named::<ConfigMap>("b"),
        "ghost",
        "1",
    ));
    pass(600_000).await;
    assert_eq!(queue.adds.get(), adds + 1);
    assert_eq!((calls.keys().len(), queue.retries.get()), (0, 0));
    let text = world.metrics.encode();
    assert!(!text.contains("rest_client_requests_total{"), "{text}");
}
