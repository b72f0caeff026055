use super::checks;
use crate::client::request::url::Query;

/// Options of `create` and `replace`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostParams {
    pub(crate) field_manager: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) field_validation: Option<FieldValidation>,
}

/// What the server does about unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drops them silently.
    Ignore,
    /// Drops them and sends a warning.
    Warn,
    /// Refuses the request.
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
    /// Writes as `manager`, as `managedFields` shows it. By default the server uses the User-Agent.
    #[must_use]
    pub fn field_manager(mut self, manager: impl Into<String>) -> Self {
        self.field_manager = Some(manager.into());
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

    pub(in crate::client) fn write(&self, query: &mut Query) -> Result<(), String> {
        checks::field_manager(self.field_manager.as_deref())?;
        query.text("dryRun", self.dry_run.then_some("All"));
        query.text("fieldManager", self.field_manager.as_deref());
        let validation = self.field_validation.map(FieldValidation::as_str);
        query.text("fieldValidation", validation);
        Ok(())
    }
}
