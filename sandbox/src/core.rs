//! The state that all parts of one sandbox share.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::{Allocated, Configurations};
use crate::authentication::{Tokens, User};
use crate::authority::Authority;
use crate::authorization::{self, Action, Decision, Mode, Rules};
use crate::calls::{Calls, Unfinished};
use crate::clock::Clock;
use crate::fault::{Faults, RequestMatcher};
use crate::figures::Figures;
use crate::pods::Containers;
use crate::record::{Metrics, RequestLog};
use crate::registry::Registry;
use crate::stack::{Stack, Stacked};
use crate::store::{Saved, Store};

/// The state of one sandbox.
pub(crate) struct Core {
    pub(crate) clock: Clock,
    pub(crate) store: Arc<Store>,
    pub(crate) tokens: Tokens,
    /// Signs the certificates of the HTTPS listeners.
    pub(crate) authority: Authority,
    pub(crate) authorization: Mode,
    /// By these webhooks and policies admit requests.
    pub(crate) configurations: Configurations,
    pub(crate) faults: Faults,
    pub(crate) figures: Figures,
    pub(crate) log: RequestLog,
    /// How many requests have got an ID from the server.
    audit_ids: AtomicU64,
    pub(crate) metrics: Metrics,
    pub(crate) containers: Containers,
    /// Calls of webhooks.
    pub(crate) calls: Calls,
    pub(crate) unfinished: Unfinished,
    /// Whether the server offers CBOR.
    pub(crate) cbor: bool,
    /// Whether clients may control the sandbox.
    pub(crate) controls: bool,
    /// Whether the simulator runs. It provides the service account of each Pod.
    pub(crate) has_simulator: bool,
    /// Held while an object that quotas count is written.
    pub(crate) quotas: Mutex<()>,
    /// What pending writes give to Services.
    pub(crate) allocated: Mutex<BTreeSet<Allocated>>,
    /// Where the last HTTPS listener is.
    pub(crate) listener: watch::Sender<Option<SocketAddr>>,
    /// What clients of the last HTTPS listener trust, as PEM.
    pub(crate) root_ca: watch::Sender<String>,
    /// The snapshots of clients.
    pub(crate) snapshots: Mutex<BTreeMap<u64, Saved>>,
    /// The stack in which tasks are polled.
    pub(crate) stack: Arc<Stack>,
    /// Owns every task. The tasks end when `cancel` is cancelled.
    pub(crate) tasks: TaskTracker,
    pub(crate) cancel: CancellationToken,
    registry: RwLock<Arc<Registry>>,
}

/// What of a sandbox is on.
pub(crate) struct Features {
    pub(crate) cbor: bool,
    pub(crate) controls: bool,
    pub(crate) has_simulator: bool,
}

impl Core {
    pub(crate) fn new(
        clock: Clock,
        store: Arc<Store>,
        (tokens, authority, authorization): (Tokens, Authority, Mode),
        log: RequestLog,
        Features {
            cbor,
            controls,
            has_simulator,
        }: Features,
        registry: Registry,
    ) -> Arc<Self> {
        for kind in registry.kinds().iter().filter(|kind| kind.storage) {
            store.open(&kind.group_resource());
        }
        Arc::new(Self {
            clock,
            faults: Faults::new(store.clone()),
            figures: Figures::default(),
            store,
            tokens,
            authority,
            authorization,
            configurations: Configurations::default(),
            log,
            audit_ids: AtomicU64::new(0),
            metrics: Metrics::default(),
            containers: Containers::default(),
            calls: Calls::default(),
            unfinished: Unfinished::default(),
            cbor,
            controls,
            has_simulator,
            quotas: Mutex::default(),
            allocated: Mutex::default(),
            listener: watch::Sender::default(),
            root_ca: watch::Sender::default(),
            snapshots: Mutex::default(),
            stack: Arc::default(),
            tasks: TaskTracker::new(),
            cancel: CancellationToken::new(),
            registry: RwLock::new(Arc::new(registry)),
        })
    }

    /// The ID of a request that has none, in the form of a UID. It does not depend on the seed, and objects do not depend on it.
    pub(crate) fn audit_id(&self) -> String {
        let number = self.audit_ids.fetch_add(1, Ordering::Relaxed);
        format!("00000000-0000-4000-8000-{number:012x}")
    }

    /// The kinds that are served now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.read().clone()
    }

    /// Replaces the served kinds.
    pub(crate) fn serve(&self, registry: Registry) {
        *self.registry.write() = Arc::new(registry);
    }

    /// Brings back the objects of `saved` and its resource versions, and breaks all watches.
    pub(crate) fn rewind(&self, saved: &Saved) {
        self.faults.drop_watches(&RequestMatcher::any());
        self.store.rewind(saved);
    }

    /// Decides whether `user` may do `action`.
    pub(crate) fn decide(&self, user: &User, action: &Action) -> Decision {
        authorization::decide(self.authorization, &self.store, user, action)
    }

    /// What `user` may do in a namespace.
    pub(crate) fn rules_for(&self, user: &User, namespace: &str) -> Rules {
        authorization::rules_for(self.authorization, &self.store, user, namespace)
    }

    /// What `granted` contains that `user` may not do in a namespace. `None` if there is nothing.
    pub(crate) fn missing_rights(
        &self,
        user: &User,
        namespace: &str,
        granted: &[Value],
    ) -> Option<String> {
        authorization::missing_rights(self.authorization, &self.store, user, namespace, granted)
    }

    /// The rules of the role that a binding names.
    ///
    /// # Errors
    /// The reason why there are none.
    pub(crate) fn rules_of_role(
        &self,
        binding: &Value,
        namespace: &str,
    ) -> Result<Vec<Value>, String> {
        authorization::rules(&self.store, binding, namespace)
    }

    /// Runs a task until the sandbox ends.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let cancel = self.cancel.clone();
        let task = async move {
            // Dropping the task is safe: it owns only state of the sandbox, which ends with it.
            cancel.run_until_cancelled(task).await;
        };
        self.tasks.spawn(Stacked::new(self.stack.clone(), task));
    }
}
