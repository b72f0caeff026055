//! The reaction of the server to a request.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::{Value, json};

/// The reaction of the server to a request.
pub(crate) enum Act {
    /// It answers.
    Answer(Answer),
    /// It writes these bytes on the connection, over HTTP/1.1 only, and closes it.
    Raw(Steps),
    /// It never answers.
    Silence,
}

/// The pieces of an answer, and the pauses between them.
pub(crate) type Steps = BoxStream<'static, Step>;

/// A piece of an answer, or what happens between two pieces.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Bytes are sent.
    Bytes(Bytes),
    /// Nothing happens for this time.
    Pause(Duration),
    /// Trailers end the answer.
    Trailers(Vec<(&'static str, String)>),
    /// The stream is reset. A connection with only one stream is closed.
    Abort,
    /// Nothing happens any more.
    Forever,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Body,
}

/// The body of an answer.
pub(crate) enum Body {
    /// The whole body, with its length.
    Whole(Bytes),
    /// A body piece by piece, without a length unless the headers have one.
    Steps(Steps),
}

impl Act {
    /// Returns an answer with a code and a JSON document.
    pub(crate) fn json(code: u16, body: &Value) -> Self {
        Self::text(code, "application/json", body.to_string())
    }

    pub(crate) fn text(code: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self::Answer(Answer {
            code,
            headers: vec![("content-type".into(), content_type.into())],
            body: Body::Whole(body.into()),
        })
    }

    /// Returns an answer whose body comes piece by piece.
    pub(crate) fn steps(steps: impl Into<Pieces>) -> Self {
        Self::Answer(Answer {
            code: 200,
            headers: vec![("content-type".into(), "application/json".into())],
            body: Body::Steps(steps.into().0),
        })
    }

    /// Returns these bytes instead of an answer.
    pub(crate) fn raw(steps: impl Into<Pieces>) -> Self {
        Self::Raw(steps.into().0)
    }

    /// Returns the same answer with another code.
    pub(crate) fn code(mut self, code: u16) -> Self {
        if let Self::Answer(answer) = &mut self {
            answer.code = code;
        }
        self
    }

    /// Returns an answer with a `Status`, as API servers report errors.
    pub(crate) fn status(code: u16, reason: &str) -> Self {
        Self::json(code, &status(code, reason))
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        if let Self::Answer(answer) = &mut self {
            answer
                .headers
                .retain(|(present, _)| present != name || name == "set-cookie");
            answer.headers.push((name.into(), value.into()));
        }
        self
    }
}

/// Returns a `Status` document.
pub(crate) fn status(code: u16, reason: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("the hostile server says {reason}"), "reason": reason, "code": code,
    })
}

/// Returns the line of a watch event.
pub(crate) fn event(kind: &str, object: &Value) -> Step {
    line(json!({"type": kind, "object": object}).to_string())
}

/// Returns a line of a watch.
pub(crate) fn line(text: impl Into<Vec<u8>>) -> Step {
    let mut text = text.into();
    text.push(b'\n');
    Step::Bytes(text.into())
}

/// Returns a bookmark.
pub(crate) fn bookmark(version: &str) -> Step {
    event("BOOKMARK", &mark(version))
}

/// Returns the bookmark that ends the initial state of a watch.
pub(crate) fn end_of_state(version: &str) -> Step {
    let mut object = mark(version);
    object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    event("BOOKMARK", &object)
}

fn mark(version: &str) -> Value {
    json!({"apiVersion": "test.pilothouse.dev/v1", "kind": "Widget", "metadata": {"resourceVersion": version}})
}

pub(crate) fn bytes(bytes: impl AsRef<[u8]>) -> Step {
    Step::Bytes(Bytes::copy_from_slice(bytes.as_ref()))
}

pub(crate) fn pause(milliseconds: u64) -> Step {
    Step::Pause(Duration::from_millis(milliseconds))
}

/// A list or a stream of steps.
pub(crate) struct Pieces(pub(crate) Steps);

impl From<Vec<Step>> for Pieces {
    fn from(steps: Vec<Step>) -> Self {
        Self(stream::iter(steps).boxed())
    }
}

impl From<Steps> for Pieces {
    fn from(steps: Steps) -> Self {
        Self(steps)
    }
}

/// Returns these steps, followed by the steps that `next` returns for 0, 1, 2 and so on until it returns `None`, with a
/// pause of this many milliseconds before each.
pub(crate) fn repeat(
    first: Vec<Step>,
    milliseconds: u64,
    next: impl FnMut(u64) -> Option<Step> + Send + 'static,
) -> Steps {
    let rest = stream::iter(0..).map(next);
    let rest = rest.take_while(|step| std::future::ready(step.is_some()));
    let rest = rest.filter_map(std::future::ready);
    let rest = rest.flat_map(move |step| stream::iter([pause(milliseconds), step]));
    stream::iter(first).chain(rest).boxed()
}

/// Returns `text` byte by byte, one per millisecond.
pub(crate) fn trickled(text: impl AsRef<[u8]>) -> Vec<Step> {
    let single = |byte: &u8| [bytes([*byte]), pause(1)];
    text.as_ref().iter().flat_map(single).collect()
}
