use std::time::Duration;

use http::{HeaderMap, header};

use crate::resource::LONGEST_RETRY_AFTER;

/// The seconds of `Retry-After`, a minute at most. API servers write no dates there, so a date counts as nothing.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    let asked = text.trim().parse().ok().map(Duration::from_secs)?;
    Some(asked.min(LONGEST_RETRY_AFTER))
}
