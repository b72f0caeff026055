use darling::{Error, FromMeta, Result};
use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Expr, ExprUnary, Lit, UnOp, spanned::Spanned};

/// A number in an attribute, with its sign.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) expr: Expr,
    pub(crate) value: Value,
}

/// The value of a [`Number`]. Integers are exact, so that they can be compared with the bounds of a type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Integer(i128),
    Float(f64),
}

impl Number {
    pub(crate) fn span(&self) -> Span {
        self.expr.span()
    }

    /// The number as an expression of Rust. An integer without a suffix would have 32 bits, so a larger one gets a suffix.
    pub(crate) fn tokens(&self) -> TokenStream {
        let (number, suffix) = match self.value {
            Value::Integer(number) if i32::try_from(number).is_err() => match number {
                number if i64::try_from(number).is_ok() => (number, "i64"),
                number if u64::try_from(number).is_ok() => (number, "u64"),
                number => (number, "f64"),
            },
            _ => return self.expr.to_token_stream(),
        };
        let literal = format!("{}{suffix}", number.unsigned_abs());
        let Ok(mut literal) = literal.parse::<Literal>() else {
            return self.expr.to_token_stream();
        };
        // As code of the macro, so that lints do not compare it with what the user wrote.
        literal.set_span(Span::mixed_site().located_at(self.span()));
        match number < 0 {
            true => quote!(-#literal),
            false => literal.into_token_stream(),
        }
    }

    pub(crate) fn as_f64(&self) -> f64 {
        match self.value {
            Value::Integer(value) => value as f64,
            Value::Float(value) => value,
        }
    }
}

impl FromMeta for Number {
    fn from_expr(expr: &Expr) -> Result<Self> {
        value(expr)
            .map(|value| Self {
                expr: expr.clone(),
                value,
            })
            .ok_or_else(|| Error::custom("expected a number").with_span(expr))
    }
}

/// An integer of at least 0 in an attribute, with its span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    pub(crate) value: u64,
    pub(crate) span: Span,
}

impl FromMeta for Count {
    fn from_expr(expr: &Expr) -> Result<Self> {
        match value(expr) {
            Some(Value::Integer(value)) if u64::try_from(value).is_ok() => Ok(Self {
                value: value.unsigned_abs() as u64,
                span: expr.span(),
            }),
            _ => Err(Error::custom("expected an integer, 0 or greater").with_span(expr)),
        }
    }
}

fn value(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(int) => int.base10_parse().ok().map(Value::Integer),
            Lit::Float(float) => float.base10_parse().ok().map(Value::Float),
            _ => None,
        },
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_),
            expr,
            ..
        }) => match value(expr)? {
            Value::Integer(value) => Some(Value::Integer(-value)),
            Value::Float(value) => Some(Value::Float(-value)),
        },
        Expr::Group(group) => value(&group.expr),
        _ => None,
    }
}
