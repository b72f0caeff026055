use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::RequestMatcher;
use crate::record::{Labels, RecordedRequest};

/// How a running watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The stream ends, as after its timeout.
    Close,
    /// The stream breaks.
    Break,
    /// An ERROR event says that the resource version is too old.
    Expire,
}

/// The running watches.
#[derive(Default)]
pub(crate) struct Watches(Mutex<WatchTable>);

#[derive(Default)]
struct WatchTable {
    next: u64,
    watches: BTreeMap<u64, (RecordedRequest, oneshot::Sender<End>)>,
}

/// A running watch. Dropping it removes the watch.
pub(crate) struct Registration {
    watches: Arc<Watches>,
    number: u64,
}

impl Watches {
    pub(crate) fn register(
        self: &Arc<Self>,
        request: RecordedRequest,
    ) -> (Registration, oneshot::Receiver<End>) {
        let (end, ended) = oneshot::channel();
        let mut running = self.0.lock();
        let number = running.next;
        running.next += 1;
        running.watches.insert(number, (request, end));
        let watches = self.clone();
        (Registration { watches, number }, ended)
    }

    /// Ends the matching watches and returns their number.
    pub(crate) fn end(&self, matcher: &RequestMatcher, how: End) -> usize {
        let mut running = self.0.lock();
        let ended = running
            .watches
            .extract_if(.., |_, (request, _)| matcher.matches(request));
        // A watch that is ending by itself no longer listens.
        ended.filter_map(|(_, (_, end))| end.send(how).ok()).count()
    }

    /// How many run, by the labels of their metric.
    pub(crate) fn by_labels(&self) -> BTreeMap<Labels, usize> {
        let running = self.0.lock();
        let mut counts = BTreeMap::new();
        for (request, _) in running.watches.values() {
            *counts.entry(Labels::of(request, false)).or_default() += 1;
        }
        counts
    }

    pub(crate) fn count(&self, matcher: &RequestMatcher) -> usize {
        let running = self.0.lock();
        running
            .watches
            .values()
            .filter(|(request, _)| matcher.matches(request))
            .count()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.watches.0.lock().watches.remove(&self.number);
    }
}
