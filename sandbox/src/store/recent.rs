use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::Encoded;

/// The decoded objects that were written or read last: they are often read again.
#[derive(Default)]
pub(super) struct Recent(Mutex<Values>);

#[derive(Default)]
struct Values {
    /// Each with the length of its JSON.
    queue: VecDeque<(usize, Arc<Value>)>,
    /// The sum of these lengths.
    bytes: usize,
}

/// The most JSON that is kept decoded, in bytes.
const LIMIT: usize = 256 * 1024;

impl Recent {
    /// Keeps a decoded object, in place of older ones. Deep objects are not kept, so that no reader needs a large stack to
    /// drop what others have read.
    pub(super) fn keep(&self, object: &Encoded, value: &Arc<Value>) {
        let length = object.json().len();
        if object.is_deep || length > LIMIT {
            return;
        }
        let mut dropped = Vec::new();
        let mut values = self.0.lock();
        values.queue.push_back((length, value.clone()));
        values.bytes += length;
        while values.bytes > LIMIT
            && let Some((length, value)) = values.queue.pop_front()
        {
            values.bytes -= length;
            dropped.push(value);
        }
        // A value takes long to drop: not under the lock.
        drop(values);
    }
}
