//! Backoff (R9), and panics that affect only their own key (R10).

use std::{fmt, time::Duration};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret},
};

use super::world::*;
use crate::{
    client,
    controller::{Action, Controller, Failure, Predicate},
    logged::logged,
    queue::ExponentialBackoff,
    resource::{ObjectKey, Status},
};

type Wire = Controller<Probe<Deployment>>;

fn exact(controller: Wire) -> Wire {
    controller.rate_limiter(ExponentialBackoff::default().spread(0.0))
}

#[tokio::test(start_paused = true)]
async fn failures_and_panics_back_off_equally_and_a_success_resets_the_delay() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    webs.put(named("a"));
    let probe = Probe::new()
        .wired(exact)
        .does(|call: Call<Deployment>| async move {
            match call.number {
                2 => panic!("on purpose"),
                5 => Ok(Action::requeue_after(Duration::from_millis(1000))),
                7 => Ok(Action::wait()),
                _ => Err(Failure::new("on purpose")),
            }
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(10_000).await;
    assert_eq!(calls.times(), [0, 5, 15, 35, 75, 1075, 1080]);
}

#[tokio::test(start_paused = true)]
async fn the_longest_delay_is_300_s_with_a_jitter_of_a_tenth() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    webs.put(named("a"));
    let probe = Probe::new().does(|call: Call<Deployment>| async move {
        match call.number {
            25 => Ok(Action::requeue_after(Duration::from_millis(1000))),
            _ => Err(Failure::new("on purpose")),
        }
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(10_000_000).await;
    let times = calls.times();
    let pauses: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.len() > 45, "{pauses:?}");
    // A success resets the backoff.
    let (before, after) = (&pauses[..24], &pauses[25..]);
    for series in [before, after] {
        for (number, waited) in series.iter().enumerate() {
            let least = (5_u128 << number).min(300_000);
            // The clock has a resolution of 1 ms.
            let range = least..=least * 11 / 10 + 2;
            assert!(range.contains(waited), "{number}: {waited} of {series:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_a_lower_bound() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    webs.put(named("a"));
    let probe = Probe::new()
        .wired(exact)
        .does(|call: Call<Deployment>| async move {
            match call.number {
                1 => Err(Failure::new("busy").retry_after(Duration::from_millis(700))),
                2..=4 => Err(Failure::new("busy").retry_after(Duration::from_millis(2))),
                _ => Ok(Action::wait()),
            }
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(10_000).await;
    assert_eq!(calls.times(), [0, 700, 710, 730, 770]);
}

#[tokio::test(start_paused = true)]
async fn a_terminal_failure_is_not_retried_before_something_changes() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    webs.put(named("a"));
    let probe = Probe::new()
        .does(|_: Call<Deployment>| async { Err(Failure::new("on purpose").terminal()) });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(1_000_000).await;
    assert_eq!(calls.keys().len(), 1);
    webs.put(named("a"));
    settle().await;
    assert_eq!(calls.keys().len(), 2);
    let metrics = world.metrics.controller("deployment");
    assert_eq!(
        (metrics.errors.get(), metrics.terminal_errors.get()),
        (2, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_is_no_failure_and_resets_the_delay() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    webs.put(named("a"));
    let probe = Probe::new()
        .wired(exact)
        .does(|call: Call<Deployment>| async move {
            match call.number {
                1..=3 | 5 => Err(Failure::new("on purpose")),
                4 => Err(Failure::waiting("the child is not ready")),
                _ => Ok(Action::wait()),
            }
        });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(1000).await;
    assert_eq!(calls.times(), [0, 5, 15, 35]);
    let metrics = world.metrics.controller("deployment");
    let counts = || (metrics.errors.get(), metrics.success.get());
    assert_eq!(counts(), (3, 1));
    webs.put(named("a"));
    pass(1000).await;
    assert_eq!(calls.times()[4..], [1000, 1005]);
    assert_eq!(counts(), (4, 2));
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_one_reconcile_is_counted_and_other_keys_are_not_affected() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new()
        .wired(|controller| controller.concurrency(1))
        .does(|call: Call<Deployment>| async move {
            if call.key.name() == "bad" && call.number < 3 {
                panic!("on purpose");
            }
            Ok(Action::wait())
        });
    let calls = probe.calls.clone();
    webs.put(named("bad"));
    webs.put(named("good"));
    world.start(Controller::new(probe));
    pass(10_000).await;
    let of = |key| calls.keys().iter().filter(|other| *other == key).count();
    assert_eq!((of("default/bad"), of("default/good")), (3, 1));
    let metrics = world.metrics.controller("deployment");
    assert_eq!((metrics.panics.get(), metrics.errors.get()), (2, 2));
    assert_eq!(
        (metrics.success.get(), metrics.active_workers.get()),
        (2, 0.0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_a_failure_and_the_reconcile_is_dropped_first() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new()
        .wired(|controller| exact(controller).timeout(Duration::from_millis(100)))
        .does(|call: Call<Deployment>| async move {
            match call.number {
                1 => std::future::pending().await,
                _ => Ok(Action::wait()),
            }
        });
    let calls = probe.calls.clone();
    webs.put(named("a"));
    world.start(Controller::new(probe));
    pass(10_000).await;
    assert_eq!((calls.times(), calls.overlaps()), (vec![0, 105], 0));
    let metrics = world.metrics.controller("deployment");
    assert_eq!((metrics.timeouts.get(), metrics.errors.get()), (1, 1));
}

#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("on purpose")
    }
}

impl std::error::Error for Unspeakable {}

struct Torn;

impl Drop for Torn {
    fn drop(&mut self) {
        panic!("on purpose")
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_destructor_of_a_call_or_its_error_ends_no_worker() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new()
        .wired(|controller| {
            let controller = exact(controller).concurrency(1);
            controller.timeout(Duration::from_millis(100))
        })
        .does(|call: Call<Deployment>| async move {
            match call.number {
                1 => {
                    let _torn = Torn;
                    std::future::pending().await
                }
                2 => Err(Failure::from(Unspeakable)),
                _ => Ok(Action::wait()),
            }
        });
    let calls = probe.calls.clone();
    webs.put(named("a"));
    world.start(Controller::new(probe));
    pass(10_000).await;
    assert_eq!(calls.times(), [0, 105, 115]);
    assert_eq!(world.metrics.controller("deployment").panics.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_mapping_that_panics_loses_only_its_own_event() {
    let world = World::new();
    let (webs, secrets) = (world.kind::<Deployment>(), world.kind::<Secret>());
    let map = |secret: &Secret| {
        let name = secret.metadata.name.as_deref().unwrap();
        assert_ne!(name, "bad", "on purpose");
        vec![ObjectKey::namespaced("default", name)]
    };
    let probe = Probe::<Deployment>::new().wired(move |wire| wire.watches::<Secret>(map));
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("a"));
    settle().await;
    secrets.put(named("bad"));
    secrets.put(named("a"));
    settle().await;
    assert_eq!(calls.keys(), ["default/a"; 2]);
    assert_eq!(
        world.metrics.controller("deployment").handler_panics.get(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_change_passes_a_predicate_that_panics() {
    let world = World::new();
    let (webs, _) = (world.kind::<Deployment>(), world.kind::<ConfigMap>());
    let predicate = || Predicate::new(|_: &Deployment, _: &Deployment| panic!("on purpose"));
    let probe = Probe::<Deployment>::new().wired(move |wire| wire.when(predicate()));
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("a"));
    settle().await;
    webs.put(named("a"));
    settle().await;
    assert_eq!(calls.keys().len(), 2);
    assert_eq!(
        world.metrics.controller("deployment").handler_panics.get(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn the_retries_of_all_objects_share_a_token_bucket() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    for number in 0..1850 {
        webs.put(named(&format!("web-{number}")));
    }
    let probe =
        Probe::new().does(|_: Call<Deployment>| async { Err(Failure::new("apply Secret: no")) });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(27_000).await;
    let retries = calls.keys().len() - 1850;
    assert!((350..=372).contains(&retries), "{retries}");
    pass(1_000_000).await;
    let retries = calls.keys().len() - 1850;
    assert!((9_000..=10_400).contains(&retries), "{retries}");
}

fn refused(code: u16, reason: &str) -> client::Error {
    let status = Status {
        reason: reason.into(),
        ..Status::from_code(code, "no")
    };
    client::Error::api("apply", "ConfigMap default/page", status)
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_only_a_person_can_end_is_retried_slowly() {
    for (code, reason) in [(403, "Forbidden"), (422, "Invalid")] {
        let world = World::new();
        let webs = world.kind::<Deployment>();
        webs.put(named("a"));
        let probe = Probe::new()
            .wired(exact)
            .does(move |call: Call<Deployment>| async move {
                let failure = Failure::from(refused(code, reason));
                match call.number {
                    1..=3 => Err(failure),
                    4 => Err(failure.retry_after(Duration::from_millis(20))),
                    _ => Ok(Action::wait()),
                }
            });
        let calls = probe.calls.clone();
        world.start(Controller::new(probe));
        pass(30_000).await;
        let times = calls.times();
        let pauses: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(pauses.len(), 4, "{pauses:?}");
        for (pause, least) in pauses.iter().zip([1000, 2000, 4000]) {
            assert!((least..=least * 11 / 10 + 2).contains(pause), "{pauses:?}");
        }
        assert_eq!(pauses[3], 40, "what the reconciler says counts");
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_says_how_many_objects_fail_and_why() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    for name in ["a", "b", "c"] {
        webs.put(named(name));
    }
    let probe = Probe::new().does(|call: Call<Deployment>| async move {
        match (call.key.name(), call.number) {
            ("a" | "b", 1) => Err(Failure::from(refused(422, "Invalid"))),
            _ => Ok(Action::wait()),
        }
    });
    let controller = Controller::new(probe);
    let status = controller.status();
    world.start(controller);
    pass(500).await;
    let text = status.to_string();
    let start =
        "working; objects that fail: 2 of 3; most of them for 500ms: reconcile Deployment default/";
    assert!(
        text.starts_with(start)
            && text.ends_with(" failed: apply ConfigMap default/page: invalid: no"),
        "{text}"
    );
    assert!(status.is_working());
    pass(1000).await;
    assert_eq!(status.to_string(), "working");
}

#[tokio::test(start_paused = true)]
async fn equal_failures_of_many_objects_are_logged_once_then_counted() {
    let (log, _guard) = logged(tracing::Level::INFO);

    let world = World::new();
    let webs = world.kind::<Deployment>();
    for number in 0..500 {
        webs.put(named(&format!("web-{number}")));
    }
    let start = tokio::time::Instant::now();
    let probe = Probe::new().does(move |call: Call<Deployment>| async move {
        match start.elapsed() < Duration::from_secs(30) {
            true => {
                let name = call.key.name();
                let text = format!("apply ConfigMap default/{name}: forbidden");
                Err(Failure::new(text))
            }
            false => Ok(Action::wait()),
        }
    });
    world.start(Controller::new(probe));
    pass(200_000).await;

    let text = log.text();
    let lines: Vec<_> = text.lines().filter(|line| line.contains("fail")).collect();
    let parts = [
        "failed (attempt 1, next in 5ms): apply ConfigMap default/web-",
        " more equal failures within 10s; objects that fail now: 500; the newest failure: reconcile Deployment default/web-",
        " more equal failures within 1m0s; objects that fail now: ",
        "no object fails in this way any more; failures in ",
    ];
    assert_eq!(lines.len(), parts.len(), "{text}");
    for (line, part) in lines.iter().zip(parts) {
        assert!(line.contains(part), "no {part} in {line}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_line_of_a_failure_shows_the_object_the_error_and_the_next_retry() {
    let (log, _guard) = logged(tracing::Level::WARN);

    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::new()
        .wired(exact)
        .does(|call: Call<Deployment>| async move {
            match call.number {
                1..=2 => Err(Failure::new("apply ConfigMap default/page: forbidden")),
                3 => panic!("the page\nis torn"),
                4 => Err(Failure::new("the page is empty").terminal()),
                _ => Ok(Action::wait()),
            }
        });
    webs.put(named("site"));
    world.start(Controller::new(probe));
    pass(10_000).await;

    let text = log.text();
    let lines: Vec<_> = text
        .lines()
        .filter_map(|line| Some(&line[line.find("reconcile Deployment")?..]))
        .collect();
    assert_eq!(
        lines,
        [
            "reconcile Deployment default/site failed (attempt 1, next in 5ms): apply ConfigMap default/page: forbidden",
            "reconcile Deployment default/site failed (attempt 3, next in 20ms): panicked: the page is torn",
            "reconcile Deployment default/site failed (not retried): the page is empty",
        ],
        "{text}"
    );
}
