use std::{fmt, marker::PhantomData, ops::Deref};

use super::Context;
use crate::resource::Resource;

/// A [`Context`] whose writes ask nothing of the caches: see [`Context::uncached`].
pub struct Uncached<'a, K> {
    context: Context<K>,
    /// It is not to outlive the reconcile.
    reconcile: PhantomData<&'a Context<K>>,
}

impl<K: Resource> Context<K> {
    /// The same context, but what is written through it is not waited for: the next reconcile of this
    /// object may begin before the caches have it (design promise R5 is given up for these writes).
    ///
    /// For objects that this controller writes and never looks at, where waiting for the cache
    /// gains nothing: `cx.uncached().apply(report).await?`. Reads are those of the caches here
    /// too; [`live`](Self::live) reads past them.
    pub fn uncached(&self) -> Uncached<'_, K> {
        Uncached {
            context: Context {
                key: self.key.clone(),
                object: self.object.clone(),
                run: self.run,
                cancellation: self.cancellation.lend(&self.shared.stop),
                shared: self.shared.clone(),
                uncached: true,
                wanted: self.wanted.clone(),
                last_status: self.last_status.clone(),
                finalizer: self.finalizer.clone(),
            },
            reconcile: PhantomData,
        }
    }
}

impl<K> Deref for Uncached<'_, K> {
    type Target = Context<K>;

    fn deref(&self) -> &Context<K> {
        &self.context
    }
}

impl<K> fmt::Debug for Uncached<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Uncached").field(&self.context).finish()
    }
}
