use std::time::Duration;

use http::{HeaderMap, header};

use crate::resource::LONGEST_RETRY_AFTER;

/// The seconds of `Retry-After`, at most a minute. API servers send no dates there, so this ignores a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    let asked = text.trim().parse().ok().map(Duration::from_secs)?;
    Some(asked.min(LONGEST_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_after_is_at_most_a_minute() {
        for (text, expected) in [
            ("7", Some(7)),
            ("60", Some(60)),
            ("86400", Some(60)),
            ("18446744073709551615", Some(60)),
            ("-1", None),
            ("Fri, 31 Dec 1999 23:59:59 GMT", None),
        ] {
            let headers = [(header::RETRY_AFTER, text.parse().unwrap())];
            let found = retry_after(&headers.into_iter().collect());
            assert_eq!(found, expected.map(Duration::from_secs), "{text}");
        }
    }
}
