//! The definition of a kind on a cluster. kubectl asks for it, so that each way to authenticate works that works there.

use std::process::Command;

use serde_json::Value;

use crate::error::Error;

/// The definitions of a cluster that fit the name: that of a definition, or a kind, a plural, a singular or a short name.
///
/// # Errors
/// kubectl cannot be started, or it fails.
pub(super) fn definitions(name: &str, context: &str) -> Result<Vec<Value>, Error> {
    let mut command = Command::new("kubectl");
    command.args(["get", "customresourcedefinitions", "-o", "json"]);
    let is_full = name.contains('.');
    if is_full {
        command.arg(name);
    }
    if !context.is_empty() {
        command.args(["--context", context]);
    }
    let output = command.output().map_err(|source| Error::Program {
        program: "kubectl".into(),
        source,
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Cluster(said.trim().to_owned()));
    }
    let answer: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| Error::Cluster(format!("kubectl printed no JSON: {error}")))?;
    if is_full {
        return Ok(vec![answer]);
    }
    let items = answer["items"].as_array().cloned().unwrap_or_default();
    Ok(items
        .into_iter()
        .filter(|one| is_named(one, name))
        .collect())
}

fn is_named(definition: &Value, name: &str) -> bool {
    let names = &definition["spec"]["names"];
    let short = names["shortNames"].as_array().into_iter().flatten();
    let all = [&names["kind"], &names["plural"], &names["singular"]];
    let mut all = all.into_iter().chain(short).filter_map(Value::as_str);
    all.any(|one| one.eq_ignore_ascii_case(name))
}
