use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    difference::changed_fields,
    record::{ObjectRecord, WriteRecord},
    report::{CauseReport, ReconcileReport},
};
use crate::{
    controller::cause::{Cause, Causes},
    resource::ObjectKey,
};

/// At most this many records are kept of one controller, about 10 MB. Then the objects that had no record for the longest time are
/// forgotten.
const MOST_RECORDS: usize = 50_000;
/// Longer texts are cut.
const LONGEST_TEXT: usize = 512;

/// What happened to the objects of one controller.
#[derive(Debug)]
pub(crate) struct History {
    records: Mutex<Records>,
    most: usize,
}

#[derive(Debug, Default)]
struct Records {
    objects: HashMap<ObjectKey, ObjectRecord>,
    /// The number of records of all objects.
    count: usize,
}

/// How a reconcile ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// Such as `succeeded`.
    pub(crate) how: &'static str,
    /// Whether it counts as a failure.
    pub(crate) is_failure: bool,
    /// The text of the error.
    pub(crate) text: Option<String>,
    /// When the object is to be reconciled again without a change.
    pub(crate) again_after: Option<Duration>,
}

impl History {
    pub(crate) fn new() -> Self {
        Self::with_room_for(MOST_RECORDS)
    }

    pub(super) fn with_room_for(most: usize) -> Self {
        Self {
            records: Mutex::default(),
            most,
        }
    }

    /// The object is to be reconciled because of `cause`. `what` tells what changed.
    pub(crate) fn caused(&self, key: &ObjectKey, cause: Cause, what: String) {
        let now = Instant::now();
        self.change(key, now, |object| {
            object.note_cause(cause.name(), cut(what), now)
        });
    }

    /// The object waits until the caches have what its last reconcile wrote.
    pub(crate) fn parked(&self, key: &ObjectKey) {
        let now = Instant::now();
        self.change(key, now, |object| {
            object.parked_since.get_or_insert(now);
        });
    }

    /// A reconcile begins, because of `causes`.
    pub(crate) fn began(&self, key: &ObjectKey, causes: Causes, attempt: u32) {
        let now = Instant::now();
        self.change(key, now, |object| {
            let at = causes.since().unwrap_or(now);
            for cause in causes.iter() {
                if !object
                    .pending
                    .iter()
                    .any(|known| known.name == cause.name())
                {
                    object.note_cause(cause.name(), String::new(), at);
                }
            }
            object.begin(attempt, now);
        });
    }

    /// The reconcile that runs sent a write. `before` and `after` are the object as the cache had it and as the server answered.
    pub(crate) fn wrote(
        &self,
        key: &ObjectKey,
        verb: &'static str,
        object: String,
        before: Option<&Value>,
        result: Result<Option<&Value>, String>,
    ) {
        let now = Instant::now();
        let (after, error) = match result {
            Ok(after) => (after, None),
            Err(error) => (None, Some(cut(error))),
        };
        let changed = before
            .zip(after)
            .map(|(before, after)| changed_fields(before, after));
        let write = WriteRecord {
            at: now,
            verb,
            object: cut(object),
            changed,
            error,
        };
        self.change(key, now, |object| object.note_write(write));
    }

    /// The reconcile that ran has ended.
    pub(crate) fn ended(&self, key: &ObjectKey, ended: Ended) {
        let ended = Ended {
            text: ended.text.map(cut),
            ..ended
        };
        let now = Instant::now();
        self.change(key, now, |object| object.end(ended, now));
    }

    /// The causes of the next reconcile of the object, and its reconciles; the newest first.
    pub(crate) fn report(&self, key: &ObjectKey) -> (Vec<CauseReport>, Vec<ReconcileReport>) {
        let now = Instant::now();
        let records = self.records.lock();
        let Some(object) = records.objects.get(key) else {
            return Default::default();
        };
        let pending = object.pending.iter().rev();
        let reconciles = object.reconciles.iter().rev();
        (
            pending.map(|one| CauseReport::of(one, now)).collect(),
            reconciles
                .map(|one| ReconcileReport::of(one, now))
                .collect(),
        )
    }

    /// The objects with records.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        self.records.lock().objects.keys().cloned().collect()
    }

    fn change(&self, key: &ObjectKey, now: Instant, change: impl FnOnce(&mut ObjectRecord)) {
        let mut records = self.records.lock();
        let records = &mut *records;
        let object = match records.objects.get_mut(key) {
            Some(object) => object,
            None => {
                records.count += 1;
                let new = ObjectRecord::new(now);
                records.objects.entry(key.clone()).or_insert(new)
            }
        };
        let before = object.len();
        change(object);
        object.last = now;
        records.count = records.count + object.len() - before;
        if records.count > self.most {
            records.make_room(self.most);
        }
    }
}

impl Records {
    /// Forgets the objects that had no record for the longest time, until a quarter is free.
    fn make_room(&mut self, most: usize) {
        let mut oldest: Vec<(Instant, ObjectKey)> = self
            .objects
            .iter()
            .map(|(key, object)| (object.last, key.clone()))
            .collect();
        oldest.sort_unstable();
        for (_, key) in oldest {
            if self.count <= most / 4 * 3 {
                return;
            }
            if let Some(forgotten) = self.objects.remove(&key) {
                self.count -= forgotten.len();
            }
        }
    }
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.push('…');
    }
    text
}
