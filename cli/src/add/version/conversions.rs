//! `From` between the copies of the types and the types, in both directions. Today both have the same fields.

use std::{collections::BTreeSet, fmt::Write};

use syn::{Fields, GenericArgument, Item, PathArguments, Type};

use super::parts::{Parts, name_of, names_in};

/// The source of the conversions.
pub(super) struct Conversions {
    pub(super) text: String,
    /// What the user has to write.
    pub(super) notes: Vec<String>,
}

pub(super) fn between(parts: &Parts<'_>) -> Conversions {
    let names: BTreeSet<String> = parts
        .types
        .iter()
        .filter_map(|item| name_of(item))
        .collect();
    let mut writer = Writer {
        names,
        text: String::new(),
        notes: BTreeSet::new(),
    };
    for item in &parts.types {
        let Some(name) = name_of(item) else { continue };
        for (from, to) in [
            (name.clone(), format!("super::{name}")),
            (format!("super::{name}"), name.clone()),
        ] {
            writer.conversion(item, &from, &to);
        }
    }
    Conversions {
        text: writer.text,
        notes: writer.notes.into_iter().collect(),
    }
}

struct Writer {
    /// The types that are copied.
    names: BTreeSet<String>,
    text: String,
    notes: BTreeSet<String>,
}

impl Writer {
    fn conversion(&mut self, item: &Item, from: &str, to: &str) {
        let body = match item {
            Item::Struct(one) => self.of_struct(&one.fields),
            Item::Enum(one) => self.of_enum(one, from),
            _ => return,
        };
        // Writing into a String does not fail.
        let _ = write!(
            self.text,
            "\nimpl From<{from}> for {to} {{\n    fn from(from: {from}) -> Self {{\n        {body}\n    }}\n}}\n"
        );
    }

    fn of_struct(&mut self, fields: &Fields) -> String {
        match fields {
            Fields::Named(named) => {
                let mut entries = String::new();
                for field in &named.named {
                    if let Some(ident) = &field.ident {
                        let value = self.converted(&format!("from.{ident}"), &field.ty);
                        let _ = write!(entries, "{ident}: {value}, ");
                    }
                }
                format!("Self {{ {entries}}}")
            }
            Fields::Unnamed(unnamed) => {
                let all = unnamed.unnamed.iter().enumerate();
                let values =
                    all.map(|(at, field)| self.converted(&format!("from.{at}"), &field.ty));
                format!("Self({})", values.collect::<Vec<_>>().join(", "))
            }
            Fields::Unit => "Self".into(),
        }
    }

    fn of_enum(&mut self, one: &syn::ItemEnum, from: &str) -> String {
        let mut arms = String::new();
        for variant in &one.variants {
            let name = &variant.ident;
            let (mut names, mut values) = (Vec::new(), Vec::new());
            for (at, field) in variant.fields.iter().enumerate() {
                let ident = match &field.ident {
                    Some(ident) => ident.to_string(),
                    None => format!("value{at}"),
                };
                let value = self.converted(&ident, &field.ty);
                values.push(match &field.ident {
                    Some(_) if value != ident => format!("{ident}: {value}"),
                    _ => value,
                });
                names.push(ident);
            }
            let (names, values) = (names.join(", "), values.join(", "));
            let _ = match &variant.fields {
                Fields::Named(_) => write!(
                    arms,
                    "{from}::{name} {{ {names} }} => Self::{name} {{ {values} }},"
                ),
                Fields::Unnamed(_) => {
                    write!(arms, "{from}::{name}({names}) => Self::{name}({values}),")
                }
                Fields::Unit => write!(arms, "{from}::{name} => Self::{name},"),
            };
        }
        format!("match from {{ {arms} }}")
    }

    /// The value as the other version has it.
    fn converted(&mut self, value: &str, ty: &Type) -> String {
        let mut inside = BTreeSet::new();
        names_in(ty, &mut inside);
        if inside.is_disjoint(&self.names) {
            return value.to_owned();
        }
        let Some((name, arguments)) = named(ty) else {
            return self.unknown(value, ty);
        };
        if self.names.contains(&name) {
            return format!("{value}.into()");
        }
        let item = |this: &mut Self, ty: &Type| match this.converted("one", ty) {
            converted if converted == "one.into()" => "Into::into".to_owned(),
            converted => format!("|one| {converted}"),
        };
        match (name.as_str(), arguments.as_slice()) {
            ("Option", [inner]) => format!("{value}.map({})", item(self, inner)),
            ("Vec" | "VecDeque" | "BTreeSet" | "HashSet", [inner]) => {
                format!("{value}.into_iter().map({}).collect()", item(self, inner))
            }
            ("BTreeMap" | "HashMap", [key, inner]) => {
                let key = self.converted("key", key);
                let one = self.converted("one", inner);
                format!("{value}.into_iter().map(|(key, one)| ({key}, {one})).collect()")
            }
            ("Box", [inner]) => {
                let one = self.converted(&format!("(*{value})"), inner);
                format!("Box::new({one})")
            }
            ("Arc" | "Rc", [inner]) => {
                let one = self.converted(&format!("(*{value}).clone()"), inner);
                format!("{name}::new({one})")
            }
            _ => self.unknown(value, ty),
        }
    }

    fn unknown(&mut self, value: &str, ty: &Type) -> String {
        let mut inside = BTreeSet::new();
        names_in(ty, &mut inside);
        let inside: Vec<String> = inside.into_iter().collect();
        self.notes.insert(format!(
            "The conversion of `{value}` with the types {} is written as `.into()`: write what converts it",
            inside.join(", ")
        ));
        format!("{value}.into()")
    }
}

/// The last name of a type, and its arguments.
fn named(ty: &Type) -> Option<(String, Vec<&Type>)> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let arguments = match &last.arguments {
        PathArguments::AngleBracketed(list) => list
            .args
            .iter()
            .filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    Some((last.ident.to_string(), arguments))
}
