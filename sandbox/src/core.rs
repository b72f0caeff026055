//! What all parts of one sandbox share.

use std::sync::{Arc, PoisonError, RwLock};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::Tokens;
use crate::authorization::Mode;
use crate::clock::Clock;
use crate::fault::Faults;
use crate::pods::Containers;
use crate::record::Log;
use crate::registry::Registry;
use crate::stack::{Stack, Stacked};
use crate::store::Store;

/// The state of one sandbox.
pub(crate) struct Core {
    pub(crate) clock: Clock,
    pub(crate) store: Arc<Store>,
    pub(crate) tokens: Tokens,
    pub(crate) authorization: Mode,
    pub(crate) faults: Faults,
    pub(crate) log: Log,
    pub(crate) containers: Containers,
    /// Whether CBOR is served.
    pub(crate) cbor: bool,
    /// What tasks are polled in.
    pub(crate) stack: Arc<Stack>,
    /// Owns every task; they end when `cancel` is cancelled.
    pub(crate) tasks: TaskTracker,
    pub(crate) cancel: CancellationToken,
    registry: RwLock<Arc<Registry>>,
}

impl Core {
    pub(crate) fn new(
        clock: Clock,
        store: Arc<Store>,
        (tokens, authorization): (Tokens, Mode),
        log: Log,
        cbor: bool,
        registry: Registry,
    ) -> Arc<Self> {
        for kind in registry.kinds() {
            store.open(&kind.group_resource());
        }
        Arc::new(Self {
            clock,
            faults: Faults::new(store.clone()),
            store,
            tokens,
            authorization,
            log,
            containers: Containers::default(),
            cbor,
            stack: Arc::default(),
            tasks: TaskTracker::new(),
            cancel: CancellationToken::new(),
            registry: RwLock::new(Arc::new(registry)),
        })
    }

    /// The kinds served now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Serves other kinds from now on.
    pub(crate) fn serve(&self, registry: Registry) {
        *self
            .registry
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
    }

    /// Runs a task until the sandbox ends.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let cancel = self.cancel.clone();
        let task = async move {
            // Dropping the task is safe: what it holds is inside the sandbox that ends with it.
            cancel.run_until_cancelled(task).await;
        };
        self.tasks.spawn(Stacked::new(self.stack.clone(), task));
    }
}
