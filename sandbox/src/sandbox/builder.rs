use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;

use super::first_objects;
use super::sandbox::Sandbox;
use crate::api::Handle;
use crate::authentication::{AUTHENTICATED, Tokens, User};
use crate::authority::Authority;
use crate::authorization::Mode;
use crate::clock::Clock;
use crate::controllers::garbage::Collector;
use crate::controllers::{
    addresses, aggregation, definitions, event_ttl, migrator, namespaces, protection, quotas,
    service_account_tokens, service_ranges,
};
use crate::core::{Core, Features};
use crate::disk::{Contents, Disk, Identity};
use crate::error::ApiError;
use crate::record::{AuditLog, RequestLog};
use crate::registry::Registry;

use crate::controllers::simulator::Simulator;
use crate::store::Store;

/// Settings of a [`Sandbox`].
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `build`"]
pub struct Builder {
    seed: Option<u64>,
    epoch: Option<SystemTime>,
    tokens: BTreeMap<String, User>,
    authorization: Mode,
    controllers: bool,
    simulator: bool,
    nodes: u32,
    cbor: bool,
    controls_over_http: bool,
    history: usize,
    requests: usize,
    audit: Option<AuditLog>,
    data: Option<PathBuf>,
    services: Vec<(String, String)>,
}

/// The reason why a sandbox cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// `build` was called outside a tokio runtime.
    #[error(
        "cannot start a sandbox outside a tokio runtime: call `build` inside a runtime, for example in `#[tokio::main]`"
    )]
    NoRuntime,
    /// The start time is not representable as a timestamp.
    #[error("cannot start a sandbox at this epoch: {0}")]
    Epoch(jiff::Error),
    /// The system provides no randomness for the administrator's token and the certificate authority.
    #[error("cannot create a sandbox's token and certificate: the system provides no randomness")]
    Randomness,
    /// The folder of [`Builder::data`] cannot be used.
    #[error("cannot use the data folder {}: {reason}", .folder.display())]
    Data {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An address of [`Builder::service_address`] is malformed.
    #[error("cannot use the address of a service: {0}")]
    ServiceAddress(String),
    /// The first objects of a cluster could not be created: a bug in the sandbox.
    #[error("cannot create the first objects of a sandbox (a bug in the sandbox): {0}")]
    Start(String),
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            seed: None,
            epoch: None,
            tokens: BTreeMap::new(),
            authorization: Mode::AlwaysAllow,
            controllers: true,
            simulator: false,
            nodes: 1,
            cbor: false,
            controls_over_http: false,
            history: 16_384,
            requests: 16_384,
            audit: None,
            data: None,
            services: Vec::new(),
        }
    }
}

impl Builder {
    /// Makes names, UIDs, addresses and time repeatable. Everything random comes from this seed, and time starts at the
    /// beginning of 2026 unless
    /// [`epoch`](Self::epoch) sets another time. Without a seed, the sandbox uses the system's randomness and time.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the time at which the sandbox starts. From there it follows tokio's clock.
    pub fn epoch(mut self, epoch: SystemTime) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Accepts a bearer token for the user `name` in `groups`. The user is in the group `system:authenticated` in any
    /// case.
    pub fn token(
        mut self,
        name: impl Into<String>,
        token: impl Into<String>,
        groups: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.into());
        }
        let user = User {
            name: name.into(),
            groups,
            ..User::default()
        };
        self.tokens.insert(token.into(), user);
        self
    }

    /// Turns RBAC on or off. Default: off, and every authenticated user may do everything.
    ///
    /// With RBAC, a user may do what Roles, ClusterRoles and their bindings allow, and nothing else, and access reviews
    /// are answered accordingly. A user grants only what the user may do. The roles and bindings of a new cluster exist, such as `view` and `edit`.
    /// The administrator and every member of the group `system:masters` may do everything. A request over the network
    /// without a token is that of the user `system:anonymous`, who may read health and version.
    pub fn rbac(mut self, on: bool) -> Self {
        self.authorization = if on { Mode::Rbac } else { Mode::AlwaysAllow };
        self
    }

    /// Turns the garbage collector, the deletion of namespaces, the aggregation of ClusterRoles and the end of the protection of claims and volumes on or off. Default: on. They belong to the
    /// kube-controller-manager: a real API server that runs alone, as in envtest, never deletes children of a deleted owner, and its deleted
    /// namespaces, claims and volumes stay `Terminating`.
    pub fn controllers(mut self, on: bool) -> Self {
        self.controllers = on;
        self
    }

    /// Turns the simulator on or off: workloads and their Pods run as if there were controllers and a node, and each namespace has the service
    /// account `default`, which Pods get. Default: off.
    pub fn simulator(mut self, on: bool) -> Self {
        self.simulator = on;
        self
    }

    /// Sets how many nodes the simulator has: `sandbox`, `sandbox-2`, and so on. Default: 1, which is also the least.
    pub fn nodes(mut self, count: u32) -> Self {
        self.nodes = count;
        self
    }

    /// Turns CBOR for objects on or off (`application/cbor`, `application/apply-patch+cbor`, `application/cbor-seq`),
    /// like the feature gate `CBORServingAndStorage` of a real server. Default: off, as on a real server.
    pub fn cbor(mut self, on: bool) -> Self {
        self.cbor = on;
        self
    }

    /// Serves the controls of a test over HTTP, for clients in any language: [`Faults`](crate::Faults), [`Figures`](crate::Figures), [snapshots](crate::Sandbox::snapshot),
    /// the [clock](crate::Sandbox::advance_clock) and [recorded requests](crate::Sandbox::requests). Default: off. Bodies and answers are JSON. With RBAC a user needs rights for these paths.
    ///
    /// | request | body | what it does |
    /// | --- | --- | --- |
    /// | `GET /sandbox/requests` | | returns the recorded requests |
    /// | `DELETE /sandbox/requests` | | forgets them |
    /// | `POST /sandbox/faults` | `{"fault": "answer", "match": {"verb": "list"}, "times": 2, "code": 503}` | plans a fault: `answer`, `loseResponse`, `delayRequest` or `delayResponse`, the last two with `milliseconds` |
    /// | `DELETE /sandbox/faults` | | removes every fault |
    /// | `POST /sandbox/figures` | `{"type": "resource", "workload": "web", "name": "cpu", "quantity": "250m"}` | sets a [figure](crate::Figures): `resource`, also with a `container`; `pods` with `workload` and `metric`; `object` with `kind`, `name` and `metric`; `external` with `metric` |
    /// | `DELETE /sandbox/figures` | | forgets them |
    /// | `POST /sandbox/partitions` | `{"match": {"user": "ann"}}` | cuts off a client |
    /// | `DELETE /sandbox/partitions` | | ends this |
    /// | `POST /sandbox/watches` | `{"action": "drop", "match": {}}` | `drop`, `close`, `expire` or `hold` watches, or `release` the held ones |
    /// | `POST /sandbox/caches` | `{"action": "hold", "match": {}, "resourceVersion": "12"}` | holds the cache for reads back (`hold`), at this version or at the present one, or lets it catch up (`release`) |
    /// | `GET /sandbox/clock` | | returns the time (`now`), and whether the clock is `paused` |
    /// | `POST /sandbox/clock` | `{"action": "advance", "seconds": 3600}` | moves the clock forward (`advance`), stops it (`pause`) or lets it run (`resume`) |
    /// | `POST /sandbox/compact` | | compacts the history |
    /// | `POST /sandbox/snapshots` | | keeps a snapshot, at most 64; returns its `name` |
    /// | `POST /sandbox/snapshots/NAME/restore` | | restores it |
    /// | `POST /sandbox/snapshots/NAME/rewind` | | restores it with its resource versions, as [`Sandbox::rewind`] does |
    /// | `DELETE /sandbox/snapshots/NAME` | | forgets it |
    /// | `POST /sandbox/pods` | `{"action": "exit", "of": "web", "namespace": "default", "times": 2, "code": 1, "afterSeconds": 5}` | sets a [rule](crate::PodRule) for simulated Pods: `run`, `exit`, `crashLoop`, `failImagePull`, `neverReady`, `failInit`, `failReadinessProbe`, `failLivenessProbe`, `failStartupProbe` or `recover`. Without `of` it is for every Pod |
    /// | `POST /sandbox/programs` | `{"name": "date", "stdout": "today\n", "stderr": "", "code": 0}` | lets each container have a [program](crate::Pods::program) that prints this and ends; `exec` starts it by its name |
    /// | `POST /sandbox/nodes` | `{"action": "stop", "name": "sandbox"}` | stops or starts (`start`) a node of the simulator |
    /// | `POST /sandbox/services` | `{"service": "default/web", "address": "127.0.0.1:9443"}` | tells where a [Service](Self::service_address) is |
    ///
    /// The keys of `match` are the methods of [`RequestMatcher`](crate::RequestMatcher). An answer may have `reason`, `message` and
    /// `retryAfterSeconds`. No fault concerns these paths, and they are not recorded.
    pub fn controls_over_http(mut self, on: bool) -> Self {
        self.controls_over_http = on;
        self
    }

    /// Sets how many changes of each kind the sandbox keeps for watches and lists of the past. Default: 16 384. Fewer are kept if the objects are large: the
    /// states that are not current any more take at most 64 MiB of each kind.
    pub fn history(mut self, limit: usize) -> Self {
        self.history = limit;
        self
    }

    /// Sets how many requests the sandbox keeps for [`Sandbox::requests`]. Default: 16 384. Fewer are kept if they are large: together they take at
    /// most 64 MiB, and of each text only the first 4 KiB are kept.
    pub fn request_log(mut self, limit: usize) -> Self {
        self.requests = limit;
        self
    }

    /// Writes a line of JSON for each answered request: an `Event` of `audit.k8s.io/v1` at level `Metadata`, with the annotations that authorization,
    /// webhooks and policies add at that level. A watch, and a request for the logs of a Pod, have two: `ResponseStarted` and `ResponseComplete`. The patches of webhooks are annotations of a higher level. The sandbox writes before it answers, so
    /// `to` should not be slow. If a write fails, the log says so once, and nothing more is written.
    pub fn audit(mut self, to: impl Write + Send + 'static) -> Self {
        self.audit = Some(AuditLog::new(to));
        self
    }

    /// Keeps the objects in a folder, so that the next sandbox with this folder starts with them. Default: they end with the sandbox. The folder is
    /// created if it does not exist. One sandbox at a time can use it.
    ///
    /// A request that writes is answered after its changes are on the disk: what a client was told survives a crash. Kept are the objects with their
    /// resource versions, the tokens of service accounts, the administrator's token, and the certificate authority, so that a kubeconfig
    /// stays valid if the port does. Not kept are the history of the objects, logs of containers, faults and recorded requests: a watch from before
    /// gets the error 410 and lists again. New resource versions are much larger than those before.
    ///
    /// The disk does not wait for a paused clock: use real time. A [seed](Self::seed) or an [epoch](Self::epoch) would repeat UIDs and times, so `build` refuses them.
    pub fn data(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data = Some(folder.into());
        self
    }

    /// Tells where a Service is at which a webhook listens: `service` is `namespace/name`, and `address` is `host:port`. Without it the server takes
    /// a ready address of the Service's EndpointSlices, which for simulated Pods leads nowhere. The certificate must be for `name.namespace.svc`, as
    /// on a real server.
    pub fn service_address(
        mut self,
        service: impl Into<String>,
        address: impl Into<String>,
    ) -> Self {
        self.services.push((service.into(), address.into()));
        self
    }

    /// Starts the sandbox on the current runtime.
    ///
    /// # Errors
    /// - [`BuildError::NoRuntime`] outside a tokio runtime.
    /// - [`BuildError::Epoch`] if the start time is not representable.
    /// - [`BuildError::Randomness`] if the system provides no randomness.
    /// - [`BuildError::Data`] if the data folder cannot be used.
    /// - [`BuildError::ServiceAddress`] if the address of a service is malformed.
    /// - [`BuildError::Start`] if the first objects cannot be created, which is a bug in the sandbox.
    pub fn build(self) -> Result<Sandbox, BuildError> {
        tokio::runtime::Handle::try_current().map_err(|_| BuildError::NoRuntime)?;
        let epoch = match (self.epoch, self.seed) {
            (Some(epoch), _) => Some(Timestamp::try_from(epoch).map_err(BuildError::Epoch)?),
            (None, Some(_)) => {
                Some(Timestamp::from_second(SEEDED_EPOCH).map_err(BuildError::Epoch)?)
            }
            (None, None) => None,
        };
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        let clock = Clock::new(epoch, seed);
        let mut identity = Identity {
            admin_token: match self.seed {
                Some(_) => clock.uid(),
                None => secret()?,
            },
            authority: Authority::new().map_err(|_| BuildError::Randomness)?,
        };
        let disk = match &self.data {
            Some(folder) => Some(self.open(folder, &mut identity)?),
            None => None,
        };
        let Identity {
            admin_token,
            authority,
        } = identity;
        let mut tokens = self.tokens;
        tokens.insert(
            admin_token.clone(),
            User {
                name: "kubernetes-admin".into(),
                groups: vec!["system:masters".into(), "system:authenticated".into()],
                ..User::default()
            },
        );
        let (store, issued, is_deep) = match disk {
            Some((disk, kept)) => (
                Store::with_disk(self.history, disk, kept.version, kept.objects),
                kept.tokens,
                kept.is_deep,
            ),
            None => (Store::new(self.history), BTreeMap::new(), false),
        };
        let registry = Registry::new(crate::builtin::kinds());
        let core = Core::new(
            clock,
            store,
            (
                Tokens::new(tokens, self.authorization == Mode::Rbac, issued),
                authority,
                self.authorization,
            ),
            RequestLog::new(self.requests, self.audit),
            Features {
                cbor: self.cbor,
                controls: self.controls_over_http,
                has_simulator: self.simulator,
            },
            registry,
        );
        if is_deep {
            core.stack.enlarge();
        }
        for (service, address) in &self.services {
            let set = core.calls.set_address(service, address);
            set.map_err(BuildError::ServiceAddress)?;
        }
        let start = |error: ApiError| BuildError::Start(error.to_string());
        first_objects::create_namespaces(&core).map_err(start)?;
        first_objects::create_priority_classes(&core).map_err(start)?;
        first_objects::create_service_range(&core).map_err(start)?;
        if self.authorization == Mode::Rbac {
            first_objects::create_roles(&core).map_err(start)?;
        }
        core.spawn(definitions::start(core.clone()));
        core.spawn(first_objects::keep_service(core.clone()));
        core.spawn(event_ttl::expire(core.clone()));
        if self.controllers {
            core.spawn(namespaces::finalize(core.clone()));
            core.spawn(protection::release(core.clone()));
            core.spawn(addresses::follow(core.clone()));
            core.spawn(aggregation::aggregate(core.clone()));
            let collector = Collector::new(Handle::new(&core, "garbage-collector"));
            core.spawn(collector.run());
        }
        if self.simulator {
            core.spawn(Simulator::new(&core, self.nodes).run());
            core.spawn(quotas::count(core.clone()));
            core.spawn(service_account_tokens::fill(core.clone()));
            core.spawn(service_ranges::follow(core.clone()));
            core.spawn(migrator::migrate(core.clone()));
        }
        Ok(Sandbox::start(core, admin_token, self.simulator))
    }

    /// Opens the data folder.
    fn open(&self, folder: &Path, identity: &mut Identity) -> Result<(Disk, Contents), BuildError> {
        let failed = |reason: String| BuildError::Data {
            folder: folder.into(),
            reason,
        };
        if self.seed.is_some() || self.epoch.is_some() {
            return Err(failed(
                "a seed or an epoch would repeat UIDs and times: leave them out".into(),
            ));
        }
        Disk::open(folder, identity).map_err(failed)
    }
}

/// A token that cannot be guessed, not even from other output of the sandbox's generator.
fn secret() -> Result<String, BuildError> {
    let mut bytes = [0; 24];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random
        .fill(&mut bytes)
        .map_err(|_| BuildError::Randomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// 2026-01-01T00:00:00Z.
const SEEDED_EPOCH: i64 = 1_767_225_600;
