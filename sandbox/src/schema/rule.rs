use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::cel::{self, Compiled, Declared, Purpose};
use super::error::FieldErrorKind;

/// One compiled rule of `x-kubernetes-validations`.
#[derive(Clone)]
pub(crate) struct Rule {
    pub(crate) source: Box<str>,
    pub(crate) message: Option<Box<str>>,
    pub(crate) message_source: Box<str>,
    pub(crate) message_program: Option<Arc<Compiled>>,
    pub(crate) reason: FieldErrorKind,
    pub(crate) field_path: Option<Box<str>>,
    pub(crate) optional_old_self: bool,
    pub(crate) program: Arc<Compiled>,
}

/// A rule that does not compile.
#[derive(Clone, Debug)]
pub(crate) struct RuleError {
    /// The member of the rule: `rule` or `messageExpression`.
    pub(crate) member: &'static str,
    pub(crate) text: String,
}

impl Rule {
    /// Compiles the rules of a schema that was accepted.
    pub(crate) fn all(schema: &Map<String, Value>, is_resource: bool) -> Vec<Self> {
        let rules = schema.get("x-kubernetes-validations");
        let rules = rules.and_then(Value::as_array).filter(|r| !r.is_empty());
        let Some((rules, declared)) = rules.zip(Declared::of_self(schema, is_resource)) else {
            return Vec::new();
        };
        rules
            .iter()
            .filter_map(|rule| Self::read(rule, &declared).ok())
            .collect()
    }

    /// Compiles a rule from the JSON of a schema.
    ///
    /// # Errors
    /// [`RuleError`] if `rule` or `messageExpression` does not compile.
    pub(crate) fn read(json: &Value, declared: &Declared) -> Result<Self, RuleError> {
        let text = |name: &str| json.get(name).and_then(Value::as_str).unwrap_or_default();
        let optional_old_self = json.get("optionalOldSelf") == Some(&Value::Bool(true));
        let compile = |member, purpose| {
            let compiled = cel::compile(text(member), declared, optional_old_self, purpose);
            compiled.map_err(|text| RuleError { member, text })
        };
        let program = compile("rule", Purpose::Rule)?;
        let message_program = match text("messageExpression").is_empty() {
            true => None,
            false => Some(Arc::new(compile("messageExpression", Purpose::Message)?)),
        };
        let message = text("message").trim();
        Ok(Self {
            source: text("rule").trim().into(),
            message: (!message.is_empty()).then(|| message.into()),
            message_source: text("messageExpression").into(),
            message_program,
            reason: match text("reason") {
                "FieldValueForbidden" => FieldErrorKind::Forbidden,
                "FieldValueRequired" => FieldErrorKind::Required,
                "FieldValueDuplicate" => FieldErrorKind::Duplicate,
                _ => FieldErrorKind::Invalid,
            },
            field_path: json
                .get("fieldPath")
                .and_then(Value::as_str)
                .map(|path| path.trim().trim_start_matches('.').into()),
            optional_old_self,
            program: Arc::new(program),
        })
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rule").field(&self.source).finish()
    }
}
