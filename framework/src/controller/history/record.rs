use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::{difference::ChangedFields, history::Ended};

/// At most this many causes are kept of one object that waits for its reconcile, and of one reconcile.
const MOST_CAUSES: usize = 50;
/// At most this many writes are kept of one reconcile.
const MOST_WRITES: usize = 50;
/// At most this many reconciles are kept of one object.
pub(super) const MOST_RECONCILES: usize = 50;

/// What happened to one object.
#[derive(Debug)]
pub(super) struct ObjectRecord {
    /// The causes of the next reconcile, oldest first.
    pub(super) pending: Vec<CauseRecord>,
    /// When the object began to wait until the caches have what its last reconcile wrote.
    pub(super) parked_since: Option<Instant>,
    /// The reconciles, oldest first. The last one may still run.
    pub(super) reconciles: VecDeque<ReconcileRecord>,
    /// The time of the last record.
    pub(super) last: Instant,
}

/// Why an object is reconciled.
#[derive(Debug)]
pub(super) struct CauseRecord {
    pub(super) name: &'static str,
    /// What changed, such as `ConfigMap default/a updated: data.b`; empty if that is not known.
    pub(super) what: String,
    /// The time of the last one.
    pub(super) at: Instant,
    /// How often the same was noted.
    pub(super) times: u32,
}

/// One reconcile.
#[derive(Debug)]
pub(super) struct ReconcileRecord {
    pub(super) start: Instant,
    pub(super) attempt: u32,
    pub(super) causes: Vec<CauseRecord>,
    /// How long it waited until the caches had what the reconcile before it wrote.
    pub(super) waited: Option<Duration>,
    pub(super) writes: Vec<WriteRecord>,
    /// The number of writes that are not kept.
    pub(super) more_writes: usize,
    /// `None` while it runs.
    pub(super) ended: Option<(Instant, Ended)>,
}

/// A request that writes.
#[derive(Debug)]
pub(super) struct WriteRecord {
    pub(super) at: Instant,
    pub(super) verb: &'static str,
    pub(super) object: String,
    /// The fields that the write changed; `None` if that is not known, because the object was not in a cache before.
    pub(super) changed: Option<ChangedFields>,
    pub(super) error: Option<String>,
}

impl ObjectRecord {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            pending: Vec::new(),
            parked_since: None,
            reconciles: VecDeque::new(),
            last: now,
        }
    }

    /// The number of records.
    pub(super) fn len(&self) -> usize {
        let of = |one: &ReconcileRecord| 1 + one.causes.len() + one.writes.len();
        1 + self.pending.len() + self.reconciles.iter().map(of).sum::<usize>()
    }

    pub(super) fn note_cause(&mut self, name: &'static str, what: String, at: Instant) {
        let mut known = self.pending.iter();
        let known = known.position(|one| one.name == name && one.what == what);
        let times = match known {
            // It is the newest now.
            Some(place) => self.pending.remove(place).times,
            None => {
                // The newest changes explain more than the oldest.
                if self.pending.len() == MOST_CAUSES {
                    self.pending.remove(0);
                }
                0
            }
        };
        self.pending.push(CauseRecord {
            name,
            what,
            at,
            times: times.saturating_add(1),
        });
    }

    pub(super) fn begin(&mut self, attempt: u32, now: Instant) {
        if self.reconciles.len() == MOST_RECONCILES {
            self.reconciles.pop_front();
        }
        let parked = self.parked_since.take();
        self.reconciles.push_back(ReconcileRecord {
            start: now,
            attempt,
            causes: std::mem::take(&mut self.pending),
            waited: parked.map(|since| now.saturating_duration_since(since)),
            writes: Vec::new(),
            more_writes: 0,
            ended: None,
        });
    }

    pub(super) fn note_write(&mut self, write: WriteRecord) {
        let Some(reconcile) = self.reconciles.back_mut() else {
            return;
        };
        match reconcile.writes.len() < MOST_WRITES {
            true => reconcile.writes.push(write),
            false => reconcile.more_writes += 1,
        }
    }

    pub(super) fn end(&mut self, ended: Ended, now: Instant) {
        if let Some(reconcile) = self.reconciles.back_mut() {
            reconcile.ended = Some((now, ended));
        }
    }
}
