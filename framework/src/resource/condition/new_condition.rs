use crate::resource::Object;

/// A condition to set with [`Conditions::set`](super::Conditions::set).
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
}

impl NewCondition {
    /// A condition with the status `True`. `kind` is the condition's type, such as `Ready`. `reason` says why, for
    /// programs: one word in UpperCamelCase.
    pub fn is_true(kind: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(kind, "True", reason)
    }

    /// A condition with the status `False`. See [`is_true`](Self::is_true) for the parameters.
    pub fn is_false(kind: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(kind, "False", reason)
    }

    /// A condition with the status `Unknown`. See [`is_true`](Self::is_true) for the parameters.
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
        }
    }

    /// Explains the condition to people, in a sentence. It is empty by default.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Sets `observedGeneration` to the generation of `object`.
    pub fn observed<K: Object>(mut self, object: &K) -> Self {
        self.observed_generation = object.metadata().generation;
        self
    }

    /// Checks the API server's rules for `metav1.Condition`.
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

/// Why a condition was not set. The API server would refuse the whole status because of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// The type is not a qualified name.
    #[error(
        "condition {kind:?}: the type must have at most 316 letters, digits, `-`, `_` and `.`, such as `Ready` or `example.com/Ready`"
    )]
    Type {
        /// The type.
        kind: String,
    },
    /// The reason is not a single word.
    #[error(
        "condition {kind}: the reason {reason:?} must be one word, such as `PodsReady`: a letter, then letters, digits, `_`, `,` and `:`; write sentences into the message"
    )]
    Reason {
        /// The condition's type.
        kind: String,
        /// The reason.
        reason: String,
    },
    /// The message is too long.
    #[error("condition {kind}: the message is longer than 32768 characters: shorten it")]
    Message {
        /// The condition's type.
        kind: String,
    },
}

const LONGEST_TYPE: usize = 316;
const LONGEST_REASON: usize = 1024;
const LONGEST_MESSAGE: usize = 32_768;

/// Whether `text` is a qualified name: a name, optionally after a DNS subdomain and `/`.
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
