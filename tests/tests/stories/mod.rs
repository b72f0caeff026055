//! The examples, and a story for each that uses all that its operator does.
//!
//! A story happens on the sandbox with tokio's paused clock, or on a real API server with the time of the machine (`tests/deployed`).
//! Only the sandbox lets writes fail, and only there a story ends a Job itself: on a real server the Job's Pod succeeds, and Kubernetes' own
//! controller ends the Job.

use std::{fmt::Debug, sync::Arc};

use bucket::{Bucket, BucketSpec, FolderCloud};
use configmap_sync::{ASKS_FOR, SharedConfig, SharedConfigSpec};
use file_backup::{FileBackup, FileBackupSpec};
use futures_util::future::BoxFuture;
use pilothouse::{
    client::{Api, Client, DeleteParams, Patch, PatchParams, PostParams},
    election::ElectionSettings,
    k8s::{
        ByteString,
        api::{
            batch::v1::Job,
            core::v1::{Namespace, Pod, ServiceSpec},
        },
    },
    prelude::*,
    resource::{ApiResource, Conditions, Scope},
    testing::{Answer, Cluster, RequestMatcher},
};
use quota_guard::{QuotaGuard, QuotaGuardSpec};
use scheduled_task::{ScheduledTask, ScheduledTaskSpec};
use serde_json::{Value, json};
use shared_database::{
    Engine, PRIVATE, SecretReference, SharedDatabase, SharedDatabaseSpec, v1beta1,
};
use tokio::time::Instant;
use website::{Website, WebsiteReconciler, WebsiteSpec};

#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../../../examples/website/src/main.rs"]
mod website;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Ended = Result<(), Failure>;

/// The longest wait for a state.
const PATIENCE: Duration = Duration::from_secs(60);

/// The namespace of a server in which a story happens.
#[derive(Clone)]
pub(crate) struct Place {
    client: Client,
    namespace: String,
    /// The sandbox, if the server is one.
    sandbox: Option<Cluster>,
}

impl From<Cluster> for Place {
    fn from(cluster: Cluster) -> Self {
        Self {
            sandbox: Some(cluster.clone()),
            ..Self::real(cluster.client().clone())
        }
    }
}

impl Place {
    /// The namespace `default` of a real API server.
    pub(crate) fn real(client: Client) -> Self {
        Self {
            client,
            namespace: "default".into(),
            sandbox: None,
        }
    }

    pub(crate) fn in_namespace(&self, namespace: &str) -> Self {
        Self {
            namespace: namespace.into(),
            ..self.clone()
        }
    }

    /// Lets the next writes of a resource fail, until the failure is shown on an object, and one more in another way, so that the Event
    /// about the failure gets another text. A real server lets none fail.
    fn fail(&self, resource: &str) {
        let Some(cluster) = &self.sandbox else { return };
        for (text, times) in [("the first failure", 3), ("another failure", 1)] {
            let refusal = Answer::status(422, "Invalid").message(text);
            let writes = RequestMatcher::any().verb("patch").resource(resource);
            cluster.faults().answer(writes, refusal, times);
        }
    }

    fn api<K: Resource>(&self) -> Api<K> {
        let namespace = <K::Scope as Scope>::NAMESPACED.then_some(self.namespace.as_str());
        Api::of(&self.client, ApiResource::of::<K>(), namespace)
    }

    async fn create<K: Resource>(&self, object: &K) -> Ended {
        self.api().create(&PostParams::default(), object).await?;
        Ok(())
    }

    /// Waits until the API server would store the object. It learns by a watch of its own where it has to call webhooks.
    async fn until_admitted<K: Resource>(&self, object: &K) -> Ended {
        let (wait, dry_run) = (Wait::new(), PostParams::default().dry_run());
        while let Err(error) = self.api().create(&dry_run, object).await {
            wait.longer(|| error.to_string()).await?;
        }
        Ok(())
    }

    /// Waits until a patch is refused with this text. A webhook that reads a cache may not know the newest objects yet.
    async fn until_refused<K: Resource>(&self, name: &str, patch: Value, text: &str) -> Ended {
        let (wait, dry_run) = (Wait::new(), PatchParams::default().dry_run());
        let patch = Patch::Merge(patch);
        loop {
            let tried = self.api::<K>().patch(name, &dry_run, &patch).await;
            let problem = tried.err().map(|error| error.to_string());
            if problem.as_ref().is_some_and(|seen| seen.contains(text)) {
                return Ok(());
            }
            wait.longer(|| format!("{name} is not refused: {problem:?}"))
                .await?;
        }
    }

    async fn patch<K: Resource>(&self, name: &str, patch: Value) -> Ended {
        let params = PatchParams::default();
        self.api::<K>()
            .patch(name, &params, &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    async fn delete<K: Resource>(&self, name: &str) -> Ended {
        self.api::<K>()
            .delete(name, &DeleteParams::default())
            .await?;
        Ok(())
    }

    /// Waits until the object of that name exists and `holds` returns true for it.
    async fn until<K: Resource + Debug>(
        &self,
        name: &str,
        what: &str,
        holds: impl Fn(&K) -> bool,
    ) -> Result<K, Failure> {
        let wait = Wait::new();
        loop {
            let found = self.api::<K>().get_opt(name).await?;
            match found {
                Some(object) if holds(&object) => return Ok(object),
                seen => {
                    wait.longer(|| format!("{} {name} did not {what}: {seen:?}", K::KIND))
                        .await?
                }
            }
        }
    }

    async fn until_gone<K: Resource + Debug>(&self, name: &str) -> Ended {
        let wait = Wait::new();
        while let Some(seen) = self.api::<K>().get_opt(name).await? {
            wait.longer(|| format!("{} {name} is not gone: {seen:?}", K::KIND))
                .await?;
        }
        Ok(())
    }
}

/// A wait that looks less and less often.
struct Wait(Instant);

impl Wait {
    fn new() -> Self {
        Self(Instant::now())
    }

    /// Waits until the next look. An error if it has taken too long.
    async fn longer(&self, what: impl Fn() -> String) -> Ended {
        let waited = self.0.elapsed();
        if waited > PATIENCE {
            return Err(what().into());
        }
        let (shortest, longest) = (Duration::from_millis(20), Duration::from_millis(250));
        tokio::time::sleep((waited / 10).clamp(shortest, longest)).await;
        Ok(())
    }
}

/// An example.
pub(crate) struct Example {
    /// The name of the operator.
    pub(crate) name: &'static str,
    operator: fn() -> Operator,
    /// What happens to its objects. An error says what did not happen.
    pub(crate) story: fn(Place) -> BoxFuture<'static, Result<(), String>>,
}

impl Example {
    /// The operator. As in a cluster, it elects a leader.
    pub(crate) fn operator(&self) -> Operator {
        (self.operator)().election(ElectionSettings::new(self.name))
    }
}

pub(crate) const EXAMPLES: &[Example] = &[
    Example {
        name: "website",
        operator: || Operator::new("website").controller(WebsiteReconciler),
        story: |place| told(website(place)),
    },
    Example {
        name: "configmap-sync",
        operator: || configmap_sync::operator(),
        story: |place| told(configmap_sync(place)),
    },
    Example {
        name: "scheduled-task",
        operator: || scheduled_task::operator(),
        story: |place| told(scheduled_task(place)),
    },
    Example {
        name: "bucket",
        operator: || {
            let folder = tempfile::tempdir().unwrap().keep();
            bucket::operator(Arc::new(FolderCloud::open(folder).unwrap()))
        },
        story: |place| told(bucket(place)),
    },
    Example {
        name: "file-backup",
        operator: || {
            let folder = tempfile::tempdir().unwrap().keep();
            std::fs::write(folder.join("notes.txt"), "text").unwrap();
            file_backup::operator(&folder, folder.join("copies"))
        },
        story: |place| told(file_backup(place)),
    },
    Example {
        name: "quota-guard",
        operator: || quota_guard::operator(),
        story: |place| told(quota_guard(place)),
    },
    Example {
        name: "shared-database",
        operator: || shared_database::operator(),
        story: |place| told(shared_database(place)),
    },
];

fn told(
    story: impl Future<Output = Ended> + Send + 'static,
) -> BoxFuture<'static, Result<(), String>> {
    Box::pin(async { story.await.map_err(|error| error.to_string()) })
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        ..ObjectMeta::default()
    }
}

async fn website(place: Place) -> Ended {
    let site = Website {
        metadata: named("hello"),
        spec: WebsiteSpec {
            replicas: 1,
            html: "Hello".into(),
        },
        status: None,
    };
    place.fail("configmaps");
    place.create(&site).await?;
    let serves = |site: &Website| {
        site.status
            .as_ref()
            .is_some_and(|status| status.ready_replicas == 1)
    };
    place.until("hello", "serve", serves).await?;
    let changed = json!({"spec": {"html": "Changed"}});
    place.patch::<Website>("hello", changed).await?;
    let is_changed = |page: &ConfigMap| {
        let data = page.data.as_ref();
        data.is_some_and(|data| data["index.html"] == "Changed")
    };
    place.until("hello", "change", is_changed).await?;
    place.delete::<Website>("hello").await?;
    place.until_gone::<ConfigMap>("hello").await?;
    place.until_gone::<Deployment>("hello").await?;
    Ok(())
}

async fn configmap_sync(place: Place) -> Ended {
    let shop = place.in_namespace("shop");
    if place.api::<Namespace>().get_opt("shop").await?.is_none() {
        place.create(&Namespace::named("shop")).await?;
    }
    let source = SharedConfig {
        metadata: named("settings"),
        spec: SharedConfigSpec {
            data: [("colour".into(), "blue".into())].into(),
        },
        status: None,
    };
    place.fail("configmaps");
    place.create(&source).await?;
    let asks = async |value: Option<&str>| {
        let change = json!({"metadata": {"annotations": {ASKS_FOR: value}}});
        place.patch::<Namespace>("shop", change).await
    };
    asks(Some("default/settings")).await?;
    shop.until::<ConfigMap>("settings", "exist", |_| true)
        .await?;
    asks(None).await?;
    shop.until_gone::<ConfigMap>("settings").await?;
    asks(Some("default/settings")).await?;
    shop.until::<ConfigMap>("settings", "exist again", |_| true)
        .await?;
    place.delete::<SharedConfig>("settings").await?;
    place.until_gone::<SharedConfig>("settings").await?;
    Ok(())
}

async fn scheduled_task(place: Place) -> Ended {
    let task = ScheduledTask {
        metadata: named("greet"),
        spec: ScheduledTaskSpec {
            every_seconds: if place.sandbox.is_some() { 60 } else { 5 },
            image: "busybox".into(),
            command: Vec::new(),
            history: 1,
        },
        status: None,
    };
    let end = async |run: u32| -> Ended {
        let job = format!("greet-{run}");
        let began = |job: &Job| job.status.as_ref()?.start_time.clone();
        let begun = place
            .until::<Job>(&job, "begin", |job| began(job).is_some())
            .await?;
        if place.sandbox.is_some() {
            let now = began(&begun);
            let is_true = |condition| json!({"type": condition, "status": "True"});
            let ended = json!({"status": {
                "conditions": [is_true("SuccessCriteriaMet"), is_true("Complete")],
                "completionTime": now, "active": 0, "ready": 0,
            }});
            let ended = Patch::Merge(ended);
            place
                .api::<Job>()
                .patch_status(&job, &PatchParams::default(), &ended)
                .await?;
        }
        Ok(())
    };
    place.fail("jobs");
    place.create(&task).await?;
    end(0).await?;
    end(1).await?;
    place.until_gone::<Job>("greet-0").await?;
    place.delete::<ScheduledTask>("greet").await?;
    place.until_gone::<ScheduledTask>("greet").await?;
    Ok(())
}

async fn bucket(place: Place) -> Ended {
    let photos = Bucket {
        metadata: named("photos"),
        spec: BucketSpec { quota: 5 },
        status: None,
    };
    place.fail("buckets");
    place.create(&photos).await?;
    let is_there = |bucket: &Bucket| {
        bucket
            .status
            .as_ref()
            .is_some_and(|status| status.id.is_some())
    };
    place.until("photos", "have a bucket", is_there).await?;
    place.delete::<Bucket>("photos").await?;
    place.until_gone::<Bucket>("photos").await?;
    Ok(())
}

async fn file_backup(place: Place) -> Ended {
    let backup = |file: &str| FileBackup {
        metadata: named(file),
        spec: FileBackupSpec { file: file.into() },
        status: None,
    };
    place.create(&backup("missing")).await?;
    place.create(&backup("notes.txt")).await?;
    // The clock of tokio does not wait for the thread that copies, except while another thread blocks.
    for _ in 0..100 {
        let found = place.api::<FileBackup>().get_opt("notes.txt").await?;
        let status = found.and_then(|backup| backup.status);
        if status.is_some_and(|status| status.completed.is_some()) {
            return Ok(());
        }
        tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(5))).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Err("the file was not copied".into())
}

async fn quota_guard(place: Place) -> Ended {
    let guard = QuotaGuard {
        metadata: named("pods"),
        spec: QuotaGuardSpec {
            pods: 100_000,
            near_percent: 100,
        },
        status: None,
    };
    let counts = |reason: &'static str| {
        move |guard: &QuotaGuard| {
            let conditions = guard.status.iter().flat_map(|status| &status.conditions);
            let mut reasons = conditions.map(|condition| &*condition.reason);
            reasons.any(|one| one == reason)
        }
    };
    place.create(&guard).await?;
    place.until("pods", "count", counts("Enough")).await?;
    let container = Container {
        name: "pause".into(),
        image: Some("registry.example.com/pause".into()),
        ..Container::default()
    };
    for name in ["counted-1", "counted-2"] {
        let pod = Pod {
            spec: Some(PodSpec {
                containers: vec![container.clone()],
                ..PodSpec::default()
            }),
            ..Pod::named(name)
        };
        place.create(&pod).await?;
    }
    // The second time, the Event is there already, and the last one has another text.
    for (pods, reason) in [
        (1, "Exceeded"),
        (100_000, "Enough"),
        (1, "Exceeded"),
        (99_999, "Enough"),
    ] {
        let limit = json!({"spec": {"pods": pods}});
        place.patch::<QuotaGuard>("pods", limit).await?;
        place.until("pods", reason, counts(reason)).await?;
    }
    for name in ["counted-1", "counted-2"] {
        place.delete::<Pod>(name).await?;
    }
    place.delete::<QuotaGuard>("pods").await?;
    place.until_gone::<QuotaGuard>("pods").await?;
    Ok(())
}

async fn shared_database(place: Place) -> Ended {
    let shop = place.in_namespace("shop");
    if place.api::<Namespace>().get_opt("shop").await?.is_none() {
        place.create(&Namespace::named("shop")).await?;
    }
    let bytes = |value: &str| ByteString(value.as_bytes().to_vec());
    let credentials = Secret {
        data: Some(
            ["user", "password"]
                .map(|key| (key.into(), bytes(key)))
                .into(),
        ),
        ..Secret::named("credentials")
    };
    let database = SharedDatabase {
        metadata: named("orders"),
        spec: SharedDatabaseSpec {
            host: "orders.example.com".into(),
            engine: Engine::PostgreSQL,
            port: None,
            credentials: SecretReference {
                namespace: "default".into(),
                name: "credentials".into(),
            },
            namespaces: vec!["shop".into()],
        },
        status: None,
    };
    place.fail("services");
    place.until_admitted(&database).await?;
    place.create(&database).await?;
    let has_port = |database: &SharedDatabase| database.spec.port == Some(5432);
    place.until("orders", "have a port", has_port).await?;
    shop.create(&Service {
        spec: Some(ServiceSpec {
            type_: Some("ExternalName".into()),
            external_name: Some("old.example.com".into()),
            ..ServiceSpec::default()
        }),
        ..Service::named("orders")
    })
    .await?;
    place.create(&credentials).await?;
    shop.until::<Secret>("orders", "exist", |_| true).await?;
    let is_new = |service: &Service| {
        let spec = service.spec.as_ref();
        let host = spec.and_then(|spec| spec.external_name.as_deref());
        host == Some("orders.example.com")
    };
    shop.until("orders", "be taken over", is_new).await?;

    // A namespace that lets no database in.
    let mut vault = Namespace::named("vault");
    vault.metadata.labels = Some([(PRIVATE.to_owned(), "true".to_owned())].into());
    place.create(&vault).await?;
    let more = json!({"spec": {"namespaces": ["shop", "vault"]}});
    let text = "spec.namespaces[1]: the namespace vault has the label";
    place
        .until_refused::<SharedDatabase>("orders", more, text)
        .await?;
    place.delete::<Namespace>("vault").await?;

    // A client of the older version changes what it knows, and keeps the rest.
    let engine = json!({"spec": {"engine": "MySQL", "port": 3307}});
    place.patch::<SharedDatabase>("orders", engine).await?;
    let moved = json!({"spec": {"host": "mysql.example.com"}});
    place
        .patch::<v1beta1::SharedDatabase>("orders", moved)
        .await?;
    let has_moved = |database: &SharedDatabase| {
        let spec = &database.spec;
        (&*spec.host, spec.engine, spec.port) == ("mysql.example.com", Engine::MySQL, Some(3307))
    };
    place.until("orders", "keep its port", has_moved).await?;
    let nobody = json!({"spec": {"namespaces": []}});
    place.patch::<SharedDatabase>("orders", nobody).await?;
    shop.until_gone::<Secret>("orders").await?;
    shop.until_gone::<Service>("orders").await?;
    let again = json!({"spec": {"namespaces": ["shop"]}});
    place.patch::<SharedDatabase>("orders", again).await?;
    shop.until::<Service>("orders", "exist again", |_| true)
        .await?;
    // If the object is gone when its conditions are written, the operator asks for it once more.
    let is_ready = |database: &SharedDatabase| {
        let status = database.status.as_ref();
        let ready = status.and_then(|status| status.conditions.of_type("Ready"));
        let generation = database.metadata.generation;
        ready.is_some_and(|ready| ready.status == "True" && ready.observed_generation == generation)
    };
    place.until("orders", "be ready", is_ready).await?;
    place.delete::<SharedDatabase>("orders").await?;
    shop.until_gone::<Service>("orders").await?;
    place.delete::<Secret>("credentials").await?;
    Ok(())
}
