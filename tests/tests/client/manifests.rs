//! What the command `manifests` prints is what a real API server accepts.

use std::{
    path::Path,
    process::{Command, Output},
};

use pilothouse_tests::{kubectl, real::RealServer};

fn succeeded(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let (text, error) = (
        String::from_utf8(stdout).unwrap(),
        String::from_utf8_lossy(&stderr),
    );
    assert!(status.success(), "{command:?}: {text}{error}");
    text
}

#[test]
fn a_real_api_server_accepts_what_manifests_prints_and_changes_nothing_of_it() {
    let Some(server) = RealServer::from_environment(&[]).filter(RealServer::is_own) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pages.yaml");
    // This uses the newest kubectl, because it checks fields strictly. A machine without kubectl shows in the tests of `kubectl`.
    let Some(program) = kubectl::programs().into_iter().next() else {
        return;
    };
    let kubectl = |arguments: &[&str], file: Option<&Path>| {
        let mut command = Command::new(&program);
        command
            .args(arguments)
            .env("KUBECONFIG", server.kubeconfig());
        command.env("HOME", folder.path());
        if let Some(file) = file {
            command.arg("-f").arg(file);
        }
        succeeded(&mut command)
    };
    let namespaces = kubectl(&["get", "namespaces", "-o", "name"], None);
    for name in ["blue", "green"] {
        if !namespaces.contains(&format!("namespace/{name}\n")) {
            kubectl(&["create", "namespace", name], None);
        }
    }
    for settings in [
        "",
        "--replicas 3 --namespace blue,green --metrics-secure --metrics-auth",
        "--leader-elect=false --metrics-address 0",
    ] {
        let line = format!("manifests --image example.com/pages:1 {settings}");
        let printed = Command::new(env!("CARGO_BIN_EXE_pages"))
            .args(line.split_whitespace())
            .output();
        let printed = String::from_utf8(printed.unwrap().stdout).unwrap();
        std::fs::write(&file, &printed).unwrap();
        let objects = printed
            .lines()
            .filter(|line| line.starts_with("kind: "))
            .count();
        let applied = kubectl(
            &["apply", "--server-side", "--force-conflicts"],
            Some(&file),
        );
        assert_eq!(applied.lines().count(), objects, "{applied}");
        // Nothing is missing, and the server drops no field.
        let again = [
            "apply",
            "--server-side",
            "--dry-run=server",
            "--validate=strict",
        ];
        assert_eq!(kubectl(&again, Some(&file)).lines().count(), objects);
        assert_eq!(kubectl(&["diff", "--server-side"], Some(&file)), "");
    }
}
