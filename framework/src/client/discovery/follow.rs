use std::{collections::BTreeSet, convert::Infallible, time::Duration};

use futures_util::StreamExt;
use tokio::time::{Instant, sleep, sleep_until};

use super::RestMapper;
use crate::{
    client::{Api, Backoff, Client, Error, ListParams, WatchEvent, WatchParams, WatchStream},
    resource::{ApiResource, DynamicObject, Object, PartialObject},
};

/// A server tells of a change in its discovery a moment after the definition changed; aggregated
/// discovery takes some seconds.
const DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];
/// A watch that lasted for so long did not fail.
const LASTED: Duration = Duration::from_secs(60);

/// The pauses before a watch is opened again: `first`, doubled up to a minute.
fn pauses(first: Duration) -> Backoff {
    Backoff {
        steps: u32::MAX,
        pause: first,
        factor: 2,
        longest: Duration::from_secs(60),
        jitter: 0.1,
    }
}

/// When which group is to be read.
type Due = BTreeSet<(Instant, String)>;

impl RestMapper {
    /// Follows the server's CustomResourceDefinitions, and reads a group again when one of its
    /// definitions came, changed or went: 1 s and 10 s after. Never ends; to be run beside what
    /// uses the mapper, and dropped with it.
    ///
    /// Needs `list` and `watch` of `customresourcedefinitions`. While these fail it tries again
    /// after 5 s, then ever later up to a minute, and answers are as old [as without it](RestMapper#how-old-an-answer-can-be); then
    /// everything is read once.
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
        let pauses = pauses(Duration::from_secs(5));
        let mut failures = 0;
        loop {
            let began = Instant::now();
            reconnections.begin();
            let Err(error) = self.follow_once(&definitions, &mut due).await;
            tracing::debug!("definitions are not followed: {error}");
            if began.elapsed() >= LASTED {
                failures = 0;
                reconnections.held();
            }
            failures += 1;
            let pause = pauses.after(failures);
            let pause = pause.max(error.retry_after().unwrap_or_default());
            if error.is_connection_failure() {
                reconnections.pause(pause).await;
            } else {
                sleep(pause).await;
            }
        }
    }

    /// From a list on, as long as nothing can be missed.
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
        // What happened before the list is not known. A failure leaves what is known as it is.
        let _ = self.refresh().await;
        let pauses = pauses(DELAYS[0]);
        let mut ends = 0;
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
            // Servers end every watch; one that ends them at once is not asked without pause.
            ends = if opened.elapsed() >= LASTED {
                1
            } else {
                ends + 1
            };
            sleep(pauses.after(ends)).await;
        }
    }

    /// The next event, and meanwhile the readings that are due.
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
                // Losing this branch loses nothing: an event stays in the stream.
                event = watch.next() => return event,
                () = sleep_until(at) => {
                    // What could not be read now is at the latest when it is old.
                    let _ = self.refresh_group(&group).await;
                    due.remove(&(at, group));
                }
            }
        }
    }
}

/// Notes that a group changed. What is due soon stays, so that many changes do not put it off.
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
