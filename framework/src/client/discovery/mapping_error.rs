use std::sync::Arc;

use crate::{client::Error, resource::ApiResource};

/// Why a name was not mapped to a kind, in one line that says what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// The server serves nothing of that name.
    #[error("no {wanted}: {advice}")]
    #[non_exhaustive]
    NotFound {
        /// What was looked for: `kind "Foo" in group "bar.dev"`.
        wanted: String,
        /// What is there instead, and what to do.
        advice: String,
    },
    /// Several kinds have that name, and none comes before the others.
    #[error("{wanted} can be any of {}: name one of them", names(.candidates))]
    #[non_exhaustive]
    Ambiguous {
        /// What was looked for.
        wanted: String,
        /// The kinds that have that name.
        candidates: Vec<ApiResource>,
    },
    /// It cannot be told, because of groups that could not be read.
    #[error("cannot tell what {wanted} is: {failures}")]
    #[non_exhaustive]
    Unreadable {
        /// What was looked for.
        wanted: String,
        /// The groups and why each could not be read.
        failures: String,
    },
    /// The server could not be asked.
    #[error("cannot tell what {wanted} is: {source}")]
    #[non_exhaustive]
    Client {
        /// What was looked for.
        wanted: String,
        /// Why; shared by all who waited for the same answer.
        source: Arc<Error>,
    },
}

impl MappingError {
    /// The server was asked and serves nothing of that name.
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
