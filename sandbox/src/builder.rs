use std::collections::BTreeMap;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;

use crate::api::{ApiError, Handle};
use crate::auth::{AUTHENTICATED, Tokens, User};
use crate::authorization::{self, Mode};
use crate::clock::Clock;
use crate::core::Core;
use crate::definitions;
use crate::garbage::Collector;
use crate::namespaces;
use crate::record::Log;
use crate::registry::Registry;
use crate::sandbox::Sandbox;
use crate::simulator::Simulator;
use crate::store::Store;

/// Settings of a [`Sandbox`].
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `build`"]
pub struct Builder {
    seed: Option<u64>,
    epoch: Option<SystemTime>,
    tokens: BTreeMap<String, User>,
    authorization: Mode,
    simulator: bool,
    cbor: bool,
    history: usize,
    requests: usize,
}

/// Why a sandbox cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no runtime to run its tasks on.
    #[error("a sandbox needs a tokio runtime: build it inside of one")]
    NoRuntime,
    /// The time to start at is outside of what a timestamp can hold.
    #[error("a sandbox cannot start at this time: {0}")]
    Epoch(jiff::Error),
    /// The machine gives no randomness for the administrator's token.
    #[error("a sandbox could not make a token: the system's source of randomness failed")]
    Randomness,
    /// The objects every cluster has could not be created: a fault of the sandbox itself.
    #[error("a sandbox could not create its first objects: {0}")]
    Start(String),
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            seed: None,
            epoch: None,
            tokens: BTreeMap::new(),
            authorization: Mode::AlwaysAllow,
            simulator: false,
            cbor: false,
            history: 16_384,
            requests: 16_384,
        }
    }
}

impl Builder {
    /// Makes names, UIDs, addresses and time repeat: everything random comes from this seed, and time starts at the beginning of
    /// 2026 unless [`epoch`](Self::epoch) says otherwise. Without a seed both are the machine's own.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The time at which the sandbox starts; from there it follows tokio's clock.
    pub fn epoch(mut self, epoch: SystemTime) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Accepts a bearer token for user `name`, who is in the group `system:authenticated`, too.
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

    /// Lets everybody do what Roles, ClusterRoles and their bindings allow, and nothing else. Access reviews are answered
    /// accordingly. The administrator may do everything, and so may whoever is in the group
    /// `system:masters`. Otherwise every user may do everything.
    pub fn rbac(mut self, on: bool) -> Self {
        self.authorization = if on { Mode::Rbac } else { Mode::AlwaysAllow };
        self
    }

    /// Lets workloads become ready as if nodes ran them.
    pub fn simulator(mut self, on: bool) -> Self {
        self.simulator = on;
        self
    }

    /// Serves CBOR for objects (`application/cbor`, `application/apply-patch+cbor`, `application/cbor-seq`), as a real
    /// server does whose feature gate `CBORServingAndStorage` is on. It is off by default, here and there.
    pub fn cbor(mut self, on: bool) -> Self {
        self.cbor = on;
        self
    }

    /// How many changes of each kind are remembered for watches and lists of the past; 16 384 unless given.
    pub fn history(mut self, limit: usize) -> Self {
        self.history = limit;
        self
    }

    /// How many requests are remembered; 16 384 unless given.
    pub fn request_log(mut self, limit: usize) -> Self {
        self.requests = limit;
        self
    }

    /// Starts the sandbox on the current runtime.
    ///
    /// # Errors
    /// Outside of a tokio runtime.
    pub fn build(self) -> Result<Sandbox, BuildError> {
        tokio::runtime::Handle::try_current().map_err(|_| BuildError::NoRuntime)?;
        let epoch = match (self.epoch, self.seed) {
            (Some(epoch), _) => Timestamp::try_from(epoch).map_err(BuildError::Epoch)?,
            (None, Some(_)) => Timestamp::from_second(SEEDED_EPOCH).map_err(BuildError::Epoch)?,
            (None, None) => Timestamp::now(),
        };
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        let clock = Clock::new(epoch, seed);
        let admin_token = match self.seed {
            Some(_) => clock.uid(),
            None => secret()?,
        };
        let mut tokens = self.tokens;
        tokens.insert(
            admin_token.clone(),
            User {
                name: "kubernetes-admin".into(),
                groups: vec!["system:masters".into(), "system:authenticated".into()],
                ..User::default()
            },
        );
        let store = Store::new(self.history);
        let registry = Registry::new(crate::builtin::kinds());
        let core = Core::new(
            clock,
            store,
            (Tokens::new(tokens), self.authorization),
            Log::new(self.requests),
            self.cbor,
            registry,
        );
        let start = |error: ApiError| BuildError::Start(error.to_string());
        namespaces::create_system(&core).map_err(start)?;
        if self.authorization == Mode::Rbac {
            authorization::create_roles(&core).map_err(start)?;
        }
        core.spawn(namespaces::finalize(core.clone()));
        core.spawn(definitions::run(core.clone()));
        let collector = Collector::new(Handle::new(&core, "garbage-collector"));
        core.spawn(collector.run());
        if self.simulator {
            let simulator = Simulator::new(Handle::new(&core, "simulator"));
            core.spawn(simulator.run());
        }
        Ok(Sandbox::start(core, admin_token))
    }
}

/// A token that nobody can guess, not even from what the sandbox's own generator gave out.
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
