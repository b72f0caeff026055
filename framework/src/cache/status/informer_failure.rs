use std::{fmt, sync::Arc};

use parking_lot::Mutex;

use crate::{client::Error, health::catch_panic, resource::ApiResource};

/// A failure of an informer's requests: what a function of
/// [`SharedInformer::on_failure`](crate::cache::SharedInformer::on_failure) receives.
///
/// Its [text](fmt::Display) is that of the log and of
/// [`InformerStatus::last_error`](crate::cache::InformerStatus::last_error): what was tried, the reason, and what to do.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct InformerFailure<'a> {
    /// The kind.
    pub resource: &'a ApiResource,
    /// The namespace that was read; `None` for all namespaces, and for cluster-scoped kinds.
    pub namespace: Option<&'a str>,
    /// What was tried: `list` or `watch`, or `read` if an answer could not be decoded at all.
    pub verb: &'a str,
    /// The error of the request. `None` if the request succeeded and what followed was wrong, for example because the
    /// server ended a watch at once.
    pub error: Option<&'a Error>,
    pub(super) text: &'a str,
}

impl fmt::Display for InformerFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl fmt::Debug for InformerFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InformerFailure({})", self.text)
    }
}

/// A function that is called with each failure of an informer.
pub(in crate::cache) type FailureHandler = Arc<dyn Fn(&InformerFailure<'_>) + Send + Sync>;

/// The functions that an informer calls with each failure. Clones share them.
#[derive(Clone, Default)]
pub(in crate::cache) struct FailureHandlers(Arc<Mutex<Vec<FailureHandler>>>);

impl FailureHandlers {
    pub(in crate::cache) fn add(&self, handler: FailureHandler) {
        self.0.lock().push(handler);
    }

    /// Drops the functions.
    pub(in crate::cache) fn clear(&self) {
        let dropped = std::mem::take(&mut *self.0.lock());
        drop(dropped);
    }

    /// Calls all functions. Returns how many of them panicked.
    pub(super) fn call(&self, failure: &InformerFailure<'_>) -> u64 {
        // A function may add another one.
        let handlers = self.0.lock().clone();
        let mut panics = 0;
        let resource = failure.resource;
        let _span = tracing::trace_span!("on_failure", %resource).entered();
        for handler in handlers {
            if let Err(panic) = catch_panic(|| handler(failure)) {
                panics += 1;
                tracing::error!(resource = %failure.resource, "a function of on_failure panicked: {panic}");
            }
        }
        panics
    }
}

impl fmt::Debug for FailureHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FailureHandlers({})", self.0.lock().len())
    }
}
