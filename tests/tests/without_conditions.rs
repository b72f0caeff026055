//! What is shown on an object whose status has no conditions.

use std::sync::{
    Arc,
    mpsc::{Receiver, channel},
};

use parking_lot::Mutex;
use pilothouse::{
    client::ListParams,
    k8s::{api::core::v1::ConfigMap, api::events::v1 as events},
    prelude::*,
    testing::{Cluster, Sandbox},
};

/// Waits for a key in each ConfigMap, or for blocking code that has no end.
#[derive(Clone, Default)]
struct Waits {
    /// Ends the blocking code, when it is dropped.
    hang: Option<Arc<Mutex<Receiver<()>>>>,
}

impl Reconciler for Waits {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.timeout(Duration::from_secs(5))
    }

    async fn reconcile(&self, map: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result<Action> {
        if let Some(hang) = self.hang.clone() {
            cx.blocking(move || hang.lock().recv()).await.ok();
        }
        match map.data {
            Some(_) => Ok(Action::wait()),
            None => Err(Failure::waiting("for the key `text`")),
        }
    }
}

/// Runs the reconciler on a ConfigMap for 30 s, and returns the Events about it.
async fn told(waits: Waits) -> Vec<(String, String, String)> {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let operator = Operator::new("waits").controller(waits);
    let running = cluster.run(operator).await.unwrap();
    cluster.create(&ConfigMap::named("a")).await.unwrap();
    // While blocking code runs, the paused clock advances only when it is told to.
    for _ in 0..300 {
        tokio::time::advance(Duration::from_millis(100)).await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    let events = cluster.api::<events::Event>();
    let events = events.list(&ListParams::default()).await.unwrap().items;
    drop(running);
    let told = |event: events::Event| {
        let reason = event.reason.unwrap();
        (event.type_.unwrap(), reason, event.note.unwrap())
    };
    events.into_iter().map(told).collect()
}

#[tokio::test(start_paused = true)]
async fn an_object_without_conditions_shows_in_an_event_what_it_waits_for() {
    let waiting = ("Normal", "ReconcileWaiting", "for the key `text`");
    let (kind, reason, note) = waiting;
    assert_eq!(
        told(Waits::default()).await,
        [(kind.to_owned(), reason.to_owned(), note.to_owned())]
    );
}

#[tokio::test(start_paused = true)]
async fn blocking_code_that_runs_on_after_the_timeout_is_shown_on_the_object() {
    let (end, hang) = channel();
    let hang = Some(Arc::new(Mutex::new(hang)));
    let events = told(Waits { hang }).await;
    drop(end);
    let note = "not done within 5s, and its blocking code still runs";
    assert_eq!(
        events,
        [(
            "Warning".to_owned(),
            "ReconcileFailed".to_owned(),
            note.to_owned()
        )]
    );
}
