use std::borrow::Cow;

use super::target::Target;
use crate::resource::{ObjectRef, Resource};

/// An event about an object, for people who read `kubectl describe` or `kubectl events`.
///
/// Type, reason, action and the related object say *what* happened. Events with the same values form
/// one series with a count. The note describes the event in a sentence; a series keeps the newest
/// note. Texts that are too long for the API are truncated: reason and action to 128 bytes, the note
/// to 1024 bytes.
///
/// ```
/// use pilothouse::events::NewEvent;
///
/// let ready = 3;
/// NewEvent::normal("Scaled", "Scale").note(format!("{ready} pods are ready"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it is recorded by `Context::event` or `Recorder::event`"]
pub struct NewEvent {
    pub(super) kind: EventType,
    pub(super) reason: Cow<'static, str>,
    pub(super) action: Cow<'static, str>,
    pub(super) note: String,
    pub(super) related: Option<Target>,
}

impl NewEvent {
    /// An event in normal operation. `reason` is why it happened and `action` is what was done. Both are
    /// one word in upper camel case for programs, such as `Created` and `Create`.
    pub fn normal(
        reason: impl Into<Cow<'static, str>>,
        action: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(EventType::Normal, reason, action)
    }

    /// An event that a person should look at. `reason` is why it happened and `action` is what was done
    /// or tried.
    pub fn warning(
        reason: impl Into<Cow<'static, str>>,
        action: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(EventType::Warning, reason, action)
    }

    /// An event of the given type.
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

    /// Sets the description of the event: a sentence for people.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Sets another object that the event is about, such as the child that was created.
    pub fn related<K: Resource>(mut self, object: &K) -> Self {
        self.related = Some(Target::of(object));
        self
    }

    /// As [`related`](Self::related), for a caller that has only a reference to the object.
    pub fn related_to(mut self, object: &ObjectRef) -> Self {
        self.related = Some(Target::from_ref(object));
        self
    }
}

/// The type of an event. The API has only these two types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// The event is part of normal operation.
    Normal,
    /// A person should look at the event.
    Warning,
}

impl EventType {
    /// The name of the type in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}
