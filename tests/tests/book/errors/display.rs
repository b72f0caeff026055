//! Reads the texts of a `Display` that is written by hand.

use std::collections::BTreeSet;

use syn::{Block, Expr, Lit, LitStr, Macro, Stmt, Token, punctuated::Punctuated};

/// The texts that a value can have. `…` stands for the parts that differ.
type Texts = BTreeSet<String>;

/// The text of a format string, with `…` for its arguments.
pub(super) fn pattern(format: &str) -> String {
    let mut text = String::new();
    let mut rest = format.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '{' | '}' if rest.peek() == Some(&next) => {
                rest.next();
                text.push(next);
            }
            '{' => {
                rest.by_ref().find(|end| *end == '}');
                text.push('…');
            }
            other => text.push(other),
        }
    }
    text
}

/// The texts that the body of a `fmt` writes.
///
/// # Errors
/// The first expression that is neither `write!`, `write_str` or the `fmt` of another value, nor a choice or a repetition of them.
pub(super) fn written(body: &Block) -> Result<Texts, String> {
    let mut parts = Vec::new();
    for statement in &body.stmts {
        match statement {
            Stmt::Local(_) | Stmt::Item(_) => {}
            Stmt::Expr(expression, _) => parts.push(of_expression(expression)?),
            Stmt::Macro(statement) => parts.push(of_macro(&statement.mac)?),
        }
    }
    Ok(joined(parts))
}

/// One text after the other. A part that is not the same each time is `…`, if it is not the only one.
fn joined(mut parts: Vec<Texts>) -> Texts {
    parts.retain(|texts| texts.iter().any(|text| !text.is_empty()));
    if parts.len() < 2 {
        return parts.pop().unwrap_or_else(|| one(""));
    }
    let mut text = String::new();
    for part in parts {
        match part.len() {
            1 => text.extend(part),
            _ => text.push('…'),
        }
    }
    while text.contains("……") {
        text = text.replace("……", "…");
    }
    one(&text)
}

fn one(text: &str) -> Texts {
    Texts::from([text.to_owned()])
}

fn of_expression(expression: &Expr) -> Result<Texts, String> {
    match expression {
        Expr::Try(inner) => of_expression(&inner.expr),
        Expr::Paren(inner) => of_expression(&inner.expr),
        Expr::Block(inner) => written(&inner.block),
        Expr::Macro(inner) => of_macro(&inner.mac),
        Expr::Return(inner) if inner.expr.is_some() => of_expression(inner.expr.as_ref().unwrap()),
        Expr::If(choice) => {
            let mut texts = written(&choice.then_branch)?;
            texts.extend(match &choice.else_branch {
                Some((_, other)) => of_expression(other)?,
                None => one(""),
            });
            Ok(texts)
        }
        Expr::Match(choice) => {
            let mut texts = Texts::new();
            for arm in &choice.arms {
                texts.extend(of_expression(&arm.body)?);
            }
            Ok(texts)
        }
        Expr::ForLoop(repetition) => written(&repetition.body).map(|_| one("…")),
        Expr::Call(call) => match &*call.func {
            Expr::Path(function) if function.path.segments.last().unwrap().ident == "Ok" => {
                Ok(one(""))
            }
            Expr::Path(function) if function.path.segments.last().unwrap().ident == "fmt" => {
                Ok(one("…"))
            }
            _ => Err(unknown(expression)),
        },
        Expr::MethodCall(call) if call.method == "fmt" => Ok(one("…")),
        Expr::MethodCall(call) if call.method == "write_str" => {
            Ok(call.args.first().map_or_else(|| one(""), of_string))
        }
        _ => Err(unknown(expression)),
    }
}

fn unknown(expression: &Expr) -> String {
    format!("the test does not understand {expression:?}")
}

/// The values of a string.
fn of_string(expression: &Expr) -> Texts {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => one(&text.value()),
            _ => one("…"),
        },
        Expr::Match(choice) => {
            let arms = choice.arms.iter();
            arms.flat_map(|arm| of_string(&arm.body)).collect()
        }
        Expr::If(choice) => {
            let mut texts = of_value(&choice.then_branch);
            texts.extend(
                choice
                    .else_branch
                    .iter()
                    .flat_map(|(_, other)| of_string(other)),
            );
            texts
        }
        Expr::Block(block) => of_value(&block.block),
        _ => one("…"),
    }
}

/// The values of a block.
fn of_value(block: &Block) -> Texts {
    match &*block.stmts {
        [Stmt::Expr(value, None)] => of_string(value),
        _ => one("…"),
    }
}

/// The text of `write!` or `writeln!`.
fn of_macro(call: &Macro) -> Result<Texts, String> {
    let name = &call.path.segments.last().unwrap().ident;
    let arguments = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
    let format: Option<LitStr> = arguments.ok().and_then(|arguments| match arguments.get(1) {
        Some(Expr::Lit(literal)) => match &literal.lit {
            Lit::Str(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    });
    match (name.to_string().as_str(), format) {
        ("write", Some(format)) => Ok(one(&pattern(&format.value()))),
        ("writeln", Some(format)) => Ok(one(&(pattern(&format.value()) + "\n"))),
        _ => Err(format!("the test does not understand `{name}!`")),
    }
}
