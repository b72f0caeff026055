use std::sync::Arc;

use super::sync::Mutex;

/// The place of an object's decoded form beside its bytes.
///
/// Any number of readers put the form there and take it out, while the clock empties the place. Nobody waits: the lock
/// is held for as long as it takes to copy an `Arc`, and no foreign code runs under it.
pub(in crate::cache) struct DecodedSlot<K>(Mutex<Option<Decoded<K>>>);

struct Decoded<K> {
    object: Arc<K>,
    /// The form was read since the clock came by.
    is_used: bool,
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
        Self(Mutex::new(None))
    }

    /// The decoded form, if it is there.
    pub(in crate::cache) fn get(&self) -> Option<Arc<K>> {
        let mut slot = self.0.lock();
        let decoded = slot.as_mut()?;
        decoded.is_used = true;
        Some(decoded.object.clone())
    }

    /// Puts the decoded form there, unless another reader was first. Returns the form that is there now, and whether it
    /// is the given one. So all readers share one form while it is there.
    pub(in crate::cache) fn put(&self, object: Arc<K>) -> (Arc<K>, bool) {
        let mut slot = self.0.lock();
        match &mut *slot {
            Some(first) => {
                first.is_used = true;
                let first = first.object.clone();
                drop(slot);
                (first, false)
            }
            None => {
                *slot = Some(Decoded {
                    object: object.clone(),
                    is_used: false,
                });
                (object, true)
            }
        }
    }

    /// The clock comes by: empties the place, unless the form is in use.
    pub(in crate::cache) fn visit(&self) -> ClockVisit<K> {
        let mut slot = self.0.lock();
        let Some(decoded) = &mut *slot else {
            return ClockVisit::Empty;
        };
        // Nobody else can take the form out meanwhile: only `get` and `put` copy it, under the lock.
        if std::mem::take(&mut decoded.is_used) || Arc::strong_count(&decoded.object) > 1 {
            return ClockVisit::Stays;
        }
        match slot.take() {
            Some(decoded) => ClockVisit::Emptied(decoded.object),
            None => ClockVisit::Empty,
        }
    }

    /// Whether the decoded form is there.
    pub(in crate::cache) fn is_filled(&self) -> bool {
        self.0.lock().is_some()
    }
}
