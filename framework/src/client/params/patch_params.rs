use super::{FieldValidation, Patch, checks};
use crate::client::url::Query;

/// Options of `patch`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchParams {
    /// Who writes; required for [`Patch::Apply`](super::Patch::Apply).
    pub field_manager: Option<String>,
    /// Take over fields that another manager owns; only for [`Patch::Apply`](super::Patch::Apply).
    pub force: bool,
    /// Only check what would happen.
    pub dry_run: bool,
    /// What the server does about unknown and duplicate fields; its default is to warn.
    pub field_validation: Option<FieldValidation>,
}

impl PatchParams {
    /// For a server-side apply as `manager`.
    pub fn apply(manager: impl Into<String>) -> Self {
        Self {
            field_manager: Some(manager.into()),
            ..Self::default()
        }
    }

    /// Write as `manager`.
    #[must_use]
    pub fn field_manager(mut self, manager: impl Into<String>) -> Self {
        self.field_manager = Some(manager.into());
        self
    }

    /// Take over fields that another manager owns.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }

    /// Only check what would happen.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// What the server does about unknown fields.
    #[must_use]
    pub fn field_validation(mut self, validation: FieldValidation) -> Self {
        self.field_validation = Some(validation);
        self
    }

    /// Writes what goes with `patch`, or says what does not.
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
