//! What was asked: a bounded log of requests.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One request that was answered; of a watch, once its stream began.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// Kubernetes verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for paths that are no
    /// resource, the HTTP method in lower case.
    pub verb: String,
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// Query as sent, or empty.
    pub query: String,
    /// API group; empty for the core group and for paths that are no resource.
    pub group: String,
    /// Version of the group, or empty.
    pub version: String,
    /// Plural name of the resource, or empty.
    pub resource: String,
    /// `status`, `scale`, …, or empty.
    pub subresource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name of the object, or empty.
    pub name: String,
    /// Content type of the body, or empty. It tells the kinds of patches apart.
    pub content_type: String,
    /// `User-Agent`, or empty.
    pub user_agent: String,
    /// Name of the user, or empty if it is unknown.
    pub user: String,
    /// HTTP status code of the answer.
    pub status: u16,
}

/// The last requests.
pub(crate) struct Log {
    entries: Mutex<VecDeque<RecordedRequest>>,
    limit: usize,
}

impl Log {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            entries: Mutex::default(),
            limit,
        }
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<RecordedRequest>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, request: RecordedRequest) {
        let mut entries = self.entries();
        if entries.len() >= self.limit {
            entries.pop_front();
        }
        entries.push_back(request);
    }

    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.entries().iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.entries().clear();
    }
}
