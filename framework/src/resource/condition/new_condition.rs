use jiff::Timestamp;

use super::ConditionError;
use crate::resource::Object;

/// A condition as it is to be from now on; see [`Conditions::set`](super::Conditions::set).
///
/// ```
/// use pilothouse::resource::NewCondition;
///
/// NewCondition::is_false("Ready", "PodsStarting").message("2 of 3 pods are ready");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct NewCondition {
    pub(super) kind: String,
    pub(super) status: &'static str,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) observed_generation: Option<i64>,
    pub(super) at: Option<Timestamp>,
}

impl NewCondition {
    /// It is so. `kind` is the condition's type, such as `Ready`; `reason` says why, in one word in upper
    /// camel case made for programs.
    pub fn is_true(kind: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(kind, "True", reason)
    }

    /// It is not so.
    pub fn is_false(kind: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(kind, "False", reason)
    }

    /// Nobody can say.
    pub fn is_unknown(kind: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(kind, "Unknown", reason)
    }

    fn new(kind: impl Into<String>, status: &'static str, reason: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            status,
            reason: reason.into(),
            message: String::new(),
            observed_generation: None,
            at: None,
        }
    }

    /// The same for people, in a sentence.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// What it is said of: `object` in the generation it has here.
    pub fn observed<K: Object>(mut self, object: &K) -> Self {
        self.observed_generation = object.metadata().generation;
        self
    }

    /// Since when, if that is not now.
    pub fn since(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }

    /// The rules of the API for `metav1.Condition`.
    pub(super) fn check(&self) -> Result<(), ConditionError> {
        let kind = || self.kind.clone();
        if !is_type(&self.kind) {
            return Err(ConditionError::Type { kind: kind() });
        }
        if !is_reason(&self.reason) {
            let reason = self.reason.clone();
            return Err(ConditionError::Reason {
                kind: kind(),
                reason,
            });
        }
        if self.message.chars().count() > LONGEST_MESSAGE {
            return Err(ConditionError::Message { kind: kind() });
        }
        Ok(())
    }
}

const LONGEST_TYPE: usize = 316;
const LONGEST_REASON: usize = 1024;
const LONGEST_MESSAGE: usize = 32_768;

/// A qualified name: a word, with or without a DNS subdomain and `/` before it.
fn is_type(text: &str) -> bool {
    let (domain, word) = match text.split_once('/') {
        Some((domain, word)) => (Some(domain), word),
        None => (None, text),
    };
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= LONGEST_TYPE
        && domain.is_none_or(|domain| domain.split('.').all(label))
        && ends(word.bytes().next())
        && ends(word.bytes().last())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_reason(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_,:".contains(&byte);
    let last = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= LONGEST_REASON
        && text
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphabetic())
        && text.bytes().last().is_some_and(last)
        && text.bytes().all(inner)
}
