//! DNS names (RFC 1123), which Kubernetes requires for the names of most objects.

/// Checks a DNS label, such as the name of a namespace. The error completes a sentence: "the name …".
pub(crate) fn check_label(name: &str) -> Result<(), &'static str> {
    match name.len() <= 63 && is_part(name) {
        true => Ok(()),
        false => Err(
            "has to be a DNS label: at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends",
        ),
    }
}

/// Checks a DNS subdomain, such as the name of a Lease. The error completes a sentence: "the name …".
pub(crate) fn check_subdomain(name: &str) -> Result<(), &'static str> {
    match is_subdomain(name) {
        true => Ok(()),
        false => Err(
            "has to be a DNS name: at most 253 lower-case letters, digits, `-` and `.`, with a letter or digit at both \
             ends and around each `.`",
        ),
    }
}

pub(super) fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_part)
}

fn is_part(part: &str) -> bool {
    let inner = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let outer = |letter: Option<&u8>| letter.is_some_and(|letter| inner(*letter));
    let bytes = part.as_bytes();
    bytes.iter().all(|letter| inner(*letter) || *letter == b'-')
        && outer(bytes.first())
        && outer(bytes.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_no_dots_and_a_subdomain_may_have_some() {
        for name in ["a", "0", "web-site", "a--b", &"a".repeat(63)] {
            assert_eq!((check_label(name), check_subdomain(name)), (Ok(()), Ok(())));
        }
        for name in ["a.b", "website.example.com", &"a".repeat(253)] {
            assert!(check_label(name).is_err(), "{name}");
            assert_eq!(check_subdomain(name), Ok(()), "{name}");
        }
        for name in [
            "", "-", "a-", "-a", "A", "a_b", "a b", "ä", "a..b", ".a", "a.", "a/b",
        ] {
            assert!(check_label(name).is_err(), "{name}");
            assert!(check_subdomain(name).is_err(), "{name}");
        }
        assert!(check_subdomain(&"a".repeat(254)).is_err());
    }
}
