use super::{FieldValidation, Patch, checks};
use crate::client::request::url::Query;

/// Options of `patch`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchParams {
    pub(crate) field_manager: Option<String>,
    pub(crate) force: bool,
    pub(crate) dry_run: bool,
    pub(crate) field_validation: Option<FieldValidation>,
}

impl PatchParams {
    /// Options for a server-side apply as `manager`.
    pub fn apply(manager: impl Into<String>) -> Self {
        Self {
            field_manager: Some(manager.into()),
            ..Self::default()
        }
    }

    /// Writes as `manager`. Required for [`Patch::Apply`](super::Patch::Apply).
    #[must_use]
    pub fn field_manager(mut self, manager: impl Into<String>) -> Self {
        self.field_manager = Some(manager.into());
        self
    }

    /// Takes over fields of other field managers. Only for [`Patch::Apply`](super::Patch::Apply).
    #[must_use]
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }

    /// Only checks the request; the server changes nothing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Sets what the server does about unknown and duplicate fields. By default it warns.
    #[must_use]
    pub fn field_validation(mut self, validation: FieldValidation) -> Self {
        self.field_validation = Some(validation);
        self
    }

    /// Writes the options that apply to `patch`. Fails if an option does not apply to it.
    pub(in crate::client) fn write(&self, query: &mut Query, patch: &Patch) -> Result<(), String> {
        checks::field_manager(self.field_manager.as_deref())?;
        let manager = checks::given(self.field_manager.as_deref());
        match (patch.is_apply(), manager) {
            (true, None) => {
                return Err(
                    "a server-side apply needs a field manager: use `PatchParams::apply`".into(),
                );
            }
            (false, _) if self.force => {
                return Err("only a server-side apply can be forced".into());
            }
            _ => {}
        }
        query.text("dryRun", self.dry_run.then_some("All"));
        query.text("fieldManager", self.field_manager.as_deref());
        let validation = self.field_validation.map(FieldValidation::as_str);
        query.text("fieldValidation", validation);
        if self.force {
            query.flag("force", true);
        }
        Ok(())
    }
}
