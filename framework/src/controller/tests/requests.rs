//! Requests of people by annotation, what ends a call, and what is logged and measured of each call.

use std::{future::pending, sync::Arc, time::Duration};

use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use parking_lot::Mutex;

use super::world::*;
use crate::{
    controller::{
        Action, CancellationToken, Context, Controller, Error, Failure, Predicate, Reconciler,
        Result,
        annotations::{PAUSED, RECONCILE_NOW},
    },
    queue::{ExponentialBackoff, FastSlow},
    resource::Selector,
};

fn noted(annotations: &[(&str, &str)]) -> Deployment {
    let mut web = named::<Deployment>("a");
    let pairs = annotations.iter();
    let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    web.metadata.annotations = Some(pairs.collect());
    web.metadata.generation = Some(1);
    web
}

#[tokio::test(start_paused = true)]
async fn a_paused_object_is_not_reconciled_and_is_reconciled_at_once_after_the_pause() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new()
        .wired(|wire| wire.when(Predicate::generation()))
        .does(|call: Call<Deployment>| async move {
            match call.number {
                1..3 => Err(Failure::new("on purpose")),
                _ => Ok(Action::requeue_after(Duration::from_secs(10))),
            }
        });
    let calls = probe.calls.clone();
    webs.put(noted(&[(PAUSED, "true")]));
    world.start(Controller::new(probe));
    let paused = || world.metrics.controller("deployment").paused.get();
    pass(60_000).await;
    assert_eq!((calls.keys().len(), paused()), (0, 1));
    webs.put(noted(&[(PAUSED, "true"), (RECONCILE_NOW, "1")]));
    pass(1000).await;
    assert!(calls.keys().is_empty());

    // The predicate passes only changes of the generation.
    webs.put(noted(&[(PAUSED, "false"), (RECONCILE_NOW, "1")]));
    pass(1000).await;
    assert_eq!((calls.keys().len(), paused()), (3, 0));
    webs.put(noted(&[(PAUSED, "")]));
    pass(60_000).await;
    assert_eq!((calls.keys().len(), paused()), (3, 1), "no retry, no wish");

    webs.delete("a");
    settle().await;
    assert_eq!(calls.keys().last().unwrap(), "-default/a");
    assert_eq!(paused(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_new_value_of_reconcile_now_skips_backoff_and_predicates() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new()
        .wired(|wire| {
            let slow = Duration::from_secs(100);
            wire.when(Predicate::generation())
                .rate_limiter(ExponentialBackoff::new(slow, slow).spread(0.0))
        })
        .does(|_: Call<Deployment>| async { Err(Failure::new("on purpose")) });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(noted(&[]));
    pass(1000).await;
    for value in ["1", "1", "2"] {
        webs.put(noted(&[(RECONCILE_NOW, value)]));
        pass(1000).await;
    }
    assert_eq!(
        calls.keys().len(),
        3,
        "at first, and for each of two values"
    );
}

#[tokio::test(start_paused = true)]
async fn a_dropped_change_does_not_count_as_an_event() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::<Deployment>::new().wired(|wire| {
        wire.when(
            Predicate::selector(Selector::default().eq("mine", "yes"))
                .and(Predicate::deletions(|_| false)),
        )
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    let labelled = |name: &str, value: &str, dying: bool| {
        let mut web = named::<Deployment>(name);
        web.metadata.labels = Some([("mine".to_owned(), value.to_owned())].into());
        web.metadata.deletion_timestamp = dying.then_some(Time(Timestamp::UNIX_EPOCH));
        web
    };
    webs.put(labelled("other", "no", false));
    webs.put(labelled("other", "no", true));
    webs.delete("other");
    settle().await;
    assert!(calls.keys().is_empty());

    webs.put(labelled("a", "no", false));
    settle().await;
    webs.put(labelled("a", "yes", false));
    settle().await;
    webs.put(labelled("a", "no", false));
    settle().await;
    assert_eq!(calls.keys().len(), 2, "it entered and it left");
    webs.put(labelled("a", "no", true));
    settle().await;
    webs.delete("a");
    settle().await;
    assert_eq!(
        calls.keys()[2..],
        ["default/a", "-default/a"],
        "what was reconciled has to go in order"
    );
}

#[tokio::test(start_paused = true)]
async fn a_requeue_with_backoff_grows_without_being_a_failure() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    webs.put(named("a"));
    let probe = Probe::new()
        .wired(|wire| wire.rate_limiter(ExponentialBackoff::default().spread(0.0)))
        .does(|call: Call<Deployment>| async move {
            match call.number {
                4 => Ok(Action::requeue_after(Duration::from_millis(100))),
                6 => Ok(Action::wait()),
                _ => Ok(Action::requeue()),
            }
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(10_000).await;
    assert_eq!(calls.times(), [0, 5, 15, 35, 135, 140]);
    let metrics = world.metrics.controller("deployment");
    assert_eq!((metrics.errors.get(), metrics.requeue.get()), (0, 4));
    assert_eq!(metrics.requeues.backoff.get(), 4);
    assert_eq!(metrics.requeues.after.get(), 1);
}

/// A delay that a reconciler computes, such as the time until a deadline, is zero at its end.
#[tokio::test(start_paused = true)]
async fn a_requeue_after_no_time_does_not_loop_without_a_pause() {
    let world = World::new();
    world.kind::<Deployment>().put(named("a"));
    let probe = Probe::new()
        .wired(|wire| {
            wire.rate_limiter(ExponentialBackoff::default().spread(0.0))
                .every(Duration::ZERO)
        })
        .does(|call: Call<Deployment>| async move {
            match call.number {
                7.. => Ok(Action::wait()),
                _ => Ok(Action::requeue_after(Duration::ZERO)),
            }
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(10_000).await;
    assert_eq!(calls.times(), [0, 5, 15, 35, 75, 155, 315]);
    assert_eq!(world.metrics.controller("deployment").errors.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_of_an_older_generation_is_dropped_if_the_controller_says_so() {
    for (wished, expected) in [(true, 2), (false, 1)] {
        let world = World::new();
        let webs = world.kind::<Deployment>();
        let probe = Probe::new()
            .wired(move |wire| match wished {
                true => wire.cancel_on_new_generation(),
                false => wire,
            })
            .does(|call: Call<Deployment>| async move {
                match call.number {
                    1 => pending().await,
                    _ => Ok(Action::wait()),
                }
            });
        let calls = probe.calls.clone();
        world.start(Controller::new(probe));
        webs.put(noted(&[]));
        settle().await;
        webs.put(noted(&[("a", "label is no generation")]));
        settle().await;
        assert_eq!(calls.keys().len(), 1);
        let mut newer = noted(&[]);
        newer.metadata.generation = Some(2);
        webs.put(newer);
        settle().await;
        assert_eq!((calls.keys().len(), calls.overlaps()), (expected, 0));
        let metrics = world.metrics.controller("deployment");
        assert_eq!(metrics.errors.get(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_of_a_person_has_high_priority_once() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new().does(|call: Call<Deployment>| async move {
        match call.key.name() {
            "after" => Ok(Action::requeue_after(LATE)),
            "backoff" => Ok(Action::requeue()),
            "panics" => panic!("on purpose"),
            "gone" => Err(Failure::from(Error::Gone {
                verb: "apply",
                kind: "Deployment".into(),
                key: call.key,
            })),
            _ => Err(Failure::new("on purpose")),
        }
    });
    let controller = Controller::new(probe);
    let controller = controller.rate_limiter(FastSlow::new(LATE, LATE, 0));
    let status = controller.status();
    world.start(controller);
    let names = ["after", "backoff", "fails", "gone", "panics"];
    for value in ["1", "2"] {
        for name in names {
            let mut web = noted(&[(RECONCILE_NOW, value)]);
            web.metadata.name = Some(name.into());
            webs.put(web);
        }
        settle().await;
    }
    let keys = status.report(10).unwrap().keys;
    let mut priorities: Vec<_> = keys
        .iter()
        .map(|key| format!("{} {}", key.key, key.priority.unwrap_or_default()))
        .collect();
    priorities.sort();
    assert_eq!(
        priorities,
        names.map(|name| format!("default/{name} normal"))
    );
}

#[tokio::test(start_paused = true)]
async fn reconciles_at_intervals_have_low_priority() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new().does(|call: Call<Deployment>| async move {
        match call.key.name() {
            "a" => Ok(Action::wait()),
            _ => Err(Failure::new("on purpose").terminal()),
        }
    });
    let controller = Controller::new(probe).every(LATE);
    let status = controller.status();
    world.start(controller);
    settle().await;
    for name in ["a", "b"] {
        webs.put(named(name));
    }
    settle().await;
    let keys = status.report(10).unwrap().keys;
    let priorities: Vec<_> = keys.iter().map(|key| key.priority).collect();
    assert_eq!(priorities, [Some("low"); 2]);
}

/// Records the number of each call.
#[derive(Clone, Default)]
struct Numbers(Arc<Mutex<Vec<u64>>>);

impl Reconciler for Numbers {
    type Resource = Deployment;

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        self.0.lock().push(cx.run);
        pass(1).await;
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn no_two_calls_of_a_controller_have_the_same_number() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    for number in 0..40 {
        webs.put(named(&format!("web-{number}")));
    }
    let numbers = Numbers::default();
    world.start(Controller::new(numbers.clone()));
    pass(100).await;
    let mut all = numbers.0.lock().clone();
    assert_eq!(all.len(), 40);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 40);
}

const LATE: Duration = Duration::from_secs(1000);

#[tokio::test(start_paused = true)]
async fn events_before_the_start_count_no_wait_for_a_worker() {
    let world = World::new();
    let (webs, children) = (world.kind::<Deployment>(), world.kind::<ConfigMap>());
    children.forbid(true);
    let probe = Probe::<Deployment>::new().wired(|wire| wire.owns::<ConfigMap>());
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(1000).await;
    webs.put(named("a"));
    pass(60_000).await;
    assert!(calls.keys().is_empty());
    children.forbid(false);
    pass(400_000).await;
    assert_eq!(calls.keys().len(), 1);
    let lag = world.metrics.controller("deployment").event_seconds;
    assert_eq!(lag.get_sample_count(), 1);
    assert!(lag.get_sample_sum() < 0.1, "{}", lag.get_sample_sum());
}

/// Records the cancellation token of each call.
#[derive(Clone, Default)]
struct Tokens(Arc<Mutex<Vec<CancellationToken>>>);

impl Reconciler for Tokens {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.timeout(Duration::from_secs(10))
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let number = {
            let mut tokens = self.0.lock();
            tokens.push(cx.cancellation().clone());
            tokens.len()
        };
        match number {
            1 => pending().await,
            2 => Ok(Action::requeue_after(Duration::from_secs(1))),
            _ => {
                cx.cancellation().cancelled().await;
                Ok(Action::wait())
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_cancellation_token_is_cancelled_with_its_call_and_with_the_controller() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    webs.put(named("a"));
    let tokens = Tokens::default();
    let running = world.start(Controller::new(tokens.clone()));
    let ended = || {
        let tokens = tokens.0.lock();
        tokens
            .iter()
            .map(|one| one.is_cancelled())
            .collect::<Vec<_>>()
    };
    pass(9_999).await;
    assert_eq!(ended(), [false]);
    pass(1_500).await;
    assert_eq!(ended(), [true, true, false]);
    world.cancel.cancel();
    running.await.unwrap();
    assert_eq!(ended(), [true, true, true]);
}

#[tokio::test(start_paused = true)]
async fn the_time_from_a_change_to_its_reconcile_is_measured() {
    let world = World::new();
    let (webs, children) = (world.kind::<Deployment>(), world.kind::<ConfigMap>());
    webs.put(named("a"));
    let probe =
        Probe::new()
            .wired(|wire| wire.owns::<ConfigMap>())
            .does(|_: Call<Deployment>| async {
                pass(2000).await;
                Ok(Action::wait())
            });
    world.start(Controller::new(probe));
    pass(500).await;
    let lag = world.metrics.controller("deployment").event_seconds;
    assert_eq!(lag.get_sample_count(), 0, "the first list is no change");
    children.put(owned_by::<Deployment, _>(named("child"), "a", "a"));
    pass(1000).await;
    webs.put(named("a"));
    pass(3000).await;
    assert_eq!(lag.get_sample_count(), 1);
    assert!((1.4..1.6).contains(&lag.get_sample_sum()), "from the first");
}

/// The fields of each span named `reconcile`.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Spans {
    fn on_new_span(
        &self,
        attributes: &tracing::span::Attributes<'_>,
        _: &tracing::span::Id,
        _: tracing_subscriber::layer::Context<'_, S>,
    ) {
        if attributes.metadata().name() == "reconcile" {
            let mut fields = String::new();
            attributes.record(
                &mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
                    fields += &format!("{field}={value:?} ");
                },
            );
            self.0.lock().push(fields.trim_end().to_owned());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_reconcile_has_the_object_the_attempt_and_the_cause() {
    use tracing_subscriber::layer::SubscriberExt;
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    // With a single subscriber, tracing caches the decision of the first thread, which may disable a span for all threads.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    tracing::callsite::rebuild_interest_cache();
    let world = World::new();
    let (webs, children) = (world.kind::<Deployment>(), world.kind::<ConfigMap>());
    webs.put(named("a"));
    children.put(owned_by::<Deployment, _>(named("child"), "a", "a"));
    let probe = Probe::new()
        .wired(|wire| wire.named("webs").owns::<ConfigMap>().concurrency(1))
        .does(|call: Call<Deployment>| async move {
            match call.number {
                1 => Err(Failure::new("on purpose")),
                3 => Ok(Action::requeue_after(Duration::from_millis(10))),
                _ => Ok(Action::wait()),
            }
        });
    world.start(Controller::new(probe));
    pass(100).await;
    webs.put(noted(&[(RECONCILE_NOW, "1")]));
    pass(100).await;
    let whose = |id, attempt, cause| {
        format!(
            r#"controller="webs" namespace="default" name="a" reconcile_id={id} attempt={attempt} cause={cause}"#
        )
    };
    assert_eq!(
        *spans.0.lock(),
        [
            whose(1, 1, "initial,owned"),
            whose(2, 2, "retry"),
            whose(3, 1, "reconcile-now"),
            whose(4, 1, "requeue"),
        ]
    );
}
