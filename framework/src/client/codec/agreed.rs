use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Encoding;
use crate::resource::ApiResource;

/// In what a server is talked to, by group of kinds: an aggregated group has a server of its own.
#[derive(Debug, Default)]
pub(crate) struct Agreed {
    wanted: Encoding,
    /// Grows by the groups that the program uses.
    refused: Mutex<HashMap<Box<str>, Refused>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    /// The server did not take it (415).
    bodies: bool,
    /// The server did not answer while it was named (406).
    answers: bool,
}

impl Agreed {
    pub(crate) fn new(wanted: Encoding) -> Self {
        Self {
            wanted,
            refused: Mutex::default(),
        }
    }

    /// What to write a request's body in.
    pub(crate) fn for_body(&self, resource: &ApiResource) -> Encoding {
        self.choose(resource, |refused| refused.bodies)
    }

    /// What to ask for.
    pub(crate) fn for_answer(&self, resource: &ApiResource) -> Encoding {
        self.choose(resource, |refused| refused.answers)
    }

    fn choose(&self, resource: &ApiResource, is_refused: fn(Refused) -> bool) -> Encoding {
        if self.wanted == Encoding::Json {
            return Encoding::Json;
        }
        match self.refused().get(&*resource.group).copied() {
            Some(refused) if is_refused(refused) => Encoding::Json,
            _ => self.wanted.for_kind(resource),
        }
    }

    /// A body was refused.
    pub(crate) fn refuse_body(&self, resource: &ApiResource) {
        let group = resource.group.as_ref().into();
        self.refused().entry(group).or_default().bodies = true;
    }

    /// A request was refused for what it asked for.
    pub(crate) fn refuse_answer(&self, resource: &ApiResource) {
        let group = resource.group.as_ref().into();
        self.refused().entry(group).or_default().answers = true;
    }

    fn refused(&self) -> MutexGuard<'_, HashMap<Box<str>, Refused>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
