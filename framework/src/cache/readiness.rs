use std::{fmt, sync::Arc};

use futures_util::{
    FutureExt,
    future::{BoxFuture, try_join_all},
};

use super::sync::watch;

/// Something that becomes ready once and stays ready: an informer, a listener, or [several of them](Self::all).
///
/// Any number of tasks can wait for it at any time, and each of them is woken. Cloning is cheap.
#[derive(Clone)]
pub struct Readiness {
    components: Arc<[Component]>,
}

#[derive(Clone)]
struct Component {
    name: Arc<str>,
    state: watch::Receiver<ReadyState>,
}

/// How far one component is. Dropping the sender means that the component will not become ready any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReadyState {
    #[default]
    Pending,
    Ready,
    Never,
}

impl Readiness {
    pub(super) fn of(name: impl Into<Arc<str>>, state: watch::Receiver<ReadyState>) -> Self {
        let name = name.into();
        Self {
            components: Arc::new([Component { name, state }]),
        }
    }

    /// Ready when all of `several` are ready; ready at once if there are none.
    pub fn all(several: impl IntoIterator<Item = Self>) -> Self {
        let components = several.into_iter().flat_map(|one| one.components.to_vec());
        Self {
            components: components.collect(),
        }
    }

    /// Whether it is ready now.
    pub fn is_ready(&self) -> bool {
        self.waiting_for().next().is_none()
    }

    /// What is not ready yet: the kinds of informers and the names of listeners.
    pub fn waiting_for(&self) -> impl Iterator<Item = &str> {
        let not_ready = |component: &&Component| *component.state.borrow() != ReadyState::Ready;
        self.components
            .iter()
            .filter(not_ready)
            .map(|component| &*component.name)
    }

    /// Waits until it is ready. Returns `false` as soon as one component can no longer become ready: its informer
    /// stopped, or its listener was removed.
    pub async fn wait(&self) -> bool {
        self.waited().await
    }

    /// Boxed, so that it is compiled once in this crate and not in each program.
    fn waited(&self) -> BoxFuture<'_, bool> {
        let components = self.components.iter().map(|component| async move {
            let mut state = component.state.clone();
            match state.wait_for(|ready| *ready != ReadyState::Pending).await {
                Ok(ready) if *ready == ReadyState::Ready => Ok(()),
                _ => Err(()),
            }
        });
        Box::pin(try_join_all(components).map(|ready| ready.is_ok()))
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
