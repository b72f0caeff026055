use std::time::Duration;

use http::{HeaderMap, header};

/// The seconds of `Retry-After`. API servers write no dates there, so a date counts as nothing.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}
