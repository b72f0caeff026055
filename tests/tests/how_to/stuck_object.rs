//! How to find out what an object waits for.

use pilothouse::{prelude::*, testing::Cluster};

use crate::{
    site::Site,
    world::{ready_message, site},
};

// ANCHOR: reconciler
struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.reads::<Secret>()
    }

    async fn reconcile(&self, _: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        match cx.get::<Secret>("token")? {
            Some(_) => Ok(Action::wait()),
            // The mistake: nothing wakes this object when the Secret is created.
            None => Err(Failure::waiting("the Secret token does not exist yet")),
        }
    }
}
// ANCHOR_END: reconciler

// ANCHOR: test
#[tokio::test(start_paused = true)]
async fn the_condition_says_what_the_object_waits_for() {
    let cluster = Cluster::start().unwrap();
    let running = cluster
        .run(Operator::new("sites").controller(Sites))
        .await
        .unwrap();
    cluster.create(&site("a")).await.unwrap();
    cluster
        .until("a", "say what it waits for", |site: &Site| {
            ready_message(site) == "the Secret token does not exist yet"
        })
        .await
        .unwrap();

    // The Secret is there, and the object still waits: `reads` wakes nobody.
    cluster.create(&Secret::named("token")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let a = cluster.get::<Site>("a").await.unwrap().unwrap();
    assert_eq!(ready_message(&a), "the Secret token does not exist yet");
    // No key is in the queue: neither delayed nor failed.
    let report = running.debug_report();
    assert!(report.controllers[0].keys.is_empty());
    running.stop().await;
}
// ANCHOR_END: test
