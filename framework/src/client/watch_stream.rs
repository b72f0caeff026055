use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::{
    Body, BoxError, Error, WatchEvent,
    call::Call,
    client::failure,
    codec::{Codec, Encoded, Encoding, Frames, Outline, with_codec},
    decode::{Event, decode_event},
    offload::{Offloaded, offload},
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
        let form = Form {
            encoding,
            resource: call.resource.clone(),
            managed_fields,
        };
        Self::new(Events::<K> {
            frames: Frames::new(encoding, body),
            form: Arc::new(form),
            namespace: call.namespace.map(str::to_owned),
            decoding: VecDeque::new(),
            outlines: Vec::new(),
            decoded: Vec::new().into_iter(),
            end: None,
            ended: false,
            looked: None,
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

/// Frames are decoded one by one as they come. When many are there and their reader is quick, they are decoded by the
/// dozen on [another thread](offload), the next dozens while the first is taken; while that thread has something to do,
/// what comes next is outlined here, which is a fifth of the work. For a slow reader nothing is read ahead: the
/// connection has to notice it.
struct Events<K> {
    frames: Frames,
    form: Arc<Form>,
    namespace: Option<String>,
    /// What is being decoded, oldest first.
    decoding: VecDeque<Offloaded<(Decoded<K>, Vec<Outline>)>>,
    /// The memory of outlines, as long as there is much to do.
    outlines: Vec<Vec<Outline>>,
    /// What comes before it.
    decoded: std::vec::IntoIter<Result<Event<K>, String>>,
    /// What the body ended with, which comes after it.
    end: Option<Option<BoxError>>,
    ended: bool,
    looked: Option<Instant>,
}

type Decoded<K> = Vec<Result<Event<K>, String>>;

/// What the frames are.
struct Form {
    encoding: Encoding,
    resource: ApiResource,
    managed_fields: bool,
}

impl Form {
    /// Outlines the frames, in memory that is there or taken.
    fn outline(&self, frames: &[Bytes], outlines: &mut Vec<Outline>) {
        outlines.resize_with(frames.len(), Outline::default);
        for (frame, outline) in frames.iter().zip(outlines) {
            with_codec!(self.encoding, codec => codec.outline(frame, outline));
        }
    }

    /// Decodes them, along outlines if there are any.
    fn decode<K: DeserializeOwned>(&self, frames: Vec<Bytes>, outlines: &[Outline]) -> Decoded<K> {
        let decode = |(number, bytes): (usize, Bytes)| {
            let encoding = self.encoding;
            let frame = Encoded { encoding, bytes };
            let outline = outlines.get(number);
            decode_event(&frame, outline, &self.resource, self.managed_fields)
        };
        frames.into_iter().enumerate().map(decode).collect()
    }
}

impl<K: DeserializeOwned + Send + 'static> Events<K> {
    /// So many are decoded at once, or as many as have so many bytes.
    const BATCH: usize = 32;
    const BYTES: usize = 256 * 1024;
    /// So many batches are under way.
    const AHEAD: usize = 2;
    /// To pass on fewer bytes than these takes longer than to decode them: 0.1 ms.
    const FEW: usize = 32 * 1024;
    /// A reader is slow that comes back later than this.
    const SLOW: Duration = Duration::from_secs(1);

    fn call(&self) -> Call<'_> {
        Call {
            verb: "watch",
            resource: &self.form.resource,
            namespace: self.namespace.as_deref(),
            name: None,
            subresource: None,
            metadata_only: false,
        }
    }

    /// Begins to decode what is there.
    fn look_ahead(&mut self, cx: &mut Context<'_>) {
        let now = Instant::now();
        let last = self.looked.replace(now);
        let is_quick = last.is_some_and(|last| now - last < Self::SLOW);
        let most = if is_quick { Self::BATCH } else { 1 };
        while self.decoding.len() < Self::AHEAD && self.end.is_none() {
            let (mut frames, mut bytes) = (Vec::new(), 0);
            let mut is_all = false;
            while frames.len() < most && bytes < Self::BYTES && !is_all {
                match self.frames.poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => {
                        bytes += frame.len();
                        frames.push(frame);
                    }
                    Poll::Ready(Some(Err(error))) => self.end = Some(Some(error)),
                    Poll::Ready(None) => self.end = Some(None),
                    Poll::Pending => is_all = true,
                }
                is_all |= self.end.is_some();
            }
            if !frames.is_empty() {
                let form = self.form.clone();
                if bytes < Self::FEW && self.decoding.is_empty() {
                    self.decoded = form.decode(frames, &[]).into_iter();
                    return;
                }
                let mut outlines = self.outlines.pop().unwrap_or_default();
                // A thread that waits for it does that sooner itself.
                let is_outlined = !self.decoding.is_empty();
                if is_outlined {
                    form.outline(&frames, &mut outlines);
                }
                self.decoding.push_back(offload(move || {
                    let made = if is_outlined { &outlines[..] } else { &[] };
                    let decoded = form.decode(frames, made);
                    outlines.iter_mut().for_each(Outline::shrink);
                    (decoded, outlines)
                }));
            }
            if is_all {
                return;
            }
        }
    }

    fn item(&self, decoded: Result<Event<K>, String>) -> Result<WatchEvent<K>, Error> {
        match decoded.map_err(|reason| self.call().undecodable(reason))? {
            Event::Event(event) => Ok(event),
            Event::Error(status) => Err(Error::Api {
                verb: "watch",
                target: self.call().target(),
                status,
                advice: None,
            }),
        }
    }
}

/// No object is pinned in it.
impl<K> Unpin for Events<K> {}

impl<K: DeserializeOwned + Send + 'static> Stream for Events<K> {
    type Item = Result<WatchEvent<K>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        while !this.ended {
            if let Some(decoded) = this.decoded.next() {
                let event = this.item(decoded);
                // After an error nothing is known about what follows; whoever watches begins anew.
                this.ended = event.is_err();
                return Poll::Ready(Some(event));
            }
            this.look_ahead(cx);
            if this.decoded.len() > 0 {
                continue;
            }
            if let Some(oldest) = this.decoding.front_mut() {
                let (decoded, outlines) = ready!(Pin::new(oldest).poll(cx));
                this.decoded = decoded.into_iter();
                this.outlines.push(outlines);
                this.decoding.pop_front();
                continue;
            }
            this.outlines = Vec::new();
            let Some(end) = this.end.take() else {
                return Poll::Pending;
            };
            this.ended = true;
            return Poll::Ready(end.map(|source| {
                let call = this.call();
                Err(failure(call.verb, call.target(), source))
            }));
        }
        Poll::Ready(None)
    }
}
