use std::fmt;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A source that was added at run time. Dropping this value does not remove the source.
#[derive(Clone)]
pub struct Source {
    removed: CancellationToken,
    /// Whether the source has synced. The source's task holds the sender.
    synced: watch::Receiver<bool>,
}

/// The other side of a [`Source`], which its task holds.
pub(super) struct SourceLifetime {
    pub(super) removed: CancellationToken,
    pub(super) synced: watch::Sender<bool>,
}

impl Source {
    pub(super) fn new() -> (Self, SourceLifetime) {
        let removed = CancellationToken::new();
        let (sender, synced) = watch::channel(false);
        let lifetime = SourceLifetime {
            removed: removed.clone(),
            synced: sender,
        };
        (Self { removed, synced }, lifetime)
    }

    /// Waits until the cache holds all objects of the kind. From then on a [`Context`](crate::controller::Context) can read
    /// them. A stream only waits for the start of the controller. Returns `false` if the source was removed, or the
    /// controller ended, before that.
    pub async fn synced(&self) -> bool {
        let mut synced = self.synced.clone();
        synced.wait_for(|synced| *synced).await.is_ok()
    }

    /// Removes the source, even if the returned future is dropped.
    ///
    /// When the future is done, the source adds no more keys and a stream was dropped. Keys that it added before may still
    /// wait in the queue. The kind cannot be read any more, unless another source has it too. Its watch and its cache have
    /// ended, unless this controller, another controller, or code that took the informer from
    /// [`Informers`](crate::cache::Informers) still needs them.
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
