//! `crd --compatible-with`: the comparison of the definitions with older ones.

use std::{fs, io, path::Path};

use super::OperatorError;
use crate::{
    crd::{self, CustomResourceDefinition},
    resource::{Object, Scheme},
};

/// Compares definitions with those in a file, or with those of standard input if its name is `-`. Kinds that are only in the file
/// are another program's, unless they are in the group of one of the definitions.
///
/// # Errors
/// [`OperatorError::Incompatible`] with each change that breaks something, and [`OperatorError::OlderDefinitions`] if the file
/// cannot be read or has no definition of these kinds.
pub(super) fn check(
    file: &Path,
    definitions: &[CustomResourceDefinition],
) -> Result<(), OperatorError> {
    let failed = |problem: String| OperatorError::OlderDefinitions {
        file: file.to_owned(),
        problem,
    };
    let text = match file == Path::new("-") {
        true => io::read_to_string(io::stdin()),
        false => fs::read_to_string(file),
    };
    let unread = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => failed("there is no such file".into()),
        _ => failed(error.to_string()),
    };
    let older = read(&text.map_err(unread)?).map_err(failed)?;
    let is_own = |older: &CustomResourceDefinition| {
        let mut own = definitions.iter();
        own.any(|own| own.spec.group == older.spec.group)
    };
    let older: Vec<_> = older.into_iter().filter(is_own).collect();
    if older.is_empty() {
        let names: Vec<&str> = definitions.iter().map(Object::name).collect();
        return Err(failed(format!(
            "there is no definition in a group of this operator, which defines {}",
            names.join(", ")
        )));
    }
    let changes = crd::breaking_changes(&older, definitions);
    match changes.is_empty() {
        true => Ok(()),
        false => {
            let lines = changes
                .iter()
                .map(|change| change.to_string().replace('\n', "\n  "));
            Err(OperatorError::Incompatible(lines.collect()))
        }
    }
}

/// Reads the definitions among documents in YAML or JSON.
fn read(text: &str) -> Result<Vec<CustomResourceDefinition>, String> {
    let scheme = Scheme::new()
        .with::<CustomResourceDefinition>()
        .with_other_kinds();
    let mut definitions = Vec::new();
    for manifest in scheme.decode(text) {
        let manifest = manifest.map_err(|error| error.to_string())?;
        definitions.extend(manifest.downcast::<CustomResourceDefinition>());
    }
    Ok(definitions)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(minimum: i64) -> CustomResourceDefinition {
        serde_json::from_value(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "sites.a.dev"},
            "spec": {
                "group": "a.dev", "scope": "Namespaced", "names": {"kind": "Site", "plural": "sites"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "integer", "minimum": minimum}}}}}],
            },
        }))
        .unwrap()
    }

    fn checked(text: &str, definition: CustomResourceDefinition) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        match check(file.path(), &[definition]) {
            Ok(()) => "compatible".to_owned(),
            Err(error) => error
                .to_string()
                .replace(&file.path().display().to_string(), "FILE"),
        }
    }

    /// `kubectl get crd NAME OTHER -o yaml` prints a list.
    #[test]
    fn definitions_are_compared_with_those_of_a_file_or_a_list() {
        let old = to_text(&definition(1));
        assert_eq!(checked(&old, definition(0)), "compatible");
        let expected = "the definitions are not compatible with those before:\n  \
            sites.a.dev v1 .spec: `minimum` is stricter than before: 2\n      \
            objects that are stored already may not fit: allow what was allowed, or add a version";
        assert_eq!(checked(&old, definition(2)), expected);
        let list = format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{old}]}}"#);
        assert_eq!(checked(&list, definition(2)), expected);
    }

    #[test]
    fn a_file_without_the_definitions_is_an_error() {
        assert_eq!(
            checked("", definition(1)),
            "cannot read the older definitions from FILE: there is no definition in a group of this operator, which defines sites.a.dev"
        );
        let missing = check(Path::new("missing.yaml"), &[definition(1)]);
        let expected = "cannot read the older definitions from missing.yaml: there is no such file";
        assert_eq!(missing.unwrap_err().to_string(), expected);
        let broken = checked("{", definition(1));
        assert!(
            broken.starts_with("cannot read the older definitions from FILE: "),
            "{broken}"
        );
    }

    fn to_text(definition: &CustomResourceDefinition) -> String {
        serde_json::to_string(definition).unwrap()
    }
}
