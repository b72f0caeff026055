use std::time::Duration;

use http::{HeaderMap, header};

use crate::resource::LONGEST_RETRY_AFTER;

/// The seconds of `Retry-After`, a minute at most. API servers write no dates there, so a date counts as nothing.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    let asked = text.trim().parse().ok().map(Duration::from_secs)?;
    Some(asked.min(LONGEST_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_header_asks_for_more_than_a_minute() {
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
