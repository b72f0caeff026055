use std::collections::VecDeque;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::packed::Packed;
use super::{AuditLog, Audited, Ending, RecordedRequest};

/// The last requests.
pub(crate) struct RequestLog {
    entries: Mutex<VecDeque<Packed>>,
    limit: usize,
    audit: Option<AuditLog>,
}

impl RequestLog {
    pub(crate) fn new(limit: usize, audit: Option<AuditLog>) -> Self {
        Self {
            entries: Mutex::default(),
            limit,
            audit,
        }
    }

    pub(crate) fn is_audited(&self) -> bool {
        self.audit.is_some()
    }

    /// Keeps a request, and writes it to the audit log. The end of a request that lasts is written when the returned value is dropped.
    pub(crate) fn push<'a>(
        &self,
        request: &RecordedRequest,
        audited: impl FnOnce() -> Audited<'a>,
        lasts: Option<impl Fn() -> Timestamp + Send + Sync + 'static>,
    ) -> Option<Ending> {
        let ending = match (&self.audit, lasts) {
            (None, _) => None,
            (Some(audit), None) => {
                audit.write(request, &audited());
                None
            }
            (Some(audit), Some(clock)) => Some(audit.write_start(request, &audited(), clock)),
        };
        let request = Packed::new(request);
        let mut entries = self.entries.lock();
        if entries.len() >= self.limit {
            entries.pop_front();
        }
        entries.push_back(request);
        ending
    }

    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.entries.lock().iter().map(Packed::unpack).collect()
    }

    pub(crate) fn clear(&self) {
        self.entries.lock().clear();
    }
}
