use darling::{Error, FromMeta, Result, ast::NestedMeta, util::Flag};
use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

use crate::strings::string;

/// A CEL rule: `rule("self.size() > 0", "must not be empty", reason = "..", field_path = "..", message_expression = "..",
/// optional_old_self)`.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    rule: LitStr,
    message: LitStr,
    more: More,
}

#[derive(Clone, Debug, FromMeta)]
struct More {
    reason: Option<LitStr>,
    field_path: Option<LitStr>,
    message_expression: Option<LitStr>,
    optional_old_self: Flag,
}

const REASONS: [&str; 4] = [
    "FieldValueInvalid",
    "FieldValueForbidden",
    "FieldValueRequired",
    "FieldValueDuplicate",
];

impl FromMeta for Rule {
    fn from_list(items: &[NestedMeta]) -> Result<Self> {
        let [rule, message, more @ ..] = items else {
            return Err(Error::custom(
                "a rule needs an expression and a message: `rule(\"self > 0\", \"must be positive\")`",
            ));
        };
        let rule = Self {
            rule: string(rule)?,
            message: string(message)?,
            more: More::from_list(more)?,
        };
        let mut errors = Error::accumulator();
        let mut refuse = |text: &str, literal: &LitStr| {
            errors.push(Error::custom(text).with_span(literal));
        };
        if rule.rule.value().trim().is_empty() {
            refuse("the CEL expression is empty: write one", &rule.rule);
        }
        if rule.message.value().trim().is_empty() || rule.message.value().contains('\n') {
            refuse("the message must be one line of text", &rule.message);
        }
        if let Some(expression) = &rule.more.message_expression
            && expression.value().trim().is_empty()
        {
            refuse("the CEL expression is empty: write one", expression);
        }
        if let Some(reason) = &rule.more.reason
            && !REASONS.contains(&reason.value().as_str())
        {
            refuse(
                &format!("the reason must be one of {}", REASONS.join(", ")),
                reason,
            );
        }
        if let Some(path) = &rule.more.field_path
            && !path.value().starts_with(['.', '['])
        {
            refuse(
                "the field path must begin with a dot, such as `.replicas`",
                path,
            );
        }
        errors.finish_with(rule)
    }
}

/// The rule of a value that cannot change, as an item of `x-kubernetes-validations`.
pub(crate) fn immutable() -> TokenStream {
    quote!({ "rule": "self == oldSelf", "message": "the value cannot be changed" })
}

impl Rule {
    /// The rule as an item of `x-kubernetes-validations`, with its place in the source.
    pub(crate) fn json(&self) -> TokenStream {
        let Self {
            rule,
            message,
            more,
        } = self;
        let reason = more.reason.iter();
        let field_path = more.field_path.iter();
        let message_expression = more.message_expression.iter();
        let optional_old_self = more
            .optional_old_self
            .is_present()
            .then(|| quote!(, "optionalOldSelf": true));
        let place = place(rule).into_iter();
        quote!({
            "rule": #rule, "message": #message
            #(, "x-pilothouse-place": #place)*
            #(, "reason": #reason)*
            #(, "fieldPath": #field_path)*
            #(, "messageExpression": #message_expression)*
            #optional_old_self
        })
    }
}

/// Where the literal stands in the source: `src/main.rs:17`. `None` outside of the compiler.
fn place(literal: &LitStr) -> Option<String> {
    proc_macro::is_available().then(|| {
        let span = literal.span().unwrap();
        format!("{}:{}", span.file(), span.line())
    })
}
