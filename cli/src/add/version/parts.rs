//! The kind and the types of its fields in a source.

use std::{collections::BTreeSet, ops::Range};

use proc_macro2::{TokenStream, TokenTree};
use syn::{File, Item, ItemImpl, ItemStruct, Type, spanned::Spanned};

use super::{
    attribute::{self, ResourceAttribute},
    elsewhere,
};
use crate::names::Kind;

/// The parts of a source that belong to a kind.
pub(super) struct Parts<'a> {
    pub(super) kind: &'a ItemStruct,
    attribute: ResourceAttribute,
    /// The structs and enums of the source that the fields of the kind contain, directly or not, in the order of the source; with the kind.
    pub(super) types: Vec<&'a Item>,
    /// What the types need: functions that their attributes name, and implementations of traits.
    helpers: Vec<&'a Item>,
    /// Types of the fields that are elsewhere in the crate.
    elsewhere: BTreeSet<String>,
    /// Names in the fields that the source gives to other types.
    aliases: BTreeSet<String>,
}

fn kind_of<'a>(file: &'a File, kind: &Kind) -> Option<(&'a ItemStruct, ResourceAttribute)> {
    file.items.iter().find_map(|item| match item {
        Item::Struct(one) if one.ident == kind.as_str() => {
            let attribute = ResourceAttribute::of(&one.attrs)?;
            (!attribute.is_of_another()).then_some((one, attribute))
        }
        _ => None,
    })
}

impl<'a> Parts<'a> {
    /// # Errors
    /// Why the kind cannot get a version, and what to do.
    pub(super) fn of(file: &'a File, kind: &Kind) -> Result<Self, String> {
        let (item, attribute) = kind_of(file, kind).ok_or_else(|| {
            format!(
                "there is no `#[resource(..)]` of {} that can be read: write it as `cargo pilothouse add kind` does",
                kind.as_str()
            )
        })?;
        let mut names = BTreeSet::from([item.ident.to_string()]);
        let mut mentioned = BTreeSet::new();
        loop {
            let before = names.len();
            for item in &file.items {
                if name_of(item).is_some_and(|name| names.contains(&name)) {
                    words(&fields(item), &mut mentioned);
                }
            }
            let found = file.items.iter().filter_map(name_of);
            names.extend(found.filter(|name| mentioned.contains(name)));
            if names.len() == before {
                break;
            }
        }
        let is_part = |item: &&Item| name_of(item).is_some_and(|name| names.contains(&name));
        let types: Vec<&Item> = file.items.iter().filter(is_part).collect();
        if let Some(generic) = types.iter().find(|item| is_generic(item)) {
            let name = name_of(generic).unwrap_or_default();
            return Err(format!(
                "the type {name} is generic and cannot be copied: copy the types of the version by hand, as the book's page on versions shows"
            ));
        }
        let in_attributes = types
            .iter()
            .map(|item| texts_in_attributes(item))
            .collect::<String>();
        let helpers = file.items.iter().filter(|item| match item {
            Item::Fn(one) => in_attributes.contains(&format!("\"{}\"", one.sig.ident)),
            Item::Impl(one) => {
                is_helper(one, &names, item_name(item_of(kind, file)), &in_attributes)
            }
            _ => false,
        });
        let helpers = helpers.collect();
        let aliases = file.items.iter().filter_map(|item| match item {
            Item::Type(one) => Some(one.ident.to_string()),
            _ => None,
        });
        let aliases: BTreeSet<String> = aliases.filter(|name| mentioned.contains(name)).collect();
        let known: BTreeSet<String> = file.items.iter().filter_map(name_of).collect();
        let mut elsewhere: BTreeSet<String> = mentioned
            .into_iter()
            .filter(|word| word.starts_with(|first: char| first.is_ascii_uppercase()))
            .filter(|word| !known.contains(word) && !aliases.contains(word))
            .filter(|word| elsewhere::has(file, word))
            .collect();
        for item in &types {
            for field in fields(item) {
                elsewhere::paths(file, &field.ty, &mut elsewhere);
            }
        }
        Ok(Self {
            kind: item,
            attribute,
            types,
            helpers,
            elsewhere,
            aliases,
        })
    }

    /// The version of today.
    pub(super) fn version(&self) -> Result<String, String> {
        let version = self.attribute.text("version").map(str::to_owned);
        version.ok_or_else(|| {
            "there is no `version = \"..\"` in `#[resource(..)]`: write it as text".into()
        })
    }

    pub(super) fn served(&self) -> &[String] {
        self.attribute.served()
    }

    /// The text of the types and of what they need, as a version of their own.
    pub(super) fn copied(&self, text: &str) -> String {
        let all = self.types.iter().chain(&self.helpers);
        let texts = all.map(|item| {
            let range = range(item);
            let copy = &text[range.clone()];
            match item {
                Item::Struct(one) if one.ident == self.kind.ident => {
                    attribute::changed(copy, range.start, self.attribute.alone())
                }
                _ => copy.to_owned(),
            }
        });
        texts.collect::<Vec<_>>().join("\n\n") + "\n"
    }

    /// The source, with the new version of the kind and the module of the old one.
    pub(super) fn changed(&self, text: &str, file: &File, old: &str, new: &str) -> String {
        let served = format!("{old}::{}", self.kind.ident);
        let mut changes = self.attribute.serve(text, new, &served);
        let has_module = file
            .items
            .iter()
            .any(|item| matches!(item, Item::Mod(one) if one.ident == old));
        if !has_module {
            let first = file
                .items
                .first()
                .map_or(text.len(), |item| range(item).start);
            changes.push((first..first, format!("pub mod {old};\n\n")));
        }
        attribute::changed(text, 0, changes)
    }

    /// What the user should know of the copy.
    pub(super) fn notes(&self, old: &str) -> Vec<String> {
        let elsewhere = self.elsewhere.iter().map(|name| {
            format!("{name} is not in this source, so {old} and the new version share it: copy it, before you change it")
        });
        let aliases = self.aliases.iter().map(|name| {
            format!("{name} is another name of a type, so {old} and the new version share that type: write the type itself in {old}, before you change it")
        });
        elsewhere.chain(aliases).collect()
    }
}

fn item_of<'a>(kind: &Kind, file: &'a File) -> Option<&'a Item> {
    let mut items = file.items.iter();
    items.find(|item| name_of(item).is_some_and(|name| name == kind.as_str()))
}

fn item_name(item: Option<&Item>) -> String {
    item.and_then(name_of).unwrap_or_default()
}

/// The place of an item with its documentation.
fn range(item: &Item) -> Range<usize> {
    item.span().byte_range()
}

/// The name of a struct or an enum.
pub(super) fn name_of(item: &Item) -> Option<String> {
    match item {
        Item::Struct(one) => Some(one.ident.to_string()),
        Item::Enum(one) => Some(one.ident.to_string()),
        _ => None,
    }
}

fn is_generic(item: &Item) -> bool {
    match item {
        Item::Struct(one) => !one.generics.params.is_empty(),
        Item::Enum(one) => !one.generics.params.is_empty(),
        _ => false,
    }
}

fn fields(item: &Item) -> Vec<&syn::Field> {
    match item {
        Item::Struct(one) => one.fields.iter().collect(),
        Item::Enum(one) => one
            .variants
            .iter()
            .flat_map(|variant| &variant.fields)
            .collect(),
        _ => Vec::new(),
    }
}

/// The names in the types of these fields.
fn words(fields: &[&syn::Field], found: &mut BTreeSet<String>) {
    for field in fields {
        names_in(&field.ty, found);
    }
}

/// All names in a type.
pub(super) fn names_in(ty: &Type, found: &mut BTreeSet<String>) {
    struct Names<'a>(&'a mut BTreeSet<String>);
    impl<'ast> syn::visit::Visit<'ast> for Names<'_> {
        fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
            self.0.insert(segment.ident.to_string());
            syn::visit::visit_path_segment(self, segment);
        }
    }
    syn::visit::Visit::visit_type(&mut Names(found), ty);
}

/// The literals in the attributes of a type and of its fields.
fn texts_in_attributes(item: &Item) -> String {
    let attributes: Vec<&syn::Attribute> = match item {
        Item::Struct(one) => one.attrs.iter().collect(),
        Item::Enum(one) => {
            let variants = one.variants.iter().flat_map(|variant| &variant.attrs);
            one.attrs.iter().chain(variants).collect()
        }
        _ => Vec::new(),
    };
    let of_fields = fields(item).into_iter().flat_map(|field| &field.attrs);
    let mut texts = String::new();
    for attribute in attributes.into_iter().chain(of_fields) {
        if let syn::Meta::List(list) = &attribute.meta {
            literals(list.tokens.clone(), &mut texts);
        }
    }
    texts
}

fn literals(tokens: TokenStream, texts: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Literal(literal) => {
                texts.push_str(&literal.to_string());
                texts.push(' ');
            }
            TokenTree::Group(group) => literals(group.stream(), texts),
            _ => {}
        }
    }
}

/// Whether a copied type needs the implementation: of a trait that is no conversion, or with a function that an attribute names.
fn is_helper(one: &ItemImpl, names: &BTreeSet<String>, kind: String, attributes: &str) -> bool {
    let Type::Path(of) = &*one.self_ty else {
        return false;
    };
    let Some(of) = of.path.get_ident().map(ToString::to_string) else {
        return false;
    };
    if of == kind || !names.contains(&of) {
        return false;
    }
    match &one.trait_ {
        None => attributes.contains(&format!("\"{of}::")),
        Some((path, _)) => {
            let last = path.segments.last().map(|last| last.ident.to_string());
            !["From", "TryFrom"].contains(&last.unwrap_or_default().as_str())
        }
    }
}
