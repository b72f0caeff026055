use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::cel;
use super::error::FieldErrorKind;

/// One compiled rule of `x-kubernetes-validations`.
#[derive(Clone)]
pub(crate) struct Rule {
    pub(crate) source: Box<str>,
    pub(crate) message: Option<Box<str>>,
    pub(crate) message_source: Option<Box<str>>,
    pub(crate) message_program: Option<Arc<cel::Program>>,
    pub(crate) reason: FieldErrorKind,
    pub(crate) field_path: Option<Box<str>>,
    pub(crate) optional_old_self: bool,
    pub(crate) uses_old_self: bool,
    pub(crate) program: Arc<cel::Program>,
}

/// A rule that does not compile.
#[derive(Clone, Debug)]
pub(crate) struct RuleError {
    /// The member of the rule: `rule` or `messageExpression`.
    pub(crate) member: &'static str,
    pub(crate) text: String,
}

impl Rule {
    /// Compiles a rule from the JSON of a schema.
    ///
    /// # Errors
    /// [`RuleError`] if `rule` or `messageExpression` does not compile.
    pub(crate) fn read(json: &Value) -> Result<Self, RuleError> {
        let text = |name: &str| json.get(name).and_then(Value::as_str).map(str::trim);
        let compile =
            |member, source| cel::compile(source).map_err(|text| RuleError { member, text });
        let source = text("rule").unwrap_or_default();
        let program = compile("rule", source)?;
        let message_program = match text("messageExpression").filter(|t| !t.is_empty()) {
            Some(source) => Some(Arc::new(compile("messageExpression", source)?)),
            None => None,
        };
        Ok(Self {
            source: source.into(),
            message: text("message").filter(|m| !m.is_empty()).map(Box::from),
            message_source: text("messageExpression").map(Box::from),
            message_program,
            reason: match text("reason") {
                Some("FieldValueForbidden") => FieldErrorKind::Forbidden,
                Some("FieldValueRequired") => FieldErrorKind::Required,
                Some("FieldValueDuplicate") => FieldErrorKind::Duplicate,
                _ => FieldErrorKind::Invalid,
            },
            field_path: text("fieldPath").map(|p| p.trim_start_matches('.').into()),
            optional_old_self: json.get("optionalOldSelf") == Some(&Value::Bool(true)),
            uses_old_self: program.references().has_variable("oldSelf"),
            program: Arc::new(program),
        })
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rule").field(&self.source).finish()
    }
}
