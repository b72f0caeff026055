use std::{fmt, sync::Arc};

use tokio::{sync::OnceCell, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Leading, Permit};
use crate::client::Client;

/// Holds back work until this process leads. Caches fill while another process leads; reconciles
/// start when the gate [opens](Self::opened).
///
/// Clones share the gate. It opens once. After the leadership is over it does not open again.
#[derive(Clone, Default)]
pub struct LeadershipGate {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The permit, and when the gate opened.
    opened: OnceCell<(Permit, Instant)>,
    is_open: CancellationToken,
}

impl LeadershipGate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for as long as `leading` holds. Later calls have no effect.
    pub fn open(&self, leading: &Leading) {
        // `set` fails if the gate is open already.
        let _ = self.inner.opened.set((leading.permit(), Instant::now()));
        self.inner.is_open.cancel();
    }

    /// Waits until the gate opens.
    pub async fn opened(&self) -> Permit {
        loop {
            if let Some(permit) = self.permit() {
                return permit.clone();
            }
            self.inner.is_open.cancelled().await;
        }
    }

    /// The permit, once the gate has opened.
    pub fn permit(&self) -> Option<&Permit> {
        self.inner.opened.get().map(|(permit, _)| permit)
    }

    /// When the gate opened, if it has. The Lease had been won by then.
    pub(crate) fn opened_at(&self) -> Option<Instant> {
        self.inner.opened.get().map(|(_, at)| *at)
    }

    /// A client for work that is set up before the gate opens and runs after it. Until the gate opens
    /// its requests pass; afterwards they pass only while this process leads, as with
    /// [`Leading::fence`].
    pub fn fence(&self, client: &Client) -> Client {
        let gate = self.clone();
        client.fenced(move || match gate.permit() {
            Some(permit) => permit.check().map_err(Into::into),
            None => Ok(()),
        })
    }
}

impl fmt::Debug for LeadershipGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeadershipGate")
            .field("permit", &self.permit())
            .finish()
    }
}
