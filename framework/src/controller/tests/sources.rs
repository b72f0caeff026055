//! Channels, timers, mappings that look things up, and sources that come and go.

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
        Action, Channel, Closed, Context, Controller, Failure, Reconciler, Request, Result, Timer,
        causes::Cause,
        hub::Hub,
        sources::{Inlet, informer},
    },
    queue::{ExponentialBackoff, Priority},
    resource::{ApiResource, Object, ObjectKey},
};

/// Deployments `names` at rest under a controller that is wired so.
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
async fn what_a_channel_carries_leads_to_reconciles_of_what_is_there() {
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
async fn a_sender_waits_while_the_controller_does_not_keep_up() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    // More than may wait for a worker and in the channel, and each takes a second.
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
async fn a_sender_hears_that_its_controller_has_ended() {
    let channel = Channel::<Request>::new();
    let stream = channel.clone();
    let (world, _webs, _) = at_rest(&["a"], move |wire| wire.source(stream.stream())).await;
    world.cancel.cancel();
    settle().await;
    assert_eq!(channel.send(named_key("a")).await, Err(Closed));
}

#[tokio::test(start_paused = true)]
async fn timers_ask_for_one_object_or_for_all() {
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
async fn every_object_is_reconciled_again_when_the_interval_has_passed() {
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
async fn a_source_that_panics_or_whose_mapping_does_spoils_only_itself() {
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
async fn a_mapping_of_changes_sees_what_happened_and_looks_things_up() {
    let world = World::new();
    let (webs, settings) = (world.kind::<Deployment>(), world.kind::<ConfigMap>());
    let probe = Probe::<Deployment>::new().wired(|wire| {
        wire.watches_changes::<ConfigMap>(|change, caches| {
            if change.old().is_none() {
                return Ok(Vec::new());
            }
            let webs = caches.list::<Deployment>()?;
            Ok(webs.iter().map(|web| web.key()).collect())
        })
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

/// Reads a Secret that `wire` does not name.
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
async fn a_source_added_at_run_time_waits_for_its_own_kind_and_nobody_waits_for_it() {
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
async fn what_a_new_source_asks_for_is_held_back_until_it_has_synced() {
    let world = World::new();
    let environment = world.environment();
    let limiter = Box::new(ExponentialBackoff::default());
    let hub = Hub::new("test".into(), "Deployment", limiter, &environment);
    let hub = Arc::new(hub);
    let cache = informer(&environment, &ApiResource::of::<Deployment>()).lister();
    let inlet = Inlet::<Deployment>::open_to(&hub, &cache).shut();
    inlet.ask(named_key("a"), Priority::Low, Cause::Initial);
    inlet.ask(named_key("a"), Priority::Normal, Cause::Watched);
    assert_eq!(hub.queue.remembered(), 0);
    inlet.door.open();
    inlet.ask(named_key("b"), Priority::Normal, Cause::Watched);
    let work = hub.queue.get().await.unwrap();
    assert_eq!(
        (&work.key, work.priority),
        (&named_key("a"), Priority::Normal)
    );
    assert_eq!(work.note.to_string(), "initial,watched");
    assert_eq!(hub.queue.get().await.unwrap().key, named_key("b"));
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
    // Before it runs, too: a stream has nothing to wait for but the start.
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
async fn the_first_list_comes_after_changes() {
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

/// A hundred webs with a child and a Secret each, at rest under one worker, of which each takes 10 ms.
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

    /// Reads a kind anew, and while its hundred keys wait creates another object.
    async fn relist<K: crate::resource::Resource>(&self) {
        let informer = self.world.informers.informer::<K>(InformerScope::all());
        informer.relist();
        // A list that is asked for comes after a pause.
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
async fn what_a_relist_finds_of_the_reconciled_kind_comes_after_changes() {
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
async fn what_a_relist_finds_of_an_owned_kind_comes_after_changes() {
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
async fn what_a_relist_finds_of_a_watched_kind_comes_after_changes() {
    let crowd = Crowd::at_rest().await;
    crowd.secrets.unseen(|secrets| {
        Crowd::names().for_each(|name| secrets.delete(&name));
    });
    crowd.relist::<Secret>().await;
}

#[tokio::test(start_paused = true)]
async fn a_wish_may_say_how_urgent_it_is() {
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
    // The log is kept: by it the reconciler counts.
    assert_eq!(calls.keys()[4..], ["default/c", "default/b", "default/a"]);
}

/// A key that the cache does not have, however often it is asked for, takes no memory.
#[tokio::test(start_paused = true)]
async fn a_channel_s_keys_of_nobody_take_no_place() {
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
