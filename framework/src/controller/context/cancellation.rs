use std::sync::OnceLock;

use tokio_util::sync::CancellationToken;

/// A token that is cancelled when the call that it belongs to ends.
#[derive(Debug, Default)]
pub(super) struct Cancellation {
    /// Made at the first use: most reconciles never need it.
    token: OnceLock<CancellationToken>,
    /// The token belongs to another context of the same call, which cancels it.
    lent: bool,
}

impl Cancellation {
    /// The same token, for another context of the call.
    pub(super) fn lend(&self, stop: &CancellationToken) -> Self {
        Self {
            token: self.token(stop).clone().into(),
            lent: true,
        }
    }

    pub(super) fn token(&self, stop: &CancellationToken) -> &CancellationToken {
        self.token.get_or_init(|| stop.child_token())
    }
}

impl Drop for Cancellation {
    fn drop(&mut self) {
        if let Some(token) = self.token.get()
            && !self.lent
        {
            token.cancel();
        }
    }
}
