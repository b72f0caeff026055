//! The attributes of the derives: the tables of the macros' documentation, which is compared with what the macros accept.

use std::collections::BTreeSet;

use syn::{Attribute, Expr, Fields, Item, Lit, Meta};

use super::{compare, source};

const MACROS: &str = "macros/src/lib.rs";

/// The documentation of a function.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|one| match &one.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned() + "\n");
    lines.collect()
}

/// The tables in the documentation of the macro `name`.
fn tables(name: &str) -> Vec<String> {
    let file = syn::parse_file(&source(MACROS)).unwrap();
    let documented = file.items.iter().find_map(|item| match item {
        Item::Fn(item) if item.sig.ident == name => Some(documentation(&item.attrs)),
        _ => None,
    });
    let documented = documented.unwrap_or_else(|| panic!("{MACROS} has no `{name}`"));
    let mut found = Vec::new();
    let mut table = String::new();
    for line in documented.lines().chain([""]) {
        match line.starts_with('|') {
            true => table.push_str(&format!("{line}\n")),
            false if !table.is_empty() => found.push(std::mem::take(&mut table)),
            false => {}
        }
    }
    found
}

/// The names of the attributes in the first column of a table.
fn named(table: &str) -> BTreeSet<String> {
    let first = table
        .lines()
        .skip(2)
        .filter_map(|row| row.split('|').nth(1));
    // `column = ".."` and `column(..)` name `column`; text in quotation marks names nothing.
    let code = first.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned));
    let name = |text: String| {
        let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let name = &text[..end.unwrap_or(text.len())];
        (!name.is_empty()).then(|| name.to_owned())
    };
    code.filter_map(name).collect()
}

/// The value of `rename = ".."` in `#[darling(..)]`.
fn renamed(attributes: &[Attribute]) -> Option<String> {
    let mut name = None;
    for attribute in attributes {
        if !attribute.path().is_ident("darling") {
            continue;
        }
        // Other arguments of the attribute are skipped: some are not of this form.
        let text = quote::ToTokens::to_token_stream(attribute).to_string();
        let rest = text.split_once("rename = \"").map(|(_, rest)| rest);
        name = rest.and_then(|rest| rest.split('"').next().map(str::to_owned));
    }
    name
}

/// The names that the struct `name` of a file accepts.
fn accepted(path: &str, name: &str) -> BTreeSet<String> {
    /// Fields that darling fills from the item itself.
    const NO_ATTRIBUTES: [&str; 4] = ["ident", "generics", "data", "attrs"];
    let file = syn::parse_file(&source(path)).unwrap();
    let item = file.items.iter().find_map(|item| match item {
        Item::Struct(item) if item.ident == name => Some(item),
        _ => None,
    });
    let item = item.unwrap_or_else(|| panic!("{path} has no `{name}`"));
    let Fields::Named(fields) = &item.fields else {
        panic!("`{name}` has no named fields");
    };
    let names = fields.named.iter().map(|field| {
        let ident = field.ident.as_ref().unwrap().to_string();
        renamed(&field.attrs).unwrap_or(ident)
    });
    let names = names.filter(|name| !NO_ATTRIBUTES.contains(&name.as_str()));
    names.collect()
}

#[test]
fn the_reference_has_each_attribute_of_the_derives() {
    let (resource, schema) = (tables("resource"), tables("schema"));
    let [kind, object] = &resource[..] else {
        panic!("`Resource` should have two tables");
    };
    let [field] = &schema[..] else {
        panic!("`Schema` should have one table");
    };
    // `view_of` has a chapter of its own.
    let mut of_kind = accepted("macros/src/resource/args.rs", "Args");
    assert!(of_kind.remove("view_of"));
    assert_eq!(named(kind), of_kind, "#[resource(..)]");
    let attributes = "macros/src/schema/attributes.rs";
    let mut of_fields = accepted(attributes, "Field");
    of_fields.extend(accepted(attributes, "Container"));
    assert_eq!(named(field), of_fields, "#[schema(..)]");
    compare(
        "attributes.md",
        &[
            ("resource", kind.clone()),
            ("object", object.clone()),
            ("schema", field.clone()),
        ],
    );
}
