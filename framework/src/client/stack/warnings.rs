use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use http::HeaderValue;

/// So many different warnings are remembered; more are not logged.
const REMEMBERED: usize = 256;
/// No more of one warning is logged.
const LONGEST: usize = 1024;

/// Logs each warning of the server once.
#[derive(Default)]
pub(super) struct Warnings(Mutex<HashSet<String>>);

impl Warnings {
    pub(super) fn hear(&self, value: &HeaderValue) {
        if let Some(text) = text_of(value)
            && self.is_new(&text)
        {
            tracing::warn!("the API server warns: {text}");
        }
    }

    fn is_new(&self, text: &str) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.len() < REMEMBERED && !known.contains(text) && known.insert(text.to_owned())
    }
}

/// The text of `299 - "text"`, the only form that API servers use (KEP-1693).
fn text_of(value: &HeaderValue) -> Option<String> {
    let value = String::from_utf8_lossy(value.as_bytes());
    let (_agent, quoted) = value.strip_prefix("299 ")?.split_once(' ')?;
    let mut text = String::new();
    let mut escaped = false;
    for letter in quoted.strip_prefix('"')?.chars() {
        match letter {
            _ if text.len() >= LONGEST => break,
            '\\' if !escaped => escaped = true,
            '"' if !escaped => break,
            letter => {
                escaped = false;
                if !letter.is_control() {
                    text.push(letter);
                }
            }
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_unquoted() {
        for (value, text) in [
            (r#"299 - "v1 is old""#, Some("v1 is old")),
            (
                r#"299 - "say \"please\"" "Fri, 20 Nov 2026""#,
                Some("say \"please\""),
            ),
            (r#"199 - "other""#, None),
            ("299 -", None),
        ] {
            let value = HeaderValue::from_static(value);
            assert_eq!(text_of(&value).as_deref(), text);
        }
    }

    #[test]
    fn a_warning_is_said_once_and_not_without_end() {
        let warnings = Warnings::default();
        assert!(warnings.is_new("a"));
        assert!(!warnings.is_new("a"));
        let said = (0..2 * REMEMBERED).filter(|at| warnings.is_new(&at.to_string()));
        assert_eq!(said.count(), REMEMBERED - 1);
    }
}
