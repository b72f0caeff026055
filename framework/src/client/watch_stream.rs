use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use serde::de::DeserializeOwned;

use super::{
    Body, Error, WatchEvent,
    call::Call,
    client::failure,
    codec::{Encoded, Encoding, Frames},
    decode::{Event, decode_event},
};
use crate::resource::ApiResource;

/// The events of one watch, until the server ends it.
///
/// An `ERROR` event comes out as [`Error::Api`] and is the last item. An object that does not fit
/// the type is an event of its own and ends nothing. The end of the stream is normal: servers end
/// every watch after some minutes.
pub struct WatchStream<K> {
    events: Pin<Box<dyn Stream<Item = Result<WatchEvent<K>, Error>> + Send>>,
}

impl<K> WatchStream<K> {
    /// A stream made of events from elsewhere; for those who stand in for a server.
    pub fn new<S>(events: S) -> Self
    where
        S: Stream<Item = Result<WatchEvent<K>, Error>> + Send + 'static,
    {
        Self {
            events: Box::pin(events),
        }
    }
}

impl<K: DeserializeOwned + Send + 'static> WatchStream<K> {
    pub(super) fn of_body(
        call: &Call<'_>,
        (encoding, body): (Encoding, Body),
        managed_fields: bool,
    ) -> Self {
        Self::new(Events::<K> {
            frames: Frames::new(encoding, body),
            encoding,
            resource: call.resource.clone(),
            namespace: call.namespace.map(str::to_owned),
            managed_fields,
            ended: false,
            kind: PhantomData,
        })
    }
}

impl<K> Stream for WatchStream<K> {
    type Item = Result<WatchEvent<K>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.as_mut().poll_next(cx)
    }
}

impl<K> fmt::Debug for WatchStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchStream")
    }
}

struct Events<K> {
    frames: Frames,
    encoding: Encoding,
    resource: ApiResource,
    namespace: Option<String>,
    managed_fields: bool,
    ended: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K> Events<K> {
    fn call(&self) -> Call<'_> {
        Call {
            verb: "watch",
            resource: &self.resource,
            namespace: self.namespace.as_deref(),
            name: None,
            subresource: None,
            metadata_only: false,
        }
    }
}

impl<K: DeserializeOwned> Stream for Events<K> {
    type Item = Result<WatchEvent<K>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let Some(frame) = ready!(self.frames.poll_frame(cx)) else {
            self.ended = true;
            return Poll::Ready(None);
        };
        let event = frame
            .map_err(|source| {
                let call = self.call();
                failure(call.verb, call.target(), source)
            })
            .and_then(|bytes| {
                let encoding = self.encoding;
                let frame = Encoded { encoding, bytes };
                let event = decode_event(&frame, &self.resource, self.managed_fields);
                match event.map_err(|reason| self.call().undecodable(reason))? {
                    Event::Event(event) => Ok(event),
                    Event::Error(status) => Err(Error::Api {
                        verb: "watch",
                        target: self.call().target(),
                        status,
                        advice: None,
                    }),
                }
            });
        // After an error nothing is known about what follows; whoever watches begins anew.
        self.ended = event.is_err();
        Poll::Ready(Some(event))
    }
}
