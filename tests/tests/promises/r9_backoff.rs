//! R9: pauses after failures.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use pilothouse::{
    controller::{Owned, Predicate},
    k8s::api::core::v1::ConfigMap,
    operator::Operator,
    prelude::*,
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use tokio::time::Instant;

use super::{
    resize,
    seeded_random::{SeededRandom, seeds},
    started,
};
use crate::probe::{Probe, Widget, widget};

#[tokio::test(start_paused = true)]
async fn failures_double_the_pause_up_to_five_minutes_and_success_resets_it() {
    let probe = Probe::new(async |widget, _| {
        if widget.spec.size == 0 {
            return Err(Failure::new("not yet"));
        }
        Ok(Action::wait())
    });
    let seen = probe.seen();
    let (cluster, running) = started([probe]).await;
    cluster.create(&widget("a", 0)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let pauses = seen.pauses("a");
    assert!(pauses.len() > 18, "{pauses:?}");
    for (n, pause) in pauses.iter().enumerate() {
        let expected = (0.005 * 2f64.powi(n as i32)).min(300.0);
        let pause = pause.as_secs_f64();
        // The clock of the runtime has a resolution of 1 ms, and the reconcile itself takes a part of that.
        let range = expected..=expected * 1.1 + 0.003;
        assert!(
            range.contains(&pause),
            "pause {n} is {pause} s, not within {range:?}"
        );
    }
    resize(&cluster, "a", 1).await;
    seen.until_quiet().await;
    let before = seen.sizes("a").len();
    resize(&cluster, "a", 0).await;
    seen.until_calls("a", before + 2).await;
    let pause = seen.pauses("a")[before];
    assert!(pause < Duration::from_millis(10), "{pause:?}");
    running.stop().await;
}

/// Checks conflicts, refusals, lost answers, and errors and panics of the reconciler.
#[tokio::test(start_paused = true)]
async fn every_kind_of_failure_doubles_the_pause_and_success_resets_it() {
    for seed in seeds(800, 8) {
        let random = SeededRandom::new(seed);
        let cluster = Cluster::with(Sandbox::builder().seed(seed).simulator(false)).unwrap();
        let applier = Applier {
            random: random.clone(),
            cluster: cluster.clone(),
            left: Arc::default(),
            attempts: Arc::default(),
        };
        let (left, attempts) = (applier.left.clone(), applier.attempts.clone());
        let operator = Operator::new("promises").controller(applier);
        let running = cluster.run(operator).await.unwrap();
        // Create the child first: a new child would trigger another call at once.
        cluster.create(&widget("a", 0)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        for round in 1..3 {
            attempts.lock().clear();
            let failures = 3 + random.below(8) as usize;
            *left.lock() = failures;
            resize(&cluster, "a", round).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            let attempts = std::mem::take(&mut *attempts.lock());
            let told = format!("round {round} of seed {seed}: {attempts:?}");
            assert_eq!(attempts.len(), failures + 1, "{told}");
            for (n, pair) in attempts.windows(2).enumerate() {
                let pause = (pair[1].began - pair[0].ended).as_secs_f64();
                let delay = 0.005 * 2f64.powi(n as i32);
                // If the outcome of a write is unknown, the framework asks the server first.
                let range = delay..delay * 1.1 + 0.02;
                assert!(range.contains(&pause), "pause {n} is {pause} s: {told}");
            }
        }
        running.stop().await;
    }
}

/// Applies a child, and fails in various ways until the number of failures is used up.
struct Applier {
    random: SeededRandom,
    cluster: Cluster,
    left: Arc<Mutex<usize>>,
    attempts: Arc<Mutex<Vec<Attempt>>>,
}

#[derive(Debug)]
struct Attempt {
    began: Instant,
    ended: Instant,
    // Only `Debug` reads it.
    #[allow(dead_code)]
    why: &'static str,
}

impl Applier {
    async fn attempt(&self, number: usize, cx: &Context<Widget>) -> (&'static str, Result<()>) {
        let mut child = ConfigMap::named("a");
        // The content always differs, so that the apply is sent.
        child.data = Some([("number".to_owned(), number.to_string())].into());
        let writes = RequestMatcher::any().resource("configmaps").verb("patch");
        let faults = self.cluster.faults();
        let answer = |code, reason| faults.answer(writes.clone(), Answer::status(code, reason), 1);
        let why = if number == 0 {
            "none"
        } else {
            ["conflict", "refusal", "lost", "error"][self.random.below(4) as usize]
        };
        match why {
            "conflict" => answer(409, "Conflict"),
            "refusal" => answer(500, "InternalError"),
            "lost" => faults.lose_responses(writes.clone(), 1),
            "error" => return (why, Err(Failure::new("as the test wants it"))),
            _ => {}
        }
        (why, cx.apply(child).await.map(drop).map_err(Failure::from))
    }
}

impl Reconciler for Applier {
    type Resource = Widget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        // Only failures lead to another call.
        controller.watch(Owned::<ConfigMap>::new().when(Predicate::new(|_, _| false)))
    }

    async fn reconcile(&self, _: Arc<Widget>, cx: &Context<Widget>) -> Result<Action> {
        let began = Instant::now();
        let number = {
            let mut left = self.left.lock();
            let number = *left;
            *left = number.saturating_sub(1);
            number
        };
        let (why, result) = self.attempt(number, cx).await;
        let ended = Instant::now();
        self.attempts.lock().push(Attempt { began, ended, why });
        result.map(|()| Action::wait())
    }
}
