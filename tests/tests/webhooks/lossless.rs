use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use pilothouse::{
    client::{Api, Client, Config, DeleteParams, Error, Patch, PatchParams, PostParams},
    k8s::{
        ByteString,
        api::{
            admissionregistration::v1::{
                MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
            },
            coordination::v1::Lease,
            core::v1::{ConfigMap, Namespace, Secret},
        },
    },
    metrics::Metrics,
    prelude::*,
};
use pilothouse_tests::real::RealServer;
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Interval, MissedTickBehavior, interval_at},
};

use super::{forwarder::Forwarder, replica::Replica};

const NAMESPACE: &str = "load";
/// The users that write at once, and the time from the begin of a write to that of the same user's next: 200 writes per second. A
/// write may so take 600 ms without a delay of the next, and after a longer one its user makes up for the time. The test prints the rate
/// that it reached, which depends on the machine.
const USERS: usize = 120;
const PAUSE: Duration = Duration::from_millis(600);
/// The time in which the API server notices that a connection has ended.
const REACTION: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(30);

/// A write, from its start to its end.
struct Write {
    begun: Instant,
    ended: Instant,
    problem: Option<String>,
}

impl Write {
    fn has(&self, text: &str) -> bool {
        let problem = self.problem.as_ref();
        problem.is_some_and(|problem| problem.contains(text))
    }
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = self.problem.as_deref().unwrap_or_default();
        write!(f, "{problem} after {:?}", self.ended - self.begun)
    }
}

/// Users that write all the time.
struct Load {
    writes: Arc<Mutex<Vec<Write>>>,
    running: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    users: JoinSet<()>,
    metrics: Metrics,
}

impl Load {
    fn start(config: Config) -> Self {
        let metrics = Metrics::new();
        let client = Client::builder(config).metrics(metrics.clone());
        let client = client.build().unwrap();
        let mut load = Self {
            writes: Arc::default(),
            running: Arc::default(),
            stop: Arc::default(),
            users: JoinSet::new(),
            metrics,
        };
        for number in 0..USERS {
            let user = User {
                maps: Api::namespaced(&client, NAMESPACE),
                name: format!("user-{number}"),
                writes: load.writes.clone(),
                running: load.running.clone(),
                stop: load.stop.clone(),
            };
            load.users
                .spawn(user.work(PAUSE * number as u32 / USERS as u32));
        }
        load
    }

    async fn stop(mut self) -> Vec<Write> {
        self.stop.store(true, Ordering::SeqCst);
        while let Some(ended) = self.users.join_next().await {
            ended.unwrap();
        }
        std::mem::take(&mut *self.writes.lock())
    }

    /// The writes that failed so far.
    fn failures(&self) -> Vec<String> {
        let writes = self.writes.lock();
        writes
            .iter()
            .filter_map(|one| one.problem.clone())
            .collect()
    }
}

struct User {
    maps: Api<ConfigMap>,
    name: String,
    writes: Arc<Mutex<Vec<Write>>>,
    running: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl User {
    /// Writes in each way that an API server has.
    async fn work(self, pause: Duration) {
        let mut turns = interval_at(tokio::time::Instant::now() + pause, PAUSE);
        turns.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let turns = &mut turns;
        let (post, delete) = (PostParams::default(), DeleteParams::default());
        let (patch, apply) = (PatchParams::default(), PatchParams::apply("user").force());
        let merge = |n: u32| Patch::Merge(json!({"data": {"n": n.to_string()}}));
        let applied = Patch::Apply(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self.name}, "data": {"applied": "yes"},
        }));
        let map = ConfigMap::named(&self.name);
        let (name, maps) = (self.name.as_str(), &self.maps);
        let dry_run = PostParams::default().dry_run();
        let mut other = ConfigMap::named(format!("{name}-other"));
        let refused = ConfigMap::named("refused");
        for n in 0.. {
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            other.data = Some([("n".to_owned(), n.to_string())].into());
            self.write(turns, "dry run", maps.create(&dry_run, &other))
                .await;
            self.write(
                turns,
                "refused",
                is_refused(maps.create(&dry_run, &refused)),
            )
            .await;
            self.write(turns, "create", maps.create(&post, &map)).await;
            self.write(turns, "merge patch", maps.patch(name, &patch, &merge(n)))
                .await;
            self.write(turns, "apply", maps.patch(name, &apply, &applied))
                .await;
            self.write(turns, "update", maps.replace(name, &post, &map))
                .await;
            self.write(turns, "delete", maps.delete(name, &delete))
                .await;
        }
    }

    /// Writes when it is the user's turn.
    async fn write<T>(
        &self,
        turns: &mut Interval,
        what: &str,
        write: impl Future<Output = Result<T, impl fmt::Display>>,
    ) {
        turns.tick().await;
        let begun = Instant::now();
        self.running.fetch_add(1, Ordering::SeqCst);
        let result = write.await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        let problem = result.err().map(|error| format!("{what}: {error}"));
        let ended = Instant::now();
        self.writes.lock().push(Write {
            begun,
            ended,
            problem,
        });
    }
}

/// That the validation denies a write. Each other end is an error.
async fn is_refused(write: impl Future<Output = Result<ConfigMap, Error>>) -> Result<(), String> {
    match write.await {
        Ok(_) => Err("the validation let it pass".into()),
        Err(error) if error.to_string().contains("on purpose") => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Two replicas of the operator `gadgets` behind a forwarder.
struct World {
    forwarder: Forwarder,
    client: Client,
    kubeconfig: String,
    home: tempfile::TempDir,
}

impl World {
    async fn start(kubeconfig: &Path) -> Self {
        let kubeconfig = kubeconfig.to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&kubeconfig).unwrap();
        let world = Self {
            forwarder: Forwarder::start().await,
            client: Client::new(Config::from_yaml(&text).await.unwrap()).unwrap(),
            kubeconfig,
            home: tempfile::tempdir().unwrap(),
        };
        let namespaces = Api::<Namespace>::all(&world.client);
        let (params, namespace) = (PostParams::default(), Namespace::named(NAMESPACE));
        namespaces.create(&params, &namespace).await.unwrap();
        world
    }

    async fn config(&self) -> Config {
        let text = std::fs::read_to_string(&self.kubeconfig).unwrap();
        Config::from_yaml(&text).await.unwrap()
    }

    /// Waits until the API server calls both webhooks.
    async fn known(&self) {
        let maps = Api::<ConfigMap>::namespaced(&self.client, NAMESPACE);
        let dry_run = PostParams::default().dry_run();
        let (refused, seen) = (ConfigMap::named("refused"), ConfigMap::named("seen"));
        until("the API server calls the webhooks", async || {
            let refused = maps.create(&dry_run, &refused).await;
            let seen = maps.create(&dry_run, &seen).await;
            refused.is_err() && seen.is_ok_and(|seen| seen.label("seen").is_some())
        })
        .await;
    }

    /// Waits until a process leads that is not this one.
    async fn leads(&self, not: Option<&str>) -> String {
        let other = async || {
            self.leader()
                .await
                .filter(|leader| Some(leader.as_str()) != not)
        };
        until("another process leads", async || other().await.is_some()).await;
        other().await.unwrap()
    }

    async fn replica(&self) -> Replica {
        let url = format!("https://127.0.0.1:{}", self.forwarder.port);
        let arguments = [
            "--kubeconfig",
            &self.kubeconfig,
            "--leader-elect",
            "--metrics-address",
            "127.0.0.1:0",
            "--webhook-address",
            "127.0.0.1:0",
            "--webhook-url",
            &url,
        ];
        let program = env!("CARGO_BIN_EXE_gadgets");
        let mut replica = Replica::start(program, &arguments, self.home.path());
        let webhooks = replica.address("webhooks on").await;
        let health = replica.address("metrics and health on").await;
        self.forwarder.add(webhooks, health);
        replica
    }

    async fn ready(&self, replicas: usize) {
        until("the replicas are ready", async || {
            self.forwarder.ready() == replicas
        })
        .await;
    }

    async fn leader(&self) -> Option<String> {
        let leases = Api::<Lease>::namespaced(&self.client, "default");
        let lease = leases.get_opt("gadgets").await.unwrap()?;
        lease
            .spec?
            .holder_identity
            .filter(|holder| !holder.is_empty())
    }

    /// The authorities that the API server verifies the webhooks by: the same for both configurations, or 0.
    async fn authorities(&self) -> usize {
        let validating = Api::<ValidatingWebhookConfiguration>::all(&self.client);
        let validating = validating.get("gadgets").await.unwrap().webhooks.unwrap();
        let mutating = Api::<MutatingWebhookConfiguration>::all(&self.client);
        let mutating = mutating.get("gadgets").await.unwrap().webhooks.unwrap();
        let bundles = [
            validating[0].client_config.ca_bundle.clone().unwrap(),
            mutating[0].client_config.ca_bundle.clone().unwrap(),
        ];
        let [first, second] = bundles.map(|bundle| String::from_utf8(bundle.0).unwrap());
        match first == second {
            true => first.matches("BEGIN CERTIFICATE").count(),
            false => 0,
        }
    }

    /// Changes what the replicas know of their certificates, as if time had passed.
    async fn age(&self, change: impl Fn(&mut Value)) {
        let secrets = Api::<Secret>::namespaced(&self.client, "default");
        let name = "gadgets-webhook-certificates";
        loop {
            let mut secret = secrets.get(name).await.unwrap();
            let data = secret.data.as_mut().unwrap();
            let state = data.get_mut("certificates.json").unwrap();
            let mut known = serde_json::from_slice(&state.0).unwrap();
            change(&mut known);
            *state = ByteString(known.to_string().into_bytes());
            match secrets.replace(name, &PostParams::default(), &secret).await {
                Ok(_) => return,
                Err(error) if error.is_conflict() => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// A new authority, then a certificate that it signs, then an end of the old authority.
    async fn rotate(&self, replicas: &mut [Replica]) {
        const LONG_AGO: &str = "2001-01-01T00:00:00Z";
        self.age(|known| known["authorities"][0]["created"] = LONG_AGO.into())
            .await;
        until("there are two authorities", async || {
            self.authorities().await == 2
        })
        .await;
        self.age(|known| {
            known["authorities"][1]["created"] = LONG_AGO.into();
            known["authorities"][1]["expires"] = "2099-01-01T00:00:00Z".into();
            known["serving"]["created"] = LONG_AGO.into();
        })
        .await;
        for replica in replicas {
            replica.line("the webhooks have a new certificate").await;
        }
        self.age(|known| known["authorities"][0]["expires"] = LONG_AGO.into())
            .await;
        until("there is one authority", async || {
            self.authorities().await == 1
        })
        .await;
    }
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "{what}: not in time");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_write_fails_while_certificates_replicas_and_the_leader_change() {
    let Some(server) = RealServer::from_environment(&[]) else {
        return;
    };
    let world = World::start(server.kubeconfig()).await;
    let mut replicas = vec![world.replica().await];
    let mut leader = world.leads(None).await;
    replicas.push(world.replica().await);
    world.ready(2).await;
    world.known().await;

    let begun = Instant::now();
    let load = Load::start(world.config().await);
    tokio::time::sleep(Duration::from_secs(2)).await;
    world.rotate(&mut replicas).await;
    let rotated = begun.elapsed();
    // Both in turn, because one connection of the API server may carry all calls.
    for stopped in &mut replicas {
        stopped.signal("TERM");
        assert!(stopped.end().await.success());
        leader = world.leads(Some(&leader)).await;
        *stopped = world.replica().await;
        world.ready(2).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(load.failures(), [""; 0]);
    // Not even a failure that the client hides, because it tries again.
    let requests = load.metrics.encode();
    assert!(!requests.contains("code=\"5"), "{requests}");

    // The end of a process that cannot finish anything.
    let running = load.running.load(Ordering::SeqCst);
    let killed = Instant::now();
    replicas[0].signal("KILL");
    replicas[0].end().await;
    let gone = Instant::now();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let writes = load.stop().await;
    let (failed, later): (Vec<_>, Vec<_>) = writes
        .iter()
        .filter(|one| one.problem.is_some())
        .partition(|one| one.has("failed calling webhook"));
    let seconds = begun.elapsed().as_secs_f64();
    let summary = format!(
        "{} writes in {:.1} s, {:.0} per second, {} of them within {PAUSE:?}; rotated after {:.1} s; {} of {running} running writes \
         failed with the killed replica: {failed:?}",
        writes.len(),
        seconds,
        writes.len() as f64 / seconds,
        writes
            .iter()
            .filter(|one| one.ended - one.begun < PAUSE)
            .count(),
        rotated.as_secs_f64(),
        failed.len(),
    );
    println!("{summary}");
    // Each user has written in each way.
    assert!(writes.len() > 7 * USERS, "{summary}");
    // What a user does next with an object that was not created, or not deleted.
    for one in &later {
        let follows = one.has("not found") || one.has("already exists");
        assert!(follows, "{summary}: {later:?}");
    }
    for one in &failed {
        assert!(
            one.begun < gone + REACTION && one.ended > killed,
            "{summary}"
        );
    }
}
