use std::{fmt, sync::Arc};

use futures_util::{
    FutureExt,
    future::{BoxFuture, try_join_all},
};

use super::sync::watch;

/// Something that becomes ready once, and stays so: an informer, a listener, or
/// [all of several](Self::all).
///
/// Any number may wait for it, at any time, and each of them is woken. Cloning is cheap.
#[derive(Clone)]
pub struct Readiness {
    parts: Arc<[Part]>,
}

#[derive(Clone)]
struct Part {
    name: Arc<str>,
    state: watch::Receiver<Ready>,
}

/// How far one part is. A sender that is dropped says that it will not become ready any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ready {
    #[default]
    NotYet,
    Yes,
    Never,
}

impl Readiness {
    pub(super) fn of(name: impl Into<Arc<str>>, state: watch::Receiver<Ready>) -> Self {
        let name = name.into();
        Self {
            parts: Arc::new([Part { name, state }]),
        }
    }

    /// Ready when all of them are; of nothing: ready.
    pub fn all(several: impl IntoIterator<Item = Self>) -> Self {
        let parts = several.into_iter().flat_map(|one| one.parts.to_vec());
        Self {
            parts: parts.collect(),
        }
    }

    /// Whether it is ready now.
    pub fn is_ready(&self) -> bool {
        self.waiting_for().next().is_none()
    }

    /// What is still to come: the kinds of informers, and the names of listeners.
    pub fn waiting_for(&self) -> impl Iterator<Item = &str> {
        let not_ready = |part: &&Part| *part.state.borrow() != Ready::Yes;
        self.parts.iter().filter(not_ready).map(|part| &*part.name)
    }

    /// Waits until it is ready; `false` as soon as it is sure that it never will be, since an informer
    /// stopped or a listener was removed.
    pub async fn wait(&self) -> bool {
        self.waited().await
    }

    /// Boxed, so that it is built in this crate and not in each program.
    fn waited(&self) -> BoxFuture<'_, bool> {
        let parts = self.parts.iter().map(|part| async move {
            let mut state = part.state.clone();
            match state.wait_for(|ready| *ready != Ready::NotYet).await {
                Ok(ready) if *ready == Ready::Yes => Ok(()),
                _ => Err(()),
            }
        });
        Box::pin(try_join_all(parts).map(|ready| ready.is_ok()))
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting_for: Vec<_> = self.waiting_for().collect();
        f.debug_struct("Readiness")
            .field("waiting_for", &waiting_for)
            .finish()
    }
}
