use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// LogRecorder that is logged at any level, by this crate and those below: fields of spans and events as lines
/// `name=value`.
#[derive(Clone, Default)]
pub(super) struct LogRecorder(Arc<Mutex<String>>);

impl LogRecorder {
    /// Records what this thread logs while the other value lives.
    pub(super) fn listen() -> (Self, impl Sized) {
        let log = Self::default();
        let guard = tracing::subscriber::set_default(log.clone());
        // With a single subscriber, tracing caches for all tests whether the first one to pass a callsite was
        // interested in it.
        let second = tracing::Dispatch::new(log.clone());
        (log, (guard, second))
    }

    pub(super) fn add(&self, text: impl fmt::Display) {
        use fmt::Write as _;
        writeln!(self.0.lock(), "{text}").unwrap();
    }

    pub(super) fn said(&self) -> String {
        self.0.lock().clone()
    }
}

impl Visit for LogRecorder {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(format_args!("{field}={value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(format_args!("{field}={value}"));
    }
}

impl Subscriber for LogRecorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        self.add(format_args!("span {}", attributes.metadata().name()));
        attributes.record(&mut self.clone());
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        self.add(format_args!("event of {}", event.metadata().target()));
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}
