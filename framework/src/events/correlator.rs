use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;

use super::{
    limits::event_name,
    series::{Content, Series, SeriesKey, SeriesState},
    spam_limit::SpamLimit,
    write::{DropReason, Outcome, Verb, Write},
};

/// Turns recorded events into requests: it decides which events form one series, what to write to the
/// API server and when, and which events to drop.
///
/// A state machine without a clock: `now` counts from any start and never goes back. It also is the
/// bounded queue of unsent events: each series is one entry, however often it repeats.
#[derive(Debug)]
pub(super) struct Correlator {
    series: HashMap<u64, Series>,
    by_key: HashMap<Arc<SeriesKey>, u64>,
    /// The series with something to write, by the time from which it may be sent.
    writes: BTreeSet<(Duration, u64)>,
    /// The series that the server knows completely, by the time of the newest event.
    quiet: BTreeSet<(Duration, u64)>,
    spam: SpamLimit,
    /// Limits the notes that are written without waiting for the pace of their series.
    notes: SpamLimit,
    /// The time in the newest name of an Event.
    stamp: u64,
    next_id: u64,
    capacity: usize,
    closed: bool,
}

/// The result of [`Correlator::record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    /// The event starts a series.
    Started,
    /// The event repeats a series.
    Repeated,
    /// The event is dropped.
    Dropped(DropReason),
}

impl Correlator {
    /// The number of series that are remembered, as in client-go's core/v1 recorder.
    pub(super) const CAPACITY: usize = 4096;

    pub(super) fn new(capacity: usize) -> Self {
        Self {
            series: HashMap::new(),
            by_key: HashMap::new(),
            writes: BTreeSet::new(),
            quiet: BTreeSet::new(),
            spam: SpamLimit::default(),
            notes: SpamLimit::default(),
            stamp: 0,
            next_id: 0,
            capacity,
            closed: false,
        }
    }

    /// Records an event that happened at `at`.
    pub(super) fn record(
        &mut self,
        now: Duration,
        at: Timestamp,
        key: SeriesKey,
        note: String,
    ) -> Recorded {
        if self.closed {
            return Recorded::Dropped(DropReason::Stopped);
        }
        self.forget_idle(now);
        if let Some(id) = self.by_key.get(&key).copied() {
            let series = self.series.get(&id);
            let is_old = series.is_some_and(|series| series.shows_another_note(&note));
            let at_once = is_old && self.notes.take(now, key.source());
            self.change(id, |series| {
                series.repeat(now, at, &note);
                if at_once {
                    series.note_due = Some(now);
                }
            });
            return Recorded::Repeated;
        }
        if self.series.len() >= self.capacity && self.quiet.is_empty() {
            return Recorded::Dropped(DropReason::Full);
        }
        if !self.spam.take(now, key.source()) {
            return Recorded::Dropped(DropReason::Spam);
        }
        if self.series.len() >= self.capacity {
            let oldest = self.quiet.first().copied();
            oldest.into_iter().for_each(|(_, id)| self.remove(id));
        }
        let id = self.next_id;
        self.next_id += 1;
        let key = Arc::new(key);
        let series = Series {
            name: self.new_name(key.regarding.name(), at),
            key: key.clone(),
            first: at,
            last: at,
            seen: now,
            current: Content {
                count: 1,
                note: note.into(),
            },
            sent: None,
            sending: None,
            not_before: now,
            note_due: None,
            patches: 0,
            failures: 0,
        };
        self.by_key.insert(key, id);
        self.writes.insert((now, id));
        self.series.insert(id, series);
        Recorded::Started
    }

    /// A name that no other Event of this process has.
    fn new_name(&mut self, object: &str, at: Timestamp) -> String {
        let stamp = u64::try_from(at.as_nanosecond()).unwrap_or_default();
        self.stamp = stamp.max(self.stamp.wrapping_add(1));
        event_name(object, self.stamp)
    }

    /// The next request that is due. The caller reports its result with [`ended`](Self::ended).
    pub(super) fn next(&mut self, now: Duration) -> Option<Write> {
        self.forget_idle(now);
        let (due, id) = self.writes.first().copied()?;
        if due > now {
            return None;
        }
        let mut write = None;
        self.change(id, |series| {
            let content = series.current.clone();
            write = Some(Write {
                id,
                key: series.key.clone(),
                name: series.name.clone(),
                verb: match &series.sent {
                    None => Verb::Create,
                    Some(sent) => Verb::Patch {
                        note: sent.is_unknown() || sent.note != content.note,
                    },
                },
                content: content.clone(),
                first: series.first,
                last: series.last,
            });
            series.sending = Some(content);
            series.note_due = None;
        });
        write
    }

    /// When to call [`next`](Self::next) again if no event is recorded before.
    pub(super) fn due(&self) -> Option<Duration> {
        let write = self.writes.first().map(|(due, _)| *due);
        let idle = self.quiet.first().map(|(seen, _)| *seen + Series::IDLE);
        write.into_iter().chain(idle).min()
    }

    /// Records the result of a request. Returns the reason if the series is dropped because of it.
    pub(super) fn ended(&mut self, now: Duration, id: u64, outcome: Outcome) -> Option<DropReason> {
        let lost = match outcome {
            Outcome::NamespaceGone => Some(DropReason::Namespace),
            Outcome::Refused => Some(DropReason::Refused),
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
                // The note counts as written, so that only the count is sent from now on.
                Outcome::NoteRefused => {
                    let sent = series.sent.take();
                    series.sent = sent.map(|sent| Content {
                        note: sending.note,
                        ..sent
                    });
                    series.not_before = now;
                }
                Outcome::Exists => series.failed(now, Some(Content::unknown()), Duration::ZERO),
                Outcome::Lost => series.failed(now, None, Duration::ZERO),
                Outcome::Later(at_least) => {
                    let pause = Series::RETRIES.after(series.failures + 1);
                    // The server may have applied the failed request.
                    let sent = series.sent.take().map(|_| Content::unknown());
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
            return Some(DropReason::Failed);
        }
        None
    }

    /// The longest pause before a retry after [`close`](Self::close).
    const LAST_PAUSE: Duration = Duration::from_millis(250);

    /// Stops the recording. Unsent series become due at once.
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

    /// The number of series that the server does not know, or not completely.
    pub(super) fn unsent(&self) -> usize {
        let unsent = self.series.values().filter(|series| series.is_unsent());
        unsent.count()
    }

    /// The number of remembered series.
    pub(super) fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether the recording has stopped.
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

    /// Changes a series and moves it to the list where it belongs afterwards.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut Series)) {
        let Some(series) = self.series.get_mut(&id) else {
            return;
        };
        let before = series.state();
        change(series);
        let after = series.state();
        if before != after {
            self.leave(before, id);
            match after {
                SeriesState::Sending => {}
                SeriesState::Write(due) => drop(self.writes.insert((due, id))),
                SeriesState::Quiet(seen) => drop(self.quiet.insert((seen, id))),
            }
        }
    }

    fn leave(&mut self, place: SeriesState, id: u64) {
        match place {
            SeriesState::Sending => {}
            SeriesState::Write(due) => drop(self.writes.remove(&(due, id))),
            SeriesState::Quiet(seen) => drop(self.quiet.remove(&(seen, id))),
        }
    }

    fn remove(&mut self, id: u64) {
        if let Some(series) = self.series.remove(&id) {
            self.by_key.remove(&series.key);
            self.leave(series.state(), id);
        }
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 5] {
        let lists = [self.writes.len(), self.quiet.len(), self.spam.len()];
        let [writes, quiet, spam] = lists;
        [self.series.len(), self.by_key.len(), writes, quiet, spam]
    }
}
