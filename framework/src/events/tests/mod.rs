//! The state machine, on a clock of the test.

mod model;
mod refusals;
mod series;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;

use super::{
    EventType,
    correlator::{Correlator, Recorded},
    reporter::Reporter,
    series::SeriesKey,
    target::Target,
    write::{DropReason, Outcome, Verb, Write},
};
use crate::resource::{ApiResource, ObjectKey, ObjectRef};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn minutes(minutes: u64) -> Duration {
    seconds(minutes * 60)
}

/// An event with the reason `reason` about the ConfigMap `object`.
fn key(object: &str, reason: &str) -> SeriesKey {
    let object = ObjectRef::new(
        ApiResource::of::<ConfigMap>(),
        ObjectKey::namespaced("default", object),
    );
    SeriesKey {
        reporter: Arc::new(Reporter {
            controller: "tests/maps".into(),
            instance: "tests/maps-0".into(),
        }),
        kind: EventType::Normal,
        reason: reason.to_owned().into(),
        action: "Test".into(),
        regarding: Target::from_ref(&object),
        related: None,
    }
}

/// A correlator and its clock.
struct World {
    correlator: Correlator,
    now: Duration,
}

impl World {
    fn new() -> Self {
        Self::with_capacity(Correlator::CAPACITY)
    }

    fn with_capacity(capacity: usize) -> Self {
        Self {
            correlator: Correlator::new(capacity),
            now: Duration::ZERO,
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// The wall clock. It starts in 1970.
    fn time(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.now
    }

    fn record(&mut self, key: SeriesKey, note: &str) -> Recorded {
        let at = self.time();
        self.correlator.record(self.now, at, key, note.to_owned())
    }

    fn next(&mut self) -> Option<Write> {
        self.correlator.next(self.now)
    }

    fn ended(&mut self, write: &Write, outcome: Outcome) -> Option<DropReason> {
        self.correlator.ended(self.now, write.id, outcome)
    }

    /// Sends the writes that are due, all with success. Returns one line for each.
    fn send(&mut self) -> Vec<String> {
        let mut sent = Vec::new();
        while let Some(write) = self.next() {
            sent.push(line(&write));
            self.ended(&write, Outcome::Done);
        }
        sent
    }
}

/// `create x1 note`, or `patch x2 note`; a patch that does not change the note shows no note.
fn line(write: &Write) -> String {
    let (count, note) = (write.content.count, &write.content.note);
    match write.verb {
        Verb::Create => format!("create x{count} {note}"),
        Verb::Patch { note: true } => format!("patch x{count} {note}"),
        Verb::Patch { note: false } => format!("patch x{count}"),
    }
}
