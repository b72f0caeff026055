//! The controller forgets an object that is gone (R14).

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};

use super::world::*;
use crate::{
    client::{Body, BoxError, Client},
    controller::{
        Action, Cleanup, Context, Controller, Failure, Reconciler, Result, Sources,
        cause::Cause,
        children::Children,
        finalizers::Finalizers,
        sources::{Enqueuer, ReconciledKind, Wiring, informer},
        state::{Applied, ControllerState, child_id},
        worker::{FinishedCall, Invoker, Outcome, UserCode, WorkerConfig, finish, run_workers},
    },
    queue::{ExponentialBackoff, Priority},
    resource::{ApiResource, ObjectKey},
};

fn state(world: &World) -> ControllerState {
    let limiter = Box::new(ExponentialBackoff::default());
    let webs = ApiResource::of::<Deployment>();
    ControllerState::new("test".into(), webs, limiter, &world.environment())
}

#[tokio::test(start_paused = true)]
async fn nothing_is_remembered_of_objects_that_are_gone() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let environment = world.environment();
    let controller = Arc::new(state(&world));
    let cache = informer(&environment, &ApiResource::of::<Deployment>()).lister();
    let own: Box<dyn Wiring<Deployment>> =
        Box::new(ReconciledKind::new(controller.resource.clone()));
    let connection = own.connect(&environment, &Enqueuer::open(&controller, &cache));
    // The name of an object decides how its calls end. `deleted` may fail once.
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
    let user = UserCode {
        reconciler: Arc::new(probe),
        finalizers: Finalizers::new(&Arc::default(), None),
        children: Children::default(),
        sources: Sources::default(),
        failure_events: false,
        ready_condition: false,
    };
    let (cancel, client) = (world.cancel.clone(), environment.client.clone());
    let state = controller.clone();
    let invoker = Invoker::new(user, state, cache, client, environment, cancel.clone());
    let work = async {
        assert!(connection.synced.await);
        let config = WorkerConfig {
            concurrency: 4,
            timeout: None,
            permit: None,
            abort: cancel.clone(),
            cancel,
        };
        run_workers(&Arc::new(invoker), config).await;
    };
    let story = async {
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            webs.put(named(name));
        }
        pass(1000).await;
        assert_eq!(controller.key_states.len(), 7);
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            webs.delete(name);
        }
        // The key of an object that never existed.
        controller.queue.add_rate_limited(named_key("never"));
        pass(1000).await;
        assert_eq!(
            (controller.key_states.len(), controller.queue.remembered()),
            (0, 0)
        );
        assert_eq!(controller.writes.len(), 0);
        world.cancel.cancel();
    };
    tokio::join!(work, story);
}

/// Ends a run that applied a child with a new name. Returns how many applies are remembered then.
async fn run_that_applies(controller: &ControllerState, run: u64, outcome: Outcome) -> usize {
    let key = named_key("web");
    controller.key_states.begin(&key, true);
    let resource = ApiResource::of::<ConfigMap>();
    let child = ObjectKey::namespaced("default", &run.to_string());
    let applied = Applied {
        written: None,
        answer: None,
        run,
    };
    controller.key_states.with(&key, |state| {
        let id = child_id::<ConfigMap>(&resource, &child);
        state.applied.insert(id, applied);
    });
    controller.enqueue(key.clone(), Priority::Normal, Cause::Updated);
    let work = controller.queue.batch().next().await.unwrap();
    let call = FinishedCall {
        verb: "reconcile",
        key: &key,
        run,
        exists: true,
    };
    if let Some(work) = finish(controller, &call, outcome, work) {
        work.done();
    }
    let remembered = controller
        .key_states
        .with(&key, |state| state.applied.len());
    remembered.unwrap()
}

#[tokio::test(start_paused = true)]
async fn only_the_applies_of_the_last_run_and_of_the_last_success_are_remembered() {
    let controller = state(&World::new());
    for run in 1..=3 {
        let done = Outcome::Done(Action::wait());
        assert_eq!(run_that_applies(&controller, run, done).await, 1);
    }
    for run in 4..=6 {
        let failed = Outcome::Failed(Failure::new("on purpose"));
        assert_eq!(run_that_applies(&controller, run, failed).await, 2);
    }
    let done = Outcome::Done(Action::wait());
    assert_eq!(run_that_applies(&controller, 7, done).await, 1);
}

/// Declares a finalizer. Without the finalizer on the object it is not called.
struct Finalized;

impl Reconciler for Finalized {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.finalizer("example.com/held")
    }

    async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        panic!("the finalizer is missing")
    }
}

impl Cleanup for Finalized {
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
    let controller = Controller::new(Finalized);
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
