use std::fmt;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A source that was added at run time. Dropping it leaves the source where it is.
#[derive(Clone)]
pub struct Source {
    removed: CancellationToken,
    /// Whether it has synced; its sender is the source's task.
    synced: watch::Receiver<bool>,
}

/// The other half of a [`Source`].
pub(super) struct Life {
    pub(super) removed: CancellationToken,
    pub(super) synced: watch::Sender<bool>,
}

impl Source {
    pub(super) fn new() -> (Self, Life) {
        let removed = CancellationToken::new();
        let (sender, synced) = watch::channel(false);
        let life = Life {
            removed: removed.clone(),
            synced: sender,
        };
        (Self { removed, synced }, life)
    }

    /// Waits until all that its kind has is in the cache, where a [`Context`](super::super::Context) can read it
    /// from then on; a stream has nothing to wait for but the start of the controller. `false` if the
    /// source was removed, or the controller ended, before that.
    pub async fn synced(&self) -> bool {
        let mut synced = self.synced.clone();
        synced.wait_for(|synced| *synced).await.is_ok()
    }

    /// Removes the source, also if the future is dropped. When the future is done nothing comes from it any more and a
    /// stream was dropped; what it asked for before may still be waiting. Its kind cannot be read any
    /// more, unless another source has it, too, and its watch and cache have ended, unless somebody else needs them:
    /// this controller, another one, or whoever took the informer from [`Informers`](crate::cache::Informers).
    pub fn remove(&self) -> impl Future<Output = ()> + Send + use<> {
        self.removed.cancel();
        let mut synced = self.synced.clone();
        async move { while synced.changed().await.is_ok() {} }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("synced", &*self.synced.borrow())
            .field("removed", &self.removed.is_cancelled())
            .finish()
    }
}
