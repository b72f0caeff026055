use std::{sync::Arc, time::Duration};

/// The name of a listener or a stream, and whether it receives unchanged objects again. By default the name is the
/// source line that adds it, and the [informer](super::super::InformersBuilder::resync) decides about resyncs: there
/// are none.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ListenerOptions {
    pub(in crate::cache) name: Option<Arc<str>>,
    /// `None` means the period of the informer.
    pub(in crate::cache) resync: Option<Duration>,
}

impl ListenerOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses `name` instead of the source line in the log and the metrics. Each name creates metric series, so it must
    /// not come from objects.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Delivers each object again once in `period`, as [`Event::Resync`](super::super::Event::Resync), for a listener
    /// that compares the objects with something that no watch reports. A period of zero means never; any other is at
    /// least 1 s.
    ///
    /// The cache misses nothing, so that no listener needs this to learn of changes. The objects come one after the
    /// other over the whole period, at most 100 at once and 10 000 per second. The first one comes a period after the
    /// listener received all objects. The server receives no request for it.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }
}
