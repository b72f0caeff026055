//! Reads the commands of a page: those of its blocks, and those in its text between backquotes.

/// Words of a shell that stand before a command.
const KEYWORDS: [&str; 9] = [
    "do", "done", "else", "fi", "if", "then", "until", "while", "!",
];

/// The words of each call that a line makes: of both sides of a pipe, and of the calls in `$(…)`. Without redirections and variables for one call.
pub(super) fn calls(line: &str) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut inside = Vec::new();
    let mut word: Option<String> = None;
    let mut is_target = false;
    let mut rest = line.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\'' => {
                let quoted = rest.by_ref().take_while(|end| *end != '\'');
                word.get_or_insert_default().extend(quoted);
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(next) = rest.next() {
                    match next {
                        '"' => break,
                        '\\' => word.extend(rest.next()),
                        other => word.push(other),
                    }
                }
            }
            '$' if rest.next_if_eq(&'(').is_some() => {
                let mut open = 1;
                let inner = rest.by_ref().take_while(|letter| {
                    open += i32::from(*letter == '(') - i32::from(*letter == ')');
                    open > 0
                });
                inside.extend(calls(&inner.collect::<String>()));
                word.get_or_insert_default().push('…');
            }
            '\\' => word.get_or_insert_default().extend(rest.next()),
            _ if letter.is_whitespace() || "|&;()<>".contains(letter) => {
                if let Some(word) = word.take()
                    && !std::mem::take(&mut is_target)
                {
                    found.last_mut().unwrap().push(word);
                }
                match letter {
                    '<' | '>' => {
                        is_target = true;
                        while rest.next_if(|more| "<>&".contains(*more)).is_some() {}
                    }
                    '|' | '&' | ';' | '(' | ')' => {
                        is_target = false;
                        found.push(Vec::new());
                    }
                    _ => {}
                }
            }
            '#' if word.is_none() => break,
            other => word.get_or_insert_default().push(other),
        }
    }
    found
        .last_mut()
        .unwrap()
        .extend(word.filter(|_| !is_target));
    let is_before = |word: &String| {
        KEYWORDS.contains(&&**word) || ["{", "}"].contains(&&**word) || is_assignment(word)
    };
    let calls = found.into_iter().map(|words| {
        let words = words.into_iter();
        words.skip_while(is_before).collect::<Vec<_>>()
    });
    calls
        .filter(|words| !words.is_empty())
        .chain(inside)
        .collect()
}

/// Whether a word sets a variable.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.is_some_and(|name| !name.is_empty() && name.chars().all(is_part))
}

/// The command lines of the blocks `console` and `sh` of a page. A line that ends with a backslash goes on in the next.
pub(super) fn lines(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Option<&str> = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start();
        if let Some(opened) = line.strip_prefix("```") {
            block = match block {
                None => Some(opened.split_whitespace().next().unwrap_or_default()),
                Some(_) => None,
            };
            continue;
        }
        let command = match block {
            Some("console") => line.strip_prefix("$ "),
            Some("sh" | "bash") => Some(line),
            _ => None,
        };
        let Some(command) = command else {
            continue;
        };
        let mut command = command.to_owned();
        while let Some(before) = command.strip_suffix('\\') {
            command = format!("{before} {}", lines.next().unwrap_or_default().trim());
        }
        found.push(command);
    }
    found
}

/// What stands between backquotes in the text of a page.
pub(super) fn quoted(page: &str) -> Vec<&str> {
    let mut inside = false;
    let text = page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    text.flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn the_calls_of_a_line_are_found() {
    for (line, expected) in [
        ("a b | c 'd | e' && f; g", vec!["a b", "c d | e", "f", "g"]),
        ("A=1 B_2=x a --flag=b > c 2>&1", vec!["a --flag=b 2"]),
        ("x=$(a b) c <<< '{\"d\": 1}' -e", vec!["c -e", "a b"]),
        (
            "source <(a completions bash)",
            vec!["source", "a completions bash"],
        ),
        ("until a | b; do sleep 1; done", vec!["a", "b", "sleep 1"]),
        ("f() { a \"/b/$1\" -; }", vec!["f", "a /b/$1 -"]),
        (
            "a -o jsonpath='{.b[?(@.c==\"d\")]}{\"\\n\"}'",
            vec!["a -o jsonpath={.b[?(@.c==\"d\")]}{\"\\n\"}"],
        ),
        ("a b=$(c $(d)) e", vec!["a b=… e", "c …", "d"]),
        ("A=$(b) c", vec!["c", "b"]),
        ("a # b", vec!["a"]),
    ] {
        let found: Vec<_> = calls(line).iter().map(|words| words.join(" ")).collect();
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn the_lines_of_a_page_are_found() {
    let page = "`a b`, `c`\n```console\n$ d \\\n    e\nprinted\n$ f\n```\n  ```sh\n  g\n  ```\n```text\n$ h `i`\n```\n";
    assert_eq!(lines(page), ["d  e", "f", "g"]);
    assert_eq!(quoted(page), ["a b", "c"]);
}
