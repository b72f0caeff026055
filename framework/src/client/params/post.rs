use super::checks;
use crate::client::url::Query;

/// Options of `create` and `replace`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostParams {
    /// Who writes, as `managedFields` will say; the server takes the User-Agent otherwise.
    pub field_manager: Option<String>,
    /// Only check what would happen.
    pub dry_run: bool,
    /// What the server does about unknown and duplicate fields; its default is to warn.
    pub field_validation: Option<FieldValidation>,
}

/// What the server does about unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them silently.
    Ignore,
    /// Drop them and say so in a warning.
    Warn,
    /// Refuse the request.
    Strict,
}

impl FieldValidation {
    pub(in crate::client) fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Warn => "Warn",
            Self::Strict => "Strict",
        }
    }
}

impl PostParams {
    /// Write as `manager`.
    #[must_use]
    pub fn field_manager(mut self, manager: impl Into<String>) -> Self {
        self.field_manager = Some(manager.into());
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

    pub(in crate::client) fn write(&self, query: &mut Query) -> Result<(), String> {
        checks::field_manager(self.field_manager.as_deref())?;
        query.text("dryRun", self.dry_run.then_some("All"));
        query.text("fieldManager", self.field_manager.as_deref());
        let validation = self.field_validation.map(FieldValidation::as_str);
        query.text("fieldValidation", validation);
        Ok(())
    }
}
