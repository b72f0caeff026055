//! What keeps the operator from starting is told in one line, and the exit code says so.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
};

/// Exit code and standard error of `website`, with the folder of the test as `~`.
fn website(folder: &Path, line: &str) -> (Option<i32>, String) {
    let folder = folder.to_str().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_website"))
        .args(line.replace('~', folder).split_whitespace())
        .env("XDG_CACHE_HOME", folder)
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", folder)
        .env("RUST_LOG", "error")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text.replace(folder, "~"))
}

#[test]
fn what_keeps_it_from_starting_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let cluster = |name: &str, more: &str| {
        let text = format!(
            "current-context: x\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'{more}}}}}]\n\
             users: [{{name: u, user: {{token: t0ken}}}}]\n"
        );
        fs::write(folder.join(name), text).unwrap();
    };
    fs::write(folder.join("empty"), "").unwrap();
    fs::write(folder.join("odd"), "clusters: t0ken").unwrap();
    cluster("good", "");
    cluster("no-file", ", certificate-authority: ca.crt");
    cluster("no-pem", ", certificate-authority: empty");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (taken, in_use) = (address.port(), TcpListener::bind(address).unwrap_err());

    let table = [
        (
            "run".into(),
            "no API server is configured: set KUBECONFIG, write ~/.kube/config, or run in a pod".into(),
        ),
        (
            "--kubeconfig ~/none".into(),
            "kubeconfig ~/none does not exist: check the path".into(),
        ),
        (
            "--kubeconfig ~/odd".into(),
            "kubeconfig ~/odd cannot be read (line 1, column 11): it is not YAML, or a value is not of the expected type".into(),
        ),
        (
            "--kubeconfig ~/empty".into(),
            "kubeconfig ~/empty has no current-context: choose one with `kubectl config use-context`".into(),
        ),
        (
            "--kubeconfig ~/good --context y".into(),
            "kubeconfig ~/good has no context \"y\": it has x".into(),
        ),
        (
            "--kubeconfig ~/no-file".into(),
            "cluster \"c\" in ~/no-file: certificate-authority ~/ca.crt cannot be read: entity not found".into(),
        ),
        (
            "--kubeconfig ~/no-pem".into(),
            "the certificate authority (certificate-authority ~/empty of cluster \"c\" in ~/no-pem) holds no readable certificate: it must be PEM, beginning with -----BEGIN CERTIFICATE-----".into(),
        ),
        (
            format!("--kubeconfig ~/good --metrics-address 127.0.0.1:{taken}"),
            format!("cannot listen on 127.0.0.1:{taken} for metrics and health: {in_use}: choose another address with --metrics-address, or 0 for none"),
        ),
        (
            format!("dev --port {taken}"),
            format!("cannot start the embedded API server on port {taken}: the port is taken: choose another with --port, or 0 for a free one"),
        ),
    ];
    for (line, expected) in table {
        let told = website(&folder, &line);
        assert_eq!(told, (Some(1), format!("error: {expected}\n")), "{line}");
    }
    let (code, text) = website(&folder, "serve");
    assert_eq!(code, Some(2));
    assert_eq!(
        text.lines().next(),
        Some("error: unrecognized subcommand 'serve'")
    );
}
