use std::collections::HashMap;

use http::HeaderMap;
use parking_lot::Mutex;

use super::Encoding;
use crate::resource::ApiResource;

/// The encodings that a server accepts, by group of kinds, because an aggregated group has its own server.
#[derive(Debug)]
pub(crate) struct NegotiatedEncodings {
    wanted: Encoding,
    /// The encoding of kinds that `wanted` does not have.
    of_other_kinds: Encoding,
    /// One entry for each group that refused something.
    refused: Mutex<HashMap<Box<str>, Refused>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    /// The server refused a body in this encoding (415).
    bodies: bool,
    /// The server refused to answer while `Accept` named this encoding (406).
    answers: bool,
}

/// What a client has that chooses nothing.
impl Default for NegotiatedEncodings {
    fn default() -> Self {
        Self::new(Encoding::default(), Encoding::Json)
    }
}

impl NegotiatedEncodings {
    pub(crate) fn new(wanted: Encoding, of_other_kinds: Encoding) -> Self {
        Self {
            wanted,
            of_other_kinds,
            refused: Mutex::default(),
        }
    }

    /// The encoding of an error with these headers. The error is the other media type.
    pub(crate) fn of_error<'a>(&self, headers: &'a HeaderMap) -> Result<Encoding, &'a str> {
        let of_other_kinds = |_| self.of_other_kinds.of_answer(headers);
        self.wanted.of_answer(headers).or_else(of_other_kinds)
    }

    /// The encoding for the body of a request.
    pub(crate) fn for_body(&self, resource: &ApiResource) -> Encoding {
        self.choose(resource, |refused| refused.bodies).for_body()
    }

    /// The encoding to name in `Accept`.
    pub(crate) fn for_answer(&self, resource: &ApiResource) -> Encoding {
        self.choose(resource, |refused| refused.answers)
    }

    /// The encoding to name in `Accept` if the answer may be of any kind, or have any field.
    pub(crate) fn for_any_kind(&self, resource: &ApiResource) -> Encoding {
        self.for_answer(resource).for_any_kind()
    }

    fn choose(&self, resource: &ApiResource, is_refused: fn(Refused) -> bool) -> Encoding {
        if self.wanted == Encoding::Json {
            return Encoding::Json;
        }
        // The codec of a program is asked without the lock.
        let refused = self.refused.lock().get(&*resource.group).copied();
        match refused {
            Some(refused) if is_refused(refused) => Encoding::Json,
            _ if self.wanted.has(resource) => self.wanted,
            _ if self.of_other_kinds.has(resource) => self.of_other_kinds,
            _ => Encoding::Json,
        }
    }

    /// Records that the server refused a body.
    pub(crate) fn refuse_body(&self, resource: &ApiResource) {
        self.refuse(resource, |refused| refused.bodies = true);
    }

    /// Records that the server refused a request for its `Accept` header.
    pub(crate) fn refuse_answer(&self, resource: &ApiResource) {
        self.refuse(resource, |refused| refused.answers = true);
    }

    fn refuse(&self, resource: &ApiResource, what: fn(&mut Refused)) {
        let group = resource.group.as_ref().into();
        what(self.refused.lock().entry(group).or_default());
    }
}
