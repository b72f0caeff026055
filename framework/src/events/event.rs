use std::borrow::Cow;

use super::{EventType, target::Target};
use crate::resource::{ObjectRef, Resource};

/// Something that happened to an object, for people who look at it with `kubectl describe` or `kubectl events`.
///
/// Type, reason, action and the related object say *what* happened: events that are equal in them become one series
/// with a count. The note says it in a sentence; of a series the newest one is kept. What is too long for the API is
/// cut: reason and action to 128 bytes, the note to 1024.
///
/// ```
/// use pilothouse::events::Event;
///
/// let ready = 3;
/// Event::normal("Scaled", "Scale").note(format!("{ready} pods are ready"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it is recorded by `Context::event` or `Recorder::event`"]
pub struct Event {
    pub(super) kind: EventType,
    pub(super) reason: Cow<'static, str>,
    pub(super) action: Cow<'static, str>,
    pub(super) note: String,
    pub(super) related: Option<Target>,
}

impl Event {
    /// All is well. `reason` is why it happened, `action` what was done: a word in upper camel case each, made for
    /// programs, such as `Created` and `Create`.
    pub fn normal(
        reason: impl Into<Cow<'static, str>>,
        action: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(EventType::Normal, reason, action)
    }

    /// Somebody should look at it. `reason` is why it happened, `action` what was done or tried.
    pub fn warning(
        reason: impl Into<Cow<'static, str>>,
        action: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(EventType::Warning, reason, action)
    }

    /// An event of the type given.
    pub fn new(
        kind: EventType,
        reason: impl Into<Cow<'static, str>>,
        action: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            kind,
            reason: reason.into(),
            action: action.into(),
            note: String::new(),
            related: None,
        }
    }

    /// What happened, in a sentence for people.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Another object that it is about, such as the child that was created.
    pub fn related<K: Resource>(mut self, object: &K) -> Self {
        self.related = Some(Target::of(object));
        self
    }

    /// As [`related`](Self::related), for an object of which only a reference is at hand.
    pub fn related_to(mut self, object: &ObjectRef) -> Self {
        self.related = Some(Target::named(object));
        self
    }
}
