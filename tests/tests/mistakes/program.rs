//! Wrong flags, variables and files of a program.

use std::{fs, os::unix::fs::symlink, path::Path};

use pilothouse_tests::programs::with_clear_environment;

use super::{Mistake, NOT_REFUSED, mistake};

/// What the program writes to standard error.
fn seen(line: &str, variables: &[(&str, &str)], files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    seen_in(folder.path(), line, variables)
}

fn seen_in(folder: &Path, line: &str, variables: &[(&str, &str)]) -> String {
    let output = with_clear_environment(env!("CARGO_BIN_EXE_stubborn"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("HOME", folder)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    if output.status.success() {
        return NOT_REFUSED.to_owned();
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let path = folder.display().to_string();
    text.replace(&path, "/home/ann")
}

const CHART: &str = "manifests --image registry.example.com/stubborn:1.0 --output helm chart";

/// What the program says when it writes a chart a second time, after this change of the folder.
fn again(line: &str, change: impl Fn(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(seen_in(folder.path(), CHART, &[]), NOT_REFUSED);
    change(&folder.path().join("chart"));
    seen_in(folder.path(), line, &[])
}

/// Mistakes with the folder of `manifests`.
fn folders() -> Vec<Mistake> {
    let new = |more: &str| {
        let line = CHART.trim_end_matches("chart");
        seen(&format!("{line}{more}"), &[], &[("mine", "")])
    };
    let values = |text: &'static [u8]| {
        move |chart: &Path| fs::write(chart.join("values.yaml"), text).unwrap()
    };
    vec![
        mistake(
            "`manifests`: the image is missing.",
            seen("manifests --output helm chart", &[], &[]),
        ),
        mistake(
            "`manifests --output helm deploy/chart`: the folder `deploy` does not exist.",
            new("deploy/chart"),
        ),
        mistake(
            "`manifests --output helm .`: the folder is not empty.",
            new("."),
        ),
        mistake(
            "`manifests --output helm mine`: the folder is a file.",
            new("mine"),
        ),
        mistake(
            "`manifests --output helm --check chart`: the folder does not exist.",
            new("--check chart"),
        ),
        mistake(
            "A file of a generated folder was changed outside of the marks.",
            again(CHART, values(b"replicas: 2\n")),
        ),
        mistake(
            "A file of a generated folder is no text.",
            again(CHART, values(b"\xff\xfe")),
        ),
        mistake(
            "A file of a generated folder is a symbolic link.",
            again(CHART, |chart| {
                let file = chart.join("values.yaml");
                fs::remove_file(&file).unwrap();
                symlink("../values.yaml", file).unwrap();
            }),
        ),
        mistake(
            "In a generated folder, a folder is in the place of a file.",
            again(CHART, |chart| {
                let file = chart.join("values.yaml");
                fs::remove_file(&file).unwrap();
                fs::create_dir(file).unwrap();
            }),
        ),
        mistake(
            "The record of a generated folder was lost.",
            again(CHART, |chart| {
                fs::remove_file(chart.join(".generated")).unwrap()
            }),
        ),
    ]
}

pub(super) fn all() -> Vec<Mistake> {
    let flag = |line| seen(line, &[], &[]);
    let config = |text| {
        seen(
            "run --config settings.yaml",
            &[],
            &[("settings.yaml", text)],
        )
    };
    let kubeconfig = |text| seen("run --kubeconfig config", &[], &[("config", text)]);
    let moving = |line: &str| {
        let text = "current-context: dev\nclusters: [{name: dev, cluster: {server: 'https://127.0.0.1:1'}}]\n\
                    contexts: [{name: dev, context: {cluster: dev}}]\n";
        seen(line, &[("KUBECONFIG", "config")], &[("config", text)])
    };
    let mut all = vec![
        mistake(
            "`--namespac web`: a flag is misspelled.",
            flag("run --namespac web"),
        ),
        mistake("`start`: the subcommand does not exist.", flag("start")),
        mistake(
            "`--lease-duration 15`: a duration has no unit.",
            flag("run --lease-duration 15"),
        ),
        mistake(
            "`--lease-duration 5s`: the Lease ends before it is renewed.",
            flag("run --lease-duration 5s"),
        ),
        mistake(
            "`--metrics-address 80`: an address has no colon.",
            flag("run --metrics-address 80"),
        ),
        mistake(
            "`--namespace Web`: a namespace has capital letters.",
            flag("run --namespace Web"),
        ),
        mistake(
            "`--log verbose=`: the filter does not parse.",
            flag("run --log verbose="),
        ),
        mistake(
            "`--leader-elect=maybe`: a flag takes `true` or `false`.",
            flag("run --leader-elect=maybe"),
        ),
        mistake(
            "`--config none.yaml`: the file does not exist.",
            flag("run --config none.yaml"),
        ),
        mistake(
            "A key of the settings file is misspelled.",
            config("namespac: web\n"),
        ),
        mistake(
            "A value of the settings file has the wrong type.",
            config("lease-duration: [1]\n"),
        ),
        mistake(
            "The settings file is not YAML.",
            config("namespace: [web\n"),
        ),
        mistake(
            "`--kubeconfig none`: the file does not exist.",
            flag("run --kubeconfig none"),
        ),
        mistake(
            "The kubeconfig has no current context.",
            kubeconfig("apiVersion: v1\nkind: Config\n"),
        ),
        mistake(
            "The context of the kubeconfig names a cluster that does not exist.",
            kubeconfig(
                "current-context: dev\ncontexts:\n- name: dev\n  context: {cluster: gone, user: ann}\n",
            ),
        ),
        mistake("There is neither a kubeconfig nor a pod.", flag("run")),
        mistake(
            "`adopt-from`: the field manager is missing.",
            flag("adopt-from"),
        ),
        mistake(
            "`adopt-from --yes=true`: a flag without a value gets one.",
            flag("adopt-from manager --yes=true"),
        ),
        mistake(
            "`adopt-from stubborn`: the field manager is that of the operator itself.",
            flag("adopt-from stubborn"),
        ),
        mistake(
            "`adopt-from --lease Old`: the name of a Lease has capital letters.",
            flag("adopt-from manager --lease Old"),
        ),
        mistake(
            "`adopt-from --finalizer =new`: the former finalizer is missing.",
            flag("adopt-from manager --finalizer =new"),
        ),
        mistake(
            "`adopt-from --selector app=a=b`: the selector does not parse.",
            flag("adopt-from manager --selector app=a=b"),
        ),
        mistake(
            "`adopt-from --finalizer`: the operator has no finalizer that can replace the former one.",
            moving("adopt-from manager --finalizer example.com/old"),
        ),
    ];
    all.extend(folders());
    all
}
