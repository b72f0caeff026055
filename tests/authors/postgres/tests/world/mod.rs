//! What the tests share: an engine in memory, and the work of the controller of StatefulSets.
#![allow(dead_code)]

use std::{
    future::pending,
    io,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use author_postgres::{Cluster, Database, Engine, EngineDatabase, Place, operator};
use pilothouse::{
    client::{ListParams, Patch, PatchParams},
    k8s::api::{apps::v1::StatefulSet, core::v1::PersistentVolumeClaim},
    operator::Running,
    prelude::*,
    resource::Conditions,
    testing,
};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::Instant};

/// An engine in memory.
#[derive(Default)]
pub struct FakeEngine {
    state: Mutex<State>,
    /// The operator has been caught after a creation.
    pub caught: Notify,
}

#[derive(Default)]
pub struct State {
    pub databases: Vec<EngineDatabase>,
    pub created: usize,
    /// Each request fails.
    pub away: bool,
    /// The next creation has its effect, but the operator never gets the answer.
    pub catch: bool,
    /// When a database was looked for.
    pub finds: Vec<Instant>,
    pub passwords: Vec<(String, Vec<u8>)>,
}

impl FakeEngine {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn answer(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state();
        match state.away {
            true => Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "the engine is away",
            )),
            false => Ok(state),
        }
    }

    pub fn ids(&self) -> Vec<String> {
        self.state()
            .databases
            .iter()
            .map(|database| database.id.clone())
            .collect()
    }
}

impl Engine for FakeEngine {
    async fn create(
        &self,
        token: &str,
        place: &Place,
        owner: &str,
        password: &[u8],
    ) -> io::Result<EngineDatabase> {
        let (database, catch) = {
            let mut state = self.answer()?;
            if state
                .databases
                .iter()
                .any(|database| database.place == *place)
            {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            state.created += 1;
            let database = EngineDatabase {
                id: format!("db-{}", state.created),
                token: token.to_owned(),
                place: place.clone(),
                owner: owner.to_owned(),
            };
            state.databases.push(database.clone());
            state.passwords.push((owner.to_owned(), password.to_vec()));
            (database, std::mem::take(&mut state.catch))
        };
        if catch {
            self.caught.notify_one();
            pending::<()>().await;
        }
        Ok(database)
    }

    async fn find(&self, token: &str) -> io::Result<Option<EngineDatabase>> {
        self.state().finds.push(Instant::now());
        let state = self.answer()?;
        let found = state
            .databases
            .iter()
            .find(|database| database.token == token);
        Ok(found.cloned())
    }

    async fn list(&self) -> io::Result<Vec<EngineDatabase>> {
        Ok(self.answer()?.databases.clone())
    }

    async fn set_owner(&self, id: &str, owner: &str, password: &[u8]) -> io::Result<()> {
        let mut state = self.answer()?;
        state.passwords.push((owner.to_owned(), password.to_vec()));
        let databases = state
            .databases
            .iter_mut()
            .filter(|database| database.id == id);
        databases.for_each(|database| database.owner = owner.to_owned());
        Ok(())
    }

    async fn remove(&self, id: &str) -> io::Result<()> {
        self.answer()?
            .databases
            .retain(|database| database.id != id);
        Ok(())
    }
}

/// An API server and an engine.
pub struct World {
    pub api: testing::Cluster,
    pub engine: Arc<FakeEngine>,
}

impl World {
    /// Without the simulator: the test does the work of the controllers (`serve`).
    pub fn new() -> Self {
        let sandbox = testing::Sandbox::builder().seed(1);
        Self {
            api: testing::Cluster::with(sandbox).unwrap(),
            engine: Arc::default(),
        }
    }

    /// With simulated servers and volumes.
    pub fn simulated() -> Self {
        Self {
            api: testing::Cluster::start().unwrap(),
            engine: Arc::default(),
        }
    }

    pub async fn run(&self) -> Running {
        let engine = self.engine.clone();
        self.api.run(operator(move |_| Ok(engine))).await.unwrap()
    }

    /// Creates the Cluster `main` with these additions to its spec.
    pub async fn cluster(&self, more: Value) -> Cluster {
        let mut spec = json!({"version": "17", "storage": "10Gi"});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let cluster = json!({"metadata": {"name": "main"}, "spec": spec});
        self.api.create(&from(cluster)).await.unwrap()
    }

    /// Creates a Database of the Cluster `main`.
    pub async fn database(&self, object: &str, name: &str) -> Database {
        let spec = json!({"clusterName": "main", "name": name, "owner": "ann"});
        let database = json!({"metadata": {"name": object}, "spec": spec});
        self.api.create(&from(database)).await.unwrap()
    }

    /// Does the work of the controller of StatefulSets: this many servers are ready, all with the newest settings.
    pub async fn serve(&self, ready: i32) {
        let set = self.servers(|_| true).await;
        let status = json!({"status": {
            "observedGeneration": set.metadata.generation, "replicas": ready, "readyReplicas": ready,
            "availableReplicas": ready, "updatedReplicas": ready, "currentReplicas": ready,
            "currentRevision": "new", "updateRevision": "new",
        }});
        let sets = self.api.api::<StatefulSet>();
        sets.patch_status("main", &PatchParams::default(), &Patch::Merge(status))
            .await
            .unwrap();
    }

    /// Does the work of the controller of volumes: all claims are bound. Only then an API server lets their size change.
    pub async fn bind(&self) {
        let claims = self.api.api::<PersistentVolumeClaim>();
        let bound = Patch::Merge(json!({"status": {"phase": "Bound"}}));
        for claim in claims.list(&ListParams::default()).await.unwrap().items {
            claims
                .patch_status(claim.name(), &PatchParams::default(), &bound)
                .await
                .unwrap();
        }
    }

    pub async fn servers(&self, holds: impl Fn(&StatefulSet) -> bool) -> StatefulSet {
        self.api.until("main", "be as wanted", holds).await.unwrap()
    }

    /// A Cluster `main` that is ready.
    pub async fn ready(&self) -> Cluster {
        self.cluster(json!({})).await;
        self.serve(1).await;
        let ready = |cluster: &Cluster| cluster.is_ready();
        self.api.until("main", "be ready", ready).await.unwrap()
    }

    pub async fn until_ready(&self, database: &str) -> Database {
        let ready = |database: &Database| database.is_ready();
        self.api.until(database, "be ready", ready).await.unwrap()
    }

    /// Changes the spec of the Cluster `main`.
    pub async fn change(&self, spec: Value) -> Result<Cluster, String> {
        let patched = self.api.patch("main", json!({"spec": spec})).await;
        patched.map_err(|error| error.to_string())
    }

    /// Asserts that an operator that starts again writes nothing.
    pub async fn restart(&self, running: Running) -> Running {
        running.stop().await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        self.api.forget_requests();
        let running = self.run().await;
        tokio::time::sleep(Duration::from_secs(300)).await;
        let writes = self.api.writes();
        let writes: Vec<_> = writes
            .iter()
            .filter(|write| write.resource != "customresourcedefinitions")
            // Each process records an Event for what it refuses.
            .filter(|write| write.resource != "events")
            .map(|write| (&*write.verb, &*write.path))
            .collect();
        assert_eq!(writes, []);
        running
    }
}

pub fn from<T: for<'de> Deserialize<'de>>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Status, reason and message of a condition.
pub fn condition(conditions: &Vec<Condition>, kind: &str) -> [String; 3] {
    match conditions.of_type(kind) {
        Some(one) => [one.status.clone(), one.reason.clone(), one.message.clone()],
        None => Default::default(),
    }
}
