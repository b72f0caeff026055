//! Who asks. Everybody who is known may do everything: authorisation is not part of the sandbox.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::api::ApiError;

/// A user behind a bearer token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

/// The bearer tokens that are accepted.
pub(crate) struct Tokens {
    users: BTreeMap<String, User>,
    admin: User,
}

/// How far a connection is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The in-memory pipe: a request without a token is the administrator's.
    Admin,
    /// The network: every request needs a token.
    Nobody,
}

impl Tokens {
    pub(crate) fn new(users: BTreeMap<String, User>) -> Self {
        let admin = User {
            name: "kubernetes-admin".into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
        };
        Self { users, admin }
    }

    /// # Errors
    /// 401 for a missing or unknown token.
    pub(crate) fn authenticate(
        &self,
        headers: &HeaderMap,
        trust: Trust,
    ) -> Result<&User, ApiError> {
        let Some(header) = headers.get(AUTHORIZATION) else {
            return match trust {
                Trust::Admin => Ok(&self.admin),
                Trust::Nobody => Err(ApiError::unauthorized()),
            };
        };
        let token = header.to_str().ok().and_then(|text| {
            let (scheme, token) = text.trim().split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        token
            .and_then(|token| self.users.get(token))
            .ok_or_else(ApiError::unauthorized)
    }
}
