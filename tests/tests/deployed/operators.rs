//! The operators work in the pods that the control plane makes from the printed manifests, with the printed roles.

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt, sync::Arc, time::Duration};

use pilothouse::{
    client::{Api, Client, Config, DeleteParams, Error, KubeconfigOptions},
    k8s::api::core::v1::Pod,
};
use pilothouse_tests::real::RealServer;
use serde_json::{Value, json};
use tokio::{
    task::block_in_place,
    time::{Instant, sleep},
};

use crate::{
    images::{CREATED, Images, kubectl, output_of, skipped},
    node::{End, Kubelet, Replica},
    probe::get,
    services::RANGE,
    stories::{EXAMPLES, Example, Place},
};

/// The longest wait for a state.
const PATIENCE: Duration = Duration::from_secs(120);

struct World {
    // Its programs end before the server does.
    kubelet: Kubelet,
    client: Client,
    images: Arc<Images>,
    server: RealServer,
}

impl World {
    /// Returns `None` if something is missing that the environment has to name, and says what.
    async fn start() -> Option<Self> {
        let images = Arc::new(Images::from_environment()?);
        if fs::metadata("/proc/self").unwrap().uid() != 0 {
            skipped("only root may start the program of a pod as another user");
            return None;
        }
        let server = RealServer::from_environment(&[&format!("--services={RANGE}")])
            .filter(RealServer::is_own)?;
        let options = KubeconfigOptions {
            path: Some(server.kubeconfig().to_owned()),
            ..KubeconfigOptions::default()
        };
        let config = Config::from_kubeconfig(&options).await.unwrap();
        let (host, port) = (
            config.url().host().unwrap(),
            config.url().port_u16().unwrap(),
        );
        let address = format!("{host}:{port}").parse().unwrap();
        let client = Client::new(config).unwrap();
        let kubelet = Kubelet::start(&client, address, images.clone()).await;
        Some(Self {
            kubelet,
            client,
            images,
            server,
        })
    }

    fn kubectl(&self, arguments: &str, input: &str) -> String {
        tokio::task::block_in_place(|| kubectl(&self.server, arguments, input))
    }

    /// Applies the printed manifests, and waits until all pods are ready.
    async fn deploy(&self, operator: &str, flags: &str) {
        let manifests = self.images.manifests(operator, flags);
        self.kubectl("apply --server-side --validate=strict -f -", &manifests);
        self.rolled_out(operator).await;
    }

    async fn rolled_out(&self, operator: &str) {
        self.until(&format!("{operator} is ready"), || {
            let status = self.field("deployment", operator, ".status");
            let wanted = &status["replicas"];
            let all = ["readyReplicas", "availableReplicas", "updatedReplicas"];
            let done = !wanted.is_null() && all.iter().all(|count| status[*count] == *wanted);
            done.then_some(()).ok_or_else(|| status.to_string())
        })
        .await;
    }

    /// Waits until `look` returns something.
    async fn until<T>(&self, what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
        let late = Instant::now() + PATIENCE;
        loop {
            self.sound();
            match look() {
                Ok(found) => return found,
                Err(seen) => assert!(
                    Instant::now() < late,
                    "this did not happen: {what}; seen last: {seen}"
                ),
            }
            sleep(Duration::from_millis(250)).await;
        }
    }

    /// The leader, and the others, which stand by.
    async fn leader(&self, operator: &str, replicas: usize) -> (Replica, Vec<Replica>) {
        self.until("one leads and the others stand by", || {
            let (mut leading, mut waiting) = (Vec::new(), Vec::new());
            let mut seen = String::new();
            for replica in self.kubelet.replicas(operator) {
                let text = ask(&replica, "/readyz?verbose").unwrap_or_default();
                seen += &text;
                if text.contains("leader-election ok: leading as ") {
                    leading.push(replica);
                } else if text.contains("leader-election ok: standing by") {
                    waiting.push(replica);
                }
            }
            assert!(leading.len() < 2, "two lead: {seen}");
            match leading.pop() {
                Some(leader) if waiting.len() == replicas - 1 => Ok((leader, waiting)),
                _ => Err(seen),
            }
        })
        .await
    }

    /// Checks that the operator lacked no right, and stops it.
    async fn has_all_rights_and_ends(&self, name: &str) {
        let (leader, _) = self.leader(name, 1).await;
        let metrics = ask(&leader, "/metrics").unwrap();
        assert!(metrics.contains("rest_client_requests_total{"), "{metrics}");
        assert_eq!(refused(&metrics), Vec::<&str>::new(), "{name}");
        self.kubectl(&format!("delete deployment {name} -n {name}-system"), "");
        let end = self.end(&leader.pod).await;
        assert_eq!((end.code, end.changed), (Some(0), Vec::new()), "{name}");
        self.sound();
    }

    async fn story(&self, example: &Example) {
        let story = (example.story)(Place::real(self.client.clone())).await;
        assert_eq!(story, Ok(()), "{}", example.name);
    }

    /// Asks for the deletion of a pod as a drain of its node does.
    async fn evict(&self, operator: &str, pod: &str) -> Result<(), Error> {
        let pods = Api::<Pod>::namespaced(&self.client, &format!("{operator}-system"));
        pods.evict(pod, &DeleteParams::default()).await
    }

    /// How the program of a pod ended.
    async fn end(&self, pod: &str) -> End {
        let end = || self.kubelet.end_of(pod).ok_or_else(|| "it runs".to_owned());
        self.until(&format!("{pod} ends"), end).await
    }

    /// A field of an object of the operator's name in its namespace.
    fn field(&self, kind: &str, operator: &str, path: &str) -> Value {
        let line = format!("get {kind} {operator} -n {operator}-system -o jsonpath={{{path}}}");
        serde_json::from_str(&self.kubectl(&line, "")).unwrap_or_default()
    }

    fn sound(&self) {
        let faults = self.kubelet.faults();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

/// The body of an answer with the code 200.
fn ask(replica: &Replica, path: &str) -> Result<String, String> {
    match get(replica.address, path, Duration::from_secs(5)) {
        Ok((200, text)) => Ok(text),
        Ok((code, text)) => Err(format!("{path}: {code} {text}")),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

/// The requests that the API server refused because of a missing right.
fn refused(metrics: &str) -> Vec<&str> {
    let requests = metrics
        .lines()
        .filter(|line| line.starts_with("rest_client_requests_total{"));
    requests
        .filter(|line| line.contains("code=\"403\""))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_example_and_a_created_operator_work_in_their_pods_with_the_printed_roles() {
    let Some(world) = World::start().await else {
        return;
    };
    for example in EXAMPLES {
        world.deploy(example.name, "").await;
        world.story(example).await;
        world.has_all_rights_and_ends(example.name).await;
    }
    world.deploy(CREATED, "").await;
    created_story(&world);
    world.has_all_rights_and_ends(CREATED).await;
}

/// What the README and the test of the created operator do, with the example that it has.
fn created_story(world: &World) {
    let kubectl = |arguments: &str| world.kubectl(arguments, "");
    let example = include_str!("../../../cli/created/example/greeting.yaml");
    let applied = world.kubectl("apply -f -", example);
    let object = applied.split(' ').next().unwrap();
    let name = object.split('/').next_back().unwrap();
    kubectl(&format!(
        "wait {object} --for=condition=Ready --timeout=60s"
    ));
    let map = format!("configmap {name}");
    let text = |map: &str| kubectl(&format!("get {map} -o jsonpath={{.data.text}}"));
    let size = || kubectl(&format!("get {object} -o jsonpath={{.status.size}}"));
    assert_eq!((&*text(&map), &*size()), ("Hello", "5"), "{applied}");
    kubectl(&format!(
        r#"patch {object} --type=merge --patch={{"spec":{{"text":"Goodbye"}}}}"#
    ));
    kubectl(&format!(
        "wait {object} --for=jsonpath={{.status.size}}=7 --timeout=60s"
    ));
    assert_eq!(text(&map), "Goodbye");
    kubectl(&format!("delete {object}"));
    kubectl(&format!("wait {map} --for=delete --timeout=60s"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_replica_takes_over_when_the_pod_of_the_leader_is_evicted() {
    let Some(world) = World::start().await else {
        return;
    };
    let website = EXAMPLES.iter().find(|one| one.name == "website").unwrap();
    world.deploy("website", "--replicas 2").await;
    refuses_other_pods(&world);
    let selector = world.field("service", "website", ".spec.selector");
    let labels = selector.as_object().unwrap().iter();
    let labels: Vec<String> = labels
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
        .collect();
    let line = format!("get pods -n website-system -o name -l {}", labels.join(","));
    let selected = world.kubectl(&line, "");
    assert_eq!(
        selected.lines().count(),
        2,
        "the Service selects other pods: {selected}"
    );
    let (leader, others) = world.leader("website", 2).await;
    for replica in others.iter().chain([&leader]) {
        as_the_pod_says(replica);
        for path in ["/livez", "/readyz"] {
            ask(replica, path).unwrap();
        }
        let leads = u8::from(replica.pod == leader.pod);
        let metrics = ask(replica, "/metrics").unwrap();
        let status = format!("leader_election_master_status{{name=\"website\"}} {leads}\n");
        assert!(metrics.contains(&status), "{metrics}");
    }
    world.story(website).await;

    // The budget lets a drain stop one pod at a time.
    let allows = || {
        let status = world.field("poddisruptionbudget", "website", ".status");
        let allows = status["currentHealthy"] == 2 && status["disruptionsAllowed"] == 1;
        allows.then_some(()).ok_or_else(|| status.to_string())
    };
    world.until("the budget allows one eviction", allows).await;
    world.evict("website", &leader.pod).await.unwrap();
    let second = world.evict("website", &others[0].pod).await.unwrap_err();
    assert!(second.has_cause("DisruptionBudget"), "{second}");
    let end = world.end(&leader.pod).await;
    assert_eq!((end.code, end.changed), (Some(0), Vec::new()));
    let (next, _) = world.leader("website", 2).await;
    let metrics = ask(&next, "/metrics").unwrap();
    // The leader has released the Lease: the next one did not wait until it expired.
    let expired = metrics
        .lines()
        .find(|line| line.starts_with("leader_election_expired_takeover_timestamp_seconds"));
    assert!(
        expired.is_none_or(|line| line.ends_with(" 0")),
        "{expired:?}"
    );
    world.rolled_out("website").await;
    world.story(website).await;
    for replica in world.kubelet.replicas("website") {
        let metrics = ask(&replica, "/metrics").unwrap();
        assert_eq!(refused(&metrics), Vec::<&str>::new());
    }
    world.sound();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_works_with_the_older_version_while_pods_come_and_go() {
    let Some(world) = World::start().await else {
        return;
    };
    world.deploy("shared-database", "--replicas 2").await;
    let object = |host: &str| {
        json!({
            "apiVersion": "demo.pilothouse.dev/v1beta1", "kind": "SharedDatabase", "metadata": {"name": "orders"},
            "spec": {"host": host, "secret": "default/credentials", "namespaces": ["nowhere"]},
        })
        .to_string()
    };
    let apply = |host: &str| {
        let mut command = world.server.kubectl();
        command.args(["apply", "--server-side", "-f", "-"]);
        let output = block_in_place(|| output_of(&mut command, &object(host)));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.success() {
            true => Ok(error),
            false => Err(error),
        }
    };
    // The server learns by a watch of its own where it has to call the webhooks.
    let warnings = world
        .until("the server calls the webhooks", || apply("a.example.com"))
        .await;
    for text in [
        "v1beta1 SharedDatabase is deprecated",
        "spec.namespaces[0]: there is no namespace nowhere yet",
    ] {
        assert!(warnings.contains(text), "{warnings}");
    }
    let get = |version: &str, path: &str| {
        let kind = format!("shareddatabases.{version}.demo.pilothouse.dev");
        world.kubectl(&format!("get {kind} orders -o jsonpath={{{path}}}"), "")
    };
    assert_eq!(get("v1", ".spec.port"), "5432");
    assert_eq!(get("v1", ".spec.credentials.name"), "credentials");
    assert_eq!(get("v1beta1", ".spec.secret"), "default/credentials");

    // One pod after the other ends, and another one comes. Each write and each read needs one of them.
    for round in 0..2 {
        let leader = world.leader("shared-database", 2).await.0;
        let pods = "delete pod -n shared-database-system --wait=false";
        world.kubectl(&format!("{pods} {}", leader.pod), "");
        for number in 0..10 {
            let host = format!("host-{round}-{number}.example.com");
            apply(&host).unwrap();
            assert_eq!(get("v1", ".spec.host"), host);
            sleep(Duration::from_millis(200)).await;
        }
        let end = world.end(&leader.pod).await;
        assert_eq!((end.code, end.changed), (Some(0), Vec::new()));
        world.rolled_out("shared-database").await;
    }

    // While no replica runs, the API server begins to read an object that is stored in the older version. It calls only replicas that
    // are ready, and the first one cannot fill its cache before it is called.
    let store_as = |version: &str| {
        let place = |number: u8, name: &str| {
            let is_stored = name == version;
            json!({"op": "replace", "path": format!("/spec/versions/{number}/storage"), "value": is_stored})
        };
        let kind = "crd shareddatabases.demo.pilothouse.dev";
        let versions = world.kubectl(
            &format!("get {kind} -o jsonpath={{.spec.versions[*].name}}"),
            "",
        );
        let patch: Vec<_> = (0..)
            .zip(versions.split_whitespace())
            .map(|(number, name)| place(number, name))
            .collect();
        world.kubectl(
            &format!("patch {kind} --type json --patch {}", json!(patch)),
            "",
        );
    };
    store_as("v1beta1");
    apply("stored.example.com").unwrap();
    let deployment = "deployment shared-database -n shared-database-system --replicas";
    world.kubectl(&format!("scale {deployment} 0"), "");
    let have_ended = || match &world.kubelet.replicas("shared-database")[..] {
        [] => Ok(()),
        left => Err(format!("{} replicas run", left.len())),
    };
    world.until("no replica runs", have_ended).await;
    store_as("v1");
    world.kubectl(&format!("scale {deployment} 2"), "");
    world.rolled_out("shared-database").await;
    assert_eq!(get("v1", ".spec.host"), "stored.example.com");
    for replica in world.kubelet.replicas("shared-database") {
        let metrics = ask(&replica, "/metrics").unwrap();
        assert_eq!(refused(&metrics), Vec::<&str>::new());
    }
    world.sound();
}

/// Checks that the namespace of the operator takes only pods like those of the operator: the server enforces its label.
fn refuses_other_pods(world: &World) {
    let mut command = world.server.kubectl();
    command.args([
        "run",
        "other",
        "--image=x",
        "--dry-run=server",
        "-n",
        "website-system",
    ]);
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("violates PodSecurity \"restricted"),
        "{error}"
    );
}

/// Checks what the kernel knows about the program of a pod.
fn as_the_pod_says(replica: &Replica) {
    let status = fs::read_to_string(format!("/proc/{}/status", replica.process)).unwrap();
    let fields = status.lines().filter_map(|line| line.split_once(':'));
    let fields: BTreeMap<&str, Vec<&str>> = fields
        .map(|(name, values)| (name, values.split_whitespace().collect()))
        .collect();
    let expected = [
        ("Uid", vec!["65532"; 4]),
        ("Gid", vec!["65532"; 4]),
        ("Groups", vec![]),
        ("CapPrm", vec!["0000000000000000"]),
        ("CapEff", vec!["0000000000000000"]),
        ("CapInh", vec!["0000000000000000"]),
        ("CapAmb", vec!["0000000000000000"]),
        ("NoNewPrivs", vec!["1"]),
    ];
    for (name, values) in expected {
        assert_eq!(fields[name], values, "{name}");
    }
}
