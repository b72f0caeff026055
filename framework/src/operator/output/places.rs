use std::collections::BTreeMap;

use crate::manifests::{BEGIN, END};

/// The lines between the marks, by the names of the places.
pub(super) type Places = BTreeMap<String, String>;

/// Takes out the lines between the marks. Returns the rest and the lines.
///
/// # Errors
/// A text that says which mark is missing.
pub(super) fn split(text: &str) -> Result<(String, Places), String> {
    let (mut rest, mut places) = (String::new(), Places::new());
    let mut open: Option<(String, String)> = None;
    for line in text.split_inclusive('\n') {
        if let Some((name, mut lines)) = open.take() {
            match name_after(line, END) {
                Some(end) if end == name => {
                    rest.push_str(line);
                    places.insert(name, lines);
                }
                _ if name_after(line, BEGIN).is_some() => {
                    return Err(format!("the mark `{END}{name}` is missing"));
                }
                _ => {
                    lines.push_str(line);
                    open = Some((name, lines));
                }
            }
            continue;
        }
        rest.push_str(line);
        open = name_after(line, BEGIN).map(|name| (name.to_owned(), String::new()));
    }
    match open {
        Some((name, _)) => Err(format!("the mark `{END}{name}` is missing")),
        None => Ok((rest, places)),
    }
}

/// Puts lines between the marks of a generated text.
///
/// # Errors
/// A text that says which place the generated text no longer has.
pub(super) fn fill(text: &str, places: &Places) -> Result<String, String> {
    let mut filled = String::new();
    let mut left: Places = places.clone();
    for line in text.split_inclusive('\n') {
        filled.push_str(line);
        if let Some(lines) = name_after(line, BEGIN).and_then(|name| left.remove(name)) {
            filled.push_str(&lines);
        }
    }
    match left.into_iter().find(|(_, lines)| !lines.is_empty()) {
        Some((name, _)) => Err(format!(
            "the generated file has no place `{name}` any more: move your lines between its marks elsewhere"
        )),
        None => Ok(filled),
    }
}

fn name_after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let (_, after) = line.split_once(mark)?;
    after.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "a\n# BEGIN own b\n# END own b\nc\n";
    const FILLED: &str = "a\n# BEGIN own b\n  x: 1\n# END own b\nc\n";

    #[test]
    fn lines_between_marks_are_taken_out_and_put_back() {
        let (rest, places) = split(FILLED).unwrap();
        assert_eq!(rest, EMPTY);
        assert_eq!(fill(&rest, &places).unwrap(), FILLED);
        assert!(fill("a\n", &places).unwrap_err().contains("no place `b`"));
        assert_eq!(split(EMPTY).unwrap().0, EMPTY);
    }

    #[test]
    fn a_missing_mark_is_an_error() {
        for text in [
            "# BEGIN own b\nx\n",
            "# BEGIN own b\n# BEGIN own c\n# END own c\n",
        ] {
            assert_eq!(split(text), Err("the mark `END own b` is missing".into()));
        }
    }
}
