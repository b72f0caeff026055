//! Changes of the user's `Cargo.toml`. They keep its comments and its layout.

use std::fs;

use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, Value};

use crate::{
    error::Error,
    package::Package,
    terminal::{say, shown},
};

/// The name of the framework's package.
const FRAMEWORK: &str = "pilothouse";

/// What became of a manifest.
#[derive(Debug, PartialEq)]
enum Edited {
    Changed(String),
    /// The workspace says where the framework comes from.
    Inherited,
    /// The framework is not among the dependencies, or stands there in a form that is not known.
    Unknown,
}

/// Adds a feature of the framework to the package, if it does not have it, and says so. `why` is a sentence about what it is for. Where the workspace
/// names the framework, this says what to write.
///
/// # Errors
/// The manifest cannot be read or written.
pub(crate) fn add_feature(package: &Package, feature: &str, why: &str) -> Result<(), Error> {
    if package.has_framework_feature(feature) {
        return Ok(());
    }
    let path = package.folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
    let edited = with_feature(&text, feature).map_err(|reason| Error::Manifest {
        path: path.clone(),
        reason,
    })?;
    let shown = shown(&path);
    match edited {
        Edited::Changed(changed) => {
            fs::write(&path, changed).map_err(Error::file(&path))?;
            say(&format!(
                "changed {shown}: `{FRAMEWORK}` has the feature `{feature}`. {why}"
            ));
        }
        Edited::Inherited => say(&format!(
            "{shown} takes `{FRAMEWORK}` from the workspace. Write there: {FRAMEWORK} = {{ workspace = true, features = [\"{feature}\"] }}\n{why}"
        )),
        Edited::Unknown => say(&format!(
            "The operator needs the feature `{feature}`: cargo add {FRAMEWORK} --features {feature}{}\n{why}",
            package.selected()
        )),
    }
    Ok(())
}

fn with_feature(text: &str, feature: &str) -> Result<Edited, String> {
    let mut document = text
        .parse::<DocumentMut>()
        .map_err(|error| error.to_string())?;
    let dependencies = document
        .get_mut("dependencies")
        .and_then(Item::as_table_like_mut);
    let found = dependencies.and_then(|all| {
        let mut all = all.iter_mut();
        all.find_map(|(key, item)| is_framework(&key, item).then_some(item))
    });
    let Some(item) = found else {
        return Ok(Edited::Unknown);
    };
    if let Item::Value(Value::String(version)) = item {
        let decor = version.decor().clone();
        let mut table = InlineTable::new();
        table.insert("version", version.value().as_str().into());
        *item = Item::Value(Value::InlineTable(table));
        if let Some(value) = item.as_value_mut() {
            *value.decor_mut() = decor;
        }
    }
    let is_inline = item.is_inline_table();
    let Some(table) = item.as_table_like_mut() else {
        return Ok(Edited::Unknown);
    };
    if table.get("workspace").and_then(Item::as_bool) == Some(true) {
        return Ok(Edited::Inherited);
    }
    if !append(table, is_inline, feature) {
        return Ok(Edited::Unknown);
    }
    Ok(Edited::Changed(text_of(&document, text)))
}

fn is_framework(key: &str, item: &Item) -> bool {
    match item.get("package").and_then(Item::as_str) {
        Some(package) => package == FRAMEWORK,
        None => key == FRAMEWORK,
    }
}

/// Adds a feature to a dependency. Returns whether that was possible.
fn append(table: &mut dyn TableLike, is_inline: bool, feature: &str) -> bool {
    if let Some(features) = table.get_mut("features") {
        let Some(list) = features.as_array_mut() else {
            return false;
        };
        push(list, feature);
        return true;
    }
    let list = Array::from_iter([feature]);
    // What is before the brace of an inline table stays there.
    let mut behind = None;
    if is_inline && let Some((_, Item::Value(last))) = table.iter_mut().last() {
        behind = last.decor().suffix().cloned();
        last.decor_mut().set_suffix("");
    }
    table.insert("features", Item::Value(Value::Array(list)));
    if let (Some(behind), Some(Item::Value(list))) = (behind, table.get_mut("features")) {
        list.decor_mut().set_suffix(behind);
    }
    true
}

/// Adds a text to a list. A list with a line for each stays one.
pub(crate) fn push(list: &mut Array, text: &str) {
    let before = |one: &Value| one.decor().prefix()?.as_str().map(str::to_owned);
    match list.iter().last().and_then(before) {
        Some(before) if before.contains('\n') => {
            let behind = match list.trailing_comma() {
                true => String::new(),
                // What is between the last one and the bracket.
                false => list.iter_mut().last().map_or_else(String::new, |last| {
                    let behind = last.decor().suffix().and_then(|text| text.as_str());
                    let behind = behind.unwrap_or_default().to_owned();
                    last.decor_mut().set_suffix("");
                    behind
                }),
            };
            list.push_formatted(Value::from(text).decorated(before, behind));
        }
        _ => list.push(text),
    }
}

/// The text of a changed manifest, with the ends of lines that it had: toml_edit ends all lines with a line feed alone.
pub(crate) fn text_of(document: &DocumentMut, before: &str) -> String {
    let text = document.to_string();
    match before.contains("\r\n") {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_is_added_however_the_dependency_is_written() {
        let features = "features = [\"self-signed\"]";
        for (before, after) in [
            (
                "[dependencies] # mine\npilothouse = \"0.1\" # new\nserde = \"1\"\n",
                format!("[dependencies] # mine\npilothouse = {{ version = \"0.1\", {features} }} # new\nserde = \"1\"\n"),
            ),
            (
                "[dependencies]\r\npilothouse = { path = \"/a/b\" }  # here\r\n",
                format!("[dependencies]\r\npilothouse = {{ path = \"/a/b\", {features} }}  # here\r\n"),
            ),
            (
                "[dependencies]\npilothouse = {version=\"0.1\", features=[\"k8s-1-34\"], default-features=false}\n",
                "[dependencies]\npilothouse = {version=\"0.1\", features=[\"k8s-1-34\", \"self-signed\"], default-features=false}\n".into(),
            ),
            (
                "[dependencies]\nserde = \"1\"\n\n[dependencies.pilothouse]\n# The newest.\nversion = \"0.1\" # really\n\n[features]\n",
                format!("[dependencies]\nserde = \"1\"\n\n[dependencies.pilothouse]\n# The newest.\nversion = \"0.1\" # really\n{features}\n\n[features]\n"),
            ),
            (
                "[dependencies]\nhouse = { package = \"pilothouse\", version = \"0.1\", features = [\n    \"one\",\n    \"two\", # both\n] }\n",
                "[dependencies]\nhouse = { package = \"pilothouse\", version = \"0.1\", features = [\n    \"one\",\n    \"two\",\n    \"self-signed\", # both\n] }\n".into(),
            ),
            (
                "[dependencies.pilothouse]\nfeatures = [\n    \"one\"\n]\n",
                "[dependencies.pilothouse]\nfeatures = [\n    \"one\",\n    \"self-signed\"\n]\n".into(),
            ),
            (
                "dependencies.pilothouse.version = \"0.1\"\n",
                format!("dependencies.pilothouse.version = \"0.1\"\ndependencies.pilothouse.{features}\n"),
            ),
        ] {
            let edited = with_feature(before, "self-signed");
            assert_eq!(edited, Ok(Edited::Changed(after)), "{before}");
        }
    }

    #[test]
    fn what_the_workspace_names_stays_as_it_is() {
        for (text, expected) in [
            (
                "[dependencies]\npilothouse.workspace = true\n",
                Edited::Inherited,
            ),
            (
                "[dependencies]\npilothouse = { workspace = true }\n",
                Edited::Inherited,
            ),
            ("[dependencies]\nserde = \"1\"\n", Edited::Unknown),
            (
                "[dependencies]\npilothouse = { version = \"0.1\", features = 1 }\n",
                Edited::Unknown,
            ),
            ("", Edited::Unknown),
        ] {
            assert_eq!(with_feature(text, "self-signed"), Ok(expected), "{text}");
        }
        assert!(with_feature("[dependencies", "self-signed").is_err());
    }
}
