use std::time::Duration;

use futures_util::StreamExt;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{Instant, sleep, timeout};

use super::api::Api;
use crate::{
    backoff::{Backoff, Growth},
    client::{Error, ListParams, WatchEvent, WatchParams},
    resource::{ByName, FieldSelector, Object, Undecodable},
};

/// The server ends the watch after this time. If it does not do so within the grace, the watch counts as broken.
const WATCH: Duration = Duration::from_secs(300);
const GRACE: Duration = Duration::from_secs(30);
/// A watch that lasted this long did not fail.
const LASTED: Duration = Duration::from_secs(5);
/// A watch that ended at once without an event counts as a failure, too.
const PAUSES: Growth =
    Growth::doubling(Duration::from_millis(500), Duration::from_secs(30)).jitter(1.0);

/// Wait for a state.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Waits until `met` returns true for the object named `name`. Returns that object.
    ///
    /// This calls `met` at once and after each change, with `None` while there is no such object. `met` sees the newest
    /// state, but not each state before it. After a broken connection, 429, 5xx or a forgotten version, this starts
    /// again, with growing pauses up to 30 s. It never gives up; the caller sets the limit, for example with
    /// `tokio::time::timeout`.
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
    /// An error that waiting does not change: the kind is not served, reading it is forbidden, or the object does not
    /// fit the type.
    pub async fn wait_until(
        &self,
        name: &str,
        mut met: impl FnMut(Option<&K>) -> bool,
    ) -> Result<Option<K>, Error>
    where
        R: ByName,
    {
        // The server would accept a watch for an invalid name, and the wait would never end.
        self.call("watch", Some(name), None).path()?;
        let fields = String::from(FieldSelector::default().eq("metadata.name", name));
        let mut reconnections = self.client().reconnections();
        let mut failures = Backoff::new(PAUSES, LASTED);
        loop {
            reconnections.begin();
            let error = match self.follow(&fields, &mut failures, &mut met).await {
                Ok(object) => return Ok(object),
                Err(error) if error.is_expired() || error.is_transient() => error,
                Err(error) => return Err(error),
            };
            if failures.is_reset() {
                reconnections.held();
            }
            let asked = error.retry_after().unwrap_or_default();
            let pause = asked.max(failures.next());
            if error.is_connection_failure() {
                reconnections.pause(pause).await;
            } else {
                sleep(pause).await;
            }
        }
    }

    /// Waits until there is no object named `name`. If `uid` is given, an object with another UID ends the wait, too.
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

    /// Lists and watches until a connection breaks.
    async fn follow(
        &self,
        fields: &str,
        failures: &mut Backoff,
        met: &mut impl FnMut(Option<&K>) -> bool,
    ) -> Result<Option<K>, Error> {
        let mut list = self.list(&ListParams::default().fields(fields)).await?;
        if let Some(object) = list.undecodable.pop() {
            return Err(undecodable("list", object));
        }
        let mut version = list.resource_version().unwrap_or_default().to_owned();
        let mut short = Backoff::new(PAUSES, LASTED);
        let object = list.items.pop();
        if met(object.as_ref()) {
            return Ok(object);
        }
        loop {
            let params = WatchParams::default().fields(fields).timeout(WATCH);
            let mut events = self.watch(&params.after(&version)).await?;
            let opened = Instant::now();
            // The server ends the stream in time, so a silent stream is a broken one.
            while let Ok(Some(event)) = timeout(WATCH + GRACE, events.next()).await {
                let event = event?;
                if let Some(newer) = event.resource_version()
                    && newer != version
                {
                    version = newer.to_owned();
                    failures.reset();
                    short.reset();
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
            // If the server ends each stream at once, the next attempt must not follow at once.
            failures.worked_for(opened.elapsed());
            short.worked_for(opened.elapsed());
            sleep(short.next()).await;
        }
    }
}

fn undecodable(verb: &'static str, object: Undecodable) -> Error {
    Error::undecodable(verb, object)
}
