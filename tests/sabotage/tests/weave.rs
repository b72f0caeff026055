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

fn main() {
    print!(\"{} {}\", Person.greeting().repeat(TIMES), name());
}
";

/// Writes the patch that makes the source another one.
fn patch(folder: &Path, name: &str, from: &str, to: &str) -> String {
    fs::write(folder.join("other.rs"), SOURCE.replace(from, to)).unwrap();
    let mut git = Command::new("git");
    git.current_dir(folder);
    git.args(["diff", "--no-index", "--", "main.rs", "other.rs"]);
    let text = String::from_utf8(git.output().unwrap().stdout).unwrap();
    let path = folder.join(name).with_extension("patch");
    fs::write(&path, text.replace("other.rs", "main.rs")).unwrap();
    path.to_str().unwrap().to_owned()
}

fn run(command: &mut Command) -> Output {
    let done = command.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {told}");
    done
}

#[test]
fn each_sabotage_is_switched_on_alone_and_what_cannot_be_switched_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("main.rs"), SOURCE).unwrap();
    let patches = [
        patch(folder, "rude", "\"hello\"", "\"what\""),
        patch(folder, "loud", "\"hello\".into()", "{ \"HELLO\".into() }"),
        patch(folder, "wrong", "\"you\"", "\"me\""),
        patch(folder, "often", "usize = 1", "usize = 2"),
    ];
    let mut weave = Command::new(env!("CARGO_BIN_EXE_weave"));
    let done = run(weave.arg(folder).args(patches));
    let woven = String::from_utf8(done.stdout).unwrap();
    assert_eq!(woven, "rude\nloud\nwrong\n");
    let left = String::from_utf8(done.stderr).unwrap();
    assert!(
        left.ends_with("often.patch: it changes main.rs outside of functions\n"),
        "{left}"
    );

    let mut rustc = Command::new(option_env!("RUSTC").unwrap_or("rustc"));
    run(rustc
        .current_dir(folder)
        .args(["--edition", "2024", "main.rs"]));
    for (switch, said) in [
        ("", "hello you"),
        ("rude", "what you"),
        ("loud", "HELLO you"),
        ("wrong", "hello me"),
        ("often", "hello you"),
    ] {
        let mut program = Command::new(folder.join("main"));
        let done = run(program.env("PILOTHOUSE_SABOTAGE", switch));
        assert_eq!(String::from_utf8(done.stdout).unwrap(), said, "{switch}");
    }
}
