use std::sync::Arc;

use crate::{client::Error, resource::ApiResource};

/// Why a name was not mapped to a kind. The text is one line and says what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// The server serves nothing with that name.
    #[error("no {query}: {hint}")]
    #[non_exhaustive]
    NotFound {
        /// What the caller looked for: `kind "Foo" in group "bar.dev"`.
        query: String,
        /// What the server serves instead, and what to do.
        hint: String,
    },
    /// Several kinds have that name, and no rule prefers one.
    #[error("{query} can be any of {}: name one of them", names(.candidates))]
    #[non_exhaustive]
    Ambiguous {
        /// What the caller looked for.
        query: String,
        /// The kinds with that name.
        candidates: Vec<ApiResource>,
    },
    /// The result is unknown, because some groups could not be read.
    #[error("cannot tell what {query} is: {failures}")]
    #[non_exhaustive]
    Unreadable {
        /// What the caller looked for.
        query: String,
        /// The groups, and why each could not be read.
        failures: String,
    },
    /// The request to the server failed.
    #[error("cannot tell what {query} is: {source}")]
    #[non_exhaustive]
    Client {
        /// What the caller looked for.
        query: String,
        /// The error, shared by all callers that waited for the same answer.
        source: Arc<Error>,
    },
}

impl MappingError {
    /// Whether the server serves nothing with that name.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

/// `sites.a.dev, sites.b.dev`.
fn names(candidates: &[ApiResource]) -> String {
    let names: Vec<_> = candidates
        .iter()
        .map(ApiResource::qualified_plural)
        .collect();
    names.join(", ")
}
