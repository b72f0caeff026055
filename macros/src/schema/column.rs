use darling::{Error, FromMeta, Result};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Lit, LitStr};

/// A printer column: `column = "Ready"`, or `column(name = "Ready", priority = 1, ..)`. On a kind it has a `json_path`.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: LitStr,
    pub(crate) more: More,
}

#[derive(Clone, Debug, Default, FromMeta)]
pub(crate) struct More {
    name: Option<LitStr>,
    #[darling(rename = "type")]
    pub(crate) ty: Option<LitStr>,
    format: Option<LitStr>,
    priority: Option<i32>,
    order: Option<i32>,
    pub(crate) json_path: Option<LitStr>,
    description: Option<LitStr>,
}

const TYPES: [&str; 5] = ["integer", "number", "string", "boolean", "date"];
const FORMATS: [&str; 8] = [
    "int32",
    "int64",
    "float",
    "double",
    "byte",
    "date",
    "date-time",
    "password",
];

impl FromMeta for Column {
    fn from_value(value: &Lit) -> Result<Self> {
        let name = LitStr::from_value(value)?;
        Self::checked(name, More::default())
    }

    fn from_list(items: &[darling::ast::NestedMeta]) -> Result<Self> {
        let mut more = More::from_list(items)?;
        let name = more.name.take().ok_or_else(|| {
            Error::custom("the column's name is missing: write `column(name = \"Ready\")`")
        })?;
        Self::checked(name, more)
    }
}

impl Column {
    fn checked(name: LitStr, more: More) -> Result<Self> {
        let mut errors = Error::accumulator();
        if name.value().trim().is_empty() {
            errors.push(Error::custom("the column's name is empty: write one").with_span(&name));
        }
        if name.value() == "Age" {
            errors.push(
                Error::custom("every kind has a column `Age` already: choose another name")
                    .with_span(&name),
            );
        }
        for (what, value, known) in [
            ("type", &more.ty, &TYPES[..]),
            ("format", &more.format, &FORMATS[..]),
        ] {
            if let Some(value) = value
                && !known.contains(&value.value().as_str())
            {
                let text = format!("a column's {what} must be one of {}", known.join(", "));
                errors.push(Error::custom(text).with_span(value));
            }
        }
        if let Some(path) = &more.json_path
            && let Err(problem) = check_path(&path.value())
        {
            errors.push(Error::custom(problem).with_span(path));
        }
        errors.finish_with(Self { name, more })
    }

    /// The column as a JSON object in the schema. `pilothouse::crd` turns it into a printer column.
    pub(crate) fn json(&self) -> TokenStream {
        let Self { name, more } = self;
        let (ty, format, description) =
            (more.ty.iter(), more.format.iter(), more.description.iter());
        let (priority, order) = (more.priority.iter(), more.order.iter());
        let json_path = more.json_path.iter();
        quote!({
            "name": #name
            #(, "jsonPath": #json_path)*
            #(, "type": #ty)*
            #(, "format": #format)*
            #(, "priority": #priority)*
            #(, "order": #order)*
            #(, "description": #description)*
        })
    }
}

/// Finds the mistakes in a JSON path with which `kubectl get` would show nothing.
fn check_path(path: &str) -> std::result::Result<(), String> {
    let example = "such as `.status.conditions[?(@.type==\"Ready\")].status`";
    if path.starts_with(['{', '$']) {
        return Err(format!(
            "a JSON path of Kubernetes has neither `{{` nor `$` at its beginning: write it {example}"
        ));
    }
    if !path.starts_with('.') || path.len() == 1 {
        return Err(format!(
            "the JSON path must begin with a dot and a field, {example}"
        ));
    }
    let (mut open, mut quote) = (Vec::new(), None);
    for character in path.chars() {
        match (quote, character) {
            (Some(end), _) if end != character => {}
            (Some(_), _) => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => open.push(']'),
            (None, '(') => open.push(')'),
            (None, ']' | ')') if open.pop() != Some(character) => {
                return Err(format!(
                    "the JSON path has a `{character}` that closes nothing"
                ));
            }
            _ => {}
        }
    }
    match (quote, open.pop()) {
        (Some(missing), _) | (None, Some(missing)) => {
            Err(format!("the JSON path ends before its `{missing}`"))
        }
        (None, None) => Ok(()),
    }
}
