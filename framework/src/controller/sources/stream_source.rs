use std::pin::pin;

use futures_core::Stream;
use futures_util::StreamExt;

use super::{
    enqueuer::Enqueuer,
    mapping::run_mapping,
    request::Request,
    wiring::{Connection, Wiring},
};
use crate::{
    controller::{
        caches::Lookup, cause::Cause, environment::Environment, error::Result,
        reconcilable::Reconcilable, wired::Wired,
    },
    health::catch_panic_of,
};

/// A stream of the user, with the mapping from its items to requests.
pub(crate) struct StreamSource<S: Stream> {
    pub(crate) stream: S,
    pub(crate) map: Box<Map<S::Item>>,
}

type Map<T> = dyn FnMut(T, &Lookup<'_>) -> Result<Vec<Request>> + Send;

impl<S: Stream<Item: Into<Request>>> StreamSource<S> {
    /// A stream whose items are requests.
    pub(crate) fn requests(stream: S) -> Self {
        Self {
            stream,
            map: Box::new(|item, _| Ok(vec![item.into()])),
        }
    }
}

impl<K, S> Wiring<K> for StreamSource<S>
where
    K: Reconcilable,
    S: Stream<Item: Send> + Send + 'static,
{
    fn wired(&self) -> Option<Wired> {
        None
    }

    fn connect(self: Box<Self>, _: &Environment, enqueuer: &Enqueuer<K>) -> Connection {
        Connection::streaming(Box::pin(read_stream(*self, enqueuer.clone())))
    }
}

/// Takes items while the queue has capacity, until the stream ends or panics.
async fn read_stream<K: Reconcilable, S: Stream>(source: StreamSource<S>, enqueuer: Enqueuer<K>) {
    let mut stream = pin!(source.stream);
    let mut map = source.map;
    loop {
        enqueuer.wait_for_capacity().await;
        let item = match catch_panic_of(stream.next()).await {
            Ok(Some(item)) => item,
            Ok(None) => return,
            Err(panic) => {
                enqueuer.metrics.handler_panics.inc();
                tracing::error!(
                    controller = enqueuer.name,
                    "a source panicked and is not polled any more: {panic}"
                );
                return;
            }
        };
        let requests = run_mapping(&enqueuer, &"the mapping of a source", || {
            map(item, &Lookup::new(&enqueuer.caches))
        });
        for request in requests {
            add(&enqueuer, request).await;
        }
    }
}

/// Adds the keys of a request. A key of an object that is neither cached nor remembered is dropped: a worker would drop it,
/// and if the object is created later its own event adds the key. So the number of waiting keys is bounded by the number of
/// cached objects.
pub(super) async fn add<K: Reconcilable>(enqueuer: &Enqueuer<K>, request: Request) {
    let keys = match request.key {
        Some(key) => vec![key],
        None => enqueuer
            .own
            .list()
            .items
            .iter()
            .map(|one| one.key())
            .collect(),
    };
    for key in keys {
        enqueuer.wait_for_capacity().await;
        if enqueuer.own.contains(&key) || enqueuer.key_states.contains(&key) {
            enqueuer.enqueue(key, request.priority, Cause::Source);
        }
    }
}
