use super::{
    OperatorError,
    definition_check::{self, OwnDefinition},
};
use crate::{
    crd::CustomResource,
    webhook::{self, Target},
};

/// The test that the derive writes for each kind: an API server accepts the definition, with its CEL rules, their cost and its size.
///
/// # Panics
/// It would not. The text names the type, the field, and the place of a rule in the source.
#[track_caller]
pub fn test_definition<K: CustomResource>() {
    let checked = K::crd()
        .map_err(OperatorError::Definition)
        .and_then(|mut definition| {
            // Where the operator runs, a test cannot know.
            let target = Target::Service {
                namespace: "test".into(),
                name: "test".into(),
            };
            webhook::set_target(std::slice::from_mut(&mut definition), &target);
            definition_check::check(&[OwnDefinition {
                definition,
                rust_type: std::any::type_name::<K>(),
                places: <K as CustomResource>::rule_places(),
            }])
        });
    match checked {
        // The test shows its output if it fails, or with `--nocapture`.
        Ok(notes) => notes.iter().for_each(|note| println!("note: {note}")),
        Err(error) => panic!("{error}"),
    }
}
