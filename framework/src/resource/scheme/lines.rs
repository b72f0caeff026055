use crate::resource::{
    Step,
    yaml::{DuplicateKeyPolicy, Node, parse},
};

/// The line of the value at `path` within a document of YAML or JSON, counted from 1; of what is
/// not there, that of what it should be in. The document is read once more for it.
pub(super) fn line_of(text: &str, path: &[Step]) -> usize {
    let Ok(root) = parse(text, DuplicateKeyPolicy::LastWins) else {
        return 1;
    };
    let mut line = root.referenced.line();
    let mut node = root.value;
    for step in path {
        let next = match (node, step) {
            (Node::Map(pairs), Step::Key(wanted)) => {
                let mut pairs = pairs.into_iter();
                pairs
                    .find(|(key, _)| key.value == *wanted)
                    .map(|(key, value)| (key.referenced, value))
            }
            (Node::List(items), Step::Index(index)) => {
                let item = items.into_iter().nth(*index);
                item.map(|item| (item.referenced, item))
            }
            _ => None,
        };
        let Some((place, value)) = next else { break };
        line = place.line();
        node = value.value;
    }
    usize::try_from(line).unwrap_or(1).max(1)
}
