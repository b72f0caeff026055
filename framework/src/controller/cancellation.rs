use std::sync::OnceLock;

use tokio_util::sync::CancellationToken;

/// Ends with the call it belongs to, however that ends.
#[derive(Debug, Default)]
pub(super) struct Cancellation {
    /// Made when it is asked for: most reconciles never do.
    token: OnceLock<CancellationToken>,
    /// It is another one's, which ends it.
    lent: bool,
}

impl Cancellation {
    /// The same for another context of the call.
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
