//! The sandbox's protobuf beside that of Kubernetes: examples of its own tests, and client-go's typed clients.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use pilothouse::{
    client::{Api, Body, BoxError, Client},
    k8s::api::core::v1::Pod,
};
use pilothouse_sandbox::{
    Sandbox,
    internals::protobuf::{decode, encode},
};
use serde::Deserialize;
use serde_json::Value;
use tokio::{process::Command, time::timeout};

/// The program of `tests/kubectl/typed`.
const PROGRAM: &str = "PILOTHOUSE_CLIENT_GO_TYPED";
/// A time limit that the program does not reach normally.
const PATIENCE: Duration = Duration::from_secs(120);

/// Not `println!`, because the harness hides the output of a passing test.
fn skip(why: &str) {
    let skipped = format!("skipped: {why}\n");
    std::io::stderr().write_all(skipped.as_bytes()).unwrap();
}

/// The folder of the module k8s.io/api with an example of every kind, as JSON and as protobuf.
fn examples() -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Module {
        #[serde(rename = "Dir")]
        folder: PathBuf,
    }
    let module = std::process::Command::new("go")
        .args(["mod", "download", "-json", "k8s.io/api"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster"))
        .output()
        .ok()?;
    let module: Module = serde_json::from_slice(&module.stdout).ok()?;
    Some(module.folder.join("testdata/HEAD"))
}

#[test]
fn the_examples_of_kubernetes_are_read_and_written_byte_for_byte() {
    let Some(folder) = examples() else {
        return skip("examples of protobuf: the Go module k8s.io/api is not there");
    };
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // An event of a watch has no envelope.
        if path.extension().is_none_or(|extension| extension != "pb") || name.contains("WatchEvent")
        {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let json: Value =
            serde_json::from_slice(&fs::read(path.with_extension("json")).unwrap()).unwrap();
        assert_eq!(
            decode(&bytes, ("", ""), |object| object).as_ref(),
            Ok(&json),
            "{name}"
        );
        assert!(encode(&json) == Some(bytes), "{name}");
        count += 1;
    }
    assert!(count > 150, "{count} examples");
}

/// Reads the answer of a server into a value, with the framework's client.
async fn read_by_client(body: Vec<u8>) -> Result<Value, String> {
    let body = bytes::Bytes::from(body);
    let answer = tower::service_fn(move |_: http::Request<Body>| {
        let mut answer = http::Response::new(Body::from(body.clone()));
        let media_type = http::HeaderValue::from_static("application/vnd.kubernetes.protobuf");
        answer
            .headers_mut()
            .insert(http::header::CONTENT_TYPE, media_type);
        std::future::ready(Ok::<_, BoxError>(answer))
    });
    let client = Client::from_service(answer);
    let pods = Api::<Pod>::namespaced(&client, "n").with_managed_fields();
    // The answer of a subresource may be of any kind.
    let read = pods.get_subresource("a", "b").await;
    read.map_err(|error| error.to_string())
}

/// Whether `whole` has what `part` has. JSON of an older server lacks what a newer one always writes.
fn has(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part.iter().all(|(key, part)| {
            let found = whole.get(key).unwrap_or(&Value::Null);
            has(found, part)
        }),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(one, other)| has(one, other))
        }
        _ => whole == part,
    }
}

/// The examples of the release of the table, and those of older ones.
#[tokio::test]
async fn the_client_reads_the_examples_of_kubernetes_as_json() {
    let Some(newest) = examples() else {
        return skip("examples of protobuf: the Go module k8s.io/api is not there");
    };
    let mut counts = Vec::new();
    for folder in fs::read_dir(newest.parent().unwrap()).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let mut count = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let is_event = name.contains("WatchEvent");
            // An alpha or beta version may lose fields.
            let is_stable = !name.contains("alpha") && !name.contains("beta");
            let is_example = path.extension().is_some_and(|extension| extension == "pb")
                && path.with_extension("json").exists();
            if !is_example || is_event || !(is_stable || folder == newest) {
                continue;
            }
            let json: Value =
                serde_json::from_slice(&fs::read(path.with_extension("json")).unwrap()).unwrap();
            let found = read_by_client(fs::read(&path).unwrap()).await;
            match folder == newest {
                true => assert_eq!(found.as_ref(), Ok(&json), "{name}"),
                // A kind that is gone since then is not asked for in protobuf.
                false
                    if found
                        .as_ref()
                        .is_err_and(|error| error.contains("does not know")) => {}
                false => {
                    let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
                    assert!(has(&found, &json), "{name} of {folder:?}: {found} {json}");
                }
            }
            count += 1;
        }
        counts.push(count);
    }
    assert!(counts.iter().sum::<usize>() > 150, "{counts:?} examples");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_go_gets_the_same_objects_in_protobuf_and_in_json() {
    let Some(program) = env::var_os(PROGRAM).filter(|program| !program.is_empty()) else {
        return skip(&format!("client-go's typed clients: {PROGRAM} is not set"));
    };
    let sandbox = Sandbox::builder().seed(1).build().unwrap();
    let server = sandbox
        .serve_https(([127, 0, 0, 1], 0).into())
        .await
        .unwrap();
    let home = tempfile::NamedTempFile::new().unwrap();
    fs::write(home.path(), sandbox.kubeconfig(&server)).unwrap();
    let program = Command::new(program)
        .arg(home.path())
        .arg("default")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, program).await.expect("it ends").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (kinds, errors) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{errors}");
    let kinds: Vec<&str> = kinds.lines().collect();
    assert_eq!(
        kinds,
        [
            "v1.ConfigMap",
            "v1.Secret",
            "v1.Service",
            "v1.ServiceAccount",
            "v1.Deployment",
            "v1.StatefulSet",
            "v1.Job",
            "v1.CronJob",
            "v1.Lease",
            "v1.PodDisruptionBudget",
            "v1.RoleBinding",
            "requests",
        ]
    );
    sandbox.shutdown().await;
}
