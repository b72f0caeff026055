//! Woven sources do what the sabotage that is on says, and otherwise what they did.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

const SOURCE: &str = "\
trait Greets {
    fn greeting(&self) -> String {
        \"hello\".into()
    }
}

struct Person;

impl Greets for Person {}

const TIMES: usize = 1;

fn name() -> &'static str {
    \"you\"
}

fn marks() -> impl Iterator<Item = &'static str> {
    [\"!\"].into_iter()
}

fn main() {
    print!(\"{} {}\", Person.greeting().repeat(TIMES), name());
    marks().for_each(|mark| print!(\"{mark}\"));
}
";

/// Writes a sabotage, and returns its name.
fn sabotage<'a>(folder: &Path, name: &'a str, from: &str, to: &str) -> &'a str {
    let text = format!(
        "breaks: a test\ntest: -p none --lib none\nfile: main.rs\n<<<<\n{from}\n====\n{to}\n>>>>\n"
    );
    fs::write(folder.join(name).with_extension("sabotage"), text).unwrap();
    name
}

fn run(command: &mut Command) -> Output {
    let done = command.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {told}");
    done
}

fn weave(folder: &Path, names: &[&str]) -> Output {
    let mut weave = Command::new(env!("CARGO_BIN_EXE_sabotage"));
    run(weave.arg("weave").args([folder, folder]).args(names))
}

fn rustc(folder: &Path) -> Command {
    let mut rustc = Command::new(option_env!("RUSTC").unwrap_or("rustc"));
    rustc.current_dir(folder);
    rustc.args(["--edition", "2024", "main.rs"]);
    rustc
}

#[test]
fn each_sabotage_is_switched_on_alone_and_what_cannot_be_switched_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("main.rs"), SOURCE).unwrap();
    let names = [
        sabotage(folder, "rude", "\"hello\"", "\"what\""),
        sabotage(folder, "loud", "\"hello\".into()", "{ \"HELLO\".into() }"),
        sabotage(folder, "wrong", "\"you\"", "\"me\""),
        sabotage(
            folder,
            "asks",
            "[\"!\"].into_iter()",
            "std::iter::once(\"?\")",
        ),
        sabotage(folder, "often", "usize = 1", "usize = 2"),
    ];
    let done = weave(folder, &names);
    let woven = String::from_utf8(done.stdout).unwrap();
    assert_eq!(woven, "rude\nloud\nwrong\nasks\n");
    let left = String::from_utf8(done.stderr).unwrap();
    assert_eq!(left, "often: it changes main.rs outside of functions\n");

    run(&mut rustc(folder));
    for (switch, said) in [
        ("", "hello you!"),
        ("rude", "what you!"),
        ("loud", "HELLO you!"),
        ("wrong", "hello me!"),
        ("asks", "hello you?"),
        ("often", "hello you!"),
    ] {
        let mut program = Command::new(folder.join("main"));
        let done = run(program.env("PILOTHOUSE_SABOTAGE", switch));
        assert_eq!(String::from_utf8(done.stdout).unwrap(), said, "{switch}");
    }
}

#[test]
fn the_sabotages_that_do_not_compile_are_found_among_others_of_the_same_function() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("main.rs"), SOURCE).unwrap();
    let names = [
        sabotage(folder, "rude", "\"hello\"", "\"what\""),
        sabotage(folder, "numeric", "\"hello\".into()", "1"),
        sabotage(folder, "unknown", "\"hello\"", "nothing"),
        sabotage(folder, "wrong", "\"you\"", "\"me\""),
    ];
    weave(folder, &names);
    let done = rustc(folder).arg("--error-format=json").output().unwrap();
    // cargo tells the compiler's messages within its own.
    let errors = String::from_utf8(done.stderr).unwrap();
    let messages: String = errors
        .lines()
        .map(|line| format!("{{\"message\":{line}}}\n"))
        .collect();
    let file = folder.join("messages");
    fs::write(&file, messages).unwrap();
    let mut broken = Command::new(env!("CARGO_BIN_EXE_sabotage"));
    broken.arg("broken").arg(folder);
    let done = run(broken.stdin(fs::File::open(file).unwrap()));
    assert_eq!(
        String::from_utf8(done.stdout).unwrap(),
        "numeric\nunknown\n"
    );
}
