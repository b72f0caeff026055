use std::{fmt, sync::Arc};

use tokio::{sync::OnceCell, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Leading, Permit};
use crate::client::Client;

/// Brings the news that this process leads to work that was prepared before: caches fill while another
/// process leads, reconciles begin when the turn [comes](Self::come).
///
/// Clones share it. It comes once, and what is over does not come again.
#[derive(Clone, Default)]
pub struct Turn {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The permit, and when it was given.
    begun: OnceCell<(Permit, Instant)>,
    has_come: CancellationToken,
}

impl Turn {
    /// A turn that has not come.
    pub fn new() -> Self {
        Self::default()
    }

    /// It is this process's turn, for as long as `leading` holds. Only the first call counts.
    pub fn begin(&self, leading: &Leading) {
        // Fails when it has come already.
        let _ = self.inner.begun.set((leading.permit(), Instant::now()));
        self.inner.has_come.cancel();
    }

    /// Waits until it comes.
    pub async fn come(&self) -> Permit {
        loop {
            if let Some(permit) = self.permit() {
                return permit.clone();
            }
            self.inner.has_come.cancelled().await;
        }
    }

    /// The permit, once it has come.
    pub fn permit(&self) -> Option<&Permit> {
        self.inner.begun.get().map(|(permit, _)| permit)
    }

    /// When it came, if it has: the lease had been won by then.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.inner.begun.get().map(|(_, since)| *since)
    }

    /// A client for what is made before the turn comes and works after it: until then its requests pass, from then
    /// on only while this process leads, as those of [`Leading::fence`].
    pub fn fence(&self, client: &Client) -> Client {
        let turn = self.clone();
        client.fenced(move || match turn.permit() {
            Some(permit) => permit.check().map_err(Into::into),
            None => Ok(()),
        })
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("permit", &self.permit())
            .finish()
    }
}
