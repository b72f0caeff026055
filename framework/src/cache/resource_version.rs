use std::cmp::Ordering;

/// Compares two resource versions as integers (KEP-5504). Returns `None` if one of them is not an integer.
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let is_number =
        |version: &str| !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    let both = is_number(one) && is_number(other);
    both.then(|| (one.len(), one).cmp(&(other.len(), other)))
}
