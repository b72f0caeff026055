//! What `crd` checks before it prints, and `testing::definition` in a test: sizes, and with the feature `dev`
//! everything that an API server checks.
//!
//! | file | holds |
//! | --- | --- |
//! | `refusals.rs` | what an API server in this process refuses |
//! | `place.rs` | a place in a schema, as an API server names it |
//! | `unbounded.rs` | what makes a CEL rule cost too much |

#[cfg(feature = "dev")]
mod place;
#[cfg(feature = "dev")]
mod refusals;
#[cfg(feature = "dev")]
mod unbounded;

use super::OperatorError;
use crate::{
    crd::{self, CustomResourceDefinition, InstallError},
    resource::{Object, RulePlace},
};
#[cfg(feature = "dev")]
use crate::{
    crd::{CrdError, CustomResource},
    webhook::{self, Target},
};

/// The largest request of an API server to etcd by default, in bytes.
const MOST_STORED: usize = 1536 * 1024;

/// A definition, and the Rust type that it is made from.
pub(crate) struct OwnDefinition {
    pub(super) definition: CustomResourceDefinition,
    pub(super) rust_type: &'static str,
    /// Where its rules stand in the source.
    #[cfg_attr(
        not(feature = "dev"),
        expect(dead_code, reason = "only an API server refuses a rule")
    )]
    pub(super) places: Vec<RulePlace>,
}

impl OwnDefinition {
    /// The definition of a kind, whose conversions lead to some Service: where the operator runs, a test cannot know.
    #[cfg(feature = "dev")]
    pub(crate) fn of<K: CustomResource>() -> Result<Self, CrdError> {
        let mut definition = K::crd()?;
        let target = Target::Service {
            namespace: "test".into(),
            name: "test".into(),
        };
        webhook::set_target(std::slice::from_mut(&mut definition), &target);
        Ok(Self {
            definition,
            rust_type: std::any::type_name::<K>(),
            places: <K as CustomResource>::rule_places(),
        })
    }

    /// What to do if the definition does not fit into the annotation of `kubectl apply`.
    pub(crate) fn apply_note(&self) -> Option<String> {
        let bytes = crd::size::of(&self.definition);
        (!crd::size::fits_apply(bytes)).then(|| {
            format!(
                "{} has {bytes} bytes as JSON, too many for an annotation of `kubectl apply`: use `kubectl apply --server-side -f -`, or keep \
                 rarely used parts as `serde_json::Value`",
                self.definition.name(),
            )
        })
    }

    /// The type, and the kind if its name differs.
    fn name(&self) -> String {
        let kind = &self.definition.spec.names.kind;
        match self.rust_type.rsplit("::").next() == Some(kind) {
            true => self.rust_type.to_owned(),
            false => format!("{} (kind {kind})", self.rust_type),
        }
    }
}

/// Checks definitions before they are printed. Returns notes for the user.
///
/// # Errors
/// [`OperatorError::Refused`] if an API server would refuse a definition.
pub(crate) fn check(definitions: &[OwnDefinition]) -> Result<Vec<String>, OperatorError> {
    let (mut refused, mut notes) = (Vec::new(), Vec::new());
    for own in definitions {
        let bytes = crd::size::of(&own.definition);
        if let Some(problem) = size_problem(bytes) {
            refused.push(format!("{}: {problem}", own.name()));
        } else {
            notes.extend(own.apply_note());
        }
    }
    #[cfg(feature = "dev")]
    if refused.is_empty() {
        refused.extend(refusals::refusals(definitions)?);
    }
    #[cfg(not(feature = "dev"))]
    if !definitions.is_empty() {
        notes.push(
            "CEL rules and list map keys were not checked, because this binary was built without the feature `dev` of pilothouse".into(),
        );
    }
    match refused.is_empty() {
        true => Ok(notes),
        false => Err(OperatorError::Refused(refused)),
    }
}

/// The error of an installation, with the Rust type and the place in the source if the server does not accept a field of a definition.
pub(super) fn explained(definitions: &[OwnDefinition], error: InstallError) -> OperatorError {
    #[cfg(feature = "dev")]
    {
        let problems = refusals::of_fields(definitions, &error);
        if !problems.is_empty() {
            return OperatorError::Refused(problems);
        }
    }
    #[cfg(not(feature = "dev"))]
    let _ = definitions;
    error.into()
}

/// What the user should know of a definition whose conversions lead to a Service: its namespace is assumed.
pub(super) fn conversion_note(definition: &CustomResourceDefinition) -> Option<String> {
    let conversion = definition.spec.conversion.as_ref()?;
    let service = conversion
        .webhook
        .as_ref()?
        .client_config
        .as_ref()?
        .service
        .as_ref()?;
    Some(format!(
        "{} is converted by the Service {} in the namespace {}, until an operator that starts writes where it runs: `manifests \
         --operator-namespace NAMESPACE` prints the definitions for another namespace",
        definition.name(),
        service.name,
        service.namespace
    ))
}

fn size_problem(bytes: usize) -> Option<String> {
    (bytes > MOST_STORED).then(|| {
        format!(
            "the definition has {bytes} bytes as JSON, and an API server stores at most {MOST_STORED}: shorten its descriptions with \
             `#[resource(max_description = 0)]`, or keep rarely used parts as `serde_json::Value`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_size(bytes: usize) -> OwnDefinition {
        let mut definition = CustomResourceDefinition::default();
        definition.metadata.name = Some("sites.example.com".into());
        definition.spec.names.kind = "Site".into();
        let empty = crd::to_json(&definition).to_string().len();
        definition.spec.group = "x".repeat(bytes - empty);
        OwnDefinition {
            definition,
            rust_type: "app::Site",
            places: Vec::new(),
        }
    }

    #[test]
    fn a_definition_that_etcd_would_refuse_is_refused() {
        assert_eq!(size_problem(MOST_STORED), None);
        let error = check(&[of_size(MOST_STORED + 1)]).unwrap_err().to_string();
        let expected = "an API server would refuse the definitions:\n  app::Site: the definition has 1572865 bytes as JSON";
        assert!(error.starts_with(expected), "{error}");
    }
}
