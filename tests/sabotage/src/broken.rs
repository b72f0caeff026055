use std::collections::BTreeSet;

use serde_json::Value;

use crate::Lines;

/// What does not compile.
#[derive(Debug, Default)]
pub struct Broken {
    /// The changes whose bodies have errors.
    pub names: BTreeSet<String>,
    /// Errors of no body, as the compiler tells them.
    pub others: Vec<String>,
}

impl Broken {
    /// Looks for errors in what `cargo --message-format json` wrote.
    ///
    /// An error is the fault of the body that it points to. One that points to none may have been caused by any body of
    /// the files that it names.
    #[must_use]
    pub fn among(messages: &str, lines: &Lines) -> Self {
        let mut broken = Self::default();
        let mut near = BTreeSet::new();
        let messages = messages.lines().filter_map(|line| {
            let mut whole: Value = serde_json::from_str(line).ok()?;
            let message = whole.get_mut("message")?.take();
            (message["level"] == "error").then_some(message)
        });
        for message in messages {
            let points = points(&message);
            // That so many errors were found points nowhere.
            if points.is_empty() {
                continue;
            }
            let mut own = points
                .iter()
                .map(|(file, line)| lines.names_at(file, *line));
            match own.find(|names| !names.is_empty()) {
                Some(names) => broken.names.extend(names),
                None => {
                    near.extend(points.iter().flat_map(|(file, _)| lines.names(file)));
                    let text = message["rendered"].as_str().unwrap_or_default();
                    broken.others.push(text.to_owned());
                }
            }
        }
        if broken.names.is_empty() {
            broken.names = near;
        }
        broken
    }
}

/// The files and lines that an error points to, the most telling ones first.
fn points(message: &Value) -> Vec<(String, usize)> {
    let mut points = Vec::new();
    let of = |message: &Value, is_primary: bool, points: &mut Vec<_>| {
        let spans = message["spans"].as_array().into_iter().flatten();
        for span in spans.filter(|span| (span["is_primary"] == true) == is_primary) {
            follow(span, points);
        }
    };
    of(message, true, &mut points);
    of(message, false, &mut points);
    for child in message["children"].as_array().into_iter().flatten() {
        of(child, true, &mut points);
        of(child, false, &mut points);
    }
    points
}

/// A span, and those of the macros that made it.
fn follow(span: &Value, points: &mut Vec<(String, usize)>) {
    let line = |key: &str| usize::try_from(span[key].as_u64()?).ok();
    if let (Some(file), Some(first)) = (span["file_name"].as_str(), line("line_start")) {
        points.push((plain(file), first));
    }
    let outer = &span["expansion"]["span"];
    if outer.is_object() {
        follow(outer, points);
    }
}

/// The path without `..`, which `#[path]` of a module may have.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            ".." if !parts.is_empty() => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(file: &str, line: usize) -> String {
        let span =
            format!(r#"{{"is_primary":true,"file_name":"{file}","line_start":{line},"spans":[]}}"#);
        format!(r#"{{"message":{{"level":"error","rendered":"no","spans":[{span}]}}}}"#)
    }

    #[test]
    fn an_error_is_the_fault_of_the_body_that_it_points_to() {
        let mut lines = Lines::default();
        lines.add("src/a.rs", 3, 5, "one");
        lines.add("src/a.rs", 6, 9, "other");
        lines.add("src/b.rs", 1, 9, "far");

        let broken = Broken::among(&error("tests/../src/a.rs", 6), &lines);
        assert_eq!(broken.names, BTreeSet::from(["other".to_owned()]));

        let broken = Broken::among(&error("src/a.rs", 12), &lines);
        let both = BTreeSet::from(["one".to_owned(), "other".to_owned()]);
        assert_eq!((broken.names, broken.others.len()), (both, 1));
    }
}
