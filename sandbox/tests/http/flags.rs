//! The flags of the program `pilothouse-sandbox`, each by what a client notices of it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use pilothouse_sandbox::internals::body;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::client::{MAPS, NAMESPACES};
use super::program::{PROGRAM, Running, administrator, value};

/// The flags that are tested here or in `program.rs`.
const FLAGS: [&str; 12] = [
    "--address",
    "--audit",
    "--cbor",
    "--controls",
    "--data",
    "--help",
    "--kubeconfig",
    "--port",
    "--rbac",
    "--seed",
    "--simulate",
    "--version",
];
const NODES: &str = "/api/v1/nodes";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

/// A program that serves, and its administrator.
struct Served {
    running: Running,
    addr: SocketAddr,
    config: Arc<ClientConfig>,
    token: String,
    folder: TempDir,
}

/// An answer with its raw body.
struct Answered {
    code: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Answered {
    /// The body as JSON.
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Served {
    fn with(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("config");
        let mut arguments = vec!["--kubeconfig", kubeconfig.to_str().unwrap()];
        arguments.extend(flags);
        let mut running = Running::start(Path::new(PROGRAM), &arguments);
        let addr = running.addr();
        let (config, token) = administrator(&kubeconfig);
        Self {
            running,
            addr,
            config,
            token,
            folder,
        }
    }

    async fn send(&self, mut request: Request<Full<Bytes>>, token: &str) -> Answered {
        let headers = request.headers_mut();
        headers.insert("host", "sandbox".parse().unwrap());
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        let stream = TcpStream::connect(self.addr).await.unwrap();
        let name = ServerName::from(self.addr.ip());
        let connector = TlsConnector::from(self.config.clone());
        let stream = connector.connect(name, stream).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let (head, body) = sender.send_request(request).await.unwrap().into_parts();
        Answered {
            code: head.status.as_u16(),
            headers: head.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }

    async fn get(&self, path: &str) -> Answered {
        let request = Request::get(path).body(Full::default()).unwrap();
        self.send(request, &self.token).await
    }

    async fn post(&self, path: &str, object: &Value) -> Answered {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Full::from(object.to_string())).unwrap();
        self.send(request, &self.token).await
    }
}

/// Runs the program to its end.
fn ended(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn every_flag_of_the_help_has_a_test() {
    let help = ended(&["--help"]);
    assert!(help.status.success());
    let help = text(&help.stdout);
    let words = help.split(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
    let flags: BTreeSet<&str> = words.filter(|word| word.starts_with("--")).collect();
    assert_eq!(flags, BTreeSet::from(FLAGS), "{help}");
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = ended(&["--version"]);
    let expected = format!("pilothouse-sandbox {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (version.status.code(), text(&version.stdout)),
        (Some(0), expected)
    );
}

#[test]
fn wrong_flags_are_refused_with_what_is_wrong() {
    for (arguments, expected) in [
        (&["--port", "70000"][..], "'70000'"),
        (&["--address", "here"], "'here'"),
        (&["--seed", "x"], "'x'"),
        (
            &["--seed", "1", "--data", "x"],
            "cannot be used with '--data",
        ),
        (&["--simulat"], "'--simulat'"),
    ] {
        let refused = ended(arguments);
        let shown = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {shown}");
        assert!(shown.contains(expected), "{arguments:?}: {shown}");
    }
}

#[tokio::test]
async fn the_program_listens_at_the_address_and_port_that_it_is_given() {
    // Elsewhere than on Linux a machine has only one loopback address. On Linux nobody else takes ports of this one.
    let address = match cfg!(target_os = "linux") {
        true => "127.0.0.2",
        false => "127.0.0.1",
    };
    let free = std::net::TcpListener::bind((address, 0)).unwrap();
    let addr = free.local_addr().unwrap();
    drop(free);
    let port = addr.port().to_string();
    let served = Served::with(&["--address", address, "--port", &port]);
    assert_eq!(served.addr, addr);
    let kubeconfig = served.folder.path().join("config");
    assert_eq!(value(&kubeconfig, "server"), format!("https://{addr}"));
    assert_eq!(served.get(NAMESPACES).await.code, 200);

    let other = served.folder.path().join("other");
    let taken = ended(&[
        "--kubeconfig",
        other.to_str().unwrap(),
        "--address",
        address,
        "--port",
        &port,
    ]);
    let shown = text(&taken.stderr);
    assert_eq!(taken.status.code(), Some(1));
    assert!(
        shown.starts_with(&format!("error: listen on {addr}: ")),
        "{shown}"
    );
    assert!(!other.exists(), "it has no server to name");
    assert!(served.running.stop());
}

#[tokio::test]
async fn roles_decide_only_if_the_program_is_told_so() {
    for (flags, expected) in [(&[][..], 200), (&["--rbac"], 403)] {
        let served = Served::with(flags);
        let account = json!({"metadata": {"name": "robot"}});
        assert_eq!(served.post(ACCOUNTS, &account).await.code, 201);
        let issued = served
            .post(&format!("{ACCOUNTS}/robot/token"), &json!({"spec": {}}))
            .await
            .json();
        let token = issued["status"]["token"].as_str().unwrap();
        let list = async || {
            let request = Request::get(MAPS).body(Full::default()).unwrap();
            served.send(request, token).await
        };
        let listed = list().await;
        assert_eq!(listed.code, expected, "{flags:?}");
        if expected == 200 {
            continue;
        }
        let message = "configmaps is forbidden: User \"system:serviceaccount:default:robot\" cannot list resource \"configmaps\" \
                       in API group \"\" in the namespace \"default\"";
        assert_eq!(listed.json()["message"], message);
        let role = json!({"metadata": {"name": "reader"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]});
        assert_eq!(
            served.post(&format!("{ROLES}/roles"), &role).await.code,
            201
        );
        let binding = json!({
            "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}],
        });
        let bound = served
            .post(&format!("{ROLES}/rolebindings"), &binding)
            .await;
        assert_eq!((bound.code, list().await.code), (201, 200));
    }
}

#[tokio::test]
async fn cbor_is_spoken_only_if_the_program_is_told_so() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}});
    let in_cbor = body::to_cbor(map.to_string().as_bytes());
    for (flags, posted, listed) in [(&[][..], 415, 406), (&["--cbor"], 201, 200)] {
        let served = Served::with(flags);
        let create = Request::post(MAPS).header("content-type", "application/cbor");
        let create = create.body(Full::from(in_cbor.clone())).unwrap();
        let created = served.send(create, &served.token).await;
        assert_eq!(created.code, posted, "{flags:?}");
        let list = Request::get(MAPS).header("accept", "application/cbor");
        let list = list.body(Full::default()).unwrap();
        let answer = served.send(list, &served.token).await;
        assert_eq!(answer.code, listed, "{flags:?}");
        if listed == 200 {
            assert_eq!(answer.headers["content-type"], "application/cbor");
            // A document that describes itself as CBOR.
            assert_eq!(answer.body[..3], *b"\xd9\xd9\xf7");
            let list = body::decode("application/cbor", &answer.body).unwrap();
            assert_eq!(list["items"][0]["data"], map["data"]);
        }
    }
}

#[tokio::test]
async fn controls_are_served_only_if_the_program_is_told_so() {
    let fault = json!({"fault": "answer", "match": {"verb": "list", "resource": "configmaps"}, "code": 503});
    for (flags, planned, listed) in [(&[][..], 404, 200), (&["--controls"], 200, 503)] {
        let served = Served::with(flags);
        let plan = served.post("/sandbox/faults", &fault).await;
        assert_eq!(plan.code, planned, "{flags:?}");
        assert_eq!(served.get(MAPS).await.code, listed, "{flags:?}");
        assert_eq!(served.get(MAPS).await.code, 200, "{flags:?}");
        if planned == 200 {
            let requests = served.get("/sandbox/requests").await.json();
            let statuses: Vec<&Value> = requests["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|request| &request["status"])
                .collect();
            assert_eq!(statuses, [503, 200]);
        }
    }
}

#[tokio::test]
async fn a_seed_makes_names_uids_and_times_repeatable() {
    let begun = async |seed: &str| {
        let served = Served::with(&["--seed", seed]);
        let namespace = served.get(&format!("{NAMESPACES}/default")).await.json();
        let map = json!({"metadata": {"generateName": "a-"}});
        let map = served.post(MAPS, &map).await.json();
        [
            &namespace["metadata"]["uid"],
            &namespace["metadata"]["creationTimestamp"],
            &map["metadata"]["name"],
            &map["metadata"]["uid"],
        ]
        .map(Value::to_string)
    };
    let (one, again, other) = (begun("7").await, begun("7").await, begun("8").await);
    for at in [0, 2, 3] {
        assert_eq!(one[at], again[at]);
        assert_ne!(one[at], other[at]);
    }
    // Time goes on from its beginning.
    assert!(one[1].starts_with("\"2026-01-01T00:0"), "{}", one[1]);
}

#[tokio::test]
async fn workloads_run_only_if_the_program_is_told_so() {
    let pods = "/api/v1/namespaces/default/pods";
    let pod =
        json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    for (flags, nodes) in [(&[][..], 0), (&["--simulate"], 1)] {
        let served = Served::with(flags);
        let found = served.get(NODES).await.json();
        assert_eq!(found["items"].as_array().unwrap().len(), nodes, "{flags:?}");
        if nodes == 0 {
            continue;
        }
        let runs = async {
            // A namespace gets its service account a moment after its creation.
            while served.post(pods, &pod).await.code != 201 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            while served.get(&format!("{pods}/web")).await.json()["status"]["phase"] != "Running" {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let runs = tokio::time::timeout(Duration::from_secs(60), runs).await;
        runs.expect("the Pod runs");
    }
}
