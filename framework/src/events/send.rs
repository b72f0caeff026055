//! Sends a [`Write`] as a request and interprets the response.

use std::time::Duration;

use k8s_openapi::{
    api::{
        core::v1 as core,
        events::v1::{Event, EventSeries},
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use serde_json::{Value, json};

use super::write::{Outcome, Verb, Write};
use crate::{
    client::{Api, Client, Error, ErrorKind, Patch, PatchParams, PostParams},
    resource::{HasNamespace, ObjectMeta, Resource},
};

/// Sends the request once. Returns the outcome, and the error for the log.
pub(super) async fn send(client: &Client, write: &Write) -> (Outcome, Option<Error>) {
    let namespace = write.key.regarding.events_namespace();
    let answer = match write.verb {
        Verb::Create => {
            let events = Api::<Event>::namespaced(client, namespace);
            let (params, event) = (PostParams::default(), event(write));
            events.create(&params, &event).await.map(drop)
        }
        // events.k8s.io/v1 does not allow a change of the note. core/v1 shows the same Event under the same
        // name and allows it.
        Verb::Patch { note: true } => {
            let events = Api::<core::Event>::namespaced(client, namespace);
            patch(&events, write, json!({"message": *write.content.note})).await
        }
        Verb::Patch { note: false } => {
            let events = Api::<Event>::namespaced(client, namespace);
            patch(&events, write, json!({})).await
        }
    };
    match answer {
        Ok(()) => (Outcome::Done, None),
        Err(error) => (outcome(write.verb, &error), Some(error)),
    }
}

async fn patch<K: Resource>(events: &Api<K>, write: &Write, mut fields: Value) -> Result<(), Error>
where
    K::Scope: HasNamespace,
{
    if let Some(series) = series(write) {
        fields["series"] = json!(series);
    }
    let (events, params, patch) = (
        events.metadata(),
        PatchParams::default(),
        Patch::Merge(fields),
    );
    events.patch(&write.name, &params, &patch).await.map(drop)
}

pub(super) fn event(write: &Write) -> Event {
    let key = &write.key;
    Event {
        metadata: ObjectMeta {
            name: Some(write.name.clone()),
            namespace: Some(key.regarding.events_namespace().to_owned()),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(write.first)),
        series: series(write),
        type_: Some(key.kind.as_str().to_owned()),
        reason: Some(key.reason.clone().into_owned()),
        action: Some(key.action.clone().into_owned()),
        note: Some(String::from(&*write.content.note)).filter(|note| !note.is_empty()),
        reporting_controller: Some(key.reporter.controller.clone()),
        reporting_instance: Some(key.reporter.instance.clone()),
        regarding: Some(key.regarding.reference()),
        related: key.related.as_ref().map(|related| related.reference()),
        ..Event::default()
    }
}

/// The series field of the Event. The API allows it from the second event on.
fn series(write: &Write) -> Option<EventSeries> {
    (write.content.count > 1).then_some(EventSeries {
        count: write.content.count,
        last_observed_time: MicroTime(write.last),
    })
}

fn outcome(verb: Verb, error: &Error) -> Outcome {
    let create = verb == Verb::Create;
    let no_namespace = create && error.is_not_found() && !error.is_not_served();
    if no_namespace || error.is_namespace_terminating() {
        return Outcome::NamespaceGone;
    }
    if create && error.is_already_exists() {
        return Outcome::Exists;
    }
    if !create && error.is_not_found() {
        return Outcome::Lost;
    }
    let waits = error.is_transient() || error.is_conflict() || error.is_unauthorized();
    match error.kind() {
        // The server applied the request; only its response cannot be decoded.
        ErrorKind::Decode { .. } => Outcome::Done,
        _ if waits => Outcome::Later(error.retry_after().unwrap_or(Duration::ZERO)),
        _ if verb == (Verb::Patch { note: true }) => Outcome::NoteRefused,
        _ => Outcome::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Status;

    #[test]
    fn an_event_is_sent_again_after_the_token_was_refused() {
        let refused = Status::from_code(401, "Unauthorized");
        let error = Error::api("create", "Event default/a".to_owned(), refused);
        let expected = Outcome::Later(Duration::ZERO);
        assert_eq!(outcome(Verb::Create, &error), expected);
    }
}
