use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::watch;

use super::PodRequest;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::pods::{ContainerLog, LogLine};
use crate::server::query::Query;
use crate::server::respond::{self, Body};

/// The options of a log request.
struct LogOptions {
    follow: bool,
    timestamps: bool,
    since: Option<Timestamp>,
    tail: Option<usize>,
    limit: Option<usize>,
}

pub(super) fn handle(request: &PodRequest<'_>) -> Result<Response<Body>, ApiError> {
    let options = LogOptions::read(&request.name, &request.query, request.core.clock.now())?;
    let container = request.container()?;
    if !request.has_node()? {
        return Ok(text(futures_util::stream::empty()));
    }
    let name = &request.name;
    let (logs, uid) = (&request.core.containers, meta::uid(&request.pod));
    let state = request.state(&container);
    if request.query.flag("previous") {
        // A container that waits to start again has ended its last run.
        let log = match request.has_run(&container) {
            true if state["waiting"].is_object() => Some(logs.log(uid, &container)),
            true => logs.log_before(uid, &container),
            false => None,
        };
        let why = format!("previous terminated container {container:?} in pod {name:?} not found");
        let log = log.ok_or_else(|| ApiError::bad_request(why))?;
        return Ok(text(lines(log, options.without_follow())));
    }
    // A container that waits to start again has the log of its last run.
    if let Some(reason) = state["waiting"]["reason"].as_str()
        && !request.has_run(&container)
    {
        let why = match reason {
            "ErrImagePull" => "image can't be pulled",
            "ImagePullBackOff" => "trying and failing to pull image",
            other => other,
        };
        let text = format!("container {container:?} in pod {name:?} is waiting to start: {why}");
        return Err(ApiError::bad_request(text));
    }
    if state.is_null() {
        let text = format!("container {container:?} in pod {name:?} is not available");
        return Err(ApiError::bad_request(text));
    }
    let options = match state["running"].is_object() {
        true => options,
        false => options.without_follow(),
    };
    Ok(text(lines(logs.log(uid, &container), options)))
}

fn text(chunks: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Response<Body> {
    let mut response = respond::stream(chunks);
    let text = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(CONTENT_TYPE, text);
    response
}

impl LogOptions {
    /// Nothing follows in the log of a container that has ended.
    fn without_follow(self) -> Self {
        Self {
            follow: false,
            ..self
        }
    }

    fn read(pod: &str, query: &Query, now: Timestamp) -> Result<Self, ApiError> {
        let mut causes = Vec::new();
        let tail: Option<i64> = query.number("tailLines")?;
        let limit: Option<i64> = query.number("limitBytes")?;
        let ago: Option<i64> = query.number("sinceSeconds")?;
        let at_least =
            |causes: &mut Vec<Cause>, field: &str, value: Option<i64>, least: i64, detail: &str| {
                if let Some(value) = value.filter(|value| *value < least) {
                    causes.push(Cause::invalid(field, &Value::from(value), detail));
                }
            };
        at_least(
            &mut causes,
            "tailLines",
            tail,
            0,
            "must be greater than or equal to 0",
        );
        at_least(
            &mut causes,
            "limitBytes",
            limit,
            1,
            "must be greater than 0",
        );
        let time = query.get("sinceTime");
        if ago.is_some() && !time.is_empty() {
            let detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            causes.push(Cause::forbidden("", detail));
        } else {
            let detail = "must be greater than 0";
            at_least(&mut causes, "sinceSeconds", ago, 1, detail);
        }
        // A single stream needs a feature gate that is off by default (PodLogsQuerySplitStreams).
        if query.find("stream").is_some() {
            causes.push(Cause::forbidden("stream", "may not be specified"));
        }
        if !causes.is_empty() {
            return Err(ApiError::invalid_kind("", "PodLogOptions", pod, causes));
        }
        let since = match ago {
            Some(ago) => now.checked_sub(SignedDuration::from_secs(ago)).ok(),
            None if time.is_empty() => None,
            None => Some(time.parse().map_err(|error| {
                ApiError::bad_request(format!("sinceTime is not a time: {error}"))
            })?),
        };
        let size = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(Self {
            follow: query.flag("follow"),
            timestamps: query.flag("timestamps"),
            since,
            tail: tail.map(size),
            limit: limit.map(size),
        })
    }
}

struct Reading {
    log: Arc<ContainerLog>,
    options: LogOptions,
    changes: watch::Receiver<u64>,
    next: u64,
    read: VecDeque<LogLine>,
    ended: bool,
}

/// The lines of a log, as fast as the client reads them.
fn lines(
    log: Arc<ContainerLog>,
    options: LogOptions,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let changes = log.changes();
    let (entries, next, ended) = log.from(0);
    let recent = |entry: &LogLine| options.since.is_none_or(|since| entry.time >= since);
    let mut read: VecDeque<_> = entries.into_iter().filter(recent).collect();
    if let Some(tail) = options.tail {
        read.drain(..read.len().saturating_sub(tail));
    }
    let reading = Reading {
        ended: ended || !options.follow,
        log,
        options,
        changes,
        next,
        read,
    };
    futures_util::stream::unfold(reading, |mut reading| async move {
        let line = reading.line().await?;
        Some((Ok(line), reading))
    })
}

impl Reading {
    async fn line(&mut self) -> Option<Bytes> {
        while self.read.is_empty() {
            if self.ended {
                return None;
            }
            // The sender lives as long as the log, which is held here.
            self.changes.changed().await.ok()?;
            let (entries, next, ended) = self.log.from(self.next);
            self.read = entries.into();
            (self.next, self.ended) = (next, ended);
        }
        let entry = self.read.pop_front()?;
        let text = match self.options.timestamps {
            true => format!("{:.9} {}", entry.time, entry.text),
            false => entry.text,
        };
        let mut line = Bytes::from(text);
        if let Some(limit) = &mut self.options.limit {
            line.truncate(*limit);
            *limit -= line.len();
            if *limit == 0 {
                self.ended = true;
                self.read.clear();
            }
        }
        Some(line)
    }
}
