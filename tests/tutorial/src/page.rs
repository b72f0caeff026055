//! The steps that a page of the tutorial has.

use std::fmt;

/// A place in the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file of the page.
    pub page: String,
    /// The line, counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.page, self.line)
    }
}

/// A command, and the output that the page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Where the page has it.
    pub place: Place,
    /// What the shell gets. It has several lines if a line ends with a backslash.
    pub line: String,
    /// Whether the command has to fail.
    pub fails: bool,
    /// The lines of the output; empty if the page shows none.
    pub output: Vec<String>,
}

/// What happens in a terminal beside the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scene {
    /// A command begins.
    Begin(String),
    /// This line appears.
    Appears(String),
    /// The reader presses Ctrl-C, and the command ends.
    Interrupt,
}

/// What a reader does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes a file.
    File {
        /// Where the page has it.
        place: Place,
        /// The file, in the folder of the operator.
        path: String,
        /// Its text.
        text: String,
    },
    /// Puts items into a Rust file.
    Items {
        /// Where the page has them.
        place: Place,
        /// The file, in the folder of the operator.
        path: String,
        /// The items.
        text: String,
    },
    /// Runs a command in the shell.
    Run(Command),
    /// Uses a terminal beside it.
    Terminal {
        /// Where the page has it.
        place: Place,
        /// The name of the terminal.
        name: String,
        /// What happens there.
        scene: Scene,
    },
}

/// The steps of a page.
///
/// # Errors
/// A block whose words the walk does not know, a listing whose file the text before it does not name, or an output without a command: the error
/// names the place.
pub fn steps(page: &str, text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let (mut open, mut above) = (None::<Open<'_>>, "");
    for (number, line) in text.lines().enumerate() {
        let place = Place {
            page: page.to_owned(),
            line: number + 1,
        };
        match (line.strip_prefix("```"), &mut open) {
            (Some(words), None) => {
                open = Some(Open {
                    place,
                    words,
                    above,
                    lines: Vec::new(),
                })
            }
            (Some(_), Some(_)) => {
                let Some(block) = open.take() else { continue };
                steps.extend(block.steps()?);
            }
            (None, Some(block)) => block.lines.push(line),
            (None, None) => {
                if !line.trim().is_empty() {
                    above = line;
                }
            }
        }
    }
    match open {
        Some(block) => Err(format!("{}: the block has no end", block.place)),
        None => Ok(steps),
    }
}

/// A block whose end was not seen yet.
struct Open<'a> {
    place: Place,
    words: &'a str,
    /// The last line before the block.
    above: &'a str,
    lines: Vec<&'a str>,
}

impl Open<'_> {
    fn steps(self) -> Result<Vec<Step>, String> {
        let problem = |text: &str| Err(format!("{}: {text}", self.place));
        let mut words = self.words.split(' ');
        let language = words.next().unwrap_or_default();
        let option = words.next().map(|word| match word.split_once('=') {
            Some((name, value)) => (name, value),
            None => (word, ""),
        });
        if words.next().is_some() {
            return problem("the block has too many words");
        }
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        let place = self.place.clone();
        match (language, option) {
            ("rust,ignore" | "yaml" | "toml", Some((kind @ ("file" | "in"), path))) => {
                if !self.above.contains(&format!("`{path}`")) {
                    return problem(&format!(
                        "the line before the listing does not name `{path}`"
                    ));
                }
                let path = path.to_owned();
                match kind {
                    "file" => Ok(vec![Step::File { place, path, text }]),
                    _ if language == "rust,ignore" => Ok(vec![Step::Items { place, path, text }]),
                    _ => problem("only items of Rust can be put into a file"),
                }
            }
            ("console", None) => self.commands(false),
            ("console", Some(("fails", ""))) => self.commands(true),
            ("console", Some(("terminal", name))) => Ok(self.terminal(name)),
            ("sh" | "text", None) | ("console", Some(("elsewhere", ""))) => Ok(Vec::new()),
            _ => problem(&format!("no rule says what a block `{}` is", self.words)),
        }
    }

    fn commands(self, fails: bool) -> Result<Vec<Step>, String> {
        let mut commands: Vec<Command> = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let place = Place {
                line: self.place.line + number + 1,
                ..self.place.clone()
            };
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push(Command {
                    place,
                    line: command.to_owned(),
                    fails: false,
                    output: Vec::new(),
                }),
                (None, Some(command))
                    if command.output.is_empty() && command.line.ends_with('\\') =>
                {
                    command.line.push_str(&format!("\n{line}"));
                }
                (None, Some(command)) => command.output.push((*line).to_owned()),
                (None, None) => return Err(format!("{place}: an output without a command")),
            }
        }
        for command in &mut commands {
            // An empty line between a command and the next one is only layout.
            while command
                .output
                .last()
                .is_some_and(|line| line.trim().is_empty())
            {
                command.output.pop();
            }
        }
        if let Some(last) = commands.last_mut() {
            last.fails = fails;
        }
        Ok(commands.into_iter().map(Step::Run).collect())
    }

    fn terminal(self, name: &str) -> Vec<Step> {
        let place = |number| Place {
            line: self.place.line + number + 1,
            ..self.place.clone()
        };
        let lines = self.lines.iter().enumerate();
        let scenes = lines.filter_map(|(number, line)| {
            let scene = match (line.strip_prefix("$ "), line.trim()) {
                (Some(command), _) => Scene::Begin(command.to_owned()),
                (None, "" | "…") => return None,
                (None, "^C") => Scene::Interrupt,
                (None, _) => Scene::Appears((*line).to_owned()),
            };
            Some(Step::Terminal {
                place: place(number),
                name: name.to_owned(),
                scene,
            })
        });
        scenes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        steps("a.md", text).unwrap_err()
    }

    #[test]
    fn a_page_becomes_the_steps_of_its_reader() {
        let page = "In `src/a.rs`:\n\n```rust,ignore in=src/a.rs\nfn a() {}\n```\n\n```console\n$ one \\\n  two\nout\n\n$ three\n```\n\n\
                    ```console terminal=dev\n$ dev\n…\nready\n^C\n```\n```text\nnothing\n```\n```console elsewhere\n$ one\n```\n```console fails\n$ no\n```\n";
        let found = steps("a.md", page).unwrap();
        let at = |line| Place {
            page: "a.md".into(),
            line,
        };
        let run = |line: usize, text: &str, fails: bool, output: &[&str]| {
            Step::Run(Command {
                place: at(line),
                line: text.into(),
                fails,
                output: output.iter().map(|&line| line.into()).collect(),
            })
        };
        let terminal = |line, scene| Step::Terminal {
            place: at(line),
            name: "dev".into(),
            scene,
        };
        let expected = [
            Step::Items {
                place: at(3),
                path: "src/a.rs".into(),
                text: "fn a() {}\n".into(),
            },
            run(8, "one \\\n  two", false, &["out"]),
            run(12, "three", false, &[]),
            terminal(16, Scene::Begin("dev".into())),
            terminal(18, Scene::Appears("ready".into())),
            terminal(19, Scene::Interrupt),
            run(28, "no", true, &[]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_block_that_nobody_would_run_is_refused() {
        for (page, expected) in [
            ("```rust,ignore\nfn a() {}\n```\n", "no rule says"),
            (
                "`b.rs`:\n```rust,ignore file=a.rs\n```\n",
                "does not name `a.rs`",
            ),
            ("`a.yaml`:\n```yaml in=a.yaml\n```\n", "only items of Rust"),
            (
                "```console\nout\n```\n",
                "a.md:2: an output without a command",
            ),
            ("```console\n$ a\n", "has no end"),
            ("```bash\na\n```\n", "no rule says"),
            ("```console fails twice\n```\n", "too many words"),
        ] {
            let problem = problem(page);
            assert!(problem.contains(expected), "{page}: {problem}");
        }
    }
}
