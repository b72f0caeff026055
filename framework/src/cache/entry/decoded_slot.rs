use std::sync::Arc;

use super::sync::Mutex;

/// The place of an object's decoded form beside its bytes.
///
/// Any number of readers put the form there and take it out, while the clock empties the place. Nobody waits: the lock
/// is held for as long as it takes to copy an `Arc`, and no foreign code runs under it.
pub(in crate::cache) struct DecodedSlot<K>(Mutex<SlotState<K>>);

struct SlotState<K> {
    object: Option<Arc<K>>,
    /// The form was read since the clock came by.
    is_used: bool,
    /// How often the object was decoded in `period`.
    decoded: u8,
    period: u32,
}

/// What the clock found when it came by.
pub(in crate::cache) enum ClockVisit<K> {
    /// There is no decoded form.
    Empty,
    /// The form stays: it was read since the last visit, or others hold it, so that emptying the place frees nothing.
    Stays,
    /// The place is empty now. The caller drops the form, outside of all locks.
    Emptied(Arc<K>),
}

impl<K> DecodedSlot<K> {
    /// Without a decoded form.
    pub(in crate::cache) fn new() -> Self {
        Self(Mutex::new(SlotState {
            object: None,
            is_used: false,
            decoded: 0,
            period: 0,
        }))
    }

    /// The decoded form, if it is there.
    pub(in crate::cache) fn get(&self) -> Option<Arc<K>> {
        let mut slot = self.0.lock();
        let object = slot.object.clone()?;
        slot.is_used = true;
        Some(object)
    }

    /// Puts the decoded form there, unless another reader was first. So all readers share one form while it is there.
    ///
    /// Returns the form that is there now. If it is the given one, it also returns how often the object was decoded in this
    /// `period`, this time included.
    pub(in crate::cache) fn put(&self, object: Arc<K>, period: u32) -> (Arc<K>, Option<u8>) {
        let mut slot = self.0.lock();
        if let Some(first) = slot.object.clone() {
            slot.is_used = true;
            // The given form is dropped after the lock.
            drop(slot);
            return (first, None);
        }
        if std::mem::replace(&mut slot.period, period) != period {
            slot.decoded = 0;
        }
        slot.decoded = slot.decoded.saturating_add(1);
        slot.is_used = false;
        slot.object = Some(object.clone());
        (object, Some(slot.decoded))
    }

    /// The clock comes by: empties the place, unless the form is in use.
    pub(in crate::cache) fn visit(&self) -> ClockVisit<K> {
        let mut slot = self.0.lock();
        let Some(object) = slot.object.take() else {
            return ClockVisit::Empty;
        };
        // Nobody else can take the form out meanwhile: only `get` and `put` copy it, under the lock.
        if std::mem::take(&mut slot.is_used) || Arc::strong_count(&object) > 1 {
            slot.object = Some(object);
            return ClockVisit::Stays;
        }
        ClockVisit::Emptied(object)
    }

    /// Whether the decoded form is there.
    pub(in crate::cache) fn is_filled(&self) -> bool {
        self.0.lock().object.is_some()
    }
}
