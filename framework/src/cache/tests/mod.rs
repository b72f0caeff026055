//! What the cache promises, over a server with a history and faults, on the paused clock.

mod faults;
mod heard;
mod informers;
mod kube_rs_defects;
mod listeners;
mod model;
mod namespaces;
mod no_progress;
mod outages;
pub(super) mod packed;
mod parity;
mod reading;
mod requests;
mod resyncs;
mod streamed_lists;
mod streams;
mod wakes;
mod went_back;

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    InformerMode, SharedInformer,
    fake::{FakeServer, settle},
};
use crate::resource::ObjectKey;
use heard::Heard;

/// An informer in its task.
struct Running {
    informer: SharedInformer<ConfigMap>,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    fn of(informer: SharedInformer<ConfigMap>) -> Self {
        let cancel = CancellationToken::new();
        let task = tokio::spawn(informer.run(cancel.clone()));
        Self {
            informer,
            cancel,
            task,
        }
    }

    /// An informer of `server` that has done its first list, and what a listener hears from now on.
    async fn synced(server: &FakeServer) -> (Self, Heard) {
        let running = Self::of(server.informer());
        let heard = Heard::at(&running.informer);
        settle().await;
        assert!(running.informer.has_synced());
        heard.lines();
        server.requests();
        (running, heard)
    }

    fn get(&self, name: &str) -> Option<Arc<ConfigMap>> {
        let key = ObjectKey::namespaced("default", name);
        self.informer.lister().get(&key).unwrap()
    }
}

async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}
