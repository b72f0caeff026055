use std::fmt;

use super::field_set::path_text;
use super::manager::Manager;
use super::path_element::PathElement;

/// A field that another manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The manager that owns it.
    pub manager: Manager,
    /// The path of the field.
    pub path: Vec<PathElement>,
}

impl Conflict {
    /// The field, as in a cause of the `Status`: `.spec.replicas`.
    pub fn field(&self) -> String {
        path_text(&self.path)
    }

    /// The message of the cause, whose reason is `FieldManagerConflict`.
    pub fn message(&self) -> String {
        format!("conflict with {}", self.manager.describe())
    }
}

/// Every conflict of one apply, in the order in which the server reports them; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts(pub(super) Vec<Conflict>);

impl Conflicts {
    /// The conflicts.
    pub fn iter(&self) -> impl Iterator<Item = &Conflict> {
        self.0.iter()
    }
}

/// The message of the `Status` (code 409, reason `Conflict`).
impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = self.0.as_slice() {
            let (message, field) = (one.message(), one.field());
            return write!(f, "Apply failed with 1 conflict: {message}: {field}");
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut last = None;
        for (i, conflict) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            if last != Some(&conflict.manager) {
                writeln!(f, "conflicts with {}:", conflict.manager.describe())?;
                last = Some(&conflict.manager);
            }
            write!(f, "- {}", conflict.field())?;
        }
        Ok(())
    }
}

/// The reason why an apply was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Other managers own fields with other values (409 `Conflict`, causes `FieldManagerConflict`).
    #[error("{0}")]
    Conflicts(Conflicts),
    /// The request is wrong (400 `BadRequest`).
    #[error("{0}")]
    BadRequest(String),
    /// The configuration does not have the form that the schema requires (500 `InternalError`).
    #[error("{0}")]
    Untyped(String),
}
