//! The completions that the operator prints, tried in the installed shells.

use std::{
    io::Write,
    process::{Command, Stdio},
};

fn script(shell: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_website"))
        .args(["completions", shell])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The output of a shell that runs a script; `None` if the shell is not installed.
fn output(shell: &str, script: &str) -> Option<String> {
    let mut child = match Command::new(shell)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
    {
        Ok(child) => child,
        Err(_) => {
            let told = format!("skipped: completions of {shell}: it is not there\n");
            std::io::stderr().write_all(told.as_bytes()).unwrap();
            return None;
        }
    };
    let mut input = child.stdin.take().unwrap();
    input.write_all(script.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn bash_completes_subcommands_flags_and_values() {
    let table = [
        ("website co", "completions"),
        ("website run --metrics-ad", "--metrics-address"),
        ("website dev --po", "--port"),
        ("website --log-format j", "json"),
        ("website completions z", "zsh"),
    ];
    for (line, expected) in table {
        let words: Vec<&str> = line.split(' ').collect();
        let [.., before, last] = words[..] else {
            panic!("{line}")
        };
        let asked = format!(
            "{}\nCOMP_WORDS=({line}); COMP_CWORD={}; _website website '{last}' '{before}'; echo \"${{COMPREPLY[@]}}\"\n",
            script("bash"),
            words.len() - 1
        );
        let Some(told) = output("bash", &asked) else {
            return;
        };
        assert_eq!(told.trim(), expected, "{line}");
    }
}

#[test]
fn every_shell_has_a_script_that_names_the_flags() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(script(shell).contains("metrics-address"), "{shell}");
    }
    // Each installed shell reads its script.
    output(
        "zsh",
        &format!("autoload -U compinit; compinit -u; {}", script("zsh")),
    );
    output("fish", &script("fish"));
}
