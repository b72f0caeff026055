//! R9: pauses after failures.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use pilothouse::{
    controller::Predicate,
    k8s::api::core::v1::ConfigMap,
    operator::Operator,
    prelude::*,
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use tokio::time::Instant;

use super::{
    dice::{Dice, seeds},
    probe::{Probe, Widget, widget},
    resize, started,
};

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
        // The clock of the runtime has a grain of 1 ms, and the reconcile itself takes part of one.
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

/// Conflicts, refusals, answers that are lost, and errors and panics of its own.
#[tokio::test(start_paused = true)]
async fn whatever_the_failures_are_the_pauses_double_and_a_success_begins_anew() {
    for seed in seeds(800, 8) {
        let dice = Dice::new(seed);
        let cluster = Cluster::with(Sandbox::builder().seed(seed).simulator(false)).unwrap();
        let applier = Applier {
            dice: dice.clone(),
            cluster: cluster.clone(),
            left: Arc::default(),
            attempts: Arc::default(),
        };
        let (left, attempts) = (applier.left.clone(), applier.attempts.clone());
        let operator = Operator::new("promises").controller(applier);
        let running = cluster.run(operator).await.unwrap();
        // A new child leads to another call at once, and this is not about that.
        cluster.create(&widget("a", 0)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        for round in 1..3 {
            attempts.lock().unwrap().clear();
            let failures = 3 + dice.below(8) as usize;
            *left.lock().unwrap() = failures;
            resize(&cluster, "a", round).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            let attempts = std::mem::take(&mut *attempts.lock().unwrap());
            let told = format!("round {round} of seed {seed}: {attempts:?}");
            assert_eq!(attempts.len(), failures + 1, "{told}");
            for (n, pair) in attempts.windows(2).enumerate() {
                let pause = (pair[1].began - pair[0].ended).as_secs_f64();
                let delay = 0.005 * 2f64.powi(n as i32);
                // What is not known is asked for first.
                let range = delay..delay * 1.1 + 0.02;
                assert!(range.contains(&pause), "pause {n} is {pause} s: {told}");
            }
        }
        running.stop().await;
    }
}

/// Applies a child, and fails as often as is left, in one way or another.
struct Applier {
    dice: Dice,
    cluster: Cluster,
    left: Arc<Mutex<usize>>,
    attempts: Arc<Mutex<Vec<Attempt>>>,
}

#[derive(Debug)]
struct Attempt {
    began: Instant,
    ended: Instant,
    // Read by `Debug` alone.
    #[allow(dead_code)]
    why: &'static str,
}

impl Applier {
    async fn attempt(&self, number: usize, cx: &Context<Widget>) -> (&'static str, Result<()>) {
        let mut child = ConfigMap::named("a");
        // Never what it was, so that it is sent.
        child.data = Some([("number".to_owned(), number.to_string())].into());
        let writes = RequestMatcher::any().resource("configmaps").verb("patch");
        let faults = self.cluster.faults();
        let answer = |code, reason| faults.answer(writes.clone(), Answer::status(code, reason), 1);
        let why = if number == 0 {
            "none"
        } else {
            ["conflict", "refusal", "lost", "error"][self.dice.below(4) as usize]
        };
        match why {
            "conflict" => answer(409, "Conflict"),
            "refusal" => answer(500, "InternalError"),
            "lost" => faults.lose_answers(writes.clone(), 1),
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
        controller.owns_when::<ConfigMap>(Predicate::new(|_: &ConfigMap, _: &ConfigMap| false))
    }

    async fn reconcile(&self, _: Arc<Widget>, cx: &Context<Widget>) -> Result<Action> {
        let began = Instant::now();
        let number = {
            let mut left = self.left.lock().unwrap();
            let number = *left;
            *left = number.saturating_sub(1);
            number
        };
        let (why, result) = self.attempt(number, cx).await;
        let ended = Instant::now();
        self.attempts
            .lock()
            .unwrap()
            .push(Attempt { began, ended, why });
        result.map(|()| Action::wait())
    }
}
