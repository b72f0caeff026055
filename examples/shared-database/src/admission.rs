//! What the API server asks before it stores a SharedDatabase.

use pilothouse::{
    k8s::api::core::v1::Namespace,
    prelude::*,
    webhook::{Admission, Change, Denied, Mutate, Reads, Rules, Validate, Warnings},
};

use crate::SharedDatabase;

/// The label with which the owner of a namespace keeps databases out of it. The value is `true`.
pub const PRIVATE: &str = "demo.pilothouse.dev/private";

// ANCHOR: defaults
/// A database without a port has the usual one of its engine. So everybody who reads the object sees it, and it stays the same.
#[derive(Clone, Copy, Debug)]
pub struct UsualPort;

impl Mutate for UsualPort {
    type Resource = SharedDatabase;

    fn rules(&self, rules: Rules) -> Rules {
        // The table of the ports is here only.
        rules.needs_code()
    }

    async fn mutate(
        &self,
        database: &mut SharedDatabase,
        _: &Admission,
    ) -> Result<Warnings, Denied> {
        database.spec.port = Some(database.port());
        Ok(Warnings::none())
    }
}
// ANCHOR_END: defaults

// ANCHOR: validation
/// No database gets into a private namespace. One that does not exist yet may come later, so it is only a warning.
#[derive(Clone, Copy, Debug)]
pub struct PrivateNamespaces;

impl Validate for PrivateNamespaces {
    type Resource = SharedDatabase;

    fn reads(&self, reads: Reads) -> Reads {
        reads.kind::<Namespace>()
    }

    async fn validate(
        &self,
        change: &Change<SharedDatabase>,
        cx: &Admission,
    ) -> Result<Warnings, Denied> {
        let Some(new) = change.new_object() else {
            return Ok(Warnings::none());
        };
        // A namespace that has become private meanwhile must not stop all other changes.
        let before = change.old_object().map(|old| &old.spec.namespaces);
        let is_added = |name: &String| !before.is_some_and(|before| before.contains(name));
        let mut warnings = Warnings::none();
        for (number, name) in new.spec.namespaces.iter().enumerate() {
            if !is_added(name) {
                continue;
            }
            let field = format!("spec.namespaces[{number}]");
            match cx.get::<Namespace>(name).await? {
                Some(found) if found.label(PRIVATE) == Some("true") => {
                    let problem = format!(
                        "the namespace {name} has the label {PRIVATE}: ask its owner to remove it"
                    );
                    return Err(Denied::invalid(field, problem));
                }
                Some(_) => {}
                None => {
                    warnings = warnings.and(format!("{field}: there is no namespace {name} yet"));
                }
            }
        }
        Ok(warnings)
    }
}
// ANCHOR_END: validation
