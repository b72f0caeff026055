//! The tool with programs that run: the live `dev`, and `check`.
//!
//! Cargo builds, the program starts, and it works with an API server: all of that is real. To be quick, the package that is built is a
//! program of a few lines without dependencies: it starts this test as an operator.

mod careless;
mod costly;
mod loud;
mod mistaken;
mod stuck;
#[path = "../terminal/mod.rs"]
mod terminal;
mod timed;

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

use futures_util::TryStreamExt;
use greeting::{Greeting, GreetingSpec};
use pilothouse::{
    client::{
        Api, Client, Config, KubeconfigOptions, Patch, PatchParams, PostParams, WatchEvent,
        WatchParams,
    },
    prelude::*,
};
use tempfile::TempDir;
use terminal::Terminal;

/// Which operator this process is.
const OPERATOR: &str = "PILOTHOUSE_TEST_OPERATOR";
/// Enough for a build beside other tests.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    match env::var(OPERATOR).as_deref() {
        Ok("loud") => return loud::operator().main(),
        Ok("mistaken") => return mistaken::operator().main(),
        Ok("careless") => return careless::operator().main(),
        Ok("costly") => return costly::operator().main(),
        Ok("stuck") => return stuck::operator().main(),
        Ok("timed") => return timed::operator().main(),
        Ok(_) => return greeting::operator().main(),
        Err(_) => {}
    }
    // `cargo test NAME` runs what its name chooses, as in other tests.
    let chosen = env::args().nth(1).filter(|name| !name.starts_with('-'));
    let is_chosen = |name: &str| {
        chosen
            .as_ref()
            .is_none_or(|chosen| name.contains(chosen.as_str()))
    };
    let tests: [(&str, fn()); 6] = [
        (
            "saving_a_source_restarts_the_operator_and_everything_else_stays",
            || {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                runtime.block_on(saving_a_source_restarts_the_operator_and_everything_else_stays());
            },
        ),
        (
            "dev_says_what_it_waits_for_and_what_nothing_acts_on",
            || {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                runtime.block_on(dev_says_what_it_waits_for_and_what_nothing_acts_on());
            },
        ),
        ("dev_shows_a_live_line_on_a_terminal", || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(dev_shows_a_live_line_on_a_terminal());
        }),
        (
            "check_says_where_a_rule_costs_too_much_and_what_bounds_it",
            check_says_where_a_rule_costs_too_much_and_what_bounds_it,
        ),
        (
            "check_finds_each_mistake_and_none_in_what_new_writes",
            check_finds_each_mistake_and_none_in_what_new_writes,
        ),
        (
            "check_takes_no_write_of_time_or_of_the_framework_as_a_mistake",
            check_takes_no_write_of_time_or_of_the_framework_as_a_mistake,
        ),
    ];
    for (name, test) in tests.into_iter().filter(|(name, _)| is_chosen(name)) {
        test();
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

/// The program that starts this test as an operator.
fn source(operator: &str) -> String {
    let test = env::current_exe().unwrap();
    format!(
        "use std::{{env, os::unix::process::CommandExt, process::Command}};\n\nfn main() {{\n    let error = \
         Command::new({test:?}).args(env::args_os().skip(1)).env({OPERATOR:?}, {operator:?}).exec();\n    panic!(\"{{error}}\");\n}}\n"
    )
}

/// A package with this program, in a temporary folder.
fn package(operator: &str) -> TempDir {
    let temporary = tempfile::tempdir().unwrap();
    let manifest =
        "[package]\nname = \"shown\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    fs::write(temporary.path().join("Cargo.toml"), manifest).unwrap();
    fs::create_dir(temporary.path().join("src")).unwrap();
    fs::write(temporary.path().join("src/main.rs"), source(operator)).unwrap();
    temporary
}

/// A call of the tool in the folder of a package.
fn cargo_pilothouse(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
    command.arg("pilothouse").args(line.split_whitespace());
    command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"));
    command
}

/// Checks this operator with the example that `new` writes.
fn finds_nothing(operator: &str) {
    let good = package(operator);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("created/example");
    fs::create_dir(good.path().join("example")).unwrap();
    fs::copy(
        example.join("greeting.yaml"),
        good.path().join("example/greeting.yaml"),
    )
    .unwrap();
    let output = cargo_pilothouse(good.path(), "check").output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "Nothing was found.\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success());
}

fn check_takes_no_write_of_time_or_of_the_framework_as_a_mistake() {
    finds_nothing("timed");
}

fn check_says_where_a_rule_costs_too_much_and_what_bounds_it() {
    let package = package("costly");
    let output = cargo_pilothouse(package.path(), "check").output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    let line = include_str!("costly.rs").lines();
    let line = line.take_while(|line| !line.contains("self.all")).count() + 1;
    for expected in [
        &format!("cli/tests/programs/costly.rs:{line}: programs::costly::Basket: spec.fruits: "),
        "estimated rule cost exceeds budget by factor of more than 100x: `self.all(a, self.all(b, a == b))`",
        "add `max_items` to spec.fruits",
    ] {
        assert!(said.contains(expected), "no `{expected}` in:\n{said}");
    }
}

fn check_finds_each_mistake_and_none_in_what_new_writes() {
    finds_nothing("quiet");
    let bad = package("careless");
    fs::create_dir(bad.path().join("example")).unwrap();
    let page = "apiVersion: example.com/v1\nkind: Page\nmetadata:\n  name: home\n  namespace: default\nspec:\n  text: Hello\n";
    fs::write(bad.path().join("example/page.yaml"), page).unwrap();
    let test = env::current_exe().unwrap();
    let printed = Command::new(test)
        .arg("crd")
        .env(OPERATOR, "careless")
        .output()
        .unwrap();
    let committed = String::from_utf8(printed.stdout)
        .unwrap()
        .replace("minLength: 1", "minLength: 0");
    fs::write(bad.path().join("crd.yaml"), committed).unwrap();
    let output = cargo_pilothouse(bad.path(), "check").output().unwrap();
    assert!(!output.status.success());
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    // An example that does not fit the new definition any more hides no change of the definition.
    let unfit = page.replace("Hello", "''");
    fs::write(bad.path().join("example/page.yaml"), unfit).unwrap();
    let output_of_unfit = cargo_pilothouse(bad.path(), "check").output().unwrap();
    let (text, error) = (&output_of_unfit.stdout, &output_of_unfit.stderr);
    let change = "pages.example.com v1 .spec.text: `minLength` is stricter than before: 1\n";
    assert!(String::from_utf8_lossy(text).starts_with(change));
    let error = String::from_utf8_lossy(error);
    let place = "example/page.yaml: document 1, line 7: ";
    assert!(error.contains(place), "{error}");
    // The server has chosen the end of the name.
    let generated = found.split("default/home-").nth(1).unwrap_or_default();
    let generated = generated.split(':').next().unwrap_or_default().to_owned();
    // The number of the reconciles before depends on how fast its Deployment becomes ready.
    let counts = found.split("`data.count` from ").nth(1).unwrap_or_default();
    let counts = counts.lines().next().unwrap_or_default().to_owned();
    insta::assert_snapshot!(
        "careless",
        found
            .replace(&format!("home-{generated}"), "home-…")
            .replace(&counts, "… to …")
    );
}

/// `cargo pilothouse dev` in a folder, with the lines that it prints.
struct Dev {
    process: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Dev {
    fn start(folder: &Path) -> Self {
        let mut command = cargo_pilothouse(folder, "dev");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (send, lines) = mpsc::channel();
        let outputs: [Box<dyn Read + Send>; 2] = [
            Box::new(process.stdout.take().unwrap()),
            Box::new(process.stderr.take().unwrap()),
        ];
        for output in outputs {
            let send = send.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = send.send(line);
                }
            });
        }
        Self {
            process,
            lines,
            seen: Vec::new(),
        }
    }

    /// A client of its API server. It reads the line with the kubeconfig.
    async fn client(&mut self) -> Client {
        let line = self.until("export KUBECONFIG=");
        let options = KubeconfigOptions {
            path: Some(line.split_once('=').unwrap().1.into()),
            ..KubeconfigOptions::default()
        };
        Client::new(Config::from_kubeconfig(&options).await.unwrap()).unwrap()
    }

    /// Waits for a line that contains the text.
    fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("`{text}` was not printed, but:\n{}", self.seen.join("\n"));
            };
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Waits for a line that contains the text, if it was not printed before.
    fn has(&mut self, text: &str) {
        if !self.seen.iter().any(|line| line.contains(text)) {
            self.until(text);
        }
    }

    /// Sends a signal, after which it has to end in order.
    fn stop(&mut self, signal: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &*id]).status();
        assert!(sent.unwrap().success());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            // Not SIGKILL: it ends its operator.
            let _ = Command::new("kill")
                .arg(self.process.id().to_string())
                .status();
        }
    }
}

fn example(name: &str) -> Greeting {
    Greeting {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..Default::default()
        },
        spec: GreetingSpec {
            text: "hello".into(),
        },
        status: None,
    }
}

/// The body of a page that has to be there.
fn page(url: &str) -> String {
    let (address, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 200 "), "{url}: {answer}");
    body.to_owned()
}

/// Follows the link to the debug page, as `dev` prints it. Returns how many reconciles of an object the operator there tells of.
fn reconciles_at(link: &str, name: &str) -> usize {
    let url = link.split_whitespace().last().unwrap();
    assert!(page(url).contains("<ol id=\"timeline\""), "{url}");
    let json = |path: &str| -> serde_json::Value {
        serde_json::from_str(&page(&format!("{url}/{path}"))).unwrap()
    };
    assert_eq!(json("state.json")["operator"], "greeting");
    let object = json(&format!(
        "object.json?controller=greeting&key=default/{name}"
    ));
    assert_eq!(object["exists"], true, "{object}");
    object["reconciles"].as_array().unwrap().len()
}

async fn has_text(maps: &Api<ConfigMap>, name: &str, text: &str) {
    let has = |map: Option<&ConfigMap>| {
        let data = map.and_then(|map| map.data.as_ref());
        data.is_some_and(|data| data["text"] == text)
    };
    let waited = tokio::time::timeout(PATIENCE, maps.wait_until(name, has));
    waited
        .await
        .unwrap_or_else(|_| panic!("{name} never had the text {text}"))
        .unwrap();
}

async fn dev_says_what_it_waits_for_and_what_nothing_acts_on() {
    let package = package("quiet");
    let folder = package.path();
    let main = folder.join("src/main.rs");
    let mut dev = Dev::start(folder);
    let client = dev.client().await;
    dev.until("Save a source, and the operator is built");
    assert!(!dev.seen.iter().any(|line| line.contains("Not simulated")));

    // The operator gets a kind that the API server only stores.
    fs::write(&main, source("stuck")).unwrap();
    dev.until("shown is running, ");
    assert_eq!(dev.until("Not simulated"), "Not simulated: Ingress.");
    dev.until("kubectl patch --subresource=status");

    // Its reconcile does not end.
    let greetings = Api::<Greeting>::namespaced(&client, "default");
    let created = greetings
        .create(&PostParams::default(), &example("a"))
        .await;
    created.unwrap();
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    has_text(&maps, "a", "hello").await;
    fs::write(&main, source("loud")).unwrap();
    dev.until("Restarting …");
    let waits = "The operator has not ended yet: reconciles that still run get 10 s …";
    dev.until(waits);
    let said = dev.seen.len();
    dev.until("shown is running, ");
    has_text(&maps, "a", "HELLO").await;
    assert!(
        !dev.seen[said..]
            .iter()
            .any(|line| line.contains("still run"))
    );
    assert_eq!(
        dev.seen
            .iter()
            .filter(|line| line.contains("Not simulated"))
            .count(),
        1
    );
    dev.stop("-TERM");

    // From the first start.
    fs::write(&main, source("stuck")).unwrap();
    let mut dev = Dev::start(folder);
    assert_eq!(dev.until("Not simulated"), "Not simulated: Ingress.");
    dev.until("Save a source, and the operator is built");
    dev.stop("-TERM");
}

async fn dev_shows_a_live_line_on_a_terminal() {
    let package = package("quiet");
    let command = cargo_pilothouse(package.path(), "dev");
    let Some(mut terminal) = Terminal::start(&command) else {
        return;
    };
    terminal.until("export KUBECONFIG=");
    let path = terminal.until("\r\n");
    terminal.until("greeting is running.");
    terminal.until("greeting: 0 objects");
    let options = KubeconfigOptions {
        path: Some(path.into()),
        ..KubeconfigOptions::default()
    };
    let client = Client::new(Config::from_kubeconfig(&options).await.unwrap()).unwrap();
    let greetings = Api::<Greeting>::namespaced(&client, "default");
    let created = greetings
        .create(&PostParams::default(), &example("a"))
        .await;
    created.unwrap();
    // In place of the line before.
    terminal.until("\r\x1b[2Kgreeting: 1 object");
    terminal.types("\x03");
    assert!(terminal.end().contains("Stopping …"));
}

async fn saving_a_source_restarts_the_operator_and_everything_else_stays() {
    let package = package("quiet");
    let folder = package.path();
    let main = folder.join("src/main.rs");
    let mut dev = Dev::start(folder);
    let line = dev.until("export KUBECONFIG=");
    let kubeconfig = PathBuf::from(line.split_once('=').unwrap().1);
    dev.until("greeting is running.");
    let metrics = dev.until("  metrics  ");
    let debug = dev.until("  debug  ");

    let options = KubeconfigOptions {
        path: Some(kubeconfig.clone()),
        ..KubeconfigOptions::default()
    };
    let client = Client::new(Config::from_kubeconfig(&options).await.unwrap()).unwrap();
    let greetings = Api::<Greeting>::namespaced(&client, "default");
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    // One watch, as of `kubectl get --watch`, from before the first change to the end.
    let mut events = maps.watch(&WatchParams::default()).await.unwrap();
    greetings
        .create(&PostParams::default(), &example("before"))
        .await
        .unwrap();
    has_text(&maps, "before", "hello").await;
    assert!(reconciles_at(&debug, "before") > 0);

    // A second run would take the kubeconfig of the first one.
    let second = cargo_pilothouse(folder, "dev").output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("another `cargo pilothouse dev`"), "{said}");

    // Mistakes, for the compiler and for the API server: the operator of the last good build goes on. No build reads the other file.
    fs::write(folder.join("crd.yaml"), "unread").unwrap();
    for (name, text) in [
        ("uncompiled", "fn main() { no such thing }".to_owned()),
        ("refused", source("mistaken")),
    ] {
        fs::write(&main, text).unwrap();
        dev.until("has changed.");
        dev.until("Building shown …");
        dev.until("The operator of the last build goes on.");
        let (params, object) = (PostParams::default(), example(name));
        greetings.create(&params, &object).await.unwrap();
        has_text(&maps, name, "hello").await;
    }
    assert!(dev.seen.contains(&"src/main.rs has changed.".to_owned()));
    // The compiler prints on the other output.
    dev.has("error: expected ");
    dev.has("--> src/main.rs:1:");
    let refused = dev.seen.iter().find(|line| line.contains("self.words"));
    let expected = "cli/tests/programs/mistaken.rs:13: programs::mistaken::Greeting: spec: x-kubernetes-validations[0].rule: `self.words > 0` does not compile: ERROR: <input>:1:5: undefined field 'words'";
    assert!(
        refused.is_some_and(|line| line.contains(expected)),
        "{refused:?}"
    );

    // As `cargo clean` does.
    fs::remove_file(&kubeconfig).unwrap();
    let saved = Instant::now();
    fs::write(&main, source("loud")).unwrap();
    let built = dev.until("Built in ");
    assert_eq!(dev.until("  metrics  "), metrics);
    assert_eq!(dev.until("  debug  "), debug);
    dev.until("shown is running, ");
    assert!(kubeconfig.exists());
    has_text(&maps, "before", "HELLO").await;
    // The same link leads to the new operator, which has reconciled each object anew.
    assert!(reconciles_at(&debug, "refused") > 0);
    println!(
        "{built} The operator has reconciled {:.1} s after the change.",
        saved.elapsed().as_secs_f32()
    );
    has_text(&maps, "refused", "HELLO").await;
    // The definition is the new one: its field is not pruned.
    let ending = Patch::Merge(serde_json::json!({"spec": {"ending": "!"}}));
    greetings
        .patch("before", &PatchParams::default(), &ending)
        .await
        .unwrap();
    has_text(&maps, "before", "HELLO!").await;

    // The watch is the same, and has seen everything.
    let until = async {
        while let Some(event) = events.try_next().await.unwrap() {
            if let WatchEvent::Modified(map) = event
                && map.data.is_some_and(|data| data["text"] == "HELLO!")
            {
                return;
            }
        }
        panic!("the watch has ended");
    };
    tokio::time::timeout(PATIENCE, until).await.unwrap();
    for unsaid in ["second signal", "still run", "Not simulated"] {
        assert!(!dev.seen.iter().any(|line| line.contains(unsaid)));
    }
    dev.stop("-TERM");

    // A closed terminal ends it, too, and with it the operator, which has the lines of its output.
    let mut dev = Dev::start(folder);
    dev.until("greeting is running.");
    dev.stop("-HUP");
    assert!(dev.lines.iter().any(|line| line == "Stopping …"));
}
