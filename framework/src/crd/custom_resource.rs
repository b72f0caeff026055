use super::{CrdError, CustomResourceDefinition};
use crate::resource::Resource;

/// A kind of your own; written by `#[derive(Resource)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a custom resource",
    note = "only kinds with `#[derive(Resource)]` have a definition; Kubernetes' own kinds are always there"
)]
pub trait CustomResource: Resource {
    /// The definition that teaches an API server this kind.
    ///
    /// It depends on the types only: what it answers once it always answers.
    ///
    /// # Errors
    ///
    /// The types have no structural schema; the error names the field and what to do.
    fn crd() -> Result<CustomResourceDefinition, CrdError>;
}
