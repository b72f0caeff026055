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
use http::Response;
use tokio::time::Instant;

use crate::{
    client::{
        Body, BoxError, Encoding, Error, ErrorKind, WatchEvent,
        codec::{Codec, Encoded, Frames, JsonIndex, with_codec},
        decode::{Decoder, Event, Offloaded},
        rest::Call,
        stack::SentSecrets,
    },
    resource::ApiResource,
};

/// The events of one watch, until the server ends it.
///
/// An `ERROR` event is an [`ErrorKind::Api`] and the last item. An object that does not fit the type is an event, and
/// the stream continues. It is normal that the stream ends: servers end every watch after some minutes.
pub struct WatchStream<K> {
    events: Pin<Box<dyn Stream<Item = Result<WatchEvent<K>, Error>> + Send>>,
}

impl<K> WatchStream<K> {
    /// A stream of the given events, in place of a server's.
    pub fn new<S>(events: S) -> Self
    where
        S: Stream<Item = Result<WatchEvent<K>, Error>> + Send + 'static,
    {
        Self {
            events: Box::pin(events),
        }
    }
}

/// Reads one frame, with its index if it was made before. The flag tells whether the managed fields are wanted.
pub(crate) type ReadEvent<K> = Box<
    dyn Fn(&Encoded, Option<&JsonIndex>, &ApiResource, bool) -> Result<Event<K>, String>
        + Send
        + Sync,
>;

impl<K: Send + 'static> WatchStream<K> {
    pub(crate) fn of_response(
        call: &Call<'_>,
        (encoding, response): (Encoding, Response<Body>),
        managed_fields: bool,
        decoder: Decoder,
        read: ReadEvent<K>,
        namespace_of: fn(&K) -> Option<&str>,
    ) -> Self {
        let context = FrameContext {
            read,
            encoding,
            resource: call.resource.clone(),
            managed_fields,
        };
        Self::new(DecodeAhead::<K> {
            secrets: response.extensions().get().cloned(),
            frames: Frames::new(encoding, response.into_body()),
            context: Arc::new(context),
            decoder,
            namespace_of,
            namespace: call.namespace.map(str::to_owned),
            decoding: VecDeque::new(),
            json_indexes: Vec::new(),
            decoded: Vec::new().into_iter(),
            end: None,
            ended: false,
            last_poll: None,
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

/// Decodes frames.
///
/// Usually frames are decoded one by one as they come. If many frames are there and the reader is quick, batches of
/// them are decoded on the [decode thread](Decoder), two at a time. While that thread is busy, this task makes the JSON
/// index of the next batch, which is a fifth of the work. Nothing is read ahead for a slow reader, because the
/// connection must notice it.
struct DecodeAhead<K> {
    frames: Frames,
    /// What an `ERROR` event must not repeat.
    secrets: Option<SentSecrets>,
    context: Arc<FrameContext<K>>,
    decoder: Decoder,
    namespace_of: fn(&K) -> Option<&str>,
    namespace: Option<String>,
    /// The batches that are being decoded, oldest first.
    decoding: VecDeque<Offloaded<(Decoded<K>, Vec<JsonIndex>)>>,
    /// Memory for indexes, kept while there is much to decode.
    json_indexes: Vec<Vec<JsonIndex>>,
    /// Decoded events that come before those in `decoding`.
    decoded: std::vec::IntoIter<Result<Event<K>, String>>,
    /// How the body ended. This comes after all events.
    end: Option<Option<BoxError>>,
    ended: bool,
    last_poll: Option<Instant>,
}

type Decoded<K> = Vec<Result<Event<K>, String>>;

/// What all frames of a watch have in common.
struct FrameContext<K> {
    read: ReadEvent<K>,
    encoding: Encoding,
    resource: ApiResource,
    managed_fields: bool,
}

impl<K> FrameContext<K> {
    /// Writes the index of each frame into `json_indexes`.
    fn json_index(&self, frames: &[Bytes], json_indexes: &mut Vec<JsonIndex>) {
        json_indexes.resize_with(frames.len(), JsonIndex::default);
        for (frame, json_index) in frames.iter().zip(json_indexes) {
            with_codec!(self.encoding, codec => codec.json_index(frame, json_index));
        }
    }

    /// Decodes the frames, with their indexes if there are any.
    fn decode(&self, frames: Vec<Bytes>, json_indexes: &[JsonIndex]) -> Decoded<K> {
        let decode = |(number, bytes): (usize, Bytes)| {
            let encoding = self.encoding;
            let frame = Encoded { encoding, bytes };
            let json_index = json_indexes.get(number);
            (self.read)(&frame, json_index, &self.resource, self.managed_fields)
        };
        frames.into_iter().enumerate().map(decode).collect()
    }
}

impl<K: Send + 'static> DecodeAhead<K> {
    /// A batch has at most this many frames, or about this many bytes.
    const BATCH: usize = 256;
    const BYTES: usize = 256 * 1024;
    /// At most this many batches are being decoded.
    const AHEAD: usize = 2;
    /// A batch of fewer frames and fewer bytes takes less time to decode than to pass to the thread: 0.1 ms.
    const FEW_FRAMES: usize = 16;
    const FEW_BYTES: usize = 32 * 1024;
    /// A reader that comes back later than this is slow.
    const SLOW: Duration = Duration::from_secs(1);

    fn call(&self) -> Call<'_> {
        Call {
            verb: "watch",
            resource: &self.context.resource,
            namespace: self.namespace.as_deref(),
            name: None,
            subresource: None,
            metadata_only: false,
            all_fields: false,
        }
    }

    /// Starts to decode the frames that are there.
    fn decode_ahead(&mut self, cx: &mut Context<'_>) {
        let now = Instant::now();
        let last = self.last_poll.replace(now);
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
                let context = self.context.clone();
                let are_few = frames.len() < Self::FEW_FRAMES && bytes < Self::FEW_BYTES;
                if are_few && self.decoding.is_empty() {
                    self.decoded = context.decode(frames, &[]).into_iter();
                    return;
                }
                let mut json_indexes = self.json_indexes.pop().unwrap_or_default();
                // If the decode thread is idle, it makes the index sooner itself.
                let is_indexed = !self.decoding.is_empty();
                if is_indexed {
                    context.json_index(&frames, &mut json_indexes);
                }
                self.decoding.push_back(self.decoder.offload(move || {
                    let made = if is_indexed { &json_indexes[..] } else { &[] };
                    let decoded = context.decode(frames, made);
                    json_indexes.iter_mut().for_each(JsonIndex::shrink);
                    (decoded, json_indexes)
                }));
            }
            if is_all {
                return;
            }
        }
    }

    fn item(&self, decoded: Result<Event<K>, String>) -> Result<WatchEvent<K>, Error> {
        match decoded.map_err(|reason| self.call().undecodable(reason))? {
            Event::Event(event) => {
                let namespace = match &event {
                    WatchEvent::Added(object)
                    | WatchEvent::Modified(object)
                    | WatchEvent::Deleted(object) => (self.namespace_of)(object),
                    WatchEvent::Undecodable { object, .. } => object.key.namespace(),
                    WatchEvent::Bookmark { .. } => None,
                };
                self.call().check_namespace(namespace)?;
                Ok(event)
            }
            Event::Error(mut status) => {
                if let Some(secrets) = &self.secrets {
                    secrets.redact_status(&mut status);
                }
                let kind = ErrorKind::Api(status);
                Err(Error::new("watch", self.call().target(), kind))
            }
        }
    }
}

/// No object is pinned inside.
impl<K> Unpin for DecodeAhead<K> {}

impl<K: Send + 'static> Stream for DecodeAhead<K> {
    type Item = Result<WatchEvent<K>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        while !this.ended {
            if let Some(decoded) = this.decoded.next() {
                let event = this.item(decoded);
                // After an error nothing is known about the rest; the caller must open a new watch.
                this.ended = event.is_err();
                return Poll::Ready(Some(event));
            }
            this.decode_ahead(cx);
            if this.decoded.len() > 0 {
                continue;
            }
            if let Some(oldest) = this.decoding.front_mut() {
                let (decoded, json_indexes) = ready!(Pin::new(oldest).poll(cx));
                this.decoded = decoded.into_iter();
                this.json_indexes.push(json_indexes);
                this.decoding.pop_front();
                continue;
            }
            this.json_indexes = Vec::new();
            let Some(end) = this.end.take() else {
                return Poll::Pending;
            };
            this.ended = true;
            return Poll::Ready(end.map(|source| {
                let call = this.call();
                Err(Error::from_stack(call.verb, call.target(), source))
            }));
        }
        Poll::Ready(None)
    }
}
