//! Changes of `#[resource(..)]`. They keep the user's text around what they change.

use std::ops::Range;

use syn::{
    Attribute, Expr, ExprLit, Lit, Meta, MetaList, Token, punctuated::Punctuated, spanned::Spanned,
};

/// `#[resource(..)]` of a kind.
pub(super) struct ResourceAttribute {
    entries: Vec<Entry>,
    /// Where the list of the entries ends.
    end: usize,
}

struct Entry {
    name: String,
    range: Range<usize>,
    /// The text of a value that is a string, and its place.
    value: Option<(String, Range<usize>)>,
    /// The paths in `name(..)`, and where the list ends.
    list: Option<(Vec<String>, usize)>,
}

/// A replacement of a part of a text.
pub(super) type Change = (Range<usize>, String);

impl ResourceAttribute {
    /// Finds the attribute `resource` among these. Returns `None` if it is missing or cannot be read.
    pub(super) fn of(attributes: &[Attribute]) -> Option<Self> {
        let attribute = attributes
            .iter()
            .find(|one| one.path().is_ident("resource"))?;
        let Meta::List(list) = &attribute.meta else {
            return None;
        };
        let parse = Punctuated::<Meta, Token![,]>::parse_terminated;
        let entries = list.parse_args_with(parse).ok()?;
        Some(Self {
            entries: entries.iter().map(entry).collect(),
            end: end(list),
        })
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// The value of `version`.
    pub(super) fn version(&self) -> Option<&str> {
        let (value, _) = self.entry("version")?.value.as_ref()?;
        Some(value)
    }

    /// The types in `served(..)`.
    pub(super) fn served(&self) -> &[String] {
        let list = self.entry("served").and_then(|entry| entry.list.as_ref());
        list.map_or(&[], |(paths, _)| paths)
    }

    /// The changes by which the kind gets a new version and serves another type.
    pub(super) fn serve(&self, text: &str, version: &str, other: &str) -> Vec<Change> {
        let mut changes = Vec::new();
        let at = self.entry("version").and_then(|entry| entry.value.as_ref());
        if let Some((_, range)) = at {
            changes.push((range.clone(), format!("{version:?}")));
        }
        let list = self.entry("served").and_then(|entry| entry.list.as_ref());
        changes.push(match list {
            Some((_, end)) => (*end..*end, append(&text[..*end], other)),
            None => {
                let served = format!("served({other})");
                (self.end..self.end, append(&text[..self.end], &served))
            }
        });
        changes
    }

    /// The changes by which a copy is no more than a version: without `served` and `conversion`.
    pub(super) fn alone(&self, text: &str) -> Vec<Change> {
        let only_stored = |entry: &&Entry| ["served", "conversion"].contains(&entry.name.as_str());
        let entries = self.entries.iter().filter(only_stored);
        entries
            .map(|entry| {
                // With the comma before it: `group` and `version` stand somewhere, so there is one, unless the entry is the first.
                let before = text[..entry.range.start].trim_end();
                match before.strip_suffix(',') {
                    Some(rest) => (rest.len()..entry.range.end, String::new()),
                    None => {
                        let after = &text[entry.range.end..];
                        let comma = after.find(',').map_or(0, |at| at + 1);
                        (entry.range.start..entry.range.end + comma, String::new())
                    }
                }
            })
            .collect()
    }
}

/// An item for the end of a list, behind what is there.
fn append(before: &str, item: &str) -> String {
    match before.trim_end() {
        list if list.ends_with(['(', ',']) => format!(" {item}"),
        _ => format!(", {item}"),
    }
}

fn end(list: &MetaList) -> usize {
    let span = match &list.delimiter {
        syn::MacroDelimiter::Paren(one) => one.span.close(),
        syn::MacroDelimiter::Brace(one) => one.span.close(),
        syn::MacroDelimiter::Bracket(one) => one.span.close(),
    };
    span.byte_range().start
}

fn entry(meta: &Meta) -> Entry {
    let name = meta.path().get_ident().map(ToString::to_string);
    let value = match meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Some((text.value(), text.span().byte_range())),
            _ => None,
        },
        _ => None,
    };
    let list = match meta {
        Meta::List(list) => {
            let parse = Punctuated::<syn::Path, Token![,]>::parse_terminated;
            let paths = list.parse_args_with(parse).ok();
            let shown = |path: &syn::Path| {
                let segments = path.segments.iter().map(|one| one.ident.to_string());
                segments.collect::<Vec<_>>().join("::")
            };
            paths.map(|paths| (paths.iter().map(shown).collect(), end(list)))
        }
        _ => None,
    };
    Entry {
        name: name.unwrap_or_default(),
        range: meta.span().byte_range(),
        value,
        list,
    }
}

/// The text with these changes, whose places do not overlap. `start` is the place of the text in the one that the changes are about.
pub(super) fn changed(text: &str, start: usize, mut changes: Vec<Change>) -> String {
    changes.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = text.to_owned();
    for (range, with) in changes {
        text.replace_range(range.start - start..range.end - start, &with);
    }
    text
}
