/// One step of a path into a JSON or YAML document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathStep {
    Key(String),
    Index(usize),
}

/// The text form of a path: `spec.containers[0].image`.
pub(crate) fn format_path(path: &[PathStep]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            PathStep::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            PathStep::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

/// The steps of a path as an API server writes it, such as `.spec.ports[0].name` or `metadata.labels[a.b/c]`. It ends before a step that is neither
/// a name nor a number, such as `[name="http"]`.
pub(crate) fn parse_path(text: &str) -> Vec<PathStep> {
    let mut path = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches('.');
        if let Some(inner) = rest.strip_prefix('[') {
            let Some((step, behind)) = inner.split_once(']') else {
                return path;
            };
            if step.contains('=') {
                return path;
            }
            path.push(match step.parse() {
                Ok(index) => PathStep::Index(index),
                Err(_) => PathStep::Key(step.into()),
            });
            rest = behind;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (step, behind) = rest.split_at(end);
            if step.is_empty() {
                return path;
            }
            path.push(PathStep::Key(step.into()));
            rest = behind;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_server_has_names_and_numbers() {
        for (text, expected) in [
            (".spec.ports[0].name", "spec.ports[0].name"),
            ("metadata.labels[a.b/c].x", "metadata.labels.a.b/c.x"),
            (".spec.ports[name=\"http\"].port", "spec.ports"),
            ("spec.[", "spec"),
            ("", ""),
        ] {
            assert_eq!(format_path(&parse_path(text)), expected, "{text}");
        }
    }
}
