use std::time::Duration;

use futures_util::StreamExt;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{Instant, sleep, timeout};

use super::Backoff;
use crate::{
    client::{Api, Error, ListParams, WatchEvent, WatchParams},
    resource::{ByName, FieldSelector, Object, Undecodable},
};

/// After how long the server ends the watch, and the grace after which it counts as broken.
const WATCH: Duration = Duration::from_secs(300);
const GRACE: Duration = Duration::from_secs(30);
/// A watch that lasted for so long did not fail.
const LASTED: Duration = Duration::from_secs(5);

/// Waiting for a state.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Waits until `met` says yes to the object named `name`, and gives the object it said that of.
    ///
    /// `met` is asked at once and after each change, with `None` while there is no such object. It
    /// sees the newest state, not each one on the way to it. What broke or was refused for the time
    /// being (connections, 429, 5xx, a forgotten version) is begun anew with growing pauses, up to
    /// 30 s; there is no end to it but the caller's, as by `tokio::time::timeout`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error}, k8s::api::core::v1::Pod};
    /// # async fn example(pods: Api<Pod>) -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    ///
    /// let running = pods.wait_until("web-0", |pod| {
    ///     let phase = pod.and_then(|pod| pod.status.as_ref()?.phase.as_deref());
    ///     phase == Some("Running")
    /// });
    /// let pod = tokio::time::timeout(Duration::from_secs(60), running).await??;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// What waiting does not mend: the kind is not served, reading it is forbidden, the object does
    /// not fit the type.
    pub async fn wait_until(
        &self,
        name: &str,
        mut met: impl FnMut(Option<&K>) -> bool,
    ) -> Result<Option<K>, Error>
    where
        R: ByName,
    {
        // A name that is none would wait for ever.
        self.call("watch", Some(name), None).path()?;
        let fields = String::from(FieldSelector::default().eq("metadata.name", name));
        let mut reconnections = self.client().reconnections();
        let mut failures = 0;
        loop {
            reconnections.begin();
            let error = match self.follow(&fields, &mut failures, &mut met).await {
                Ok(object) => return Ok(object),
                Err(error) if error.is_expired() || error.is_transient() => error,
                Err(error) => return Err(error),
            };
            if failures == 0 {
                reconnections.held();
            }
            failures += 1;
            let asked = error.retry_after().unwrap_or_default();
            let pause = asked.max(pause_after(failures));
            if error.is_connection_failure() {
                reconnections.pause(pause).await;
            } else {
                sleep(pause).await;
            }
        }
    }

    /// Waits until there is no object named `name`, or one of another UID than `uid`, if it is given.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, DeleteParams, Error}, k8s::api::core::v1::Pod};
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// let pod = pods.get("web-0").await?;
    /// pods.delete("web-0", &DeleteParams::default()).await?;
    /// pods.wait_until_deleted("web-0", pod.metadata.uid.as_deref()).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`wait_until`](Self::wait_until).
    pub async fn wait_until_deleted(&self, name: &str, uid: Option<&str>) -> Result<(), Error>
    where
        R: ByName,
    {
        let gone = |object: Option<&K>| {
            object.is_none_or(|object| uid.is_some_and(|uid| object.uid() != Some(uid)))
        };
        self.wait_until(name, gone).await.map(|_| ())
    }

    /// From a list on, as long as nothing breaks.
    async fn follow(
        &self,
        fields: &str,
        failures: &mut u32,
        met: &mut impl FnMut(Option<&K>) -> bool,
    ) -> Result<Option<K>, Error> {
        let mut list = self.list(&ListParams::default().fields(fields)).await?;
        if let Some(object) = list.undecodable.pop() {
            return Err(undecodable("list", object));
        }
        let mut version = list.resource_version().unwrap_or_default().to_owned();
        let mut short = 0;
        let object = list.items.pop();
        if met(object.as_ref()) {
            return Ok(object);
        }
        loop {
            let params = WatchParams::default().fields(fields).timeout(WATCH);
            let mut events = self.watch(&params.after(&version)).await?;
            let opened = Instant::now();
            // A silent stream is a broken one: the server ends it in time.
            while let Ok(Some(event)) = timeout(WATCH + GRACE, events.next()).await {
                let event = event?;
                if let Some(newer) = event.resource_version()
                    && newer != version
                {
                    version = newer.to_owned();
                    (*failures, short) = (0, 0);
                }
                let object = match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => Some(object),
                    WatchEvent::Deleted(_) => None,
                    WatchEvent::Bookmark { .. } => continue,
                    WatchEvent::Undecodable { object, .. } => {
                        return Err(undecodable("watch", object));
                    }
                };
                if met(object.as_ref()) {
                    return Ok(object);
                }
            }
            // Whatever ends the stream at once must not be asked at once again.
            if opened.elapsed() >= LASTED {
                (*failures, short) = (0, 0);
            }
            short += 1;
            sleep(pause_after(short)).await;
        }
    }
}

/// The pause after so many failures in a row, or after so many watches that ended at once and brought nothing.
fn pause_after(failures: u32) -> Duration {
    let backoff = Backoff {
        steps: u32::MAX,
        pause: Duration::from_millis(500),
        factor: 2,
        longest: Duration::from_secs(30),
        jitter: 1.0,
    };
    backoff.after(failures)
}

fn undecodable(verb: &'static str, object: Undecodable) -> Error {
    Error::Undecodable {
        verb,
        object: Box::new(object),
    }
}
