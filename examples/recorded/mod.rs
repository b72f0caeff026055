//! What the program of an example prints for a cluster, compared with records.
//!
//! Each example has its own definitions, roles and files with them on record. Everything else is the same for all operators but for
//! the name: `website` has it on record, and the other examples are compared with that. After a change, run the test of `website` and
//! then the others with `INSTA_UPDATE=always`, and read what has changed.

mod objects;
mod packages;
mod page;

pub use packages::{check_helm, check_kustomize};
pub use page::check_page;

use std::{collections::BTreeMap, fs, mem, path::Path, process::Command};

/// The example that has the common texts on record.
const FIRST: &str = "website";
/// Those whose pods have volumes or webhooks, or that have admission rules, so that they have all texts of objects on record.
const WITH_OWN_OBJECTS: [&str; 4] = ["bucket", "file-backup", "quota-guard", "shared-database"];
/// The name of the example under test.
const NAME: &str = env!("CARGO_PKG_NAME");

/// Compares all output of a program with the records of its example.
pub fn check(program: &str) {
    let image = format!("manifests --image registry.example.com/{NAME}:1.0");
    let print = |line: &str| run(program, line);
    let (crd, rbac) = (print("crd"), print("rbac"));
    let all = print(&image);
    let all = without(&without(&all, &crd), &rbac);
    record("crd", &crd);
    record("rbac", &rbac);
    record("rbac-namespaces", &print("rbac --namespace default,shop"));

    let folder = tempfile::tempdir().unwrap();
    let write = |format: &str| {
        let folder = folder.path().join(format);
        let place = folder.to_str().unwrap();
        assert_eq!(print(&format!("{image} --output {format} {place}")), "");
        files(&folder)
    };
    let mut kustomize = write("kustomize");
    for (file, printed) in [("base/definitions.yaml", &crd), ("base/roles.yaml", &rbac)] {
        let text = kustomize.remove(file).unwrap();
        assert_eq!(&text, printed.trim_start_matches("---\n"), "{file}");
    }
    let own = take(&mut kustomize, &["components/one-namespace/"]);
    record("kustomize", &joined(own));
    let mut helm = write("helm");
    let own = take(&mut helm, &["templates/definitions.", "templates/roles."]);
    record("helm", &joined(own));

    for (output, text) in [
        ("common-manifests", all),
        ("common-kustomize", joined(kustomize)),
        ("common-helm", joined(helm)),
        ("common-alerts", print("alerts")),
        ("common-dashboard", print("dashboard")),
    ] {
        let has_pods = !["common-alerts", "common-dashboard"].contains(&output);
        match NAME == FIRST || (has_pods && WITH_OWN_OBJECTS.contains(&NAME)) {
            true => record(output, &text),
            false => compare(output, &text),
        }
    }
}

fn run(program: &str, line: &str) -> String {
    let mut command = Command::new(program);
    command.args(line.split_whitespace());
    let output = command.env("HOME", "/nonexistent").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The objects of `all` without those of `part`, which `all` has to contain as they are.
fn without(all: &str, part: &str) -> String {
    assert!(
        !part.is_empty() && all.contains(part),
        "{part}\nis not in\n{all}"
    );
    all.replacen(part, "", 1)
}

/// The files of a folder by their paths below it. A path has the name of `website` instead of the example's.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    // Each line is a checksum and a path, but for the first, which is the command.
    let record = read(".generated");
    let names = record.lines().skip(1);
    names
        .map(|line| {
            let (_, name) = line.split_once("  ").unwrap();
            (name.replace(NAME, FIRST), read(name))
        })
        .collect()
}

/// Takes the files whose paths begin so.
fn take(files: &mut BTreeMap<String, String>, starts: &[&str]) -> BTreeMap<String, String> {
    let is_taken = |name: &str| starts.iter().any(|start| name.starts_with(start));
    let (taken, rest) = mem::take(files)
        .into_iter()
        .partition(|(name, _)| is_taken(name));
    *files = rest;
    taken
}

fn joined(files: BTreeMap<String, String>) -> String {
    let parts = files.iter();
    parts
        .map(|(name, text)| format!("=== {name}\n{text}"))
        .collect()
}

fn record(output: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/printed"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(output, text));
}

/// Compares a text with what `website` has on record.
fn compare(output: &str, text: &str) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = examples.join(format!("{FIRST}/tests/printed/{output}.snap"));
    let recorded = fs::read_to_string(file).unwrap();
    // insta writes two lines and a separator before the text.
    let (_, recorded) = recorded
        .trim_start_matches("---\n")
        .split_once("---\n")
        .unwrap();
    let words = |text: &str| -> Vec<String> {
        // The length of the name decides where a long text is wrapped, and whether it needs a block of its own.
        let text = text.replace(FIRST, NAME).replace(">-", "").replace('"', "");
        // The variables of the settings.
        let variables = NAME.to_uppercase().replace('-', "_");
        let text = text.replace(&FIRST.to_uppercase(), &variables);
        text.split_whitespace().map(str::to_owned).collect()
    };
    let (found, expected) = (words(text), words(recorded));
    let same = found
        .iter()
        .zip(&expected)
        .take_while(|(a, b)| a == b)
        .count();
    let near =
        |words: &[String]| words[same.saturating_sub(10)..words.len().min(same + 10)].join(" ");
    assert!(
        found == expected,
        "{output} differs by more than the name from what {FIRST} has on record: `{}` instead of `{}`",
        near(&found),
        near(&expected)
    );
}
