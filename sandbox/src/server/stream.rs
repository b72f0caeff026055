use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::negotiate::Form;
use super::render;
use crate::api::{Event, Watch, convert_events};
use crate::core::Core;
use crate::error::ApiError;
use crate::fault::{End, Registration, RequestMatcher};
use crate::meta;
use crate::record::RecordedRequest;
use crate::store::Encoded;
use crate::table::{Include, TableOptions, partial_metadata, table};

/// The options of a watch's output.
pub(super) struct Settings {
    pub(super) bookmarks: bool,
    pub(super) timeout: Duration,
    pub(super) form: Form,
    pub(super) include: Include,
}

struct RunningWatch {
    core: Arc<Core>,
    watch: Watch,
    settings: Settings,
    deadline: Instant,
    next_bookmark: Instant,
    ended: oneshot::Receiver<End>,
    /// Whether the next table still needs its headings, which are sent once.
    headings: bool,
    finished: bool,
    /// Notified when caches that a fault held back are released.
    caches: watch::Receiver<Vec<(RequestMatcher, u64)>>,
    request: RecordedRequest,
    _registration: Registration,
}

/// The time between bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// The time between the last bookmark and the end of a watch that times out.
const BEFORE_DEADLINE: Duration = Duration::from_secs(2);
/// The most events in one chunk.
const MAX_CHUNK: usize = 256;

/// When the next bookmark is due: after a minute, and shortly before the watch times out, so that the client watches on
/// from a recent version.
fn next_bookmark(now: Instant, deadline: Instant) -> Instant {
    let next = now + BOOKMARK_INTERVAL;
    match deadline.checked_sub(BEFORE_DEADLINE) {
        Some(last) if last > now => next.min(last),
        _ => next,
    }
}

/// The lines of a watch. An event is written only when the client has room for it.
pub(super) fn stream(
    core: &Arc<Core>,
    watch: Watch,
    settings: Settings,
    request: RecordedRequest,
) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
    let (registration, ended) = core.faults.watches().register(request.clone());
    let now = Instant::now();
    let running = RunningWatch {
        core: core.clone(),
        watch,
        deadline: now + settings.timeout,
        next_bookmark: next_bookmark(now, now + settings.timeout),
        settings,
        ended,
        headings: true,
        finished: false,
        caches: core.faults.caches(),
        request,
        _registration: registration,
    };
    futures_util::stream::unfold(running, |mut running| async move {
        let chunk = running.next().await?;
        Some((chunk, running))
    })
}

impl RunningWatch {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if self.finished {
                return None;
            }
            // Checked first, so that a fault takes effect although there are more events to send.
            if let Ok(end) = self.ended.try_recv() {
                return self.end(end);
            }
            let core = self.core.clone();
            if core.faults.holds(&self.request) {
                // Every branch only waits, so losing one loses nothing.
                tokio::select! {
                    biased;
                    () = core.cancel.cancelled() => return None,
                    Ok(end) = &mut self.ended => return self.end(end),
                    () = core.faults.released(&self.request) => continue,
                    () = sleep_until(self.deadline) => return None,
                }
            }
            self.caches.mark_unchanged();
            let until = core.faults.cache(&self.request);
            let events = self.watch.take(MAX_CHUNK, until)?;
            if !events.is_empty() {
                let events = convert_events(&core, self.watch.target(), events).await;
                return Some(Ok(self.write(events)));
            }
            // Every branch only waits, so losing one loses nothing.
            tokio::select! {
                biased;
                () = core.cancel.cancelled() => return None,
                Ok(end) = &mut self.ended => return self.end(end),
                served = self.watch.changed() => if !served {
                    return None;
                },
                // The sender lives as long as the core.
                _ = self.caches.changed() => {},
                () = sleep_until(self.next_bookmark), if self.settings.bookmarks => {
                    if core.faults.holds(&self.request) {
                        continue;
                    }
                    // Counted from now on, so that a slow reader gets one bookmark and not all that it missed.
                    self.next_bookmark = next_bookmark(Instant::now(), self.deadline);
                    // Changes of other kinds do not wake the watch, but they advance the version up to which everything
                    // was sent.
                    let mut events = self.watch.take(MAX_CHUNK, until)?;
                    if events.is_empty() {
                        events.push(Event::Bookmark { version: self.watch.version(), initial_end: false });
                    }
                    let events = convert_events(&core, self.watch.target(), events).await;
                    return Some(Ok(self.write(events)));
                }
                () = sleep_until(self.deadline) => return None,
            }
        }
    }

    fn end(&mut self, how: End) -> Option<io::Result<Bytes>> {
        self.finished = true;
        match how {
            End::Close => None,
            End::Break => Some(Err(io::Error::other("injected fault: the watch breaks"))),
            End::Expire => {
                let version = self.watch.version();
                let error = ApiError::expired(format!(
                    "too old resource version: {version} ({})",
                    version + 1
                ));
                Some(Ok(self.write(vec![Event::Error(error)])))
            }
        }
    }

    fn write(&mut self, events: Vec<Event>) -> Bytes {
        let mut text = Vec::with_capacity(events.iter().map(length).sum());
        for event in events {
            match event {
                Event::Added(object) => self.object(&mut text, "ADDED", &object),
                Event::Modified(object) => self.object(&mut text, "MODIFIED", &object),
                Event::Deleted(object) => self.object(&mut text, "DELETED", &object),
                Event::Bookmark {
                    version,
                    initial_end,
                } => {
                    let object = self.bookmark(version, initial_end);
                    line_of(&mut text, "BOOKMARK", &object);
                }
                Event::Error(error) => {
                    self.finished = true;
                    line_of(&mut text, "ERROR", &error.to_status());
                }
            }
        }
        text.into()
    }

    fn object(&mut self, text: &mut Vec<u8>, kind: &str, stored: &Arc<Encoded>) {
        let object = render::read(self.watch.target(), stored);
        match self.settings.form {
            Form::Object => line(text, kind, object.json()),
            _ => {
                let object = self.in_requested_form(&object.value(), self.settings.include);
                line_of(text, kind, &object);
            }
        }
    }

    fn bookmark(&mut self, version: u64, initial_end: bool) -> Value {
        let kind = &self.watch.target().kind;
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object =
            json!({"kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata});
        // A bookmark consists of metadata, so the metadata is always included.
        let include = match self.settings.include {
            Include::None => Include::Metadata,
            include => include,
        };
        match self.settings.form {
            Form::Object => object,
            _ => self.in_requested_form(&object, include),
        }
    }

    /// An object in another form than its own.
    fn in_requested_form(&mut self, object: &Value, include: Include) -> Value {
        let version = match self.settings.form {
            Form::Table(version) => version,
            Form::Partial(version) | Form::PartialList(version) => {
                return partial_metadata(object, version);
            }
            Form::Object => return object.clone(),
        };
        let headings = std::mem::take(&mut self.headings);
        let metadata = json!({"resourceVersion": meta::resource_version(object)});
        let now = self.core.clock.now();
        let kind = &self.watch.target().kind;
        let options = TableOptions { version, include };
        table(kind, [object], metadata, options, headings, now)
    }
}

/// About as many bytes as the line of an event has.
fn length(event: &Event) -> usize {
    const FRAME: usize = 40;
    match event {
        Event::Added(object) | Event::Modified(object) | Event::Deleted(object) => {
            object.json().len() + FRAME
        }
        Event::Bookmark { .. } | Event::Error(_) => 0,
    }
}

/// Appends the line of an event whose object is encoded.
fn line(text: &mut Vec<u8>, kind: &str, object: &[u8]) {
    let parts: [&[u8]; 5] = [
        br#"{"type":""#,
        kind.as_bytes(),
        br#"","object":"#,
        object,
        b"}\n",
    ];
    for part in parts {
        text.extend_from_slice(part);
    }
}

fn line_of(text: &mut Vec<u8>, kind: &str, object: &Value) {
    // A `Value` always serialises.
    line(text, kind, &serde_json::to_vec(object).unwrap_or_default());
}
