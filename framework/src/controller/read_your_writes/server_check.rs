use std::collections::VecDeque;

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::sleep_until;

use super::{
    questions::{Ask, Found},
    writes::{Inner, ReadYourWrites},
};
use crate::{
    client::{Api, Client, Error, ErrorKind},
    resource::{Object, ObjectKey, PartialObject},
};

/// The largest number of concurrent requests.
const CONCURRENCY: usize = 8;

type Answer = Result<Option<PartialObject>, Error>;

impl ReadYourWrites {
    /// Asks the API server about demands that the caches do not meet, and about writes with an unknown result. Never returns.
    pub(crate) async fn check_server(&self, client: &Client) {
        let inner = &*self.inner;
        let mut line = VecDeque::new();
        let mut asking = FuturesUnordered::new();
        loop {
            let (asks, next) = inner.shared.take_due(inner.now());
            line.extend(asks);
            while asking.len() < CONCURRENCY
                && let Some(ask) = line.pop_front()
            {
                asking.push(ask_server(inner, client, ask));
            }
            // Losing a branch is safe: each only waits, or returns a finished request.
            tokio::select! {
                () = inner.due.notified() => {}
                () = reached(inner, next) => {}
                Some((ask, answer)) = asking.next() => inner.answered(&ask, &answer),
            }
        }
    }
}

impl Inner {
    fn answered(&self, ask: &Ask<ObjectKey>, answer: &Answer) {
        let fits = |object: &PartialObject, informer| {
            let cached = self.caches.get(informer);
            cached.is_some_and(|cached| cached.scope().may_hold(object.metadata(), &|_| None))
        };
        let (count, found) = match answer {
            Ok(None) => (&self.metrics.settled_gone, Found::Nothing),
            Ok(Some(object)) => {
                let found = Found::Object {
                    uid: object.uid(),
                    version: object.resource_version(),
                    fits: &|informer| fits(object, informer),
                };
                return self.found(ask, found, &self.metrics.settled_found);
            }
            Err(error) if is_refusal(error) => {
                tracing::warn!(
                    "the cache does not have what the last reconcile of {} wrote, and the API server refuses to \
                     show it: {error}: the object is reconciled without it",
                    ask.key
                );
                (&self.metrics.settled_refused, Found::Refused)
            }
            Err(_) => (&self.metrics.settled_unavailable, Found::Unavailable),
        };
        self.found(ask, found, count);
    }

    fn found(
        &self,
        ask: &Ask<ObjectKey>,
        found: Found<'_>,
        count: &crate::metrics::prometheus::IntCounter,
    ) {
        count.inc();
        let (settled, woken) = self.shared.settle(ask, found, &self.caches, self.now());
        self.count_dropped();
        if !settled.went_back.is_empty() {
            tracing::warn!(
                "the API server has an older version of {} than the one that it returned before: its state was \
                 restored from a backup, and the informer lists again",
                ask.object
            );
            self.caches.relist(&settled.went_back);
        }
        self.wake(woken);
        self.add_missing();
    }
}

async fn ask_server(
    inner: &Inner,
    client: &Client,
    ask: Ask<ObjectKey>,
) -> (Ask<ObjectKey>, Answer) {
    let Some(resource) = inner.caches.kind(ask.kind) else {
        return (ask, Ok(None));
    };
    let api = Api::<PartialObject>::of(client, resource, ask.object.namespace());
    let answer = api.get_opt(ask.object.name()).await;
    (ask, answer)
}

/// Whether the server would give the same answer again.
fn is_refusal(error: &Error) -> bool {
    match error.status() {
        Some(status) => (400..500).contains(&status.code) && !matches!(status.code, 408 | 429),
        None => matches!(
            error.kind(),
            ErrorKind::Decode { .. } | ErrorKind::Invalid { .. }
        ),
    }
}

/// Waits until the clock shows `next` milliseconds. Waits for ever with `None`.
async fn reached(inner: &Inner, next: Option<u64>) {
    match next {
        Some(next) => sleep_until(inner.instant(next)).await,
        None => std::future::pending().await,
    }
}
