//! One call per key at a time (R1), no lost wake-up (R2), level and not edge (R3).

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace},
};

use tokio::sync::Notify;

use super::world::*;
use crate::controller::{Action, Controller, Failure, Predicate};

#[tokio::test(start_paused = true)]
async fn calls_for_one_key_never_overlap() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new()
        .wired(|controller| controller.timeout(Duration::from_millis(3)))
        .does(|call: Call<Deployment>| async move {
            match call.number % 6 {
                0 => panic!("on purpose"),
                1 => Err(Failure::new("on purpose")),
                2 => pending().await,
                3 => Ok(Action::requeue_after(Duration::from_millis(1))),
                4 => {
                    pass(2).await;
                    Err(Failure::new("on purpose").retry_after(Duration::from_millis(1)))
                }
                _ => Ok(Action::wait()),
            }
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    for round in 0..200 {
        webs.put(named("a"));
        if round % 3 == 0 {
            webs.put(named("b"));
        }
        if round % 40 == 39 {
            webs.delete("a");
        }
        pass(1).await;
    }
    assert!(calls.keys().len() > 50);
    assert_eq!(calls.overlaps(), 0);
}

#[tokio::test(start_paused = true)]
async fn children_of_a_cluster_scoped_owner_in_many_namespaces_lead_to_one_key() {
    let world = World::new();
    let owners = world.kind::<Namespace>();
    let children = world.kind::<ConfigMap>();
    let probe = Probe::new()
        .wired(|controller| controller.owns::<ConfigMap>())
        .does(|_: Call<Namespace>| async {
            pass(5).await;
            Ok(Action::wait())
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    owners.put(named("/team"));
    settle().await;
    for namespace in ["a", "b", "c", "d", "e", "f"] {
        let child = named::<ConfigMap>(&format!("{namespace}/child"));
        children.put(owned_by::<Namespace, _>(child, "team", "team"));
    }
    pass(50).await;
    assert_eq!(calls.keys(), ["team", "team"]);
    assert_eq!(calls.overlaps(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_reconcile_leads_to_another_reconcile_after_it() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new().does(|_: Call<Deployment>| async {
        pass(10).await;
        Ok(Action::wait())
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("a"));
    pass(5).await;
    webs.put(named("a"));
    pass(50).await;
    assert_eq!(calls.keys(), ["default/a", "default/a"]);
    assert_eq!(calls.overlaps(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_during_a_reconcile_leads_to_deleted_after_it() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new().does(|_: Call<Deployment>| async {
        pass(10).await;
        Ok(Action::wait())
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("a"));
    pass(5).await;
    webs.delete("a");
    pass(50).await;
    assert_eq!(calls.keys(), ["default/a", "-default/a"]);
    assert_eq!(calls.overlaps(), 0);
}

#[tokio::test(start_paused = true)]
async fn one_call_for_many_changes_sees_the_last_change() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new().does(|_: Call<Deployment>| async {
        pass(10).await;
        Ok(Action::wait())
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("a"));
    pass(5).await;
    for replicas in 1..=10 {
        let mut web = named::<Deployment>("a");
        web.spec.replicas = Some(replicas);
        webs.put(web);
    }
    pass(50).await;
    assert_eq!(calls.keys().len(), 2);
    let last = calls.last().unwrap();
    assert_eq!(last.spec.replicas, Some(10));
}

#[tokio::test(start_paused = true)]
async fn a_call_gets_the_object_that_the_cache_has_when_it_starts() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new()
        .wired(|controller| controller.concurrency(1))
        .does(|_: Call<Deployment>| async {
            pass(10).await;
            Ok(Action::wait())
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("busy"));
    settle().await;
    // Its key waits for the only worker. Meanwhile the object is changed and deleted.
    webs.put(named("a"));
    settle().await;
    webs.delete("a");
    pass(50).await;
    assert_eq!(calls.keys(), ["default/busy"], "it was never reconciled");
}

#[tokio::test(start_paused = true)]
async fn deleted_is_called_once_and_only_for_a_key_that_was_reconciled() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let children = world.kind::<ConfigMap>();
    let probe = Probe::<Deployment>::new().wired(|controller| controller.owns::<ConfigMap>());
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("a"));
    settle().await;
    webs.delete("a");
    settle().await;
    // Its children, and those of an owner that never existed, still change.
    for owner in ["a", "never"] {
        children.put(owned_by::<Deployment, _>(
            named::<ConfigMap>(owner),
            owner,
            owner,
        ));
    }
    pass(1000).await;
    assert_eq!(calls.keys(), ["default/a", "-default/a"]);

    webs.put(named("a"));
    settle().await;
    webs.delete("a");
    settle().await;
    assert_eq!(calls.keys()[2..], ["default/a", "-default/a"]);
}

#[tokio::test(start_paused = true)]
async fn deleted_that_fails_is_called_again_until_it_succeeds() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new().does(|call: Call<Deployment>| async move {
        match (call.object, call.number) {
            (None, 2..=3) => Err(Failure::new("on purpose")),
            (None, 4) => panic!("on purpose"),
            _ => Ok(Action::wait()),
        }
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("a"));
    settle().await;
    webs.delete("a");
    pass(10_000).await;
    assert_eq!(calls.keys()[1..], ["-default/a"; 4]);
}

#[tokio::test(start_paused = true)]
async fn only_the_action_of_the_last_reconcile_counts() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new().does(|call: Call<Deployment>| async move {
        Ok(match call.number {
            1 => Action::requeue_after(Duration::from_millis(100)),
            2 => Action::requeue_after(Duration::from_millis(50)),
            _ => Action::wait(),
        })
    });
    let calls = probe.calls.clone();
    webs.put(named("a"));
    world.start(Controller::new(probe));
    pass(60).await;
    webs.put(named("a"));
    pass(10_000).await;
    assert_eq!(calls.times(), [0, 60, 110]);
}

#[tokio::test(start_paused = true)]
async fn a_predicate_hides_changes_but_no_deletion() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe =
        Probe::<Deployment>::new().wired(|controller| controller.when(Predicate::generation()));
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    let version = |generation| {
        let mut web = named::<Deployment>("a");
        web.metadata.generation = Some(generation);
        web
    };
    webs.put(version(1));
    settle().await;
    webs.put(version(1));
    settle().await;
    assert_eq!(calls.keys().len(), 1, "nothing changed but the version");
    webs.put(version(2));
    settle().await;
    let mut dying = version(2);
    dying.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
        k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
    ));
    webs.put(dying);
    settle().await;
    assert_eq!(calls.keys().len(), 3, "deletion began");
    webs.delete("a");
    settle().await;
    assert_eq!(calls.keys().last().unwrap(), "-default/a");
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_running_reconciles_and_starts_no_other() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new()
        .wired(|controller| controller.concurrency(1))
        .does(|_: Call<Deployment>| async {
            pass(10).await;
            Ok(Action::requeue_after(Duration::from_millis(1)))
        });
    let calls = probe.calls.clone();
    webs.put(named("a"));
    webs.put(named("b"));
    let running = world.start(Controller::new(probe));
    pass(5).await;
    let start = tokio::time::Instant::now();
    world.cancel.cancel();
    running.await.unwrap();
    assert_eq!(start.elapsed().as_millis(), 5);
    pass(1000).await;
    assert_eq!(calls.keys().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn reconciles_that_never_wait_do_not_starve_other_tasks() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    (0..1000).for_each(|number| webs.put(named(&format!("web-{number}"))));
    let begun = Arc::new(Notify::new());
    let begins = begun.clone();
    let probe = Probe::new().does(move |_: Call<Deployment>| {
        begins.notify_one();
        async { Ok(Action::wait()) }
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    begun.notified().await;
    assert!(calls.keys().len() < 1000, "the other keys were starved");
    settle().await;
    assert_eq!(calls.keys().len(), 1000);
}

#[tokio::test(start_paused = true)]
async fn the_batch_of_a_worker_is_returned_when_its_call_waits() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    (0..1000).for_each(|number| webs.put(named(&format!("web-{number}"))));
    let number = AtomicUsize::new(0);
    let probe = Probe::new()
        .wired(|controller| controller.concurrency(2))
        .does(move |_: Call<Deployment>| {
            let waits = number.fetch_add(1, Ordering::Relaxed) == 50;
            async move {
                match waits {
                    true => pending().await,
                    false => Ok(Action::wait()),
                }
            }
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    settle().await;
    assert_eq!(calls.keys().len(), 1000);
}
