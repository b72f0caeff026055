//! The operator as in a cluster: `website run` as a process, with an API server in the test's process.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use http_body_util::BodyExt;
use hyper::Request;
use pilothouse::{
    client::{Api, Body, Client, Config, Patch, PatchParams},
    crd::{self, CustomResourceDefinition},
    k8s::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    resource::{ApiResource, DynamicObject},
    testing::{Cluster, Sandbox},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// An API server with RBAC and three users, who have only the access that they need: the operator with the token `op`;
/// Prometheus with the token `prom`, which may read metrics; and Ann with the token `ann`, who may do nothing.
pub struct World {
    pub cluster: Cluster,
    home: TempDir,
}

impl World {
    pub async fn new() -> Self {
        let none = [""; 0];
        let sandbox = Sandbox::builder().seed(1).rbac(true).simulator(true);
        let sandbox = sandbox
            .token("operator", "op", none)
            .token("prometheus", "prom", none)
            .token("ann", "ann", none);
        let cluster = Cluster::with(sandbox).unwrap();
        let server = cluster.sandbox().serve_https(([127, 0, 0, 1], 0).into());
        let server = server.await.unwrap();
        let kubeconfig = cluster.sandbox().kubeconfig(&server);
        let token = kubeconfig.lines().find(|line| line.contains("token:"));
        let kubeconfig = kubeconfig.replace(token.unwrap(), "    token: op");
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("kubeconfig"), kubeconfig).unwrap();
        // The server listens until this value is dropped.
        std::mem::forget(server);
        let world = Self { cluster, home };
        world.install().await;
        world.allow().await;
        world
    }

    async fn install(&self) {
        let output = website().arg("crd").output().unwrap();
        let definition: CustomResourceDefinition =
            serde_saphyr::from_slice(&output.stdout).unwrap();
        crd::install(self.cluster.client(), &[definition], "website")
            .await
            .unwrap();
        let namespace = json!({"metadata": {"name": "operators"}});
        self.create::<pilothouse::k8s::api::core::v1::Namespace>(namespace)
            .await;
    }

    /// The roles for the operator's children, and those that the book gives for leader election and authorized metrics.
    async fn allow(&self) {
        let group = "rbac.authorization.k8s.io";
        let rule = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
        let metrics = json!({"verbs": ["get"], "nonResourceURLs": ["/metrics"]});
        let works = [
            rule(
                &["demo.pilothouse.dev", "apps", ""],
                &["websites", "deployments", "configmaps"],
                &["get", "list", "watch", "create", "patch", "delete"],
            ),
            rule(&["demo.pilothouse.dev"], &["websites/status"], &["patch"]),
            rule(&["events.k8s.io"], &["events"], &["create", "patch"]),
            rule(
                &["authentication.k8s.io", "authorization.k8s.io"],
                &["tokenreviews", "subjectaccessreviews"],
                &["create"],
            ),
        ];
        let leases = rule(
            &["coordination.k8s.io"],
            &["leases"],
            &["get", "create", "update"],
        );
        for (name, rules) in [("operator", json!(works)), ("prometheus", json!([metrics]))] {
            let role = json!({"metadata": {"name": name}, "rules": rules});
            self.create::<ClusterRole>(role).await;
            let binding = json!({"metadata": {"name": name},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
                "subjects": [{"apiGroup": group, "kind": "User", "name": name}]});
            self.create::<ClusterRoleBinding>(binding).await;
        }
        let election = json!({"name": "election", "namespace": "operators"});
        let role = json!({"metadata": election, "rules": [leases]});
        self.in_operators::<Role>(role).await;
        let binding = json!({"metadata": election,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "election"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "operator"}]});
        self.in_operators::<RoleBinding>(binding).await;
    }

    async fn create<K: pilothouse::resource::Resource>(&self, object: Value) {
        let object: K = serde_json::from_value(object).unwrap();
        self.cluster.create(&object).await.unwrap();
    }

    async fn in_operators<K: pilothouse::resource::Resource>(&self, object: Value) {
        let object: K = serde_json::from_value(object).unwrap();
        let cluster = self.cluster.in_namespace("operators");
        cluster.create(&object).await.unwrap();
    }

    /// Applies the Website `hello` with this page.
    pub async fn site(&self, html: &str) {
        let websites = ApiResource {
            group: "demo.pilothouse.dev".into(),
            version: "v1".into(),
            kind: "Website".into(),
            plural: "websites".into(),
            namespaced: true,
        };
        let api = Api::<DynamicObject>::of(self.cluster.client(), websites, Some("default"));
        let site = json!({"apiVersion": "demo.pilothouse.dev/v1", "kind": "Website",
            "metadata": {"name": "hello"}, "spec": {"html": html}});
        let params = PatchParams::apply("user").force();
        api.patch("hello", &params, &Patch::Apply(site))
            .await
            .unwrap();
    }

    /// Starts `website run` with these flags, on a free port.
    pub fn run(&self, flags: &[&str]) -> Website {
        let mut command = website();
        command
            .args(["run", "--metrics-address", "127.0.0.1:0", "--kubeconfig"])
            .arg(self.home.path().join("kubeconfig"))
            .args(flags);
        Website::spawn(command)
    }
}

fn website() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_website"));
    command.env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// A process of the operator. It is killed when dropped.
pub struct Website {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
    /// The address for metrics and health.
    pub url: String,
}

impl Website {
    fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        pass_on(child.stdout.take().unwrap(), sender.clone());
        pass_on(child.stderr.take().unwrap(), sender);
        let mut website = Self {
            child,
            lines,
            said: Vec::new(),
            url: String::new(),
        };
        let line = website.says("metrics and health on ");
        let url = line.split("metrics and health on ").nth(1).unwrap();
        website.url = url.trim().to_owned();
        website
    }

    /// Waits for a line of the log that contains `text`.
    fn says(&mut self, text: &str) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(error) => panic!("no `{text}`: {error}\n{}", self.said.join("\n")),
            }
            let line = &self.said[self.said.len() - 1];
            if line.contains(text) {
                return line.clone();
            }
        }
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.url.split("://").nth(1).unwrap().parse().unwrap()
    }

    /// Waits until `/readyz?verbose` contains `text`.
    pub async fn ready(&self, text: &str) {
        self.until("/readyz?verbose", |body| body.contains(text))
            .await;
    }

    /// Waits until `wanted` accepts the body at `path`.
    pub async fn until(&self, path: &str, wanted: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        loop {
            let (_, body) = get(&self.url, path, "").await;
            if wanted(&body) {
                return;
            }
            let said: Vec<String> = self.lines.try_iter().collect();
            assert!(begun.elapsed() < PATIENCE, "{body}\n{}", said.join("\n"));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(status.success());
    }

    /// Waits until the process has ended, which closes its outputs.
    pub fn end(&mut self) -> ExitStatus {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it does not end:\n{}", self.said.join("\n"))
                }
            }
        }
    }
}

impl Drop for Website {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pass_on(output: impl Read + Send + 'static, lines: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // The test may have dropped the receiver.
            let _ = lines.send(line);
        }
    });
}

/// Status and body of a GET with this bearer token, or without one if it is empty. Certificates are not verified.
pub async fn get(url: &str, path: &str, token: &str) -> (u16, String) {
    let config = Config::new(url.parse().unwrap()).with_insecure_skip_tls_verify();
    let config = match token {
        "" => config,
        token => config.with_token(token),
    };
    let client = Client::new(config).unwrap();
    let request = Request::get(path).body(Body::empty()).unwrap();
    let response = client.send(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}
