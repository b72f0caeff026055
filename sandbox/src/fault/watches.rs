use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::RequestMatcher;
use crate::record::RecordedRequest;

/// How a running watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As after its timeout: the stream ends.
    Close,
    /// In the middle: the stream breaks.
    Break,
    /// With an ERROR event: the resource version is too old.
    Expire,
}

/// The watches now running.
#[derive(Default)]
pub(crate) struct Watches(Mutex<Running>);

#[derive(Default)]
struct Running {
    next: u64,
    watches: BTreeMap<u64, (RecordedRequest, oneshot::Sender<End>)>,
}

/// A running watch; it is forgotten when this is dropped.
pub(crate) struct Registration {
    watches: Arc<Watches>,
    number: u64,
}

impl Watches {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn register(
        self: &Arc<Self>,
        request: RecordedRequest,
    ) -> (Registration, oneshot::Receiver<End>) {
        let (end, ended) = oneshot::channel();
        let mut running = self.running();
        let number = running.next;
        running.next += 1;
        running.watches.insert(number, (request, end));
        let watches = self.clone();
        (Registration { watches, number }, ended)
    }

    /// Ends the watches that match and tells how many they were.
    pub(crate) fn end(&self, matcher: &RequestMatcher, how: End) -> usize {
        let mut running = self.running();
        let ended = running
            .watches
            .extract_if(.., |_, (request, _)| matcher.matches(request));
        // A watch that is just ending by itself does not listen any more.
        ended.filter_map(|(_, (_, end))| end.send(how).ok()).count()
    }

    pub(crate) fn count(&self, matcher: &RequestMatcher) -> usize {
        let running = self.running();
        running
            .watches
            .values()
            .filter(|(request, _)| matcher.matches(request))
            .count()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.watches.running().watches.remove(&self.number);
    }
}
