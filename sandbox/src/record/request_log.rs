use std::collections::VecDeque;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::packed::Packed;
use super::{AuditLog, Audited, Ending, RecordedRequest};

/// The most bytes that the log takes.
const BYTES: usize = 64 * 1024 * 1024;

/// The last requests.
pub(crate) struct RequestLog {
    entries: Mutex<Entries>,
    limit: usize,
    audit: Option<AuditLog>,
}

#[derive(Default)]
struct Entries {
    requests: VecDeque<Packed>,
    /// The memory that they take.
    bytes: usize,
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
    ///
    /// `created` is the name that a created object got. The audit log leaves it out, because a real server writes there only a name that
    /// the request has.
    pub(crate) fn push<'a>(
        &self,
        request: &RecordedRequest,
        created: Option<&str>,
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
        let request = match created {
            Some(name) => Packed::new(&RecordedRequest {
                name: name.into(),
                ..request.clone()
            }),
            None => Packed::new(request),
        };
        let mut entries = self.entries.lock();
        entries.bytes += request.size();
        while (entries.requests.len() >= self.limit || entries.bytes > BYTES)
            && let Some(oldest) = entries.requests.pop_front()
        {
            entries.bytes = entries.bytes.saturating_sub(oldest.size());
        }
        entries.requests.push_back(request);
        ending
    }

    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        let entries = self.entries.lock();
        entries.requests.iter().map(Packed::unpack).collect()
    }

    pub(crate) fn clear(&self) {
        *self.entries.lock() = Entries::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: String, user_agent: &str) -> RecordedRequest {
        RecordedRequest {
            name,
            user_agent: user_agent.into(),
            ..RecordedRequest::default()
        }
    }

    fn push(log: &RequestLog, request: &RecordedRequest) {
        let ended = log.push(
            request,
            None,
            || unreachable!("there is no audit log"),
            None::<fn() -> Timestamp>,
        );
        assert!(ended.is_none());
    }

    fn names(log: &RequestLog) -> Vec<String> {
        log.all().into_iter().map(|request| request.name).collect()
    }

    #[test]
    fn the_oldest_requests_make_room_for_new_ones() {
        let log = RequestLog::new(2, None);
        for name in ["a", "b", "c"] {
            push(&log, &request(name.into(), ""));
        }
        assert_eq!(names(&log), ["b", "c"]);
        log.clear();
        push(&log, &request("d".into(), ""));
        assert_eq!(names(&log), ["d"]);
    }

    #[test]
    fn large_requests_take_a_limited_amount_of_memory() {
        let log = RequestLog::new(usize::MAX, None);
        let agent = "a".repeat(4096);
        let count = BYTES / agent.len() + 100;
        for number in 0..count {
            push(&log, &request(number.to_string(), &agent));
        }
        let kept = names(&log);
        assert!(log.entries.lock().bytes <= BYTES);
        assert!(kept.len() < count && kept.len() > count / 2);
        assert_eq!(kept.last(), Some(&(count - 1).to_string()));
    }
}
