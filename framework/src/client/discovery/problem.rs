use std::{fmt, sync::Arc};

use crate::client::Error;

/// Why the kinds of a version are unknown, or may be out of date.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The group's own server does not answer. These are the last kinds that the API server knew.
    Stale,
    /// The document with the kinds could not be read.
    Unreadable(Arc<Error>),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale => f.write_str(
                "the API server's own view of it is stale: see the APIService of that version",
            ),
            Self::Unreadable(error) => error.fmt(f),
        }
    }
}
