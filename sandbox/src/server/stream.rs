use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::negotiate::Form;
use super::render;
use crate::api::{Event, Watch, convert_events};
use crate::core::Core;
use crate::error::ApiError;
use crate::fault::{End, Registration};
use crate::meta;
use crate::record::RecordedRequest;
use crate::table::{Include, table};

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
    request: RecordedRequest,
    _registration: Registration,
}

/// The time between bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// The most events in one chunk.
const MAX_CHUNK: usize = 256;

#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    object: &'a Value,
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
        next_bookmark: now + BOOKMARK_INTERVAL,
        settings,
        ended,
        headings: true,
        finished: false,
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
            let events = self.watch.take(MAX_CHUNK)?;
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
                () = sleep_until(self.next_bookmark), if self.settings.bookmarks => {
                    if core.faults.holds(&self.request) {
                        continue;
                    }
                    // Counted from now on, so that a slow reader gets one bookmark and not all that it missed.
                    self.next_bookmark = Instant::now() + BOOKMARK_INTERVAL;
                    // Changes of other kinds do not wake the watch, but they advance the version up to which everything
                    // was sent.
                    let mut events = self.watch.take(MAX_CHUNK)?;
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
        let mut text = Vec::new();
        for event in events {
            let (kind, object) = match &event {
                Event::Added(object) => ("ADDED", self.object(object)),
                Event::Modified(object) => ("MODIFIED", self.object(object)),
                Event::Deleted(object) => ("DELETED", self.object(object)),
                Event::Bookmark {
                    version,
                    initial_end,
                } => ("BOOKMARK", self.bookmark(*version, *initial_end)),
                Event::Error(error) => {
                    self.finished = true;
                    ("ERROR", Arc::new(error.to_status()))
                }
            };
            // A `Value` always serialises.
            let _ = serde_json::to_writer(
                &mut text,
                &Line {
                    kind,
                    object: &object,
                },
            );
            text.push(b'\n');
        }
        text.into()
    }

    fn object(&mut self, stored: &Arc<Value>) -> Arc<Value> {
        let object = render::read(self.watch.target(), stored);
        self.in_requested_form(object, self.settings.include)
    }

    fn bookmark(&mut self, version: u64, initial_end: bool) -> Arc<Value> {
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
        self.in_requested_form(Arc::new(object), include)
    }

    /// Writes an object in the form that the request asks for.
    fn in_requested_form(&mut self, object: Arc<Value>, include: Include) -> Arc<Value> {
        match self.settings.form {
            Form::Object => object,
            Form::Partial | Form::PartialList => Arc::new(render::partial(&object)),
            Form::Table => {
                let headings = std::mem::take(&mut self.headings);
                let metadata = json!({"resourceVersion": meta::resource_version(&object)});
                let now = self.core.clock.now();
                let kind = &self.watch.target().kind;
                Arc::new(table(kind, [&*object], metadata, include, headings, now))
            }
        }
    }
}
