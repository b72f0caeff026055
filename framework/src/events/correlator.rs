use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;

use super::{
    limits::event_name,
    series::{Key, Place, Series},
    spam_limit::SpamLimit,
    write::{Dropped, Outcome, Told, Verb, Write},
};

/// Makes of what is recorded what is to be sent: which events are one series, what the server is to be told of it
/// and when, and what is not worth telling.
///
/// A state machine without a clock of its own: `now` counts from any beginning and never goes back. It is the queue
/// of what is unsent, too, and bounded as such: each series is one entry however often it repeats.
#[derive(Debug)]
pub(super) struct Correlator {
    series: HashMap<u64, Series>,
    by_key: HashMap<Arc<Key>, u64>,
    /// What is to be sent, by the time from when.
    writes: BTreeSet<(Duration, u64)>,
    /// What the server knows completely, by the time of the newest event.
    quiet: BTreeSet<(Duration, u64)>,
    spam: SpamLimit,
    /// The time of which the newest name was made.
    stamp: u64,
    next_id: u64,
    capacity: usize,
    closed: bool,
}

/// What [`Correlator::record`] made of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    /// It begins a series.
    Started,
    /// It is one more of a series.
    Repeated,
    /// It is not kept.
    Dropped(Dropped),
}

impl Correlator {
    /// How many series are remembered, as in client-go's core/v1 recorder.
    pub(super) const CAPACITY: usize = 4096;

    pub(super) fn new(capacity: usize) -> Self {
        Self {
            series: HashMap::new(),
            by_key: HashMap::new(),
            writes: BTreeSet::new(),
            quiet: BTreeSet::new(),
            spam: SpamLimit::default(),
            stamp: 0,
            next_id: 0,
            capacity,
            closed: false,
        }
    }

    /// Takes an event that happened at `at`.
    pub(super) fn record(
        &mut self,
        now: Duration,
        at: Timestamp,
        key: Key,
        note: String,
    ) -> Recorded {
        if self.closed {
            return Recorded::Dropped(Dropped::Stopped);
        }
        self.forget_idle(now);
        if let Some(id) = self.by_key.get(&key).copied() {
            self.change(id, |series| series.repeat(now, at, &note));
            return Recorded::Repeated;
        }
        if self.series.len() >= self.capacity && self.quiet.is_empty() {
            return Recorded::Dropped(Dropped::Full);
        }
        let source = (key.reporter.clone(), key.regarding.clone());
        if !self.spam.take(now, source) {
            return Recorded::Dropped(Dropped::Spam);
        }
        if self.series.len() >= self.capacity {
            let oldest = self.quiet.first().copied();
            oldest.into_iter().for_each(|(_, id)| self.remove(id));
        }
        let id = self.next_id;
        self.next_id += 1;
        let key = Arc::new(key);
        let series = Series {
            name: self.name(key.regarding.name(), at),
            key: key.clone(),
            first: at,
            last: at,
            seen: now,
            now: Told {
                count: 1,
                note: note.into(),
            },
            sent: None,
            sending: None,
            not_before: now,
            patches: 0,
            failures: 0,
        };
        self.by_key.insert(key, id);
        self.writes.insert((now, id));
        self.series.insert(id, series);
        Recorded::Started
    }

    /// A name that no other Event of this process has.
    fn name(&mut self, object: &str, at: Timestamp) -> String {
        let stamp = u64::try_from(at.as_nanosecond()).unwrap_or_default();
        self.stamp = stamp.max(self.stamp.wrapping_add(1));
        event_name(object, self.stamp)
    }

    /// The next request for which it is time. Its end has to be told to [`ended`](Self::ended).
    pub(super) fn next(&mut self, now: Duration) -> Option<Write> {
        self.forget_idle(now);
        let (due, id) = self.writes.first().copied()?;
        if due > now {
            return None;
        }
        let mut write = None;
        self.change(id, |series| {
            let told = series.now.clone();
            write = Some(Write {
                id,
                key: series.key.clone(),
                name: series.name.clone(),
                verb: match &series.sent {
                    None => Verb::Create,
                    Some(sent) => Verb::Patch {
                        note: sent.is_unknown() || sent.note != told.note,
                    },
                },
                told: told.clone(),
                first: series.first,
                last: series.last,
            });
            series.sending = Some(told);
        });
        write
    }

    /// When there may be something to do again, if nothing happens until then.
    pub(super) fn due(&self) -> Option<Duration> {
        let write = self.writes.first().map(|(due, _)| *due);
        let idle = self.quiet.first().map(|(seen, _)| *seen + Series::IDLE);
        write.into_iter().chain(idle).min()
    }

    /// What came of a request; what was lost by it, if anything was.
    pub(super) fn ended(&mut self, now: Duration, id: u64, outcome: Outcome) -> Option<Dropped> {
        let lost = match outcome {
            Outcome::NamespaceGone => Some(Dropped::Namespace),
            Outcome::Refused => Some(Dropped::Refused),
            _ => None,
        };
        if lost.is_some() {
            self.remove(id);
            return lost;
        }
        let mut failed = false;
        let closed = self.closed;
        self.change(id, |series| {
            let Some(sending) = series.sending.clone() else {
                return;
            };
            match outcome {
                Outcome::Done => series.done(now),
                // Nothing is left to be told of the note; all else is.
                Outcome::NoteRefused => {
                    let sent = series.sent.take();
                    series.sent = sent.map(|sent| Told {
                        note: sending.note,
                        ..sent
                    });
                    series.not_before = now;
                }
                Outcome::Exists => series.failed(now, Some(Told::unknown()), Duration::ZERO),
                Outcome::Lost => series.failed(now, None, Duration::ZERO),
                Outcome::Later(at_least) => {
                    let pause = Series::RETRIES.after(series.failures + 1);
                    // It may have been done all the same.
                    let sent = series.sent.take().map(|_| Told::unknown());
                    series.failed(now, sent, pause.max(at_least));
                }
                Outcome::NamespaceGone | Outcome::Refused => {}
            }
            series.sending = None;
            if closed {
                let pause = Self::LAST_PAUSE * series.failures.min(1);
                series.not_before = series.not_before.min(now + pause);
            }
            failed = series.failures >= Series::RETRIES.steps;
        });
        if failed {
            self.remove(id);
            return Some(Dropped::Failed);
        }
        None
    }

    /// The pause before a request is sent again, at most, when everything is about to end.
    const LAST_PAUSE: Duration = Duration::from_millis(250);

    /// Nothing is recorded any more, and what is unsent is to be sent now.
    pub(super) fn close(&mut self) {
        self.closed = true;
        let waiting: Vec<_> = self.writes.iter().map(|(_, id)| *id).collect();
        for id in waiting {
            self.change(id, |series| {
                series.failures = 0;
                series.not_before = Duration::ZERO;
            });
        }
    }

    /// How many series the server does not know, or not completely.
    pub(super) fn unsent(&self) -> usize {
        let unsent = self.series.values().filter(|series| series.is_unsent());
        unsent.count()
    }

    /// How many series are remembered.
    pub(super) fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether nothing is recorded any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    fn forget_idle(&mut self, now: Duration) {
        while let Some((seen, id)) = self.quiet.first().copied()
            && seen + Series::IDLE <= now
        {
            self.remove(id);
        }
    }

    /// Changes a series, and puts it where it then belongs.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut Series)) {
        let Some(series) = self.series.get_mut(&id) else {
            return;
        };
        let before = series.place();
        change(series);
        let after = series.place();
        if before != after {
            self.leave(before, id);
            match after {
                Place::Sending => {}
                Place::Write(due) => drop(self.writes.insert((due, id))),
                Place::Quiet(seen) => drop(self.quiet.insert((seen, id))),
            }
        }
    }

    fn leave(&mut self, place: Place, id: u64) {
        match place {
            Place::Sending => {}
            Place::Write(due) => drop(self.writes.remove(&(due, id))),
            Place::Quiet(seen) => drop(self.quiet.remove(&(seen, id))),
        }
    }

    fn remove(&mut self, id: u64) {
        if let Some(series) = self.series.remove(&id) {
            self.by_key.remove(&series.key);
            self.leave(series.place(), id);
        }
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 5] {
        let lists = [self.writes.len(), self.quiet.len(), self.spam.len()];
        let [writes, quiet, spam] = lists;
        [self.series.len(), self.by_key.len(), writes, quiet, spam]
    }
}
