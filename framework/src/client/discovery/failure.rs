use std::{fmt, sync::Arc};

use crate::client::Error;

/// A version of a group whose kinds could not be read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DiscoveryFailure<'a> {
    /// Name of the group; `""` is the core group.
    pub group: &'a str,
    /// Name of the version.
    pub version: &'a str,
    /// The reason.
    pub problem: &'a Problem,
}

/// `group "metrics.k8s.io" (v1beta1): discover /apis/metrics.k8s.io/v1beta1: service unavailable`.
impl fmt::Display for DiscoveryFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group {
            "" => f.write_str("the core group")?,
            group => write!(f, "group \"{group}\"")?,
        }
        write!(f, " ({}): {}", self.version, self.problem)
    }
}

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
