use std::{
    collections::VecDeque,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::{decoded_slot::ClockVisit, encoded_entry::EncodedEntry};
use crate::resource::Object;

/// Which of the encoded objects of a cache are decoded in memory as well.
///
/// An object that is read stays decoded until others need its room. Room is counted in bytes of the encoded form: a share of
/// the bytes of all objects of the cache, and [`FLOOR`](Self::FLOOR) at least. When it is used up, a clock goes over the
/// decoded objects and drops the forms that nobody has read since it came by last, and that nobody holds.
///
/// Two things take more room for a while: forms that somebody holds, for example all that a list returned, and, unless the
/// program has set the share, objects that are decoded again and again. So there are rounds as long as the room does not
/// suffice: one in each [`PERIOD`](Self::PERIOD) drops what nobody has read since the last one.
pub(in crate::cache) struct DecodedForms<K> {
    share: f64,
    /// Whether objects that are decoded again and again get more room.
    grows: bool,
    /// Bytes of all objects of the cache, and of old versions that are still in use.
    stored: AtomicUsize,
    /// Bytes of those that are decoded.
    decoded: AtomicUsize,
    /// Bytes of room for objects that were decoded again and again.
    extra: AtomicUsize,
    created: Instant,
    /// No foreign code runs under this lock.
    clock: Mutex<Clock<K>>,
    has_due: Notify,
}

struct Clock<K> {
    /// The objects that are decoded, and some that are gone.
    places: VecDeque<Weak<EncodedEntry<K>>>,
    /// The next step of a round, while the room does not suffice.
    round: Option<Round>,
}

struct Round {
    due: Instant,
    /// So many places are left to visit. None at the beginning of a round.
    left: usize,
}

impl<K> DecodedForms<K> {
    /// So many bytes may always be decoded: a small cache decodes nothing twice.
    pub(in crate::cache) const FLOOR: usize = 1024 * 1024;

    /// The share, if the program sets none.
    const SHARE: f64 = 1.0 / 16.0;

    /// A form that nobody has read for this time does not stay beyond the room.
    pub(in crate::cache) const PERIOD: Duration = Duration::from_secs(10);

    /// An object that is decoded so often in a period gets room. The event of a change may decode it once, and the reconcile
    /// that follows later once more.
    const OFTEN: u8 = 3;

    /// The clock looks at so many objects when one is decoded. So nobody waits for a round, and the clock still keeps up.
    const STEPS: usize = 8;

    /// A round looks at so many objects at once, which takes about a millisecond.
    const ROUND_STEPS: usize = 256;

    /// The time of other work between two steps of a round.
    const PAUSE: Duration = Duration::from_millis(5);

    /// At most `share` of the bytes may be decoded. `None` is the default, which grows.
    pub(super) fn new(share: Option<f64>) -> Self {
        Self {
            share: share.unwrap_or(Self::SHARE),
            grows: share.is_none(),
            stored: AtomicUsize::new(0),
            decoded: AtomicUsize::new(0),
            extra: AtomicUsize::new(0),
            created: Instant::now(),
            clock: Mutex::new(Clock {
                places: VecDeque::new(),
                round: None,
            }),
            has_due: Notify::new(),
        }
    }

    /// Bytes of all objects of the cache, before they were compressed.
    pub(super) fn stored(&self) -> usize {
        self.stored.load(Ordering::Relaxed)
    }

    /// Notes that an object of this size is in the cache.
    pub(super) fn note_stored(&self, size: usize) {
        self.stored.fetch_add(size, Ordering::Relaxed);
    }

    /// Notes that an object of this size is gone, and its decoded form if there was one.
    pub(super) fn note_gone(&self, size: usize, was_decoded: bool) {
        self.stored.fetch_sub(size, Ordering::Relaxed);
        if was_decoded {
            self.decoded.fetch_sub(size, Ordering::Relaxed);
        }
    }

    /// The number of the present period.
    pub(super) fn period(&self) -> u32 {
        let periods = self.created.elapsed().as_secs() / Self::PERIOD.as_secs();
        // It begins again after thousands of years.
        periods as u32
    }

    /// The room that objects have without being decoded again and again.
    fn share(&self) -> usize {
        let share = self.stored.load(Ordering::Relaxed) as f64 * self.share;
        Self::FLOOR.max(share as usize)
    }

    fn is_beyond(&self, room: usize) -> bool {
        self.decoded.load(Ordering::Relaxed) > room
    }

    /// Waits until a step of a round is due. Losing the future loses nothing.
    pub(super) async fn step_is_due(&self) {
        loop {
            let due = self.clock.lock().round.as_ref().map(|round| round.due);
            match due {
                Some(due) => return sleep_until(due).await,
                None => self.has_due.notified().await,
            }
        }
    }

    /// Bytes of all objects, bytes of the decoded ones, and places in the clock.
    #[cfg(test)]
    pub(in crate::cache) fn sizes(&self) -> (usize, usize, usize) {
        let places = self.clock.lock().places.len();
        let [stored, decoded] =
            [&self.stored, &self.decoded].map(|size| size.load(Ordering::Relaxed));
        (stored, decoded, places)
    }
}

impl<K: Object> DecodedForms<K> {
    /// Notes that an object is decoded now, for the `times`th time in this period, and drops the decoded forms of others if
    /// there is no room.
    pub(super) fn note_decoded(&self, object: &EncodedEntry<K>, times: u8) {
        let size = object.size();
        self.decoded.fetch_add(size, Ordering::Relaxed);
        let share = self.share();
        if self.grows && times >= Self::OFTEN {
            let most = self.stored.load(Ordering::Relaxed);
            let more = |extra: usize| Some(extra.saturating_add(size).min(most));
            // The function always returns a value.
            _ = self
                .extra
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        }
        let mut seen = Seen::default();
        let mut clock = self.clock.lock();
        self.visit(&mut clock, Self::STEPS, self.room(share), &mut seen);
        clock.places.push_back(object.own());
        if clock.places.capacity() > 64 && clock.places.len() < clock.places.capacity() / 4 {
            clock.places.shrink_to_fit();
        }
        let begins = clock.round.is_none() && self.is_beyond(share);
        if begins {
            clock.round = Some(Round {
                due: Instant::now() + Self::PERIOD,
                left: 0,
            });
        }
        drop(clock);
        if begins {
            self.has_due.notify_one();
        }
    }

    /// A step of a round, if one is due.
    pub(in crate::cache) fn step(&self) {
        let (share, now) = (self.share(), Instant::now());
        let mut seen = Seen::default();
        let mut clock = self.clock.lock();
        let Some(round) = clock.round.take_if(|round| round.due <= now) else {
            return;
        };
        let left = match round.left {
            0 => clock.places.len(),
            left => left,
        };
        let steps = left.min(Self::ROUND_STEPS);
        self.visit(&mut clock, steps, share, &mut seen);
        let (left, beyond) = (left - steps, self.is_beyond(share));
        if left == 0 || !beyond {
            // The objects that stay have the room that they need.
            let decoded = self.decoded.load(Ordering::Relaxed);
            self.extra
                .fetch_min(decoded.saturating_sub(share), Ordering::Relaxed);
        }
        clock.round = beyond.then(|| Round {
            due: now + if left == 0 { Self::PERIOD } else { Self::PAUSE },
            left,
        });
    }

    fn room(&self, share: usize) -> usize {
        share.saturating_add(self.extra.load(Ordering::Relaxed))
    }

    /// Visits some places, and empties those that are not in use as long as more than `room` is decoded.
    fn visit(&self, clock: &mut Clock<K>, steps: usize, room: usize, seen: &mut Seen<K>) {
        for step in 0..steps.min(clock.places.len()) {
            let is_full = self.is_beyond(room);
            // Objects that are gone leave their places in the clock, also while there is room.
            if !is_full && step >= 2 {
                break;
            }
            let Some(first) = clock.places.pop_front() else {
                break;
            };
            let Some(object) = first.upgrade() else {
                continue;
            };
            let visit = match is_full {
                true => object.slot().visit(),
                false => ClockVisit::Stays,
            };
            match visit {
                ClockVisit::Stays => clock.places.push_back(first),
                ClockVisit::Empty => {}
                ClockVisit::Emptied(form) => {
                    self.decoded.fetch_sub(object.size(), Ordering::Relaxed);
                    seen.forms.push(form);
                }
            }
            seen.objects.push(object);
        }
    }
}

/// What the clock has visited. It is dropped after the lock, because a type may have code of its own for that.
struct Seen<K> {
    objects: Vec<Arc<EncodedEntry<K>>>,
    forms: Vec<Arc<K>>,
}

impl<K> Default for Seen<K> {
    fn default() -> Self {
        Self {
            objects: Vec::new(),
            forms: Vec::new(),
        }
    }
}
