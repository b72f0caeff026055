use std::{error::Error as StdError, fmt, time::Duration};

use super::Error;
use crate::client;

/// What reconcilers return; `Result<Action>` unless told otherwise.
pub type Result<T = super::Action> = std::result::Result<T, Failure>;

/// Why a reconcile failed, and whether and when it is tried again.
///
/// `?` makes one of any error. By default the key is retried with backoff, not before the time the
/// API server asked for. It is not an [`Error`](StdError) itself, so that `?` can convert.
///
/// ```
/// use pilothouse::controller::{Failure, Result};
///
/// fn parse(text: &str) -> Result<u32> {
///     // No retry helps until the object changes.
///     text.parse().map_err(|error| Failure::from(error).terminal())
/// }
/// assert!(parse("x").unwrap_err().is_terminal());
/// ```
pub struct Failure {
    error: Box<dyn StdError + Send + Sync>,
    terminal: bool,
    retry_after: Option<Duration>,
    conflict: bool,
    gone: bool,
}

impl Failure {
    /// A failure that is only a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            error: text.into().into(),
            terminal: false,
            retry_after: None,
            conflict: false,
            gone: false,
        }
    }

    /// The same failure, not to be retried before something changes.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// The same failure, to be retried after `delay` at the earliest; backoff may make it later.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    /// Whether it is not retried.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The error.
    pub fn error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.error
    }

    /// The same failure, of which only the text is left.
    pub(super) fn told(self) -> Self {
        Self {
            error: self.to_string().into(),
            ..self
        }
    }

    /// Whether somebody else had changed the object meanwhile.
    pub(super) fn is_conflict(&self) -> bool {
        self.conflict
    }

    /// Whether the reconciled object is gone: nothing went wrong, and its deletion is still to be heard of.
    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    pub(super) fn at_least(&self) -> Duration {
        self.retry_after.unwrap_or_default()
    }

    /// Of any error: built once, and not for each type of error.
    fn of(error: Box<dyn StdError + Send + Sync>) -> Self {
        let client = error.downcast_ref::<client::Error>();
        let ours = error.downcast_ref::<Error>();
        let gone = matches!(ours, Some(Error::Gone { .. }));
        let ours = ours.and_then(Error::client);
        let client = client.or(ours);
        let retry_after = client.and_then(client::Error::retry_after);
        // Nothing but another program mends that.
        let terminal = client.is_some_and(client::Error::is_not_declared);
        let conflict = client.is_some_and(client::Error::is_conflict);
        Self {
            error,
            terminal,
            retry_after,
            conflict,
            gone,
        }
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::of(Box::new(error))
    }
}

/// The error and what caused it, in one line.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let more = error.to_string();
            // Many errors repeat their cause in their own text.
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            cause = error.source();
        }
        f.write_str(&text.replace('\n', " "))
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("error", &self.error)
            .field("terminal", &self.terminal)
            .field("retry_after", &self.retry_after)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{Status, StatusDetails};

    #[derive(Debug, thiserror::Error)]
    #[error("render the page")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn the_text_is_the_whole_chain_in_one_line() {
        let cause = "x".parse::<u8>().unwrap_err();
        assert_eq!(
            Failure::from(Outer(cause)).to_string(),
            "render the page: invalid digit found in string"
        );
    }

    #[test]
    fn the_server_s_wish_to_wait_is_kept() {
        let status = Status {
            code: 429,
            details: Some(StatusDetails {
                retry_after_seconds: 7,
                ..StatusDetails::default()
            }),
            ..Status::default()
        };
        let error = || client::Error::api("patch", "Deployment default/web", status.clone());
        let seven = Duration::from_secs(7);
        assert_eq!(Failure::from(error()).at_least(), seven);
        assert_eq!(Failure::from(Error::from(error())).at_least(), seven);
        assert_eq!(Failure::new("x").at_least(), Duration::ZERO);
    }
}
