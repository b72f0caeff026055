use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
        mpsc,
    },
    time::Duration,
};

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use parking_lot::Mutex;
use tokio::{
    task::yield_now,
    time::{advance, interval},
};

use crate::{
    controller::{Action, Context, Reconciler, Result},
    resource::Object,
    testing::Offline,
};

/// Does blocking work in three steps, whose number is in the status.
struct Steps {
    next: Arc<Mutex<mpsc::Receiver<i64>>>,
    done: Arc<AtomicI64>,
}

impl Reconciler for Steps {
    type Resource = Deployment;

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let (next, counter) = (self.next.clone(), self.done.clone());
        let mut work = pin!(cx.blocking(move || {
            let next = next.lock();
            while counter.load(Ordering::SeqCst) < 3 {
                let step = next.recv().unwrap();
                counter.store(step, Ordering::SeqCst);
            }
        }));
        let status = || DeploymentStatus {
            observed_generation: Some(self.done.load(Ordering::SeqCst)),
            ..Default::default()
        };
        let mut ticks = interval(Duration::from_secs(5));
        loop {
            tokio::select! {
                () = &mut work => break,
                _ = ticks.tick() => cx.update_status(status()).await?,
            }
        }
        cx.update_status(status()).await?;
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_shows_the_progress_of_its_blocking_code_in_the_status() {
    let (steps, next) = mpsc::channel();
    let done = Arc::new(AtomicI64::new(0));
    let offline = Offline::new(Steps {
        next: Arc::new(Mutex::new(next)),
        done: done.clone(),
    });
    offline.seed(Deployment::named("web"));
    let shown = || -> Vec<i64> {
        let writes = offline.writes().into_iter();
        writes
            .filter_map(|sent| sent.body["status"]["observedGeneration"].as_i64())
            .collect()
    };
    let story = async {
        while shown().is_empty() {
            yield_now().await;
        }
        for step in 1..=2 {
            steps.send(step).unwrap();
            while done.load(Ordering::SeqCst) < step {
                yield_now().await;
            }
            // The clock does not advance by itself while a closure runs. A timer may be a millisecond late.
            advance(Duration::from_millis(5_001)).await;
            while shown().last() != Some(&step) {
                yield_now().await;
            }
        }
        steps.send(3).unwrap();
    };
    let (ended, ()) = tokio::join!(offline.reconcile("web"), story);
    let _ = ended.unwrap();
    assert_eq!(shown(), [0, 1, 2, 3]);
}
