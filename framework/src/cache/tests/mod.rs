//! What the cache guarantees, with a server that has a history and faults, on the paused clock.

mod encoded;
mod failures;
mod faults;
mod handles;
mod indexes;
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
mod recording;
mod requests;
mod restores;
mod resyncs;
mod streamed_lists;
mod streams;
mod tweaks;
mod wakes;

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    InformerMode, SharedInformer,
    fake::{FakeServer, run_ready_tasks},
};
use crate::resource::ObjectKey;
use recording::RecordingListener;

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

    /// An informer of `server` that has completed its first list, and a listener that records what it receives from
    /// now on.
    async fn synced(server: &FakeServer) -> (Self, RecordingListener) {
        let running = Self::of(server.informer());
        let recorded = RecordingListener::at(&running.informer);
        run_ready_tasks().await;
        assert!(running.informer.has_synced());
        recorded.lines();
        server.requests();
        (running, recorded)
    }

    fn get(&self, name: &str) -> Option<Arc<ConfigMap>> {
        let key = ObjectKey::namespaced("default", name);
        self.informer.lister().get(&key).unwrap()
    }
}

async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}
