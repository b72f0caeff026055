//! If the operator cannot start, it prints one line and ends with the right exit code.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
};

/// Exit code of `website` and its output, or its error, with the folder of the test written as `~`.
fn website(folder: &Path, line: &str) -> (Option<i32>, String) {
    website_in(folder, line, &[])
}

/// Names and values of environment variables.
type Variables = &'static [(&'static str, &'static str)];

/// As [`website`], with environment variables.
fn website_in(folder: &Path, line: &str, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let folder = folder.to_str().unwrap();
    let environment = environment
        .iter()
        .map(|(name, value)| (name, value.replace('~', folder)));
    let output = Command::new(env!("CARGO_BIN_EXE_website"))
        .args(line.replace('~', folder).split_whitespace())
        .env("XDG_CACHE_HOME", folder)
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", folder)
        .env("RUST_LOG", "error")
        .envs(environment)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = match output.status.success() {
        true => output.stdout,
        false => output.stderr,
    };
    let text = String::from_utf8(said).unwrap();
    (output.status.code(), text.replace(folder, "~"))
}

#[test]
fn an_operator_that_cannot_start_prints_one_line() {
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
            "kubeconfig ~/odd cannot be read (line 1, column 11): expected a sequence, found a string".into(),
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
            format!("cannot listen on 127.0.0.1:{taken} for metrics and health: {in_use}: choose another address with --metrics-address, or 0 to turn the listener off"),
        ),
        (
            "--kubeconfig ~/good --metrics-address 127.0.0.1:0 --metrics-secure --metrics-cert-path ~/certs".into(),
            "cannot serve metrics and health over HTTPS: cannot read ~/certs/tls.crt: No such file or directory (os error 2)".into(),
        ),
        (
            format!("dev --port {taken}"),
            format!("cannot start the embedded API server on port {taken}: the port is in use: choose another with --port, or 0 for a free one"),
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

#[test]
fn an_invalid_setting_is_reported_in_one_line_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    fs::write(folder.join("unknown.yaml"), "log: info\nlogFormat: json\n").unwrap();
    fs::write(folder.join("wrong.yaml"), "log: info\nport: hunter2\n").unwrap();
    fs::write(folder.join("none.yaml"), "log info").unwrap();
    fs::write(folder.join("odd.yaml"), "log:\n  level: info\n").unwrap();
    fs::write(
        folder.join("site.yaml"),
        "renew-deadline: 15s\nmetrics-cert-path: /c\n",
    )
    .unwrap();
    let names = "context, data, debug-host, debug-page, install, kubeconfig, leader-elect, lease-duration, lease-name, lease-namespace, log, log-format, metrics-address, metrics-auth, metrics-cert-key, metrics-cert-name, metrics-cert-path, metrics-secure, namespace, port, renew-deadline, retry-period";
    let table: [(&str, Variables, String); 12] = [
        (
            "--config ~/unknown.yaml",
            &[],
            format!("~/unknown.yaml:2: unknown setting logFormat: did you mean log-format? The settings are {names}"),
        ),
        (
            "run",
            &[("WEBSITE_CONFIG", "~/wrong.yaml")],
            "~/wrong.yaml:2: invalid value 'hunter2' for port: invalid digit found in string".into(),
        ),
        (
            "dev",
            &[("WEBSITE_METRICS_ADDRESS", "here")],
            "WEBSITE_METRICS_ADDRESS: invalid value 'here' for metrics-address: `here` is not an address to listen on: write `:8080`, `127.0.0.1:8080` or `[::1]:8080`".into(),
        ),
        (
            "--config ~/none.yaml",
            &[],
            "~/none.yaml:1: not a YAML mapping of settings: write one `name: value` on each line".into(),
        ),
        (
            "--config ~/odd.yaml",
            &[],
            "~/odd.yaml:1: the setting is a mapping: write one value, or a list of values".into(),
        ),
        (
            "--config ~/gone.yaml",
            &[],
            "the settings file ~/gone.yaml does not exist: check --config".into(),
        ),
        (
            "--config ~/site.yaml",
            &[],
            "--lease-duration (15s: default) must be longer than --renew-deadline (15s: ~/site.yaml:1): otherwise two processes could lead at once".into(),
        ),
        (
            "dev --config ~/site.yaml",
            &[],
            "--metrics-cert-path (~/site.yaml:2) has no effect without --metrics-secure".into(),
        ),
        (
            "run",
            &[("WEBSITE_LEASE_NAMESPACE", "Operators")],
            "WEBSITE_LEASE_NAMESPACE: invalid value 'Operators' for lease-namespace: the name of a namespace has to be a DNS label: at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends".into(),
        ),
        (
            "run",
            &[("WEBSITE_RETRY_PERIOD", "2")],
            "WEBSITE_RETRY_PERIOD: invalid value '2' for retry-period: `2` is not a time: write `15s`, `500ms` or `1m30s`".into(),
        ),
        (
            "--metrics-secure --metrics-cert-key site.key",
            &[],
            "--metrics-cert-key (command line) has no effect without --metrics-cert-path".into(),
        ),
        (
            "dev --debug-page --metrics-address 0",
            &[],
            "--debug-page (command line) has no effect because --metrics-address is 0 (command line)".into(),
        ),
    ];
    for (line, environment, expected) in table {
        let (code, text) = website_in(&folder, line, environment);
        assert_eq!(
            (code, text.trim_end()),
            (Some(2), &*format!("error: {expected}"))
        );
    }
}

#[test]
fn print_settings_shows_each_setting_with_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    fs::write(
        folder.join("site.yaml"),
        "namespace: [shop, web]\nmetrics-address: :1\nlog-format: json\n",
    )
    .unwrap();
    let environment = [
        ("WEBSITE_METRICS_ADDRESS", ":2"),
        ("WEBSITE_LOG_FORMAT", "json"),
    ];
    let line = "--print-settings --config ~/site.yaml --log-format text";
    let (code, text) = website_in(&folder, line, &environment);
    let expected = "\
# kubeconfig: not set
# context: not set
namespace: [shop, web] # ~/site.yaml:1
leader-elect: true # default
lease-name: website # default
# lease-namespace: not set
lease-duration: 15s # default
renew-deadline: 10s # default
retry-period: 2s # default
metrics-address: \":2\" # WEBSITE_METRICS_ADDRESS
metrics-secure: false # default
# metrics-cert-path: not set
# metrics-cert-name: not set
# metrics-cert-key: not set
metrics-auth: false # default
debug-page: false # default
# debug-host: not set
log: error # RUST_LOG
log-format: text # command line
";
    assert_eq!((code, text.as_str()), (Some(0), expected));
}
