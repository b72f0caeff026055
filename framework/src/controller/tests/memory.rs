//! R14: what is remembered of a key ends with its object.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};

use super::world::*;
use crate::{
    client::{Body, BoxError, Client},
    controller::{
        Action, Cleanup, Context, Controller, Failure, Reconciler, Result, Sources,
        applied::{Applied, child_id},
        apply_detached::Claims,
        call::Outcome,
        causes::Cause,
        children::Children,
        context::Shared,
        finalizers::Finalizers,
        fingerprints::Fingerprints,
        hub::Hub,
        run::{self, Course},
        settle::{Ended, settle as ended},
        sources::{Inlet, Own, Wiring, informer},
    },
    queue::{ExponentialBackoff, Priority},
    resource::{ApiResource, ObjectKey},
};

fn hub(world: &World) -> Hub {
    let limiter = Box::new(ExponentialBackoff::default());
    Hub::new("test".into(), "Deployment", limiter, &world.environment())
}

#[tokio::test(start_paused = true)]
async fn nothing_is_remembered_of_objects_that_are_gone() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let environment = world.environment();
    let hub = Arc::new(hub(&world));
    let cache = informer(&environment, &ApiResource::of::<Deployment>()).lister();
    let own: Box<dyn Wiring<Deployment>> = Box::new(Own {
        predicate: None,
        finalizers: Vec::new(),
    });
    let connection = own.connect(&environment, &Inlet::open_to(&hub, &cache));
    let shared = Arc::new(Shared {
        hub: hub.clone(),
        own: cache,
        client: environment.client,
        events: environment.events,
        field_manager: environment.field_manager,
        fingerprints: Fingerprints::new(),
        children: Children::default(),
        finalizers: Finalizers::default(),
        claims: Claims::default(),
        namespaces: std::collections::BTreeSet::new(),
        sources: Sources::default(),
        stop: world.cancel.clone(),
    });
    // By its name each object ends in another way, and so does its `deleted`, which may fail once.
    let probe = Probe::new().does(|call: Call<Deployment>| async move {
        let hour = Duration::from_secs(3600);
        match (call.key.name().as_bytes()[0], call.object, call.number) {
            (b'a', Some(_), _) => Err(Failure::new("on purpose")),
            (b'b', Some(_), _) => Err(Failure::new("on purpose").retry_after(hour)),
            (b'c', Some(_), _) => panic!("on purpose"),
            (b'd', Some(_), _) => Ok(Action::requeue_after(hour)),
            (b'e', None, _) => Err(Failure::new("on purpose").terminal()),
            (b'f', None, 2) => Err(Failure::new("on purpose")),
            _ => Ok(Action::wait()),
        }
    });
    let cancel = world.cancel.clone();
    let work = async {
        assert!(connection.synced.await);
        let course = Course {
            concurrency: 4,
            timeout: None,
            permit: None,
            abort: cancel.clone(),
            cancel,
        };
        run::work(&Arc::new(probe), &shared, course).await;
    };
    let story = async {
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            webs.put(named(name));
        }
        pass(1000).await;
        assert_eq!(hub.states.len(), 7);
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            webs.delete(name);
        }
        // Somebody asks for an object that never was.
        hub.queue.add_rate_limited(named_key("never"));
        pass(1000).await;
        assert_eq!((hub.states.len(), hub.queue.remembered()), (0, 0));
        assert_eq!(hub.writes.len(), 0);
        world.cancel.cancel();
    };
    tokio::join!(work, story);
}

/// Ends a run that applied a child of a new name. Says how many applies are remembered then.
async fn run_that_applies(hub: &Hub, run: u64, outcome: Outcome) -> usize {
    let key = named_key("web");
    hub.states.begin(&key, true);
    let resource = ApiResource::of::<ConfigMap>();
    let child = ObjectKey::namespaced("default", &run.to_string());
    let applied = Applied {
        written: None,
        answer: None,
        run,
    };
    hub.states.with(&key, |state| {
        let id = child_id::<ConfigMap>(&resource, &child);
        state.applied.insert(id, applied);
    });
    hub.ask(key.clone(), Priority::Normal, Cause::Updated);
    let work = hub.queue.hand().next().await.unwrap();
    let call = Ended {
        verb: "reconcile",
        key: &key,
        run,
        exists: true,
    };
    if let Some(work) = ended(hub, &call, outcome, work) {
        hub.queue.hand().done(work);
    }
    let remembered = hub.states.with(&key, |state| state.applied.len());
    remembered.unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_applies_of_older_runs_are_forgotten_but_for_those_of_the_last_success() {
    let hub = hub(&World::new());
    for run in 1..=3 {
        let done = Outcome::Done(Action::wait());
        assert_eq!(run_that_applies(&hub, run, done).await, 1);
    }
    for run in 4..=6 {
        let failed = Outcome::Failed(Failure::new("on purpose"));
        assert_eq!(run_that_applies(&hub, run, failed).await, 2);
    }
    let done = Outcome::Done(Action::wait());
    assert_eq!(run_that_applies(&hub, 7, done).await, 1);
}

/// Asks for a finalizer, without which it is not called.
struct Held;

impl Reconciler for Held {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.finalizer("example.com/held")
    }

    async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        panic!("the finalizer is missing")
    }
}

impl Cleanup for Held {
    async fn cleanup(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        panic!("nothing is to be cleaned up")
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_remembered_of_an_object_whose_reconcile_was_never_called() {
    let refuses = tower::service_fn(async |_: http::Request<Body>| {
        let answer = http::Response::builder().status(403);
        Ok::<_, BoxError>(answer.body(String::new())?)
    });
    let world = World::with_client(Client::from_service(refuses));
    let webs = world.kind::<Deployment>();
    let controller = Controller::new(Held);
    let status = controller.status();
    world.start(controller);
    webs.put(named("a"));
    pass(1000).await;
    assert!(status.remembered() > 0);
    let metrics = world.metrics.controller("deployment");
    assert!(metrics.errors.get() > 0 && metrics.panics.get() == 0);
    webs.delete("a");
    pass(20_000).await;
    assert_eq!(status.remembered(), 0);
}
