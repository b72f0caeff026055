use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::{
    controller::{Action, Context, Controller, Reconciler, Result},
    events::Event,
    resource::Object,
    testing::Offline,
};

/// Writes the time of the last reconcile of each Secret into a ConfigMap.
struct Times;

impl Reconciler for Times {
    type Resource = Secret;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>()
    }

    async fn reconcile(&self, secret: Arc<Secret>, cx: &Context<Secret>) -> Result {
        let data = [("seen".to_owned(), cx.now().to_string())].into();
        cx.apply(ConfigMap {
            data: Some(data),
            ..ConfigMap::named(secret.name())
        })
        .await?;
        cx.event(Event::normal("Seen", "See"));
        Ok(Action::wait())
    }
}

fn created<K: Object>(object: &K) -> String {
    let created = object.metadata().creation_timestamp.as_ref();
    created.unwrap().0.to_string()
}

#[tokio::test(start_paused = true)]
async fn the_reconciler_the_events_and_the_store_have_one_clock_that_tokio_advances() {
    let offline = Offline::new(Times);
    let secret = offline.seed(Secret::named("key"));
    assert_eq!(created(&secret), "2026-01-01T00:00:00Z");
    tokio::time::advance(Duration::from_millis(86_400_250)).await;
    let _ = offline.reconcile("key").await.unwrap();
    let copy = offline.get::<ConfigMap>("key").unwrap();
    assert_eq!(
        copy.data.as_ref().unwrap()["seen"],
        "2026-01-02T00:00:00.25Z"
    );
    assert_eq!(created(&copy), "2026-01-02T00:00:00Z");
    let events = offline.events();
    assert_eq!(events[0].event_time.as_ref().unwrap().0, offline.now());
}

#[tokio::test(start_paused = true)]
async fn a_test_sets_the_time_also_to_an_earlier_one() {
    let offline = Offline::new(Times);
    offline.seed(Secret::named("key"));
    for time in ["2028-02-29T12:00:00Z", "2027-01-01T00:00:00Z"] {
        let time: Timestamp = time.parse().unwrap();
        offline.set_time(time);
        assert_eq!(offline.now(), time);
        let _ = offline.reconcile("key").await.unwrap();
        let copy = offline.get::<ConfigMap>("key").unwrap();
        assert_eq!(copy.data.unwrap()["seen"], time.to_string());
    }
    let mut secret = offline.get::<Secret>("key").unwrap();
    secret.metadata.finalizers = Some(vec!["example.com/held".into()]);
    offline.seed(secret);
    assert!(offline.delete::<Secret>("key"));
    let deleted = offline
        .get::<Secret>("key")
        .unwrap()
        .metadata
        .deletion_timestamp;
    assert_eq!(deleted.unwrap().0.to_string(), "2027-01-01T00:00:00Z");
}
