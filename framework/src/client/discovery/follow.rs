use std::{collections::BTreeSet, convert::Infallible, time::Duration};

use futures_util::StreamExt;
use tokio::time::{Instant, sleep, sleep_until};

use super::RestMapper;
use crate::{
    backoff::{Backoff, Growth},
    client::{Api, Client, Error, ListParams, WatchEvent, WatchParams, WatchStream},
    resource::{ApiResource, DynamicObject, Object, PartialObject},
};

/// A server shows a change in its discovery a moment after the definition changed. Aggregated discovery takes some
/// seconds.
const DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];
/// A watch that lasted this long did not fail.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// The pauses before a watch is opened again: `first`, doubled up to a minute.
fn pauses(first: Duration) -> Backoff {
    let growth = Growth::doubling(first, Duration::from_secs(60)).jitter(0.1);
    Backoff::new(growth, STABLE_AFTER)
}

/// When to read which group.
type Due = BTreeSet<(Instant, String)>;

impl RestMapper {
    /// Watches the server's CustomResourceDefinitions. Reads a group again 1 s and 10 s after one of its definitions
    /// was added, changed or deleted. Never ends: run it beside the code that uses the mapper, and drop it with that
    /// code.
    ///
    /// Needs `list` and `watch` of `customresourcedefinitions`. If these fail, it tries again after 5 s, then with
    /// growing pauses up to a minute. Meanwhile answers are as old
    /// [as without it](RestMapper#how-old-an-answer-can-be). Afterwards it reads everything once.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Client, RestMapper};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let mapper = RestMapper::new(&client);
    /// tokio::select! {
    ///     never = mapper.follow_definitions() => match never {},
    ///     kind = mapper.find("widgets") => println!("{}", kind?),
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn follow_definitions(&self) -> Infallible {
        let definitions = definitions(self.client());
        let mut due = Due::new();
        let mut reconnections = self.client().reconnections();
        let mut pauses = pauses(Duration::from_secs(5));
        loop {
            let began = Instant::now();
            reconnections.begin();
            let Err(error) = self.follow_once(&definitions, &mut due).await;
            tracing::debug!("definitions are not followed: {error}");
            if pauses.worked_for(began.elapsed()) {
                reconnections.held();
            }
            let pause = pauses.next();
            let pause = pause.max(error.retry_after().unwrap_or_default());
            if error.is_connection_failure() {
                reconnections.pause(pause).await;
            } else {
                sleep(pause).await;
            }
        }
    }

    /// Lists and watches until an event may have been missed.
    async fn follow_once(
        &self,
        definitions: &Api<PartialObject<DynamicObject>>,
        due: &mut Due,
    ) -> Result<Infallible, Error> {
        let page = ListParams {
            limit: Some(1),
            ..ListParams::default()
        };
        let list = definitions.list(&page).await?;
        let mut version = list.resource_version().unwrap_or_default().to_owned();
        // Changes before the list are unknown. If the refresh fails, the known kinds stay.
        let _ = self.refresh().await;
        let mut pauses = pauses(DELAYS[0]);
        loop {
            let opened = Instant::now();
            let from = WatchParams::default().after(&version);
            let mut watch = definitions.watch(&from).await?;
            while let Some(event) = self.next(&mut watch, due).await {
                let event = event?;
                if let Some(newer) = event.resource_version() {
                    version = newer.to_owned();
                }
                let name = match &event {
                    WatchEvent::Added(one)
                    | WatchEvent::Modified(one)
                    | WatchEvent::Deleted(one) => one.name(),
                    WatchEvent::Undecodable { object, .. } => object.key.as_str(),
                    WatchEvent::Bookmark { .. } => continue,
                };
                // `widgets.demo.dev`
                if let Some((_, group)) = name.split_once('.') {
                    expect(due, group);
                }
            }
            // Servers end every watch. If a server ends them at once, the next one must not follow at once.
            pauses.worked_for(opened.elapsed());
            sleep(pauses.next()).await;
        }
    }

    /// Returns the next event. Reads the groups that are due meanwhile.
    async fn next<K>(
        &self,
        watch: &mut WatchStream<K>,
        due: &mut Due,
    ) -> Option<Result<WatchEvent<K>, Error>> {
        loop {
            let Some((at, group)) = due.first().cloned() else {
                return watch.next().await;
            };
            tokio::select! {
                // Losing this branch loses nothing, because the event stays in the stream.
                event = watch.next() => return event,
                () = sleep_until(at) => {
                    // If a group cannot be read now, it is read again when it is old.
                    let _ = self.refresh_group(&group).await;
                    due.remove(&(at, group));
                }
            }
        }
    }
}

/// Records that a group changed. A reading that is due soon stays, so that many changes do not postpone it.
fn expect(due: &mut Due, group: &str) {
    let now = Instant::now();
    let [soon, later] = DELAYS.map(|delay| now + delay);
    due.retain(|(at, of)| of != group || *at <= soon);
    if !due.iter().any(|(_, of)| of == group) {
        due.insert((soon, group.to_owned()));
    }
    due.insert((later, group.to_owned()));
}

fn definitions(client: &Client) -> Api<PartialObject<DynamicObject>> {
    let resource = ApiResource {
        group: "apiextensions.k8s.io".into(),
        version: "v1".into(),
        kind: "CustomResourceDefinition".into(),
        plural: "customresourcedefinitions".into(),
        namespaced: false,
    };
    Api::<DynamicObject>::of(client, resource, None).metadata()
}
