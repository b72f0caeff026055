//! Checks each command that the book and the other pages of the repository name.
//!
//! A walk runs the commands of the tutorial, of the quick start and of "Your own project". Many others need a cluster, a registry or files of the
//! reader, so they are not run:
//!
//! | program | what is compared |
//! | --- | --- |
//! | the tool, an operator | subcommands and flags, with the pages of the reference, which the programs print |
//! | cargo, kubectl, Helm | subcommands and flags, by the programs themselves |
//! | the sandbox's program | its flags, with its source |
//! | docker | the Dockerfile, its arguments and contexts |
//! | a script of this repository | that it exists |
//!
//! `UNCHECKED` has the rest.

mod programs;
mod reference;
mod shell;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::Write,
    path::{Path, PathBuf},
};

use pilothouse_tests::kubectl;

use self::shell::{calls, lines, quoted};
use super::top;

/// Operators of the book, as a reader calls them.
const OPERATORS: [&str; 9] = [
    "website",
    "pages",
    "teams",
    "cronjob",
    "boards",
    "boards-new",
    "bucket",
    "endpoints",
    "sites",
];

/// Packages of this workspace that are no operators, and that pages start with `cargo run`.
const OTHERS: [&str; 1] = ["pilothouse-bench"];

/// What each shell and each machine has.
const SHELL: [&str; 14] = [
    "cd", "echo", "export", "git", "grep", "ls", "mkdir", "rm", "sed", "sleep", "sort", "source",
    "uniq", "xargs",
];

/// The pages whose commands a walk runs (`tests/tutorial`).
const WALKED: [&str; 2] = ["book/src/tutorial/", "book/src/own-project.md"];

/// Commands that no test checks, and why.
const UNCHECKED: [(&str, &str); 6] = [
    ("cargo cyclonedx", "the shard `parts-list` runs it"),
    (
        "cargo deny",
        "the steps `dependencies` and `packaged` run it",
    ),
    (
        "control",
        "a function that the page defines in the line before",
    ),
    (
        "cosign attest",
        "an example of a program of others, which no machine of the tests has",
    ),
    ("docker push", "needs a registry"),
    (
        "go test",
        "the tests of the reader; `tests/envtest` runs such tests with the same variable",
    ),
];

/// A call that a page names.
struct Call {
    /// Path of the page in the repository.
    page: String,
    words: Vec<String>,
    /// Whether the call is a line of a block. In the text, only calls of known programs are read.
    is_line: bool,
}

impl Call {
    fn folder(&self) -> PathBuf {
        top().join(&self.page).with_file_name("")
    }

    fn starts_with(&self, start: &str) -> bool {
        self.words.join(" ").starts_with(start)
    }

    /// What is wrong with the call, or `None`. `Err` if nothing here knows the program.
    fn problem(&self) -> Result<Option<String>, ()> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        Ok(match &*words {
            ["cargo", "pilothouse", ..] => reference::of_tool(&self.words[2..]),
            ["cargo", "cyclonedx" | "deny", ..] | ["docker", "push", ..] => {
                return Err(());
            }
            ["cargo", "run", rest @ ..] => {
                let of_cargo = programs::of_cargo(&self.words[1..]);
                let separator = words.iter().position(|word| *word == "--");
                let is_operator = !rest.iter().any(|word| OTHERS.contains(word));
                of_cargo.or_else(|| match separator.filter(|_| is_operator) {
                    Some(at) => reference::of_operator(&self.words[at + 1..]),
                    None => None,
                })
            }
            ["cargo", ..] => programs::of_cargo(&self.words[1..]),
            ["docker", "build", ..] => programs::of_docker_build(&self.folder(), &self.words[2..]),
            ["docker", "buildx", "build", ..] => {
                programs::of_docker_build(&self.folder(), &self.words[3..])
            }
            ["pilothouse-sandbox", ..] => programs::of_sandbox(&self.words[1..]),
            // Another test asks these programs.
            ["kubectl" | "helm", ..] => programs::of_files(&self.folder(), &self.words),
            [program, ..] if OPERATORS.contains(program) => {
                reference::of_operator(&self.words[1..])
            }
            [script, ..] if is_script(script) => {
                let is_there = top().join(script).is_file();
                (!is_there).then(|| format!("there is no {script}"))
            }
            [program, ..] if SHELL.contains(program) => None,
            _ => return Err(()),
        })
    }
}

/// Whether a word is a program of this repository, such as `tests/fuzz/run`.
fn is_script(word: &str) -> bool {
    let folder = [".ci/", "tests/", "bench/"];
    let name = word.rsplit('/').next().unwrap_or_default();
    folder.iter().any(|folder| word.starts_with(folder)) && !name.contains('.')
}

/// The calls of a page.
fn calls_of(page: &str, text: &str) -> Vec<Call> {
    let call = |words, is_line| Call {
        page: page.to_owned(),
        words,
        is_line,
    };
    let lines = lines(text);
    let mut found: Vec<_> = lines
        .iter()
        .flat_map(|line| calls(line))
        .map(|words| call(words, true))
        .collect();
    let known = [
        "cargo",
        "kubectl",
        "helm",
        "docker",
        "cosign",
        "pilothouse-sandbox",
    ];
    let quoted = quoted(text)
        .into_iter()
        .flat_map(calls)
        .map(|words| call(words, false));
    // A name alone is no call.
    found.extend(quoted.filter(|call| {
        let program = &*call.words[0];
        let is_known =
            known.contains(&program) || OPERATORS.contains(&program) || is_script(program);
        is_known && call.words.len() > 1
    }));
    // What follows `xargs` is a call, too.
    let after: Vec<_> = found
        .iter()
        .filter(|one| one.words[0] == "xargs")
        .map(|one| call(one.words[1..].to_vec(), true))
        .collect();
    found.extend(after);
    found
}

/// The pages below a folder, with their paths in `top`. The tool's templates are not pages: `cli/created` has what it makes of them.
fn pages(folder: &Path, top: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && !["target", ".git", "cli/templates"].contains(&&*name) {
            found.extend(pages(&path, top));
        } else if path.extension().is_some_and(|end| end == "md") {
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    found
}

fn all() -> Vec<Call> {
    let pages = pages(&top(), &top());
    pages
        .iter()
        .flat_map(|(page, text)| calls_of(page, text))
        .collect()
}

/// What is wrong with the calls. The second list has those of programs that nothing here knows.
fn problems(calls: &[Call]) -> (Vec<String>, Vec<&Call>) {
    let (mut wrong, mut unknown) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for call in calls
        .iter()
        .filter(|call| seen.insert((&call.page, &call.words)))
    {
        match call.problem() {
            Ok(problem) => wrong.extend(
                problem.map(|text| format!("{}: {}: {text}", call.page, call.words.join(" "))),
            ),
            Err(()) => unknown.push(call),
        }
    }
    (wrong, unknown)
}

#[test]
fn each_command_that_a_page_names_exists_with_its_flags() {
    let all = all();
    assert!(all.iter().filter(|call| call.is_line).count() > 200);
    let (wrong, unknown) = problems(&all);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let is_walked =
        |call: &Call| call.is_line && WALKED.iter().any(|page| call.page.starts_with(page));
    let mut used = BTreeSet::new();
    for call in unknown {
        match UNCHECKED.iter().find(|(start, _)| call.starts_with(start)) {
            Some((start, _)) => drop(used.insert(*start)),
            None => assert!(
                is_walked(call),
                "{}: no test checks `{}`: check it here, or add it to UNCHECKED with the reason",
                call.page,
                call.words.join(" ")
            ),
        }
    }
    assert_eq!(
        used,
        UNCHECKED.map(|(start, _)| start).into(),
        "UNCHECKED has more than the pages"
    );
}

/// The program of a variable, which another test finds for itself.
fn named(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// kubectl and Helm, or `None` if one of them is not installed.
fn cobra() -> Option<[(&'static str, PathBuf); 2]> {
    let found = kubectl::programs()
        .into_iter()
        .next()
        .zip(named("PILOTHOUSE_HELM"));
    if found.is_none() {
        // Not `println!`, because the harness hides the output of a passing test.
        let text = "skipped: PILOTHOUSE_KUBECTL and PILOTHOUSE_HELM name no programs\n";
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    found.map(|(kubectl, helm)| [("kubectl", kubectl), ("helm", helm)])
}

/// What kubectl and Helm say about calls.
fn refusals(programs: &[(&str, PathBuf)], calls: &[Call]) -> Vec<String> {
    let mut seen = BTreeMap::new();
    for call in calls {
        let mut known = programs.iter().filter(|(name, _)| *name == call.words[0]);
        if let Some((_, program)) = known.next() {
            seen.entry(&call.words).or_insert((&call.page, program));
        }
    }
    let refused = seen.into_iter().filter_map(|(words, (page, program))| {
        let text = programs::of_cobra(program, &words[1..])?;
        Some(format!("{page}: {}: {text}", words.join(" ")))
    });
    refused.collect()
}

#[test]
fn kubectl_and_helm_know_each_command_that_a_page_names() {
    let Some(programs) = cobra() else {
        return;
    };
    let all = all();
    for (name, _) in &programs {
        assert!(
            all.iter()
                .any(|call| call.is_line && call.words[0] == *name),
            "{name}"
        );
    }
    let refused = refusals(&programs, &all);
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn an_argument_that_kubectl_or_helm_does_not_know_is_found() {
    let Some(programs) = cobra() else {
        return;
    };
    let page = |line: &str| calls_of("page.md", &format!("```console\n$ {line}\n```\n"));
    for right in [
        "kubectl -n shop get pods -o yaml | grep x",
        "kubectl create configmap repair",
        "kubectl create --raw /a -f -",
        "kubectl wait --for=delete job/$oldest --timeout=60s",
        "helm upgrade a b --set c=d",
    ] {
        assert_eq!(refusals(&programs, &page(right)), [""; 0], "{right}");
    }
    for (wrong, expected) in [
        ("kubectl gett pods", "unknown command \"gett\""),
        ("kubectl get pods --bogus", "unknown flag: --bogus"),
        (
            "kubectl scale web --replicas many",
            "invalid argument \"many\"",
        ),
        (
            "kubectl -n shop create frob x",
            "`create` has no subcommand `frob`",
        ),
        (
            "kubectl rollout udno x",
            "`rollout` has no subcommand `udno`",
        ),
        ("kubectl apply -f", "--help"),
        ("oldest=$(kubectl events --of x)", "unknown flag: --of"),
        ("helm instal a b", "unknown command \"instal\""),
        ("helm show frob", "`show` has no subcommand `frob`"),
    ] {
        let refused = refusals(&programs, &page(wrong)).join("\n");
        assert!(refused.contains(expected), "{wrong}: {refused}");
    }
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let of = |line: &str| {
        let text = format!("```console\n$ {line}\n```\n`{line}`\n");
        let calls = calls_of("cli/created/README.md", &text);
        let (wrong, unknown) = problems(&calls);
        let unknown = unknown
            .into_iter()
            .map(|call| format!("unknown: {}", call.words.join(" ")));
        wrong.into_iter().chain(unknown).collect::<Vec<_>>()
    };
    for right in [
        "cargo pilothouse new greeting --workspace",
        "cargo pilothouse dev -- --leader-elect",
        "A=b website manifests --image x > y && website rbac",
        "cargo run --bin website -- --log=debug",
        "pages text --any",
        "kubectl apply -f example/greeting.yaml",
        "docker build -t x .",
        "pilothouse-sandbox --simulate",
    ] {
        assert_eq!(of(right), [""; 0], "{right}");
    }
    for (wrong, expected) in [
        ("cargo pilothouse make x", "there is no subcommand `make`"),
        (
            "cargo pilothouse add kind X --own",
            "`add kind` has no flag `--own`",
        ),
        ("website role | cat x", "there is no subcommand `role`"),
        (
            "echo | website manifests \\\n  --imag x",
            "`manifests` has no flag `--imag`",
        ),
        (
            "cargo run -- dev --instal x",
            "`dev` has no flag `--instal`",
        ),
        ("cargo biuld --release", "no such command: `biuld`"),
        (
            "cargo build --realese",
            "unexpected argument '--realese' found",
        ),
        (
            "kubectl apply -f examples/gone.yaml",
            "there is no examples/gone.yaml",
        ),
        (
            "kubectl apply -f example/gone.yaml",
            "there is no example/gone.yaml",
        ),
        ("docker build -f examples/Gone .", "examples/Gone"),
        (
            "docker build -f examples/Dockerfile --build-arg EXMAPLE=a .",
            "no `ARG EXMAPLE`",
        ),
        ("docker build --build-context gone=a .", "context `gone`"),
        ("docker build --frob .", "`--frob` is not in the list"),
        (
            "pilothouse-sandbox --simulat",
            "there is no flag `--simulat`",
        ),
        (
            "pilothouse-sandbox asset bin",
            "there is no subcommand `asset`",
        ),
        ("tests/fuzz/gone --seconds 3", "there is no tests/fuzz/gone"),
        ("promtool check rules x", "unknown: promtool check rules x"),
    ] {
        let found = of(wrong).join("\n");
        assert!(found.contains(expected), "{wrong}: {found}");
    }
}
