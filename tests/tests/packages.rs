//! The folders of `manifests --output`: kubectl and Helm make the same objects of them as `manifests` prints.

#[path = "../../examples/recorded/objects.rs"]
mod objects;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::json;

use objects::{Objects, assert_same, objects, succeeded, tool};

const IMAGE: &str = "manifests --image registry.example.com:5000/pages:1";
/// The namespace of the pods.
const NAMESPACE: &str = "pages-system";

fn pages(line: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pages"));
    let words = line.split_whitespace();
    command.args(words).args(more).env("HOME", "/nonexistent");
    command.output().unwrap()
}

/// A folder that `manifests` has written.
fn written(format: &str, settings: &str) -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("pages");
    let line = format!("{IMAGE} {settings} --output {format}");
    succeeded(&line, &pages(&line, &[folder.to_str().unwrap()]));
    (temporary, folder)
}

/// The objects that `manifests` prints.
fn plain(settings: &str) -> Objects {
    let line = format!("{IMAGE} {settings}");
    objects(&succeeded(&line, &pages(&line, &[])))
}

fn helm(program: &Path, arguments: &[&str], chart: &Path) -> Output {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .arg(chart)
        .env("HOME", "/nonexistent");
    command.output().unwrap()
}

#[test]
fn kustomize_builds_what_manifests_prints() {
    let Some(kubectl) = tool("PILOTHOUSE_KUBECTL") else {
        return;
    };
    for (flags, more) in [
        ("", ""),
        (
            "--replicas 2 --metrics-secure --metrics-auth",
            "-- --image nginx",
        ),
    ] {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("pages");
        let line = format!(
            "{IMAGE} {flags} --output kustomize {} {more}",
            folder.display()
        );
        succeeded(&line, &pages(&line, &[]));
        let build = |place: &str| {
            let mut command = Command::new(&kubectl);
            command.arg("kustomize").arg(folder.join(place));
            objects(&succeeded(place, &command.output().unwrap()))
        };
        assert_same("base", &build("base"), &plain(&format!("{flags} {more}")));
        let monitored = plain(&format!(
            "{flags} --service-monitor --prometheus-rule {more}"
        ));
        assert_same("monitoring", &build("overlays/monitoring"), &monitored);

        // The pod reads its namespace from a variable instead of a flag, because a kustomization may change it.
        let mut limited = build("overlays/one-namespace");
        let name = format!("\"Deployment\" \"{NAMESPACE}\" \"pages\"");
        let container =
            &mut limited.get_mut(&name).unwrap()["spec"]["template"]["spec"]["containers"][0];
        let variable = container["env"].as_array_mut().unwrap().pop().unwrap();
        let expected = json!({"name": "PAGES_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}});
        assert_eq!(variable, expected);
        let flag = json!(format!("--namespace={NAMESPACE}"));
        container["args"].as_array_mut().unwrap().insert(1, flag);
        let expected = plain(&format!("{flags} --namespace {NAMESPACE} {more}"));
        assert_same("one namespace", &limited, &expected);
    }
}

/// All files below a folder with their contents.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(contents(&path)),
            false => drop(all.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    all
}

/// A limit of the size of files stands for a disk that becomes full: the first files fit, and a later one does not.
#[test]
fn a_full_disk_leaves_the_folder_as_it_was() {
    for format in ["kustomize", "helm"] {
        let (temporary, folder) = written(format, "");
        let before = contents(temporary.path());
        let largest = before.values().map(Vec::len).max().unwrap();
        assert!(largest > 2048, "{largest}");
        let line = format!(
            "{IMAGE} --replicas 2 --output {format} {}",
            folder.display()
        );
        let limited = "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command
            .args(["-c", limited, env!("CARGO_BIN_EXE_pages")])
            .args(line.split_whitespace())
            .env("HOME", "/nonexistent");
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.contains(" cannot be written: File too large"),
            "{error}"
        );
        assert_eq!(contents(temporary.path()), before, "{format}");
    }
}

#[test]
fn a_folder_offers_the_monitor_that_was_asked_for() {
    let Some(kubectl) = tool("PILOTHOUSE_KUBECTL") else {
        return;
    };
    let (_temporary, folder) = written("kustomize", "--pod-monitor");
    let mut command = Command::new(&kubectl);
    command
        .arg("kustomize")
        .arg(folder.join("overlays/monitoring"));
    let found = objects(&succeeded("kustomize", &command.output().unwrap()));
    let expected = plain("--pod-monitor");
    assert!(expected.keys().any(|name| name.contains("PodMonitor")));
    assert_same("monitoring", &found, &expected);
    let Some(program) = tool("PILOTHOUSE_HELM") else {
        return;
    };
    let (_temporary, chart) = written("helm", "--pod-monitor");
    let arguments = ["template", "pages", "--namespace", NAMESPACE];
    let text = succeeded("template", &helm(&program, &arguments, &chart));
    assert!(text.contains("kind: PodMonitor\n"), "{text}");
    assert!(!text.contains("kind: ServiceMonitor\n"), "{text}");
}

#[test]
fn both_components_together_make_both_changes() {
    let Some(kubectl) = tool("PILOTHOUSE_KUBECTL") else {
        return;
    };
    let (_temporary, folder) = written("kustomize", "");
    let kustomization = folder.join("overlays/monitoring/kustomization.yaml");
    let text = fs::read_to_string(&kustomization).unwrap();
    let own = "BEGIN own components\n";
    let text = text.replace(own, &format!("{own}- ../../components/one-namespace\n"));
    fs::write(&kustomization, text + "namespace: elsewhere\n").unwrap();
    let base = folder.join("base/kustomization.yaml");
    let images = "images:\n- name: registry.example.com:5000/pages\n  newTag: \"2\"\n";
    let text = fs::read_to_string(&base).unwrap();
    fs::write(&base, text + images).unwrap();
    let mut command = Command::new(kubectl);
    command
        .arg("kustomize")
        .arg(kustomization.parent().unwrap());
    let all = objects(&succeeded("both", &command.output().unwrap()));
    let has = |kind: &str| {
        all.keys()
            .any(|name| name.starts_with(&format!("\"{kind}\"")))
    };
    assert!(has("ServiceMonitor") && has("Role") && !has("ClusterRoleBinding"));
    let binding = &all["\"RoleBinding\" \"elsewhere\" \"pages\""];
    assert_eq!(binding["subjects"][0]["namespace"], "elsewhere");
    // What the base says about the image stays.
    let deployment = &all["\"Deployment\" \"elsewhere\" \"pages\""];
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example.com:5000/pages:2");
}

#[test]
fn flags_on_which_no_object_depends_are_a_value_of_the_chart() {
    let (_temporary, chart) = written("helm", "--log debug --metrics-secure");
    let read = |name: &str| fs::read_to_string(chart.join(name)).unwrap();
    let (values, template) = (read("values.yaml"), read("templates/operator.yaml"));
    assert!(values.contains("extraArgs:\n- --log=debug\n"), "{values}");
    assert!(!template.contains("--log=debug"), "{template}");
    assert!(
        template.contains("- \"--metrics-secure=true\"\n"),
        "{template}"
    );
    let Some(program) = tool("PILOTHOUSE_HELM") else {
        return;
    };
    let arguments = |value| {
        [
            "template",
            "pages",
            "--namespace",
            NAMESPACE,
            "--set",
            value,
        ]
    };
    let args = |value| {
        let text = succeeded(value, &helm(&program, &arguments(value), &chart));
        let found = objects(&text);
        let deployment = &found[&format!("\"Deployment\" \"{NAMESPACE}\" \"pages\"")];
        deployment["spec"]["template"]["spec"]["containers"][0]["args"].clone()
    };
    let secure = "--metrics-secure=true";
    assert_eq!(args("replicas=1"), json!(["run", secure, "--log=debug"]));
    let replaced = json!(["run", secure, "--log=info"]);
    assert_eq!(args("extraArgs={--log=info}"), replaced);
}

#[test]
fn a_chart_makes_what_manifests_prints() {
    let Some(program) = tool("PILOTHOUSE_HELM") else {
        return;
    };
    let (_temporary, chart) = written("helm", "");
    succeeded("lint", &helm(&program, &["lint", "--strict"], &chart));
    for (values, settings) in [
        ("replicas=1", ""),
        (
            "replicas=3,monitoring.enabled=true",
            "--replicas 3 --service-monitor --prometheus-rule",
        ),
        ("namespaces={blue,green}", "--namespace blue,green"),
        (
            "namespaces={pages-system,blue}",
            "--namespace pages-system,blue",
        ),
        ("extraArgs={--log=debug}", "--log debug"),
    ] {
        let arguments = [
            "template",
            "pages",
            "--namespace",
            NAMESPACE,
            "--set",
            values,
        ];
        let found = objects(&succeeded(values, &helm(&program, &arguments, &chart)));
        // The namespace of a release exists before its objects, and definitions stay when it is removed.
        let mut expected = plain(settings);
        expected.retain(|name, _| !name.starts_with("\"Namespace\""));
        for object in expected.values_mut() {
            if object["kind"] == "CustomResourceDefinition" {
                object["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
            }
        }
        assert_same(values, &found, &expected);
    }
    let anew = |setting: &str, flag: &str| {
        format!(
            "{setting}: the objects of the chart depend on {flag}: make the chart anew with `pages manifests --"
        )
    };
    for (wrong, problem) in [
        ("replica=3", "replica"),
        ("namespaces={Blue}", "namespaces"),
        ("replicas=-1", "replicas"),
        ("image.repository=", "repository"),
        (
            "replicas=2,extraArgs={--leader-elect=false}",
            &anew("extraArgs", "--leader-elect"),
        ),
        (
            "extraArgs={--metrics-secure}",
            &anew("extraArgs", "--metrics-secure"),
        ),
        (
            "extraArgs={-nzz}",
            "depend on --namespace: set the value `namespaces` instead",
        ),
        (
            "extraArgs={--namespace=zz}",
            "depend on --namespace: set the value `namespaces` instead",
        ),
        (
            "extraArgs={--debug-page}",
            &anew("extraArgs", "--debug-page"),
        ),
        (
            "extraArgs={--config=/settings.yaml}",
            "depend on --config: write the settings of the file as flags",
        ),
        (
            "env[0].name=PAGES_LEADER_ELECT,env[0].value=false",
            &anew("env", "PAGES_LEADER_ELECT"),
        ),
    ] {
        let output = helm(&program, &["template", "pages", "--set", wrong], &chart);
        assert!(!output.status.success(), "{wrong}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(problem), "{wrong}: {error}");
    }
    let elsewhere = [
        "template",
        "pages",
        "--namespace",
        "12",
        "--set",
        "definitions.install=false",
    ];
    let found = objects(&succeeded("elsewhere", &helm(&program, &elsewhere, &chart)));
    let binding = &found["\"ClusterRoleBinding\" null \"pages\""];
    assert_eq!(binding["subjects"][0]["namespace"], "12");
    assert!(
        !found
            .keys()
            .any(|name| name.starts_with("\"CustomResourceDefinition\""))
    );
}

#[test]
fn the_webhooks_of_a_chart_are_limited_to_its_namespaces() {
    let Some(program) = tool("PILOTHOUSE_HELM") else {
        return;
    };
    let teams = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_teams"));
        let words = IMAGE.split_whitespace();
        command.args(words).args(more).env("HOME", "/nonexistent");
        succeeded("teams", &command.output().unwrap())
    };
    let temporary = tempfile::tempdir().unwrap();
    let chart = temporary.path().join("teams");
    teams(&["--output", "helm", chart.to_str().unwrap()]);
    for (values, settings) in [
        ("replicas=1", &[][..]),
        ("namespaces={blue,green}", &["--namespace", "blue,green"]),
    ] {
        let namespace = ["--namespace", "teams-system", "--set", values];
        let arguments = [&["template", "teams"][..], &namespace].concat();
        let found = objects(&succeeded(values, &helm(&program, &arguments, &chart)));
        let mut expected = objects(&teams(settings));
        expected.retain(|name, _| !name.starts_with("\"Namespace\""));
        assert_same(values, &found, &expected);
        let limited = settings.last();
        for kind in ["Validating", "Mutating"] {
            let text = found[&format!("\"{kind}WebhookConfiguration\" null \"teams\"")].to_string();
            assert_eq!(text.contains("\"In\""), limited.is_some(), "{text}");
        }
    }
}

#[test]
fn the_settings_are_the_defaults_of_the_chart() {
    let Some(program) = tool("PILOTHOUSE_HELM") else {
        return;
    };
    let settings =
        "--replicas 2 --namespace blue --metrics-auth --metrics-secure --service-monitor";
    let (_temporary, chart) = written("helm", settings);
    let arguments = [
        "template",
        "pages",
        "--namespace",
        NAMESPACE,
        "--set",
        "definitions.keep=false",
    ];
    let found = objects(&succeeded("template", &helm(&program, &arguments, &chart)));
    let mut expected = plain(settings);
    expected.retain(|name, _| !name.starts_with("\"Namespace\""));
    assert_same(settings, &found, &expected);
    let (_temporary, single) = written("helm", "--leader-elect=false --metrics-address 0");
    let output = helm(
        &program,
        &["template", "pages", "--set", "replicas=2"],
        &single,
    );
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("replicas"), "{error}");
}

#[test]
fn values_of_the_users_own_stay_in_the_chart() {
    let Some(program) = tool("PILOTHOUSE_HELM") else {
        return;
    };
    let (_temporary, chart) = written("helm", "");
    let file = chart.join("values.yaml");
    let begin = "# BEGIN own values\n";
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace(begin, &format!("{begin}  size: 3\n"));
    fs::write(&file, text).unwrap();
    let own = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {size: {{ .Values.own.size | quote }}}\n";
    fs::write(chart.join("templates/own.yaml"), own).unwrap();
    let line = format!("{IMAGE} --output helm {}", chart.display());
    succeeded("again", &pages(&line, &[]));
    let found = helm(&program, &["template", "pages"], &chart);
    let found = objects(&succeeded("template", &found));
    assert_eq!(found["\"ConfigMap\" null \"own\""]["data"]["size"], "3");
}

#[test]
fn the_files_are_as_recorded() {
    for format in ["kustomize", "helm"] {
        let (_temporary, folder) = written(format, "");
        let mut text = String::new();
        let record = fs::read_to_string(folder.join(".generated")).unwrap();
        for line in record.lines().skip(1) {
            let (_, name) = line.split_once("  ").unwrap();
            // Its objects are those of the snapshot of `manifests`.
            if !name.starts_with("base/") || name.ends_with("kustomization.yaml") {
                text += &format!(
                    "=== {name}\n{}",
                    fs::read_to_string(folder.join(name)).unwrap()
                );
            }
        }
        insta::assert_snapshot!(format, text);
    }
}

#[test]
fn a_folder_that_is_not_what_the_command_writes_fails_its_check() {
    for (format, file) in [("kustomize", "operator.yaml"), ("helm", "values.yaml")] {
        let (_temporary, folder) = written(format, "");
        let check = format!("{IMAGE} --output {format} --check {}", folder.display());
        assert_eq!(succeeded("same", &pages(&check, &[])), "");
        let output = pages(&format!("{check} --log=debug"), &[]);
        assert_eq!(output.status.code(), Some(1));
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains(&format!("{file}\n@ line")), "{shown}");
        let error = String::from_utf8_lossy(&output.stderr);
        let expected = "pages differs from the output: write the output to it and commit it\n";
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn an_impossible_output_is_refused_with_what_to_do() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().to_str().unwrap();
    fs::write(temporary.path().join("mine"), "").unwrap();
    for (more, code, expected) in [
        (
            "--output helm",
            2,
            "error: --output helm needs a folder: `pages manifests --image …",
        ),
        (
            "--output tar DIR",
            2,
            "error: --output has no format `tar`: write yaml, kustomize or helm",
        ),
        (
            "--output json",
            2,
            "error: --output has no format `json`: write yaml, kustomize or helm",
        ),
        (
            "--output helm DIR/mine",
            1,
            "mine cannot be a folder because DIR/mine is a file: name another folder",
        ),
        (
            "--output helm DIR/mine/below",
            1,
            "mine/below cannot be a folder because DIR/mine is a file: name another folder",
        ),
        (
            "--output yaml DIR",
            2,
            "error: --output yaml writes no folder",
        ),
        (
            "--output helm DIR --check DIR",
            2,
            "error: a folder is either written or compared",
        ),
        (
            "--output helm DIR -- --namespace blue",
            2,
            "error: the namespaces are values of the chart",
        ),
        (
            "--output helm DIR --operator-namespace a",
            2,
            "error: --operator-namespace has no effect",
        ),
        (
            "--output kustomize DIR --namespace A_B",
            2,
            "error: invalid value 'A_B' for '--namespace <NAME>'",
        ),
        (
            "--output kustomize DIR",
            1,
            "is not empty and has no .generated: choose a new or an empty folder. If it was generated, restore .generated from version \
             control\n",
        ),
        (
            "--output kustomize DIR/none/kustomize",
            1,
            "none/kustomize cannot be created because the folder DIR/none does not exist: correct the name, or create it with `mkdir -p DIR/none`\n",
        ),
        (
            "--output helm --check DIR/none",
            1,
            "none does not exist: correct the name, or write it with `pages manifests --output helm DIR/none` and the other flags of this command\n",
        ),
        (
            "--check DIR",
            1,
            "is a folder: say with --output kustomize or --output helm what is in it\n",
        ),
    ] {
        let line = format!("{IMAGE} {}", more.replace("DIR", folder));
        let output = pages(&line, &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{more}: {error}");
        let expected = expected.replace("DIR", folder);
        assert!(error.contains(&expected), "{more}: {error}");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "{more}");
    }
}

#[test]
fn an_empty_name_of_a_folder_is_not_the_current_one() {
    let output = pages(&format!("{IMAGE} --output helm"), &[""]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.starts_with("error: --output helm needs a folder"),
        "{error}"
    );
}

#[test]
fn a_folder_without_its_record_or_behind_a_broken_link_is_refused_with_what_to_do() {
    let (temporary, folder) = written("helm", "");
    let refused = |folder: &Path, expected: &str| {
        let line = format!("{IMAGE} --output helm {}", folder.display());
        let output = pages(&line, &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(expected), "{error}");
    };
    fs::write(folder.join(".generated"), "").unwrap();
    refused(
        &folder,
        ".generated is empty: restore it from version control",
    );
    let link = temporary.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    refused(&link, "points to nothing: create what it points to, or");
}
