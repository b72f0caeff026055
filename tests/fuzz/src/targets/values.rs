//! Checks small text values: quantities, sets of fields, certificate times, health check queries.

use pilothouse::health::Query;
use pilothouse_sandbox::internals::{
    apply::{FieldSet, PathElement},
    builtin::canonical_quantity,
    table::human_duration,
};

use crate::input;

/// The shipped file, which is not part of the public interface.
#[path = "../../../../framework/src/client/stack/exec/validity.rs"]
mod validity;

pub(crate) fn run(data: &[u8]) {
    let (form, rest) = input::choice(data);
    let text = str::from_utf8(rest);
    match (form % 5, text) {
        (0, Ok(text)) => quantity(text),
        (1, Ok(text)) => field_set(text),
        (2, _) => certificate(rest),
        (3, Ok(text)) => health(text),
        (4, _) => duration(rest),
        _ => {}
    }
}

/// Checks that the canonical form of a canonical form is itself, and that both signs give the same form.
fn quantity(text: &str) {
    let Some(canonical) = canonical_quantity(text) else {
        return;
    };
    let again = canonical_quantity(&canonical);
    // API servers cut a number at this limit only if it has more than 18 digits, and the canonical form may have more than the text.
    let is_cut = |again: &String| again.trim_start_matches('-') == "9223372036854775807";
    if !again.as_ref().is_some_and(is_cut) {
        assert_eq!(again.as_ref(), Some(&canonical), "of {text}");
    }
    let unsigned = text.trim().trim_start_matches(['+', '-']);
    if let Some(positive) = canonical_quantity(unsigned) {
        let is_negative = text.trim().starts_with('-') && positive != "0";
        let expected = if is_negative {
            format!("-{positive}")
        } else {
            positive
        };
        assert_eq!(canonical, expected, "of {text}");
    }
}

/// Checks that a set of fields is written as it was read, and that sets follow the laws of sets.
fn field_set(text: &str) {
    if let Some(element) = PathElement::decode(text) {
        let again = PathElement::decode(&element.encode());
        assert_eq!(again.as_ref(), Some(&element));
    }
    let (one, other) = text.split_once('\n').unwrap_or((text, "{}"));
    let read = |text: &str| FieldSet::from_json(&serde_json::from_str(text).ok()?).ok();
    let (Some(one), Some(other)) = (read(one), read(other)) else {
        return;
    };
    assert_eq!(FieldSet::from_json(&one.to_json()).as_ref(), Ok(&one));
    assert_eq!(one.len(), one.paths().len());
    let both = one.union(&other);
    let common = one.intersection(&other);
    assert_eq!(both, other.union(&one));
    assert_eq!(common, other.intersection(&one));
    assert_eq!(one.difference(&other).union(&common), one);
    assert!(one.paths().iter().all(|path| both.contains(path)));
    assert!(
        common
            .paths()
            .iter()
            .all(|path| one.contains(path) && other.contains(path))
    );
    assert!(one.difference(&one).is_empty());
}

/// Checks that reading the times of any bytes does not panic.
fn certificate(der: &[u8]) {
    if let Some(validity) = validity::Validity::of(der) {
        assert_eq!(validity::Validity::of(der), Some(validity));
        assert!(validity.start.to_string().len() + validity.end.to_string().len() > 0);
    }
}

fn health(text: &str) {
    let query = Query::parse(Some(text));
    assert_eq!(
        query.verbose,
        text.split('&')
            .any(|pair| pair.split('=').next() == Some("verbose"))
    );
    assert!(query.exclude.len() <= text.split('&').count());
}

fn duration(bytes: &[u8]) {
    let mut seconds = [0; 8];
    seconds
        .iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    assert!(!human_duration(i64::from_le_bytes(seconds)).is_empty());
}
