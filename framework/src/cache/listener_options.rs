use std::{sync::Arc, time::Duration};

/// How a listener or a stream is known, and whether it hears again of what did not change. By default it is
/// named by the line that adds it, and hears again as its [informer](super::InformersBuilder::resync) says: not at all.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ListenerOptions {
    pub(super) name: Option<Arc<str>>,
    /// `None` is what the informer says.
    pub(super) resync: Option<Duration>,
}

impl ListenerOptions {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// `name` stands in the log and the metrics instead of the line. Each name makes series: it must not
    /// come from objects.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Tells each object again once in `period`, as [`Event::Resync`](super::Event::Resync): for who looks at a world
    /// that no watch tells of. A period of zero is never, any other is at least one second.
    ///
    /// The cache misses nothing, so that nobody needs this to hear of changes. The objects are told one after the other
    /// over the whole period, at most 100 at once and 10 000 per second; the first of them a period after the listener
    /// knew all. Nothing is asked of the server.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }
}
