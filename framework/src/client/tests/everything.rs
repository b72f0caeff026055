use std::{
    fmt,
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// Everything that is said at any level, by us and by the crates below: the fields of spans and
/// events as lines `name=value`.
#[derive(Clone, Default)]
pub(super) struct Everything(Arc<Mutex<String>>);

impl Everything {
    /// What this thread says as long as the other value lives.
    pub(super) fn listen() -> (Self, impl Sized) {
        let everything = Self::default();
        let guard = tracing::subscriber::set_default(everything.clone());
        // With one subscriber alone, tracing asks whichever test comes first by a place in the code whether
        // anybody listens there, and remembers its "no" for all.
        let second = tracing::Dispatch::new(everything.clone());
        (everything, (guard, second))
    }

    pub(super) fn add(&self, text: impl fmt::Display) {
        use fmt::Write as _;
        writeln!(self.0.lock().unwrap(), "{text}").unwrap();
    }

    pub(super) fn said(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl Visit for Everything {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(format_args!("{field}={value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(format_args!("{field}={value}"));
    }
}

impl Subscriber for Everything {
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
