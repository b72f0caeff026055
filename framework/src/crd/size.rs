use super::{CustomResourceDefinition, to_json};

/// The limit of an API server for all annotations of an object, in bytes. `kubectl apply` writes the whole object into one.
const MOST_ANNOTATIONS: usize = 256 * 1024;
/// What `kubectl apply` adds: the name of its annotation, the empty annotations in its value, and a line break.
const ANNOTATION: usize = "kubectl.kubernetes.io/last-applied-configuration".len()
    + "\"annotations\":{},".len()
    + "\n".len();

/// The size of a definition in the annotation of `kubectl apply`, and of the annotations beside it, in bytes.
pub(crate) fn of(definition: &CustomResourceDefinition) -> usize {
    let text = to_json(definition).to_string();
    // Go writes each of these as six bytes, such as `\u003c`.
    let escaped = text.bytes().filter(|byte| b"<>&".contains(byte)).count();
    let own = definition.metadata.annotations.iter().flatten();
    let own: usize = own.map(|(key, value)| key.len() + value.len()).sum();
    text.len() + 5 * escaped + own
}

/// Whether an object of this size fits into an annotation of `kubectl apply`.
pub(crate) fn fits_apply(bytes: usize) -> bool {
    bytes + ANNOTATION <= MOST_ANNOTATIONS
}
