//! The quick start as a user types it: each installed kubectl works with `website dev`.
//!
//! `PILOTHOUSE_KUBECTL` names the programs, separated as in `PATH`. Without it, the tests use the one on the `PATH`.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::dev::{Dev, eventually};

/// The kubectl programs to test with.
fn kubectls() -> Vec<PathBuf> {
    if let Some(named) = env::var_os("PILOTHOUSE_KUBECTL").filter(|named| !named.is_empty()) {
        return env::split_paths(&named).collect();
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders)
        .map(|folder| folder.join("kubectl"))
        .find(|kubectl| kubectl.is_file())
        .into_iter()
        .collect()
}

/// One kubectl and one `website dev`.
struct Kubectl<'a> {
    program: &'a Path,
    dev: &'a Dev,
}

impl Kubectl<'_> {
    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(self.program);
        command
            .args(arguments.split_whitespace())
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .env("KUBECONFIG", &self.dev.kubeconfig)
            .env("HOME", self.dev.home())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command. Returns whether it succeeded, and its output.
    fn tried(&self, arguments: &str) -> (bool, String) {
        let output = self.command(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    /// Runs a command that must succeed. Returns its output.
    fn run(&self, arguments: &str) -> String {
        let (success, text) = self.tried(arguments);
        assert!(
            success,
            "{} {arguments}:\n{text}{}",
            self.program.display(),
            self.dev.log()
        );
        text
    }

    /// Writes a Website with this spec into a file. Returns the path.
    fn file(&self, name: &str, spec: &str) -> String {
        let path = self.dev.home().join(name);
        let head = "apiVersion: demo.pilothouse.dev/v1\nkind: Website\nmetadata:\n  name: hello\n";
        std::fs::write(&path, format!("{head}spec:\n  {spec}\n")).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Repeats a command until it succeeds and its output contains `expected`. Columns are separated by one space.
    fn until(&self, arguments: &str, expected: &str) -> String {
        eventually(
            &format!("{} {arguments}: {expected}", self.program.display()),
            || {
                let (success, text) = self.tried(arguments);
                if success && squeezed(&text).contains(expected) {
                    Ok(text)
                } else {
                    Err(text)
                }
            },
        )
    }
}

/// The words of each line, separated by one space.
fn squeezed(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn kubectl_works_as_with_a_cluster() {
    let kubectls = kubectls();
    if kubectls.is_empty() {
        // Not with `println!`, because the test harness hides its output if the test passes.
        let told = "skipped: kubectl: not found on the PATH or in PILOTHOUSE_KUBECTL\n";
        std::io::stderr().write_all(told.as_bytes()).unwrap();
    }
    for program in &kubectls {
        let dev = Dev::start();
        story(&Kubectl { program, dev: &dev });
        assert_eq!(dev.interrupt().code(), Some(0));
    }
}

/// A role that allows the user `jane` to read websites.
const READERS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- apiGroups: [demo.pilothouse.dev]
  resources: [websites]
  verbs: [get, list]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: jane}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}
";

fn story(kubectl: &Kubectl<'_>) {
    // The definition that `website crd` prints.
    let printed = Command::new(env!("CARGO_BIN_EXE_website"))
        .arg("crd")
        .output();
    let definition = kubectl.dev.home().join("crd.yaml");
    std::fs::write(&definition, printed.unwrap().stdout).unwrap();
    let applied = kubectl.run(&format!("apply -f {}", definition.display()));
    let name = "customresourcedefinition.apiextensions.k8s.io/websites.demo.pilothouse.dev";
    assert!(applied.contains(name), "{applied}");

    // The kubeconfig's user is an administrator. Other users may do what roles allow.
    let (read, refused) = kubectl.tried("get websites --as jane");
    assert!(!read && refused.contains("(Forbidden)"), "{refused}");
    let roles = kubectl.dev.home().join("roles.yaml");
    std::fs::write(&roles, READERS).unwrap();
    kubectl.run(&format!("apply -f {}", roles.display()));
    kubectl.run("get websites --as jane");

    let applied = kubectl.run("apply -f examples/website/site.yaml");
    assert_eq!(applied.trim(), "website.demo.pilothouse.dev/hello created");
    let unchanged = kubectl.run("apply -f examples/website/site.yaml");
    assert_eq!(
        unchanged.trim(),
        "website.demo.pilothouse.dev/hello unchanged"
    );

    let websites = kubectl.until("get websites", "hello 2 ");
    let header = squeezed(&websites);
    assert!(header.starts_with("NAME READY AGE\n"), "{websites}");
    kubectl.until("get deployment,configmap", "deployment.apps/hello 2/2 2 2 ");
    let children = kubectl.run("get deployment,configmap");
    assert!(
        squeezed(&children).contains("configmap/hello 1 "),
        "{children}"
    );

    let watch = Watch::start(kubectl, "get websites --watch");
    watch.until("hello 2");
    let patched =
        kubectl.run(r#"patch website hello --type=merge -p {"spec":{"html":"<h1>Changed</h1>"}}"#);
    assert_eq!(patched.trim(), "website.demo.pilothouse.dev/hello patched");
    kubectl.until(
        "get configmap hello -o jsonpath={.data.index\\.html}",
        "<h1>Changed</h1>",
    );

    let scaled = kubectl.run("scale website hello --replicas=3");
    assert!(scaled.trim().ends_with("scaled"), "{scaled}");
    kubectl.until("get deployment hello", "hello 3/3 3 3 ");
    watch.until("hello 3");
    drop(watch);

    // kubectl reads the resource's OpenAPI schema to choose the type of patch for a changed file.
    let changed = kubectl.file(
        "changed.yaml",
        "replicas: 4\n  html: <h1>Changed again</h1>",
    );
    let reapplied = kubectl.run(&format!("apply -f {changed}"));
    assert_eq!(
        reapplied.trim(),
        "website.demo.pilothouse.dev/hello configured"
    );
    kubectl.until("get deployment hello", "hello 4/4 4 4 ");
    let replaced = kubectl.file("theirs.yaml", "replicas: 3\n  html: <h1>Changed again</h1>");
    let server_side = format!("apply --server-side --field-manager=other -f {replaced}");
    let (accepted, refused) = kubectl.tried(&server_side);
    assert!(
        !accepted && refused.contains("conflict with \"kubectl-client-side-apply\""),
        "{refused}"
    );
    let forced = kubectl.run(&format!("{server_side} --force-conflicts"));
    assert_eq!(
        forced.trim(),
        "website.demo.pilothouse.dev/hello serverside-applied"
    );
    kubectl.until("get deployment hello", "hello 3/3 3 3 ");

    for (patch, expected) in [
        (
            r#"--type=merge -p {"spec":{"replicas":101}}"#,
            "spec.replicas",
        ),
        (
            r#"--type=merge -p {"spec":{"html":""}}"#,
            "html must not be empty",
        ),
        (
            r#"--type=json -p [{"op":"test","path":"/spec/replicas","value":9}]"#,
            "The request is invalid",
        ),
        (
            r#"-p {"spec":{"replicas":5}}"#,
            "application/merge-patch+json",
        ),
    ] {
        let (accepted, refused) = kubectl.tried(&format!("patch website hello {patch}"));
        assert!(
            !accepted && refused.contains(expected),
            "{patch}: {refused}"
        );
    }

    kubectl.run("wait --for=condition=Ready website/hello --timeout=60s");
    let described = kubectl.run("describe website hello");
    for part in [
        "Name: hello",
        "Kind: Website",
        "Replicas: 3",
        "Ready Replicas: 3",
        "Message: the last reconcile succeeded",
        "Observed Generation: ",
    ] {
        assert!(
            squeezed(&described).contains(part),
            "no {part} in {described}"
        );
    }
    let explained = kubectl.run("explain website.spec");
    for part in [
        "replicas",
        "<integer>",
        "Number of pods to run.",
        "html",
        "<string>",
    ] {
        assert!(explained.contains(part), "no {part} in {explained}");
    }

    let recursive = kubectl.run("explain website --recursive");
    assert!(recursive.contains("readyReplicas"), "{recursive}");

    kubectl.run("label website hello tier=front");
    kubectl.until("get websites -l tier=front", "hello 3 ");
    kubectl.run("rollout status deployment hello --timeout=60s");
    kubectl.run("wait --for=condition=Available deployment/hello --timeout=60s");

    kubectl.run("delete deployment hello");
    kubectl.until("get deployment hello", "hello 3/3 3 3 ");
    let deleted = kubectl.run("delete website hello");
    assert!(
        deleted.starts_with("website.demo.pilothouse.dev \"hello\" deleted"),
        "{deleted}"
    );
    // The cluster itself has a ConfigMap in each namespace.
    let own =
        "get websites,deployments,configmaps --field-selector metadata.name!=kube-root-ca.crt";
    kubectl.until(own, "No resources found");
}

/// A `kubectl get --watch` in the background. It is killed when dropped.
struct Watch {
    child: std::process::Child,
    lines: mpsc::Receiver<String>,
}

impl Watch {
    fn start(kubectl: &Kubectl<'_>, arguments: &str) -> Self {
        let mut child = kubectl
            .command(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        let (told, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // The test may have dropped the receiver.
                let _ = told.send(squeezed(&line));
            }
        });
        Self { child, lines }
    }

    /// Waits for a line that begins with `start`.
    fn until(&self, start: &str) {
        loop {
            match self.lines.recv_timeout(Duration::from_secs(60)) {
                Ok(line) if line.starts_with(start) => return,
                Ok(_) => {}
                Err(error) => panic!("the watch never told `{start}`: {error}"),
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
