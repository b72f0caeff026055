//! The sandbox's protobuf beside that of Kubernetes: examples of its own tests, and client-go's typed clients.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
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
