//! Two processes and one Lease (R11 and R12), on the system's clock. The API server runs in the test's process and
//! records who wrote what.
#![cfg(unix)]

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::{
        Arc, OnceLock,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use pilothouse::{
    client::{Api, Client, Config, DeleteParams, KubeconfigOptions, PostParams},
    controller::{self, Action, Context, Controller, Reconciler},
    election::{ElectionSettings, Phase},
    k8s::api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Secret},
    },
    operator::{Operator, Running},
};
use pilothouse_sandbox::{HttpsServer, RecordedRequest, Sandbox};
use pilothouse_tests::real::RealServer;
use tempfile::TempDir;

/// The time after which a test gives up waiting.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time that a busy machine may add.
const SLACK: Duration = Duration::from_secs(6);

/// The times of the election in milliseconds: those of client-go, and shorter ones for tests that wait for them.
const USUAL: &str = "15000 10000 2000";
const SHORT: &str = "6000 3000 500";

struct World {
    sandbox: Sandbox,
    _server: HttpsServer,
    client: Client,
    home: TempDir,
}

impl World {
    async fn new(maps: usize) -> Self {
        let sandbox = Sandbox::builder().request_log(1_000_000).build().unwrap();
        let server = sandbox.serve_https(([127, 0, 0, 1], 0).into()).await;
        let server = server.unwrap();
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("config"), sandbox.kubeconfig(&server)).unwrap();
        let pipes = sandbox.clone();
        let client = Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
            .connector(std::sync::Arc::new(move || Ok(pipes.connect())))
            .user_agent("test")
            .build()
            .unwrap();
        let api: Api<ConfigMap> = Api::namespaced(&client, "default");
        for number in 0..maps {
            let mut map = ConfigMap::default();
            let name = match number {
                0 => "one".to_owned(),
                _ => format!("map-{number}"),
            };
            map.metadata.name = Some(name);
            api.create(&PostParams::default(), &map).await.unwrap();
        }
        Self {
            sandbox,
            _server: server,
            client,
            home,
        }
    }

    fn contender(&self, name: &str, work: &str, times: &str) -> Contender {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contender"));
        command
            .args(["run", "--metrics-address", "127.0.0.1:0", "--kubeconfig"])
            .arg(self.home.path().join("config"))
            .env("CONTENDER", format!("{name} {work} {times}"))
            .env_remove("RUST_LOG");
        Contender::spawn(command)
    }

    async fn lease(&self) -> Option<Lease> {
        let leases: Api<Lease> = Api::namespaced(&self.client, "default");
        leases.get_opt("contended").await.unwrap()
    }

    /// Waits until `name` holds the Lease and returns how long that took.
    async fn led_by(&self, name: &str) -> Duration {
        let begun = Instant::now();
        self.until(name, || async {
            let spec = self.lease().await.and_then(|lease| lease.spec);
            spec.and_then(|spec| spec.holder_identity).as_deref() == Some(name)
        })
        .await;
        begun.elapsed()
    }

    /// Waits until `name` has written this many Secrets.
    async fn wrote(&self, name: &str, number: usize) {
        self.until(name, || async {
            let wrote = |one: &&RecordedRequest| sender(one) == name && is_write(one);
            self.sandbox.requests().iter().filter(wrote).count() >= number
        })
        .await;
    }

    async fn until<F: Future<Output = bool>>(&self, what: &str, holds: impl Fn() -> F) {
        let begun = Instant::now();
        while !holds().await {
            assert!(begun.elapsed() < PATIENCE, "never: {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A process of the operator. It is killed when dropped.
struct Contender {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Contender {
    fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        pass_on(child.stdout.take().unwrap(), sender.clone());
        pass_on(child.stderr.take().unwrap(), sender);
        Self {
            child,
            lines,
            said: Vec::new(),
        }
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for this many lines with this text.
    fn says(&mut self, text: &str, times: usize) {
        while self.said.iter().filter(|line| line.contains(text)).count() < times {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(error) => panic!("no `{text}`: {error}\n{}", self.said.join("\n")),
            }
        }
    }

    /// Waits until it has ended, which closes its outputs.
    fn end(&mut self) -> Option<i32> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap().code(),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it does not end:\n{}", self.said.join("\n"))
                }
            }
        }
    }

    fn said(&self) -> String {
        self.said.join("\n")
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pass_on(output: impl Read + Send + 'static, lines: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // The receiver may be gone, because the test has seen enough.
            let _ = lines.send(line);
        }
    });
}

fn sender(request: &RecordedRequest) -> &str {
    let agent = request.user_agent.split([' ', '/']).next();
    agent.unwrap_or_default()
}

/// Whether a request is a write of a reconcile.
fn is_write(request: &RecordedRequest) -> bool {
    request.method != "GET" && request.resource == "secrets"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_leader_writes_nothing_after_it_resumes() {
    let world = World::new(100).await;
    let mut a = world.contender("a", "writes", SHORT);
    world.led_by("a").await;
    let _b = world.contender("b", "writes", SHORT);
    world.wrote("a", 300).await;
    a.signal("STOP");
    // Corresponds to 40 s with a Lease of 15 s.
    let sleeps = Instant::now();
    world.wrote("b", 100).await;
    tokio::time::sleep(Duration::from_secs(16).saturating_sub(sleeps.elapsed())).await;
    a.signal("CONT");
    let code = tokio::task::block_in_place(|| a.end());
    // Its work has no time left. The system decides whether the work or the watchdog is first.
    assert!(matches!(code, Some(3 | 4)), "{code:?}\n{}", a.said());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let requests = world.sandbox.requests();
    let first = requests
        .iter()
        .position(|one| sender(one) == "b" && is_write(one));
    // The process may have been stopped after it sent the head of a request. The server then waits for the rest in vain.
    let broken_off = |one: &RecordedRequest| one.status == 400;
    let late = requests[first.unwrap()..]
        .iter()
        .find(|one| sender(one) == "a" && is_write(one) && !broken_off(one));
    assert_eq!(late, None, "{}", a.said());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_leader_writes_after_the_lease_is_deleted() {
    let world = World::new(20).await;
    let _a = world.contender("a", "writes", SHORT);
    world.led_by("a").await;
    let mut b = world.contender("b", "writes", SHORT);
    tokio::task::block_in_place(|| b.says("this one stands by", 1));
    let leases: Api<Lease> = Api::namespaced(&world.client, "default");
    for _ in 0..3 {
        leases
            .delete("contended", &DeleteParams::default())
            .await
            .unwrap();
        let before = world.sandbox.requests().len();
        world.led_by("a").await;
        let is_work = |one: &&RecordedRequest| sender(one) == "a" && is_write(one);
        world
            .until("work goes on", || async {
                world.sandbox.requests()[before..]
                    .iter()
                    .filter(is_work)
                    .count()
                    >= 200
            })
            .await;
    }
    let requests = world.sandbox.requests();
    let other = requests
        .iter()
        .find(|one| sender(one) == "b" && is_write(one));
    assert_eq!(other, None, "{}", b.said());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_leader_is_replaced_when_its_lease_expires() {
    let world = World::new(1).await;
    let a = world.contender("a", "writes", SHORT);
    world.led_by("a").await;
    let _b = world.contender("b", "writes", SHORT);
    world.wrote("a", 10).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    a.signal("KILL");
    let waited = world.led_by("b").await;
    // The lease duration, and one retry of at most 2.2 periods.
    let limit = Duration::from_millis(6000 + 1100) + SLACK;
    assert!(
        waited > Duration::from_secs(4) && waited < limit,
        "{waited:?}"
    );
    world.wrote("b", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_leader_hands_over_long_before_its_lease_expires() {
    let world = World::new(10).await;
    let mut a = world.contender("a", "writes", USUAL);
    world.led_by("a").await;
    let mut b = world.contender("b", "writes", USUAL);
    world.wrote("a", 20).await;
    b.says("this one stands by", 1);
    a.signal("TERM");
    let waited = world.led_by("b").await;
    assert_eq!(
        tokio::task::block_in_place(|| a.end()),
        Some(0),
        "{}",
        a.said()
    );
    assert!(waited < Duration::from_millis(4400) + SLACK, "{waited:?}");
    world.wrote("b", 1).await;
    let lease = world.lease().await.unwrap().spec.unwrap();
    assert_eq!(lease.lease_transitions, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reconciles_that_block_all_threads_end_the_process_before_another_leads() {
    let world = World::new(100).await;
    let mut a = world.contender("a", "blocks", SHORT);
    world.led_by("a").await;
    let _b = world.contender("b", "writes", SHORT);
    let code = tokio::task::block_in_place(|| a.end());
    assert_eq!(code, Some(3), "{}", a.said());
    let spec = world.lease().await.unwrap().spec.unwrap();
    assert_eq!(
        spec.holder_identity.as_deref(),
        Some("a"),
        "it ended in time"
    );
    world.led_by("b").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_leadership_ends_the_process_with_its_own_exit_code() {
    let world = World::new(20).await;
    let mut a = world.contender("a", "waits", SHORT);
    world.led_by("a").await;
    a.says("reconciling ", 20);
    let leases: Api<Lease> = Api::namespaced(&world.client, "default");
    // A renewal may come between the read and the write.
    loop {
        let mut lease = world.lease().await.unwrap();
        lease.spec.as_mut().unwrap().holder_identity = Some("thief".into());
        let params = PostParams::default();
        if leases.replace("contended", &params, &lease).await.is_ok() {
            break;
        }
    }
    let code = tokio::task::block_in_place(|| a.end());
    assert_eq!(code, Some(4), "{}", a.said());
    let expected = "error: leadership was lost: thief now holds the Lease default/contended";
    assert!(a.said().contains(expected), "{}", a.said());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_reconciles_get_25_s_before_the_process_ends_in_order() {
    let world = World::new(1000).await;
    let mut a = world.contender("a", "waits", USUAL);
    tokio::task::block_in_place(|| a.says("reconciling ", 1000));
    a.signal("TERM");
    let begun = Instant::now();
    let code = tokio::task::block_in_place(|| a.end());
    let took = begun.elapsed();
    assert_eq!(code, Some(0), "{}", a.said.last().unwrap());
    assert!(
        took >= Duration::from_secs(25) && took < Duration::from_secs(29),
        "{took:?}"
    );
    let spec = world.lease().await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(""), "released");
    let mut requests = world.sandbox.requests();
    requests.retain(|one| sender(one) == "a");
    assert_eq!(requests.last().unwrap().resource, "leases");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_reconcile_does_not_delay_the_exit_and_the_lease_is_not_released() {
    let world = World::new(1).await;
    let mut a = world.contender("a", "blocks-one", USUAL);
    tokio::task::block_in_place(|| a.says("reconciling ", 1));
    a.signal("TERM");
    let begun = Instant::now();
    let code = tokio::task::block_in_place(|| a.end());
    let took = begun.elapsed();
    assert_eq!(code, Some(3), "{}", a.said());
    assert!(took < Duration::from_secs(29), "{took:?}");
    // Its work may not have ended before the process, so the Lease is not released.
    let spec = world.lease().await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("a"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_and_usage_errors_have_their_own_exit_codes() {
    let world = World::new(1).await;
    let mut a = world.contender("a", "fails", USUAL);
    let code = tokio::task::block_in_place(|| a.end());
    assert_eq!(code, Some(1), "{}", a.said());
    let expected = "error: the runnable short failed: on purpose";
    assert!(a.said().contains(expected), "{}", a.said());
    let spec = world.lease().await.map(|lease| lease.spec.unwrap());
    let holder = spec.and_then(|spec| spec.holder_identity);
    assert_ne!(holder.as_deref(), Some("a"), "it stopped in order");

    let usage = Command::new(env!("CARGO_BIN_EXE_contender"))
        .arg("--nonsense")
        .env("CONTENDER", format!("a waits {USUAL}"))
        .output()
        .unwrap();
    assert_eq!(usage.status.code(), Some(2));
}

/// The program of `tests/kubectl/elector`.
const ELECTOR: &str = "PILOTHOUSE_CLIENT_GO_ELECTOR";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_gos_elector_and_ours_share_one_lease() {
    let Some(program) = std::env::var(ELECTOR).ok().filter(|it| !it.is_empty()) else {
        let skipped = format!("skipped: client-go elector: {ELECTOR} is not set\n");
        // Bypasses the test harness, which hides printed output.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), skipped.as_bytes());
        return;
    };
    let world = World::new(1).await;
    let go = |name: &str| {
        let mut command = Command::new(&program);
        command.arg(world.home.path().join("config"));
        command.args(["default", "contended", name, "6s", "3s", "500ms"]);
        Contender::spawn(command)
    };
    let first = go("go-1");
    world.led_by("go-1").await;
    let mut ours = world.contender("ours", "writes", SHORT);
    tokio::task::block_in_place(|| ours.says("another process leads: this one stands by", 1));
    assert!(ours.said().contains("go-1"), "{}", ours.said());
    // client-go's elector releases, ours acquires at its next retry.
    first.signal("TERM");
    let waited = world.led_by("ours").await;
    assert!(waited < Duration::from_millis(1100) + SLACK, "{waited:?}");
    world.wrote("ours", 5).await;
    let mut second = go("go-2");
    tokio::task::block_in_place(|| second.says("leader ours", 1));
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(!second.said().contains("leading"), "{}", second.said());
    // Ours releases, client-go's acquires.
    ours.signal("TERM");
    world.led_by("go-2").await;
    assert_eq!(tokio::task::block_in_place(|| ours.end()), Some(0));
    tokio::task::block_in_place(|| second.says("leading", 1));
    // client-go's elector is killed without a release.
    let _ours = world.contender("again", "writes", SHORT);
    tokio::time::sleep(Duration::from_secs(2)).await;
    second.signal("KILL");
    let waited = world.led_by("again").await;
    assert!(waited > Duration::from_secs(4), "{waited:?}");
    let spec = world.lease().await.unwrap().spec.unwrap();
    assert_eq!(spec.lease_transitions, Some(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_a_leader_at_once_without_releasing_its_lease() {
    let world = World::new(1).await;
    let mut a = world.contender("a", "waits", USUAL);
    world.led_by("a").await;
    a.says("reconciling one", 1);
    a.signal("TERM");
    a.says("stopping: a second signal ends the process at once", 1);
    a.signal("TERM");
    assert_eq!(a.end(), Some(130), "{}", a.said());
    // The process does not release a Lease while its work may still run.
    let spec = world.lease().await.and_then(|lease| lease.spec).unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("a"));
}

/// Writes nothing, and records when it began.
struct Quiet(Arc<OnceLock<Instant>>);

impl Reconciler for Quiet {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Secret>()
    }

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> controller::Result {
        self.0.get_or_init(Instant::now);
        Ok(Action::wait())
    }
}

async fn quiet(client: &Client, name: &str) -> (Running, Arc<OnceLock<Instant>>) {
    let began = Arc::new(OnceLock::new());
    let settings = ElectionSettings::new("quiet").identity(name);
    let operator = Operator::new("quiet").controller(Quiet(began.clone()));
    let operator = operator.election(settings.namespace("default"));
    let running = operator.start(client.clone()).await.unwrap();
    running.synced().await;
    (running, began)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_real_api_server_a_new_leader_does_not_list_unchanged_kinds_again() {
    let Some(server) = RealServer::from_environment(&[]) else {
        return;
    };
    let options = KubeconfigOptions {
        path: Some(server.kubeconfig().to_owned()),
        ..KubeconfigOptions::default()
    };
    let client = Client::new(Config::from_kubeconfig(&options).await.unwrap()).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(&client, "default");
    for number in 0..200 {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(format!("quiet-{number}"));
        maps.create(&PostParams::default(), &map).await.unwrap();
    }
    let (first, began) = quiet(&client, "a").await;
    while began.get().is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (second, began) = quiet(&client, "b").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    first.stop().await;
    while second.election().unwrap().phase() != Phase::Leading {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let won = Instant::now();
    while began.get().is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    eprintln!("a new leader began to work after {:?}", won.elapsed());
    let metrics = second.metrics().encode();
    let lists = metrics.lines().filter(|line| {
        line.starts_with("pilothouse_informer_lists_total") && line.contains("reason=\"asked\"")
    });
    assert!(lists.clone().all(|line| line.ends_with(" 0")), "{metrics}");
    second.stop().await;
}
