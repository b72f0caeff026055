//! `add kind` and `add webhook` on the created operator: what it writes, and that it changes nothing a second time. And what `new` asks for.

mod terminal;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use terminal::Terminal;

fn cargo_pilothouse(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
    let words = line.split_whitespace();
    command.arg("pilothouse").args(words).current_dir(folder);
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A new operator in a temporary folder.
fn created() -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    stdout(&cargo_pilothouse(
        temporary.path(),
        "new greeting --api-version demo.example.com/v1beta1",
    ));
    let folder = temporary.path().join("greeting");
    (temporary, folder)
}

#[test]
fn nothing_waits_for_an_input_that_is_no_terminal() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
    command
        .args(["pilothouse", "new", "greeting"])
        .current_dir(temporary.path());
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The other end stays open.
    let input = process.stdin.take();
    let begun = Instant::now();
    while process.try_wait().unwrap().is_none() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it waits for input"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(input);
}

/// What a word of a terminal's user becomes, and what is said about a wrong one.
#[test]
fn on_a_terminal_new_asks_for_the_kind_until_the_answer_is_right() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
    command
        .args(["pilothouse", "new", "greeting"])
        .current_dir(temporary.path());
    let Some(mut terminal) = Terminal::start(&command) else {
        return;
    };
    terminal.until("Kind of its objects [Greeting]: ");
    terminal.types("salute\n");
    let said = terminal.until("Kind of its objects [Greeting]: ");
    let why = "`salute` is not a kind: write at most 60 letters and digits, beginning with a capital letter";
    assert!(said.contains(why), "{said}");
    assert!(!temporary.path().join("greeting").exists());
    terminal.types("Salute\n");
    terminal.until("apiVersion of the kind [example.com/v1]: ");
    // An empty answer takes what is suggested.
    terminal.types("\n");
    terminal.until("greeting has the operator `greeting` for the kind Salute.");
    terminal.end();
    let source = temporary.path().join("greeting/src/salute.rs");
    let source = fs::read_to_string(source).unwrap();
    assert!(source.contains("group = \"example.com\", version = \"v1\""));
}

#[test]
fn a_kind_is_added_once_and_takes_the_group_of_the_others() {
    let (_temporary, folder) = created();
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    let said = stdout(&cargo_pilothouse(&folder, "add kind CronTask"));
    let expected = "wrote src/cron_task.rs\nwrote tests/cron_task.rs\nwrote example/crontask.yaml\nchanged src/lib.rs\n";
    assert_eq!(said, expected);
    insta::assert_snapshot!(read("src/lib.rs"));
    assert!(
        read("src/cron_task.rs").contains("group = \"demo.example.com\", version = \"v1beta1\"")
    );
    // Each kind keeps a ConfigMap with the name of its object.
    let of_example = |kind: &str| {
        let text = read(&format!("example/{kind}.yaml"));
        text.lines()
            .find_map(|line| line.strip_prefix("  name: ").map(str::to_owned))
            .unwrap()
    };
    assert_ne!(of_example("greeting"), of_example("crontask"));
    // The sources of a kind differ from those of the first one in nothing but the names.
    let renamed = |path: &str| {
        read(path)
            .replace("CronTask", "Greeting")
            .replace("cron_task", "greeting")
            .replace("crontask", "greeting")
    };
    let squeezed = |text: String| text.split_whitespace().collect::<String>();
    assert_eq!(
        squeezed(renamed("src/cron_task.rs")),
        squeezed(read("src/greeting.rs"))
    );

    let before = read("src/lib.rs");
    let again = cargo_pilothouse(&folder, "add kind CronTask");
    assert!(!again.status.success());
    assert_eq!(read("src/lib.rs"), before);
}

#[test]
fn an_operator_that_is_built_elsewhere_stays_and_the_lines_are_printed() {
    let (_temporary, folder) = created();
    let lib = folder.join("src/lib.rs");
    // Not as rustfmt would have it: the tool must not format what is the user's.
    let own =
        "mod   greeting;\npub fn operator() -> pilothouse::operator::Operator { own::build() }\n";
    fs::write(&lib, own).unwrap();
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .unwrap()
        .replace("serde_json = \"1\"\n", "");
    fs::write(&manifest, text).unwrap();
    let said = stdout(&cargo_pilothouse(&folder, "add kind CronTask"));
    assert!(
        said.contains("Write there: .controller(CronTaskReconciler)"),
        "{said}"
    );
    assert!(said.contains("cargo add --dev serde_json"), "{said}");
    let text = fs::read_to_string(&lib).unwrap();
    let added = "\nmod cron_task;\n\npub use cron_task::{CronTask, CronTaskReconciler, CronTaskSpec, CronTaskStatus};";
    assert_eq!(text.replace(added, ""), own);
}

/// rustfmt follows the modules of a file, and the user may just be writing in one of them.
#[test]
fn a_formatted_library_is_formatted_again_and_its_modules_stay_as_they_are() {
    let (_temporary, folder) = created();
    let module = folder.join("src/greeting.rs");
    let own = fs::read_to_string(&module).unwrap() + "fn   mine( ) { }\n";
    fs::write(&module, &own).unwrap();
    stdout(&cargo_pilothouse(&folder, "add webhook Greeting"));
    let lib = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    let chain = "    Operator::new(\"greeting\")\n        .controller(GreetingReconciler)\n        .mutates(GreetingDefaults)\n";
    assert!(lib.contains(chain), "{lib}");
    assert_eq!(fs::read_to_string(&module).unwrap(), own);
}

#[test]
fn the_webhooks_of_a_kind_are_added_once() {
    let (_temporary, folder) = created();
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    let said = stdout(&cargo_pilothouse(&folder, "add webhook Greeting"));
    let expected = "wrote src/greeting_webhook.rs\nwrote tests/greeting_webhook.rs\nchanged src/lib.rs\n\
        changed Cargo.toml: `pilothouse` has the feature `self-signed`. The operator makes the certificates of its webhooks itself with it, also in a build for production.\n";
    assert_eq!(said, expected);
    let written = [
        "src/lib.rs",
        "src/greeting_webhook.rs",
        "tests/greeting_webhook.rs",
    ];
    let written = written.map(|path| format!("// {path}\n{}", read(path)));
    insta::assert_snapshot!(written.join("\n"));

    // A build for production serves them.
    let version = env!("CARGO_PKG_VERSION");
    let dependency = format!(
        "[dependencies]\npilothouse = {{ version = \"{version}\", features = [\"self-signed\"] }}\nserde ="
    );
    assert!(read("Cargo.toml").contains(&dependency));
    assert!(read("Cargo.toml").contains("\n# The subcommand `dev`, and"));

    let before = read("src/lib.rs");
    let again = cargo_pilothouse(&folder, "add webhook Greeting");
    assert!(!again.status.success());
    assert_eq!(read("src/lib.rs"), before);
    // What the user has removed from the library comes again, but no file is written over.
    let source = folder.join("src/greeting_webhook.rs");
    fs::write(&source, "// mine\n").unwrap();
    let again = cargo_pilothouse(&folder, "add webhook Greeting");
    assert!(!again.status.success());
    assert_eq!(read("src/greeting_webhook.rs"), "// mine\n");
}

#[test]
fn webhooks_without_an_example_have_no_test_and_those_of_an_unknown_kind_are_refused() {
    let (_temporary, folder) = created();
    let unknown = cargo_pilothouse(&folder, "add webhook CronTask");
    let error = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(
        error.contains("cargo pilothouse add kind CronTask"),
        "{error}"
    );
    fs::remove_file(folder.join("example/greeting.yaml")).unwrap();
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let (before, after) = text.split_once("\npilothouse = { ").unwrap();
    let text = format!("{before}\npilothouse = {{ features = [\"self-signed\"], {after}");
    fs::write(&manifest, text).unwrap();
    let said = stdout(&cargo_pilothouse(&folder, "add webhook Greeting"));
    let expected = "wrote src/greeting_webhook.rs\nchanged src/lib.rs\nNo test was written, because there is no example/greeting.yaml.\n";
    assert_eq!(said, expected);
}

/// Kinds as `import` writes them: in a file of its own, and in modules for several versions.
#[test]
fn the_webhooks_of_an_imported_kind_name_its_path() {
    let (_temporary, folder) = created();
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    let kind = |name: &str| {
        format!(
            "#[derive(pilothouse::Resource, Clone, Debug)]\n#[resource(group = \"council.example.org\", version = \"v1\", kind = \"{name}\", namespaced, foreign)]\n\
             pub struct {name} {{\n    pub metadata: pilothouse::resource::ObjectMeta,\n}}\n"
        )
    };
    fs::write(folder.join("src/gate.rs"), kind("Gate")).unwrap();
    let route = kind("Route");
    let routes = format!("pub mod v1 {{\n{route}}}\npub mod v2 {{\n{route}}}\n");
    fs::write(folder.join("src/route.rs"), routes).unwrap();
    for example in ["gate", "route"] {
        fs::write(folder.join(format!("example/{example}.yaml")), "").unwrap();
    }
    let lib =
        read("src/lib.rs").replace("mod greeting;", "mod gate;\nmod greeting;\npub mod route;");
    fs::write(folder.join("src/lib.rs"), lib).unwrap();

    // The group of the next kind is the operator's, too, although the imported kind comes first.
    stdout(&cargo_pilothouse(&folder, "add kind CronTask"));
    assert!(
        read("src/cron_task.rs").contains("group = \"demo.example.com\", version = \"v1beta1\"")
    );

    let said = stdout(&cargo_pilothouse(&folder, "add webhook Gate"));
    let export = "Write in src/lib.rs: pub use gate::Gate;\nand in the test: use greeting::Gate;\n";
    assert!(said.contains(export), "{said}");
    assert!(read("src/gate_webhook.rs").contains("type Resource = crate::gate::Gate;"));
    // The annotation is in the group of the operator.
    assert!(read("src/gate_webhook.rs").contains("\"demo.example.com/creator\""));

    let several = cargo_pilothouse(&folder, "add webhook Route");
    let error = String::from_utf8_lossy(&several.stderr).into_owned();
    let expected = "there are several kinds `Route`: name one with its modules, such as `route::v1::Route`; there are route::v1::Route, route::v2::Route\n";
    assert!(error.ends_with(expected), "{error}");
    let said = stdout(&cargo_pilothouse(&folder, "add webhook route::v2::Route"));
    assert!(!said.contains("pub use"), "{said}");
    assert!(read("src/route_webhook.rs").contains("object: &mut crate::route::v2::Route,"));
    let import = "use greeting::{RouteDefaults, RouteRules, route::v2::Route};";
    assert!(read("tests/route_webhook.rs").contains(import));
}

#[test]
fn from_the_folder_of_a_workspace_the_paths_lead_from_there() {
    let temporary = tempfile::tempdir().unwrap();
    stdout(&cargo_pilothouse(
        temporary.path(),
        "new greeting --workspace",
    ));
    let folder = temporary.path().join("greeting");
    stdout(&cargo_pilothouse(
        &folder,
        "new other --path operators/other",
    ));
    let said = stdout(&cargo_pilothouse(&folder, "add kind Task -p greeting"));
    let expected = "wrote operators/greeting/src/task.rs\nwrote operators/greeting/tests/task.rs\nwrote operators/greeting/example/task.yaml\nchanged operators/greeting/src/lib.rs\n";
    assert_eq!(said, expected);
    let said = stdout(&cargo_pilothouse(&folder, "add webhook Task -p greeting"));
    let feature =
        "changed operators/greeting/Cargo.toml: `pilothouse` has the feature `self-signed`.";
    assert!(said.contains(feature), "{said}");

    // Where the workspace names the framework, its users decide.
    let manifest = folder.join("operators/other/Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let root = folder.join("Cargo.toml");
    let version = env!("CARGO_PKG_VERSION");
    let own = format!("pilothouse = {{ version = \"{version}\" }}");
    let inherited = text.replace(&own, "pilothouse = { workspace = true }");
    assert_ne!(inherited, text);
    fs::write(&manifest, &inherited).unwrap();
    let workspace = fs::read_to_string(&root).unwrap();
    fs::write(
        &root,
        format!("{workspace}\n[workspace.dependencies]\n{own}\n"),
    )
    .unwrap();
    let said = stdout(&cargo_pilothouse(&folder, "add webhook Other -p other"));
    let advice = "operators/other/Cargo.toml takes `pilothouse` from the workspace. Write there: pilothouse = { workspace = true, features = [\"self-signed\"] }\n";
    assert!(said.contains(advice), "{said}");
    assert_eq!(fs::read_to_string(&manifest).unwrap(), inherited);
}

/// The test of the webhooks reads the example in the version that the library exports.
#[test]
fn the_example_follows_its_kind_to_a_new_version_before_and_after_webhooks() {
    let version = "add version Greeting v1";
    let webhook = "add webhook Greeting";
    for lines in [[webhook, version], [version, webhook]] {
        let (_temporary, folder) = created();
        let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
        let before = read("example/greeting.yaml");
        let said = lines.map(|line| stdout(&cargo_pilothouse(&folder, line)));
        let said = said.concat();
        assert!(said.contains("changed example/greeting.yaml\n"), "{said}");
        let expected = before.replace("demo.example.com/v1beta1", "demo.example.com/v1");
        assert_eq!(read("example/greeting.yaml"), expected);
        assert!(read("tests/greeting_webhook.rs").contains(".with::<Greeting>()"));
        // The feature is added once.
        let added = "changed Cargo.toml: `pilothouse` has the feature `self-signed`.";
        assert_eq!(said.matches(added).count(), 1, "{said}");
        assert_eq!(read("Cargo.toml").matches("self-signed").count(), 1);
    }
    // A notation in which the place is not sure.
    let (_temporary, folder) = created();
    let example = folder.join("example/greeting.yaml");
    let text = "{apiVersion: demo.example.com/v1beta1, kind: Greeting}\n";
    fs::write(&example, text).unwrap();
    let said = stdout(&cargo_pilothouse(&folder, version));
    let advice = "example/greeting.yaml has Greeting in v1beta1, and the tests read it in v1. Write there: apiVersion: demo.example.com/v1\n";
    assert!(said.contains(advice), "{said}");
    assert_eq!(fs::read_to_string(&example).unwrap(), text);
}

/// As behind `| head -1`.
#[test]
fn the_work_is_done_although_nobody_reads_what_is_printed() {
    let (_temporary, folder) = created();
    for line in [
        "add kind CronTask",
        "add webhook CronTask",
        "add version Greeting v1",
        "new other",
        "add kind CronTask",
    ] {
        let [out, error] = [(); 2].map(|()| {
            // The end that is read is closed at once.
            let (_, writer) = std::io::pipe().unwrap();
            writer
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
        command.arg("pilothouse").args(line.split_whitespace());
        command.current_dir(&folder).stdout(out).stderr(error);
        let code = command.status().unwrap().code();
        let is_second = line == "add kind CronTask" && folder.join("other").exists();
        assert_eq!(code, Some(i32::from(is_second)), "{line}");
    }
    for path in [
        "src/cron_task.rs",
        "src/cron_task_webhook.rs",
        "src/greeting/v1beta1.rs",
        "other/src/lib.rs",
    ] {
        assert!(folder.join(path).exists(), "{path}");
    }
    let lib = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    assert!(lib.contains(".validates(CronTaskRules)"), "{lib}");
}
