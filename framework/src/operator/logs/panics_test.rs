//! Panics in the log. The panic hook and the log belong to a whole process, so each case runs in a process of its own: this
//! test program, which runs only the test `case` there.

use std::{
    env,
    panic::{self, catch_unwind},
    process::Command,
};

use serde_json::Value;

use super::{Filter, LogFormat, LogHandle, init};
use crate::health::{TaskMonitor, catch_panic, catch_panic_of};

/// The variable with the name of the case.
const CASE: &str = "PILOTHOUSE_PANIC_CASE";

/// What runs in the other process.
#[test]
fn case() {
    let Ok(case) = env::var(CASE) else { return };
    if case == "own hook" {
        panic::set_hook(Box::new(|_| eprintln!("the program's own hook")));
    }
    let traces = None;
    init(
        Filter::default(),
        LogFormat::Json,
        traces,
        &LogHandle::default(),
    );
    let broken = || -> () { panic!("no {}", "air") };
    match &*case {
        "caught" => {
            for _ in 0..3 {
                let panic = catch_panic(broken).unwrap_err();
                tracing::warn!("caught: {panic}");
            }
        }
        "future" => {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            runtime.unwrap().block_on(async {
                let yields = async {
                    tokio::task::yield_now().await;
                    broken();
                };
                let panic = catch_panic_of(yields).await.unwrap_err();
                tracing::warn!("caught: {panic}");
                let task = TaskMonitor::new();
                assert_eq!(task.run("events", async { broken() }).await, None);
            });
        }
        // A thread of the user's.
        "not caught" => drop(
            std::thread::Builder::new()
                .name("own".into())
                .spawn(broken)
                .unwrap()
                .join(),
        ),
        "caught by the program" => {
            let span = tracing::error_span!("reconcile", name = "web");
            let _entered = span.entered();
            let ended =
                catch_panic(|| [catch_unwind(broken).is_err(), catch_unwind(broken).is_err()]);
            assert_eq!(ended.unwrap(), [true; 2]);
        }
        "own hook" => drop(catch_panic(broken)),
        other => panic!("no case {other}"),
    }
}

/// The lines on standard error of the other process.
fn lines_of(case: &str) -> Vec<String> {
    let name = format!("{}::case", module_path!().split_once("::").unwrap().1);
    let output = Command::new(env::current_exe().unwrap())
        .args([&*name, "--exact", "--nocapture", "--test-threads=1"])
        .env(CASE, case)
        .env_remove("RUST_BACKTRACE")
        .env_remove("RUST_LIB_BACKTRACE")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The logged lines, which must all be JSON, as level and message, with the line in this file as `N`.
fn logged(case: &str) -> Vec<(String, String, Value)> {
    let parse = |line: &String| -> Value {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
    };
    let lines: Vec<Value> = lines_of(case).iter().map(parse).collect();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let without_line = |message: String| match message.split_once("panics_test.rs:") {
        Some((before, place)) => {
            let place =
                place.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ':');
            let before = before.rsplit_once('(').unwrap().0;
            format!("{before}(panics_test.rs:N{place}")
        }
        None => message,
    };
    lines
        .into_iter()
        .map(|line| {
            (
                text(&line["level"]),
                without_line(text(&line["message"])),
                line,
            )
        })
        .collect()
}

fn messages(case: &str) -> Vec<(String, String)> {
    let logged = logged(case).into_iter();
    logged.map(|(level, message, _)| (level, message)).collect()
}

fn pair(level: &str, message: &str) -> (String, String) {
    (level.into(), message.into())
}

const PANIC: &str = "no air (panics_test.rs:N)";

#[test]
fn a_caught_panic_is_logged_only_by_the_code_that_catches_it_and_with_its_place() {
    let caught = pair("WARN", &format!("caught: {PANIC}"));
    assert_eq!(messages("caught"), vec![caught.clone(); 3]);
    let task = format!("the background task events panicked: {PANIC}");
    assert_eq!(messages("future"), [caught, pair("ERROR", &task)]);
}

#[test]
fn a_panic_that_the_framework_does_not_catch_is_logged_once() {
    let panicked = pair("ERROR", &format!("panicked: {PANIC}"));
    let logged = logged("not caught");
    assert_eq!(messages("not caught"), [panicked]);
    assert_eq!(logged[0].2["thread"], "own");
}

#[test]
fn a_panic_that_the_program_catches_inside_of_a_reconcile_is_logged_with_the_object() {
    let logged = logged("caught by the program");
    assert_eq!(logged.len(), 2);
    for (level, message, line) in logged {
        assert_eq!((&*level, message), ("ERROR", format!("panicked: {PANIC}")));
        assert_eq!(line["name"], "web");
    }
}

#[test]
fn a_hook_that_the_program_installed_before_is_still_called() {
    assert_eq!(lines_of("own hook"), ["the program's own hook"]);
}
