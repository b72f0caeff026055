//! Runs each kubectl of the tests against the logs and processes of the sandbox's Pods.

use std::{io::Write, path::Path, process::Stdio, time::Duration};

use pilothouse::{
    events::{NewEvent, Recorder},
    k8s::api::core::v1::Pod,
};
use pilothouse_sandbox::Sandbox;
use pilothouse_tests::{
    containers::{self, ECHO},
    kubectl::programs,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::target::{Nodes, Target};

/// A time limit that no step reaches normally.
const PATIENCE: Duration = Duration::from_secs(60);

struct Kubectl<'a> {
    program: &'a Path,
    home: &'a TempDir,
    websockets: bool,
}

impl Kubectl<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command
            .args(arguments)
            .env("KUBECONFIG", self.home.path().join("config"))
            .env("HOME", self.home.path())
            .env(
                "KUBECTL_REMOTE_COMMAND_WEBSOCKETS",
                self.websockets.to_string(),
            )
            .env(
                "KUBECTL_PORT_FORWARD_WEBSOCKETS",
                self.websockets.to_string(),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Returns the exit code, the output and the errors.
    async fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        self.run_with(arguments, "").await
    }

    async fn run_with(&self, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        let output = timeout(PATIENCE, child.wait_with_output()).await;
        let output = output
            .unwrap_or_else(|_| panic!("{arguments:?} does not end"))
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_reads_logs_and_runs_processes_as_on_a_cluster() {
    let kubectls = programs();
    if kubectls.is_empty() {
        // Not `println!`, because the harness hides the output of a passing test.
        let told = "skipped: kubectl: there is none on the PATH or in PILOTHOUSE_KUBECTL\n";
        std::io::stderr().write_all(told.as_bytes()).unwrap();
    }
    for program in &kubectls {
        runs_and_forwards(program, true).await;
    }
}

/// The newest kubectl falls back to SPDY if it is told to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_runs_processes_and_forwards_ports_without_websockets() {
    for program in programs().iter().take(1) {
        runs_and_forwards(program, false).await;
    }
}

async fn runs_and_forwards(program: &Path, websockets: bool) {
    let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    containers::register(&sandbox, folder.path());
    let server = sandbox
        .serve_https(([127, 0, 0, 1], 0).into())
        .await
        .unwrap();
    let home = tempfile::tempdir().unwrap();
    let kubeconfig = sandbox.kubeconfig(&server);
    std::fs::write(home.path().join("config"), &kubeconfig).unwrap();
    let target = Target::start(kubeconfig, Nodes::Simulated(sandbox.clone())).await;
    let kubectl = Kubectl {
        program,
        home: &home,
        websockets,
    };
    story(&kubectl, &target).await;
    sandbox.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_shows_how_long_a_job_runs_and_has_run() {
    const HOUR: Duration = Duration::from_secs(3600);
    const MINUTE: Duration = Duration::from_secs(60);
    for program in &programs() {
        let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
        sandbox.pods().of("report").succeed_after(5 * HOUR);
        let server = sandbox
            .serve_https(([127, 0, 0, 1], 0).into())
            .await
            .unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config"), sandbox.kubeconfig(&server)).unwrap();
        let kubectl = Kubectl {
            program,
            home: &home,
            websockets: true,
        };
        let ok = async |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let (code, output, errors) = kubectl.run(&words).await;
            assert_eq!(code, Some(0), "kubectl {line}: {errors}");
            output
        };
        let row = async || {
            let row = ok("get jobs --no-headers").await;
            row.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        ok("create job report --image=report").await;
        let runs = async { while !ok("get pods").await.contains(" Running ") {} };
        timeout(PATIENCE, runs).await.expect("the Pod runs");
        // Half a minute is left until a cell changes.
        sandbox.advance_clock(3 * HOUR + 20 * MINUTE + MINUTE / 2);
        let running = row().await;
        assert_eq!(running, ["report", "Running", "0/1", "3h20m", "3h20m"]);
        sandbox.advance_clock(100 * MINUTE);
        ok("wait --for=condition=Complete job/report --timeout=60s").await;
        let finished = row().await;
        assert_eq!(finished, ["report", "Complete", "1/1", "5h", "5h"]);
        sandbox.advance_clock(24 * HOUR);
        let later = row().await;
        assert_eq!(later, ["report", "Complete", "1/1", "5h", "29h"]);
        let headers = ok("get jobs").await;
        let headers: Vec<&str> = headers.split_whitespace().take(5).collect();
        assert_eq!(
            headers,
            ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"]
        );
        sandbox.shutdown().await;
    }
}

/// `kubectl create` sends protobuf. An old kubectl creates versions that are no longer served, so only the first one runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_creates_objects() {
    for program in programs().iter().take(1) {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let server = sandbox
            .serve_https(([127, 0, 0, 1], 0).into())
            .await
            .unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config"), sandbox.kubeconfig(&server)).unwrap();
        let kubectl = Kubectl {
            program,
            home: &home,
            websockets: true,
        };
        for (arguments, created) in [
            ("create configmap a --from-literal=x=1", "configmap/a"),
            ("create secret generic a --from-literal=x=1", "secret/a"),
            (
                "create secret docker-registry b --docker-server=r --docker-username=u --docker-password=p",
                "secret/b",
            ),
            ("create serviceaccount a", "serviceaccount/a"),
            ("create namespace a", "namespace/a"),
            (
                "create deployment a --image=a --port=80",
                "deployment.apps/a",
            ),
            ("create service clusterip a --tcp=80:http", "service/a"),
            (
                "expose deployment a --name=b --port=80 --target-port=8080",
                "service/b",
            ),
            ("create job a --image=a -- x y", "job.batch/a"),
            (
                "create cronjob a --image=a --schedule=@daily",
                "cronjob.batch/a",
            ),
            ("create job b --from=cronjob/a", "job.batch/b"),
            (
                "create poddisruptionbudget a --selector=a=b --min-available=50%",
                "poddisruptionbudget.policy/a",
            ),
            (
                "create role a --verb=get --resource=pods",
                "role.rbac.authorization.k8s.io/a",
            ),
            (
                "create rolebinding a --role=a --user=u",
                "rolebinding.rbac.authorization.k8s.io/a",
            ),
            (
                "create clusterrole a --verb=get --non-resource-url=/metrics",
                "clusterrole.rbac.authorization.k8s.io/a",
            ),
            (
                "create clusterrolebinding a --clusterrole=a --group=g",
                "clusterrolebinding.rbac.authorization.k8s.io/a",
            ),
            ("run a --image=a --env=A=b", "pod/a"),
        ] {
            let split: Vec<&str> = arguments.split(' ').collect();
            let (code, output, errors) = kubectl.run(&split).await;
            let word = if arguments.starts_with("expose") {
                "exposed"
            } else {
                "created"
            };
            assert_eq!(
                (code, output),
                (Some(0), format!("{created} {word}\n")),
                "kubectl {arguments}: {errors}"
            );
        }
        let (code, token, errors) = kubectl.run(&["create", "token", "a"]).await;
        assert_eq!((code, token.matches('.').count()), (Some(0), 2), "{errors}");
        // Only with the simulator a namespace has an account of its own.
        let (_, _, errors) = kubectl.run(&["create", "token", "default"]).await;
        assert!(errors.contains("\"default\" not found"), "{errors}");
        let (code, _, errors) = kubectl.run(&["create", "namespace", "a"]).await;
        assert_eq!(code, Some(1));
        assert!(
            errors.contains("namespaces \"a\" already exists"),
            "{errors}"
        );
        let port = [
            "get",
            "service",
            "b",
            "-o",
            "jsonpath={.spec.ports[0].targetPort}",
        ];
        assert_eq!(kubectl.run(&port).await.1, "8080");
        // `expose` and `run` send JSON.
        let requests = sandbox.requests().into_iter();
        let in_protobuf = requests
            .filter(|request| request.content_type == "application/vnd.kubernetes.protobuf");
        assert!(in_protobuf.count() > 12);
        sandbox.shutdown().await;
    }
}

/// Checks that kubectl lists Events and shows them with the object.
async fn events(kubectl: &Kubectl<'_>, target: &Target, pod: &Pod) {
    let recorder = Recorder::new(&target.client, "tests.example.com/probe");
    recorder.start(&CancellationToken::new());
    for note in ["no answer", "no answer yet"] {
        recorder.event(pod, NewEvent::warning("Unhealthy", "Probe").note(note));
    }
    recorder.shutdown(PATIENCE).await;
    let namespace = target.namespace.as_str();
    for told in [&["get", "events"][..], &["describe", "pod", "web"]] {
        let arguments = [&["-n", namespace], told].concat();
        let (code, output, errors) = kubectl.run(&arguments).await;
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        let line = output.lines().find(|line| line.contains("Unhealthy"));
        let line = line.unwrap_or_else(|| panic!("{told:?}: {output}"));
        assert!(
            line.contains("Warning") && line.contains("no answer yet"),
            "{line}"
        );
    }
}

/// Copies a file to a container and back.
async fn copy(kubectl: &Kubectl<'_>, namespace: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (here, back) = (folder.path().join("here"), folder.path().join("back"));
    let content = "line\n".repeat(100_000);
    std::fs::write(&here, &content).unwrap();
    for (from, to) in [
        (here.to_str().unwrap(), "web:there"),
        ("web:there", back.to_str().unwrap()),
    ] {
        let (code, output, errors) = kubectl.run(&["-n", namespace, "cp", from, to]).await;
        assert_eq!((code, output.as_str()), (Some(0), ""), "{from}: {errors}");
    }
    assert_eq!(std::fs::read_to_string(back).unwrap(), content);
}

/// Reaches two connections at one port, and learns that nothing listens at another.
async fn forward(kubectl: &Kubectl<'_>, namespace: &str) {
    let ports = [format!(":{ECHO}"), ":9".to_owned()];
    let forward = ["-n", namespace, "port-forward", "web", &ports[0], &ports[1]];
    let mut forwarding = kubectl.start(&forward);
    let mut lines = BufReader::new(forwarding.stdout.take().unwrap()).lines();
    let mut errors = BufReader::new(forwarding.stderr.take().unwrap()).lines();
    let mut address = async || {
        loop {
            let line = timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap();
            let line = line.expect("an address");
            // It forwards from both loopback addresses, if the machine has both.
            if let Some(rest) = line.strip_prefix("Forwarding from 127.0.0.1:") {
                let (port, _) = rest.split_once(' ').unwrap();
                return ("127.0.0.1", port.parse::<u16>().unwrap());
            }
        }
    };
    let (echo, closed) = (address().await, address().await);
    for said in ["one", "two"] {
        let mut connection = tokio::net::TcpStream::connect(echo).await.unwrap();
        let text = format!("{said}{}bye", "x".repeat(100_000));
        connection.write_all(text.as_bytes()).await.unwrap();
        let mut heard = String::new();
        let read = timeout(PATIENCE, connection.read_to_string(&mut heard)).await;
        read.unwrap().unwrap();
        assert!(heard == text, "{} of {} bytes", heard.len(), text.len());
    }
    let mut connection = tokio::net::TcpStream::connect(closed).await.unwrap();
    let ended = timeout(PATIENCE, connection.read_to_end(&mut Vec::new())).await;
    ended.unwrap().unwrap_or_default();
    loop {
        let line = timeout(PATIENCE, errors.next_line())
            .await
            .unwrap()
            .unwrap();
        let line = line.expect("the reason");
        if line.contains("failed to connect to localhost:9: connection refused") {
            return;
        }
    }
}

async fn story(kubectl: &Kubectl<'_>, target: &Target) {
    let pods = target.running_pod("web").await;
    events(kubectl, target, &pods.get("web").await.unwrap()).await;
    let namespace = target.namespace.as_str();
    let ok = |output: &str| (Some(0), output.to_owned(), String::new());

    let (code, token, errors) = kubectl
        .run(&["-n", namespace, "create", "token", "default"])
        .await;
    // Older versions do not have the command.
    if !errors.contains("unknown command") {
        assert_eq!((code, token.matches('.').count()), (Some(0), 2), "{errors}");
    }

    target.write_log("web", &["one", "two"]).await;
    let all = kubectl.run(&["-n", namespace, "logs", "web"]).await;
    assert_eq!(
        all,
        ok("simulated: container main of image main started\none\ntwo\n")
    );
    let last = kubectl
        .run(&["-n", namespace, "logs", "web", "--tail=1"])
        .await;
    assert_eq!(last, ok("two\n"));
    let recent = ["-n", namespace, "logs", "web", "--since=1h", "--tail=2"];
    assert_eq!(kubectl.run(&recent).await, ok("one\ntwo\n"));
    let later = [
        "-n",
        namespace,
        "logs",
        "web",
        "--since-time=2100-01-01T00:00:00Z",
    ];
    assert_eq!(kubectl.run(&later).await, ok(""));
    let previous = kubectl.run(&["-n", namespace, "logs", "web", "-p"]).await;
    assert_eq!(previous.0, Some(1));
    let why = "previous terminated container \"main\" in pod \"web\" not found";
    assert!(previous.2.contains(why), "{previous:?}");
    let mut follow = kubectl.start(&["-n", namespace, "logs", "-f", "web", "--tail=1"]);
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    for line in ["two", "three", "four"] {
        let next = timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap();
        assert_eq!(next.as_deref(), Some(line));
        let written = if line == "two" { "three" } else { "four" };
        target.write_log("web", &[written]).await;
    }
    drop(follow);
    let other = kubectl
        .run(&["-n", namespace, "logs", "web", "-c", "other"])
        .await;
    assert_eq!(other.0, Some(1));
    assert!(
        other.2.contains("container other is not valid for pod web"),
        "{other:?}"
    );

    processes(kubectl, target).await;
    forward(kubectl, namespace).await;
}

/// Executes programs, attaches to one, and copies files, in a Pod `web` that runs.
async fn processes(kubectl: &Kubectl<'_>, target: &Target) {
    let namespace = target.namespace.as_str();
    let ok = |output: &str| (Some(0), output.to_owned(), String::new());
    let execute = ["-n", namespace, "exec", "web", "--"];
    let shell = async |script: &str| {
        let line = [&execute[..], &["sh", "-c", script]].concat();
        kubectl.run(&line).await
    };
    let both = shell("printf out; printf err >&2").await;
    assert_eq!(both, (Some(0), "out".into(), "err".into()));
    let cat = ["-n", namespace, "exec", "-i", "web", "--", "cat"];
    assert_eq!(kubectl.run_with(&cat, "hello\n").await, ok("hello\n"));
    let exit = shell("exit 3").await;
    assert_eq!(exit.0, Some(3), "{exit:?}");
    let nothing = kubectl
        .run(&["-n", namespace, "exec", "web", "--", "nothing"])
        .await;
    assert_eq!(nothing.0, Some(1));
    assert!(
        nothing.2.contains("executable file not found in $PATH"),
        "{nothing:?}"
    );

    let mut attached = kubectl.start(&["-n", namespace, "attach", "web"]);
    let mut heard = [0; 6];
    let mut stdout = attached.stdout.take().unwrap();
    let write = async {
        loop {
            target.write_log("web", &["after"]).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::select! {
        heard = timeout(PATIENCE, stdout.read_exact(&mut heard)) => {
            heard.unwrap().unwrap();
        }
        () = write => {}
    }
    assert_eq!(&heard, b"after\n");

    drop(attached);

    copy(kubectl, namespace).await;
}
