use bytes::Bytes;
use tokio::time::Instant;

use super::negotiate::Form;
use super::pods::Upgrade;
use super::proxy::Original;
use super::query::Query;
use crate::api::Target;
use crate::authentication::User;
use crate::record::{Audit, RecordedRequest};

/// A request with its path and query parsed.
pub(super) struct Incoming<B> {
    pub(super) query: Query,
    pub(super) accept: String,
    pub(super) record: RecordedRequest,
    pub(super) body: B,
    pub(super) upgrade: Option<Upgrade>,
    /// What the request looked like, if it is passed on.
    pub(super) original: Option<Original>,
    pub(super) audit: Audit,
    /// When the server stops to work on the request.
    pub(super) deadline: Option<Instant>,
}

/// A request for a resource that is served, with its body read.
pub(super) struct Request {
    pub(super) target: Target,
    pub(super) verb: &'static str,
    /// Empty for collections.
    pub(super) name: String,
    /// Empty for the main resource.
    pub(super) subresource: String,
    pub(super) form: Form,
    pub(super) query: Query,
    pub(super) body: Bytes,
    pub(super) record: RecordedRequest,
    pub(super) user: User,
    pub(super) audit: Audit,
    /// When the server stops to work on the request.
    pub(super) deadline: Option<Instant>,
}
