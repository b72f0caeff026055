use std::{panic::AssertUnwindSafe, pin::pin};

use futures_core::Stream;
use futures_util::{FutureExt, StreamExt};

use super::{
    Inlet, Lookup, Request,
    mapping::named,
    wiring::{Connection, Wiring},
};
use crate::{
    controller::{Environment, Result, Wired, causes::Cause, hub::message},
    resource::Resource,
};

/// A source of the user: a stream, and what its items ask for.
pub(in crate::controller) struct Pumped<S: Stream> {
    pub(in crate::controller) stream: S,
    pub(in crate::controller) map: Box<Map<S::Item>>,
}

pub(in crate::controller) type Map<T> = dyn FnMut(T, &Lookup<'_>) -> Result<Vec<Request>> + Send;

impl<S: Stream<Item: Into<Request>>> Pumped<S> {
    /// A stream of what is asked for.
    pub(in crate::controller) fn requests(stream: S) -> Self {
        Self {
            stream,
            map: Box::new(|item, _| Ok(vec![item.into()])),
        }
    }
}

impl<K, S> Wiring<K> for Pumped<S>
where
    K: Resource,
    S: Stream<Item: Send> + Send + 'static,
{
    fn wired(&self) -> Option<Wired> {
        None
    }

    fn connect(self: Box<Self>, _: &Environment, inlet: &Inlet<K>) -> Connection {
        Connection::pumped(Box::pin(pump(*self, inlet.clone())))
    }
}

/// Takes items as long as there is room, until the stream ends or panics.
async fn pump<K: Resource, S: Stream>(source: Pumped<S>, inlet: Inlet<K>) {
    let mut stream = pin!(source.stream);
    let mut map = source.map;
    loop {
        inlet.room().await;
        let item = match AssertUnwindSafe(stream.next()).catch_unwind().await {
            Ok(Some(item)) => item,
            Ok(None) => return,
            Err(panic) => {
                inlet.metrics.handler_panics.inc();
                tracing::error!(
                    controller = inlet.name,
                    "a source panicked and is not asked any more: {}",
                    message(&*panic)
                );
                return;
            }
        };
        let requests = named(&inlet, &"the mapping of a source", || {
            map(item, &Lookup::new(&inlet.readers))
        });
        for request in requests {
            ask(&inlet, request).await;
        }
    }
}

/// What nobody knows of is not asked for: a worker would drop it, and if the object is to come its own
/// event is. So what waits is bounded by what is cached.
async fn ask<K: Resource>(inlet: &Inlet<K>, request: Request) {
    let keys = match request.key {
        Some(key) => vec![key],
        None => inlet.own.list().items.iter().map(|one| one.key()).collect(),
    };
    for key in keys {
        inlet.room().await;
        if inlet.own.contains(&key) || inlet.states.contains(&key) {
            inlet.ask(key, request.priority, Cause::Source);
        }
    }
}
