use super::expression::Expression;

/// What the user sees if a check does not hold. A text becomes one by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub(super) text: String,
    pub(super) expression: Option<Expression>,
}

impl Message {
    /// A message that an expression makes, such as `'at most ' + string(params.spec.most)`. It sees all but the `authorizer`. If it fails, or
    /// if its value is empty, has a line break or more than 5 KiB, the user sees `otherwise`.
    #[track_caller]
    pub fn expression(expression: impl Into<String>, otherwise: impl Into<String>) -> Self {
        Self {
            text: otherwise.into(),
            expression: Some(Expression::new(expression)),
        }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self {
            text,
            expression: None,
        }
    }
}
