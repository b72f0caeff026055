//! Databases: each is created in the engine exactly once, and dropped with its object.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use pilothouse::{
    controller::{Change, Mapping, Poll, Watched},
    metrics::prometheus::{IntGaugeVec, Opts},
    operator::Setup,
    prelude::*,
    resource::{Conditions, NewCondition, ObjectKey},
};

use crate::{Cluster, Engine, Place, password};

/// The condition that says whether no older Database has the same name.
pub const UNIQUE: &str = "Unique";

/// A database in a Cluster of the same namespace.
#[derive(Resource, Clone, Debug)]
#[resource(group = "postgres.example.com", version = "v1", namespaced)]
pub struct Database {
    pub metadata: ObjectMeta,
    pub spec: DatabaseSpec,
    pub status: Option<DatabaseStatus>,
}

/// The desired database.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseSpec {
    #[schema(
        column = "Cluster",
        rule("self == oldSelf", "clusterName cannot change")
    )]
    pub cluster_name: String,
    /// The name in the Cluster.
    #[schema(
        pattern = "^[a-z][a-z0-9_]{0,62}$",
        column = "Database",
        rule("self == oldSelf", "name cannot change")
    )]
    pub name: String,
    /// The user to whom the database belongs.
    #[schema(pattern = "^[a-z][a-z0-9_]{0,62}$", column = "Owner")]
    pub owner: String,
}

/// The state of the database.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DatabaseStatus {
    /// The id that the engine gave to the database.
    #[schema(column = "Id")]
    pub id: Option<String>,
    /// `Unique`, and `Ready` of the framework.
    pub conditions: Vec<Condition>,
}

impl Database {
    /// One line about the Database, for people.
    pub fn line(&self) -> String {
        let status = self.status.as_ref();
        let id = status
            .and_then(|status| status.id.as_deref())
            .unwrap_or("-");
        let ready = status.is_some_and(|status| status.conditions.is_true("Ready"));
        let state = if ready { "ready" } else { "not ready" };
        let spec = &self.spec;
        format!(
            "{}\t{}/{}\t{}\t{id}\t{state}",
            self.key(),
            spec.cluster_name,
            spec.name,
            spec.owner
        )
    }

    /// The token with which the database is created: the same in each process, and never that of another object.
    fn token(&self) -> Result<&str> {
        self.uid()
            .ok_or_else(|| Failure::new("the object has no UID"))
    }

    /// The least has the name: one that is in the engine, or else the oldest. Two may be of the same second.
    fn rank(&self) -> impl Ord + use<> {
        let id = self.status.as_ref().and_then(|status| status.id.as_ref());
        let created = self.metadata.creation_timestamp.as_ref();
        (
            id.is_none(),
            created.map(|created| created.0),
            self.metadata.uid.clone(),
        )
    }

    fn credentials(&self) -> String {
        format!("{}-credentials", self.name())
    }
}

fn cluster_of(database: &Database) -> Option<ObjectKey> {
    Some(ObjectKey::new(
        database.namespace(),
        &database.spec.cluster_name,
    ))
}

fn place_of(database: &Database) -> Option<Place> {
    Some(Place {
        cluster: cluster_of(database)?,
        name: database.spec.name.clone(),
    })
}

pub struct DatabaseReconciler<E> {
    engine: Arc<E>,
    states: States,
    /// Why the engine did not answer the last poll. A process that stands by does not poll, and is ready.
    outage: Arc<Mutex<Option<String>>>,
}

impl<E: Engine> DatabaseReconciler<E> {
    /// # Errors
    /// If the metric or the check exists already.
    pub fn new(engine: Arc<E>, setup: &Setup) -> Result<Self> {
        let outage = Arc::new(Mutex::new(None));
        let known = outage.clone();
        setup.ready_check("engine", move || match &*lock(&known) {
            Some(error) => Err(format!("the engine cannot be reached: {error}")),
            None => Ok(()),
        })?;
        let gauge = Opts::new("postgres_databases", "Databases by state.");
        let gauge = setup
            .metrics()
            .register(IntGaugeVec::new(gauge, &["state"])?)?;
        Ok(Self {
            engine,
            states: States::new(gauge),
            outage,
        })
    }

    async fn create(&self, database: &Database, cx: &Context<Database>) -> Result<()> {
        let place = place_of(database).ok_or("the Database has no place")?;
        let rivals = cx.indexed(place_of, &place)?.items;
        let first = rivals.iter().min_by_key(|rival| rival.rank());
        let other = first.filter(|first| first.uid() != database.uid());
        let refusal = other.map(|other| format!("the Database {} has the same name", other.name()));
        let unique = match &refusal {
            Some(refusal) => NewCondition::is_false(UNIQUE, "DuplicateName").message(refusal),
            None => NewCondition::is_true(UNIQUE, "FirstOfItsName"),
        };
        cx.modify_status(|status| status.conditions.set(unique.observed(database), cx.now()))
            .await??;
        if let Some(refusal) = refusal {
            return Err(Failure::new(refusal).terminal());
        }

        let name = &database.spec.cluster_name;
        let cluster = cx.get::<Cluster>(name)?;
        let cluster = cluster
            .ok_or_else(|| Failure::waiting(format!("the Cluster {name} does not exist")))?;
        cluster.ready_or_wait()?;

        let (owner, secret) = (&database.spec.owner, database.credentials());
        let password = match password::existing(cx, &secret)? {
            Some(password) => password,
            None => password::generate()?,
        };
        cx.apply(password::secret(&secret, owner, password.clone()))
            .await?;
        let found = match self.engine.find(database.token()?).await? {
            Some(found) => found,
            None => {
                self.engine
                    .create(database.token()?, &place, owner, &password.0)
                    .await?
            }
        };
        if found.owner != *owner {
            self.engine.set_owner(&found.id, owner, &password.0).await?;
        }
        cx.modify_status(|status| status.id = Some(found.id))
            .await?;
        Ok(())
    }
}

impl<E: Engine> Reconciler for DatabaseReconciler<E> {
    type Resource = Database;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let (engine, outage) = (self.engine.clone(), self.outage.clone());
        let databases = Poll::every(Duration::from_secs(30), move || {
            let (engine, outage) = (engine.clone(), outage.clone());
            async move {
                let listed = engine.list().await;
                *lock(&outage) = listed.as_ref().err().map(ToString::to_string);
                let databases = listed?.into_iter();
                Ok(databases.map(|database| (database.place.clone(), database)))
            }
        });
        controller
            .finalizer("postgres.example.com/database")
            // An engine that never answers holds up no worker.
            .timeout(Duration::from_secs(30))
            .owns::<Secret>()
            .watches_indexed::<Cluster>(cluster_of)
            .index(place_of)
            // The next in age takes the name of a Database that is gone.
            .watch(Watched::new(Mapping::<Database>::changes(
                |change, caches| {
                    let Change::Deleted { object } = change else {
                        return Ok(Vec::new());
                    };
                    let rivals = place_of(object).map(|place| caches.indexed(place_of, &place));
                    let rivals = rivals.transpose()?.unwrap_or_default();
                    Ok(rivals.iter().map(|rival| rival.key()).collect())
                },
            )))
            .polls_with(databases.named("the list of databases"), |place, caches| {
                let databases = caches.indexed(place_of, &place)?;
                Ok(databases
                    .iter()
                    .map(|database| database.key().into())
                    .collect())
            })
    }

    async fn reconcile(&self, database: Arc<Database>, cx: &Context<Database>) -> Result<Action> {
        let result = self.create(&database, cx).await;
        let state = match &result {
            Ok(()) => "ready",
            Err(failure) if failure.is_waiting() => "waiting",
            Err(failure) if failure.is_terminal() => "refused",
            Err(_) => "failed",
        };
        self.states.set(cx.key(), Some(state));
        result.map(|()| Action::wait())
    }

    async fn deleted(&self, key: &ObjectKey, _cx: &Context<Database>) -> Result<()> {
        self.states.set(key, None);
        Ok(())
    }
}

impl<E: Engine> Cleanup for DatabaseReconciler<E> {
    async fn cleanup(&self, database: Arc<Database>, _cx: &Context<Database>) -> Result<Action> {
        // By the token and not by the id, which is not recorded if the process crashed.
        if let Some(found) = self.engine.find(database.token()?).await? {
            self.engine.remove(&found.id).await?;
        }
        Ok(Action::wait())
    }
}

/// The metric of the Databases by state.
struct States {
    gauge: IntGaugeVec,
    known: Mutex<HashMap<ObjectKey, &'static str>>,
}

impl States {
    fn new(gauge: IntGaugeVec) -> Self {
        for state in ["ready", "waiting", "refused", "failed"] {
            gauge.with_label_values(&[state]).set(0);
        }
        Self {
            gauge,
            known: Mutex::default(),
        }
    }

    fn set(&self, key: &ObjectKey, state: Option<&'static str>) {
        let mut known = lock(&self.known);
        let before = match state {
            Some(state) => known.insert(key.clone(), state),
            None => known.remove(key),
        };
        if let Some(before) = before {
            self.gauge.with_label_values(&[before]).dec();
        }
        if let Some(state) = state {
            self.gauge.with_label_values(&[state]).inc();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
