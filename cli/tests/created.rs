//! The folder `created` holds what `cargo pilothouse new greeting` writes. It is a member of the workspace, so its program and its tests are
//! built and run with all others, and the book includes its sources.
//!
//! After a change of a template, run `UPDATE_CREATED=1 cargo test -p cargo-pilothouse --test created`, and read what has changed.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

/// Files by their paths in a folder.
type Files = BTreeMap<PathBuf, String>;

fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".git") || path.ends_with("Cargo.lock") {
            } else if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), text);
            }
        }
    }
    found
}

fn new(folder: &Path, line: &str) -> Files {
    let program = env!("CARGO_BIN_EXE_cargo-pilothouse");
    let mut command = Command::new(program);
    let words = line.split_whitespace();
    command.args(["pilothouse", "new"]).args(words);
    let output = command.current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
    files(&folder.join("greeting"))
}

/// The files as a member of this workspace has them: with the framework of this repository, and without profiles, which only the top of a
/// workspace has.
fn as_a_member(mut files: Files) -> Files {
    let manifest = files.get_mut(Path::new("Cargo.toml")).unwrap();
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(manifest.contains(&version), "{manifest}");
    let profiles = "\n# Backtraces show";
    let (package, _) = manifest.split_once(profiles).unwrap();
    *manifest = package.replace(
        &format!("{{ {version} }}"),
        "{ path = \"../../framework\" }",
    );
    files
}

#[test]
fn the_created_operator_is_the_one_of_the_repository() {
    let temporary = tempfile::tempdir().unwrap();
    let written = as_a_member(new(temporary.path(), "greeting"));
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("created");
    if env::var_os("UPDATE_CREATED").is_some() {
        for (path, text) in &written {
            let path = kept.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let kept = files(&kept);
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&written), names(&kept));
    for (path, text) in &written {
        assert_eq!(text, &kept[path], "{}", path.display());
    }
}

#[test]
fn in_a_workspace_the_operator_has_the_same_sources() {
    let temporary = tempfile::tempdir().unwrap();
    let alone = new(temporary.path(), "greeting");
    let temporary = tempfile::tempdir().unwrap();
    let member = new(temporary.path(), "greeting --workspace");
    let root = &member[Path::new("Cargo.toml")];
    assert!(root.contains("members = [\"operators/*\"]") && root.contains("[profile.dev]"));
    for source in ["src/lib.rs", "src/greeting.rs", "tests/greeting.rs"] {
        let inside = Path::new("operators/greeting").join(source);
        assert_eq!(member[&inside], alone[Path::new(source)], "{source}");
    }

    // A second operator becomes a member, and brings only its own files.
    let folder = temporary.path().join("greeting");
    let second = [
        "pilothouse",
        "new",
        "farewell",
        "--path",
        "operators/farewell",
    ];
    let program = env!("CARGO_BIN_EXE_cargo-pilothouse");
    let mut command = Command::new(program);
    let status = command.args(second).current_dir(&folder).output().unwrap();
    assert!(status.status.success());
    let both = files(&folder);
    assert_eq!(&both[Path::new("Cargo.toml")], root);
    assert!(both.contains_key(Path::new("operators/farewell/src/farewell.rs")));
    assert!(!both.contains_key(Path::new("operators/farewell/deny.toml")));
}

/// The programs and the flags of the workflow's commands, as this machine knows them. `tests/packaged` runs the commands.
#[test]
fn the_workflow_is_yaml_and_each_of_its_commands_exists() {
    for (line, manifest) in [
        ("greeting", "Cargo.toml"),
        ("greeting --workspace", "operators/greeting/Cargo.toml"),
    ] {
        let temporary = tempfile::tempdir().unwrap();
        let written = new(temporary.path(), line);
        assert!(written[Path::new(manifest)].contains("\nname = \"greeting\"\n"));
        assert!(written.contains_key(Path::new("Dockerfile")));
        let commands = commands_of(&written[Path::new(".github/workflows/ci.yaml")]);
        let mut subcommands = Vec::new();
        for command in &commands {
            let words: Vec<&str> = command.split(' ').collect();
            match &words[..] {
                ["cargo", subcommand, options @ ..] => {
                    let before = options.split(|option| *option == "--").next().unwrap();
                    cargo_has(subcommand, before);
                    subcommands.push(*subcommand);
                }
                // What the commands of Cargo need, beside what the profile has.
                ["rustup", "toolchain", "install", "stable", options @ ..] => {
                    let expected = ["--profile", "minimal", "--component", "clippy,rustfmt"];
                    assert_eq!(options, expected);
                }
                ["rustup", "default", "stable"]
                | ["docker", "build", "-t", "greeting:test", "."] => {}
                _ => panic!("an unknown command: {command}"),
            }
        }
        assert_eq!(subcommands, ["fmt", "clippy", "test", "build"]);
    }
}

/// The commands of the workflow, whose form has to be that of a workflow.
fn commands_of(text: &str) -> Vec<String> {
    let workflow: Value = serde_saphyr::from_str(text).unwrap();
    assert_eq!(workflow["on"]["push"], json!({"branches": ["main"]}));
    let events = workflow["on"].as_object().unwrap();
    assert!(events.contains_key("pull_request"), "{events:?}");
    let mut commands = Vec::new();
    for (name, job) in workflow["jobs"].as_object().unwrap() {
        assert_eq!(job["runs-on"], "ubuntu-latest", "{name}");
        let steps = job["steps"].as_array().unwrap();
        assert_eq!(steps[0], json!({"uses": "actions/checkout@v4"}), "{name}");
        for step in steps {
            let step = step.as_object().unwrap();
            assert_eq!(step.len(), 1, "{name}: {step:?}");
            if let Some(run) = step.get("run") {
                let run = run.as_str().unwrap().split(" && ");
                commands.extend(run.map(str::to_owned));
            } else {
                let action = step["uses"].as_str().unwrap();
                let (place, version) = action.split_once('@').unwrap();
                let is_named = place.split('/').count() == 2 && version.starts_with('v');
                assert!(is_named, "{name}: {action}");
            }
        }
    }
    commands
}

/// Fails unless Cargo has the subcommand with these options.
fn cargo_has(subcommand: &str, options: &[&str]) {
    // The others of Clippy are those of `check`.
    let named = if subcommand == "clippy" {
        "check"
    } else {
        subcommand
    };
    let mut command = Command::new(env!("CARGO"));
    let output = command.args([named, "-h"]).output().unwrap();
    assert!(output.status.success(), "cargo {subcommand}");
    let help = String::from_utf8(output.stdout).unwrap();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let mut words = help.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
        let is_known = option.starts_with('-') && words.any(|word| word == *option);
        assert!(is_known, "cargo {subcommand} {option}: {help}");
        if *option == "-p" {
            assert_eq!(rest.next(), Some(&"greeting"));
        }
    }
}

#[test]
fn an_empty_folder_stays_the_same_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("greeting");
    fs::create_dir(&folder).unwrap();
    // A handle on the folder, as the shell of its user has.
    let inside = fs::File::open(&folder).unwrap();
    let kept = inside.metadata().unwrap();
    let written = new(temporary.path(), "greeting");
    assert!(written.contains_key(Path::new("src/main.rs")));
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(kept.ino(), fs::metadata(&folder).unwrap().ino());
    }
    let others = fs::read_dir(temporary.path()).unwrap().count();
    assert_eq!(others, 1, "a draft was left behind");
}

/// A framework in a folder outside of the project: the Dockerfile copies what Cargo needs to the path that `Cargo.toml` names.
#[test]
fn the_image_of_an_operator_with_a_framework_in_a_folder_copies_the_framework() {
    let temporary = tempfile::tempdir().unwrap();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let repository = repository.canonicalize().unwrap();
    let framework = repository.join("framework");
    let line = format!("greeting --framework {}", framework.display());
    let written = new(temporary.path(), &line);
    let docker = &written[Path::new("Dockerfile")];
    let build = format!(
        "docker build --build-context pilothouse={} ",
        repository.display()
    );
    assert!(docker.contains(&build), "{docker}");
    assert!(written[Path::new("README.md")].contains(&build));
    // The paths from the context, and those in the image.
    let copied: Vec<[String; 2]> = docker
        .lines()
        .filter_map(|line| line.strip_prefix("COPY --from=pilothouse "))
        .map(|pair| serde_json::from_str(pair).unwrap())
        .collect();
    let parts: Vec<&str> = copied.iter().map(|[from, _]| from.as_str()).collect();
    assert_eq!(parts, ["Cargo.toml", "framework", "macros", "sandbox"]);
    for [from, to] in &copied {
        assert_eq!(Path::new(to), repository.join(from));
    }

    // What another machine needs stands in the workflow, and is told; after it, the files are those with a published framework.
    let published = new(tempfile::tempdir().unwrap().path(), "greeting");
    let workflow = &written[Path::new(".github/workflows/ci.yaml")];
    let (note, rest) = workflow.split_once("\n\n").unwrap();
    assert_eq!(rest, published[Path::new(".github/workflows/ci.yaml")]);
    let changes: Vec<&str> = note
        .lines()
        .filter_map(|line| line.strip_prefix("#   "))
        .collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
    let output = command
        .args(["pilothouse", "new", "other", "--framework"])
        .arg(&framework)
        .current_dir(temporary.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let told: Vec<&str> = said
        .lines()
        .skip_while(|line| !line.ends_with("lists, too:"))
        .skip(1)
        .map_while(|line| line.strip_prefix("  "))
        .collect();
    assert_eq!(changes, told, "{said}");
    let files: Vec<&str> = changes
        .iter()
        .filter_map(|change| change.split([':', ',']).next())
        .collect();
    assert_eq!(
        files,
        ["Cargo.toml", "deny.toml", "Dockerfile", "README.md"]
    );
    for path in written.keys().filter(|path| !path.starts_with(".github")) {
        let is_other = written[path] != published[path];
        assert_eq!(is_other, files.iter().any(|file| path == Path::new(file)));
    }
    let [ours, theirs] = [&written, &published].map(|files| &files[Path::new("deny.toml")]);
    let note = "unknown-git = \"deny\"\n# When the framework comes from a git repository, with its URL as in Cargo.toml:\n# allow-git = [\"URL\"]\n";
    assert_eq!(&ours.replace(note, "unknown-git = \"deny\"\n"), theirs);
    let without: Vec<&str> = docker
        .lines()
        .filter(|line| !line.starts_with("COPY --from=pilothouse "))
        .collect();
    let comment = docker.find("# The framework is").unwrap();
    let end = docker.find("FROM rust").unwrap();
    let without = without.join("\n") + "\n";
    let without = without.replace(&docker[comment..end], "");
    assert_eq!(without, published[Path::new("Dockerfile")]);
}

/// As before the first release, or without a registry.
#[test]
fn who_has_no_published_framework_is_told_to_name_a_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let run = |folder: &Path, line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
        command.arg("pilothouse").args(line.split_whitespace());
        command
            .current_dir(folder)
            .env("CARGO_HOME", temporary.path().join("home"))
            .env("CARGO_TARGET_DIR", temporary.path().join("target"))
            .env("CARGO_NET_OFFLINE", "true");
        command.output().unwrap()
    };
    let written = run(temporary.path(), "new greeting");
    let said = String::from_utf8(written.stdout).unwrap();
    let advice = "If cargo finds no such version there, name the folder of the framework instead: --framework FOLDER\n";
    assert!(said.contains(advice), "{said}");
    let built = run(&temporary.path().join("greeting"), "check");
    assert!(!built.status.success());
    let said = String::from_utf8(built.stderr).unwrap();
    let advice = "`cargo pilothouse new NAME --framework FOLDER/framework`\n";
    assert!(said.contains(advice), "{said}");
}
