use std::{fmt, sync::Arc};

use crate::client::Error;

/// Why the kinds of a version are not known, or not known to be the present ones.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The API server tells what it knew of the group before its own server stopped answering.
    Stale,
    /// The document that lists them could not be read.
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
