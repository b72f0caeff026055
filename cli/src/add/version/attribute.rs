//! Changes of `#[resource(..)]`. They keep the user's text around what they change.

use std::ops::Range;

use syn::{
    Attribute, Expr, ExprLit, Lit, Meta, MetaList, Token,
    punctuated::{Pair, Punctuated},
    spanned::Spanned,
};

/// `#[resource(..)]` of a kind.
pub(in crate::add) struct ResourceAttribute {
    entries: Vec<Entry>,
    /// Where the list of the entries ends.
    end: End,
}

/// Where a list ends.
struct End {
    at: usize,
    /// Whether a further item needs a comma before it.
    needs_comma: bool,
}

struct Entry {
    name: String,
    range: Range<usize>,
    /// The comma behind it.
    comma: Option<Range<usize>>,
    /// The text of a value that is a string, and its place.
    value: Option<(String, Range<usize>)>,
    /// The paths in `name(..)`, and where the list ends.
    list: Option<(Vec<String>, End)>,
}

/// A replacement of a part of a text.
pub(super) type Change = (Range<usize>, String);

impl ResourceAttribute {
    /// Finds the attribute `resource` among these. Returns `None` if it is missing or cannot be read.
    pub(in crate::add) fn of(attributes: &[Attribute]) -> Option<Self> {
        let attribute = attributes
            .iter()
            .find(|one| one.path().is_ident("resource"))?;
        let Meta::List(list) = &attribute.meta else {
            return None;
        };
        let parse = Punctuated::<Meta, Token![,]>::parse_terminated;
        let entries = list.parse_args_with(parse).ok()?;
        Some(Self {
            entries: entries.pairs().map(entry).collect(),
            end: end(list, &entries),
        })
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    pub(in crate::add) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// The value of an entry that is a text, such as `version`.
    pub(in crate::add) fn text(&self, name: &str) -> Option<&str> {
        let (value, _) = self.entry(name)?.value.as_ref()?;
        Some(value)
    }

    /// The types in `served(..)`.
    pub(in crate::add) fn served(&self) -> &[String] {
        let list = self.entry("served").and_then(|entry| entry.list.as_ref());
        list.map_or(&[], |(paths, _)| paths)
    }

    /// The changes by which the kind gets a new version and serves another type.
    pub(super) fn serve(&self, version: &str, other: &str) -> Vec<Change> {
        let mut changes = Vec::new();
        let at = self.entry("version").and_then(|entry| entry.value.as_ref());
        if let Some((_, range)) = at {
            changes.push((range.clone(), format!("{version:?}")));
        }
        let list = self.entry("served").and_then(|entry| entry.list.as_ref());
        changes.push(match list {
            Some((_, end)) => end.append(other),
            None => self.end.append(&format!("served({other})")),
        });
        changes
    }

    /// The changes by which a copy is no more than a version: without `served` and `conversion`.
    pub(super) fn alone(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        // The comma behind the last entry that stays.
        let mut before: Option<&Range<usize>> = None;
        for entry in &self.entries {
            if !["served", "conversion"].contains(&entry.name.as_str()) {
                before = entry.comma.as_ref();
                continue;
            }
            let own = entry.comma.as_ref();
            let range;
            (range, before) = match before {
                // Its own comma takes the place of the one before it.
                Some(comma) => (comma.start..entry.range.end, own),
                None => {
                    let end = own.map_or(entry.range.end, |comma| comma.end);
                    (entry.range.start..end, None)
                }
            };
            changes.push((range, String::new()));
        }
        changes
    }
}

impl End {
    /// An item for the end of the list.
    fn append(&self, item: &str) -> Change {
        let comma = if self.needs_comma { "," } else { "" };
        (self.at..self.at, format!("{comma} {item}"))
    }
}

fn end<T>(list: &MetaList, items: &Punctuated<T, Token![,]>) -> End {
    let span = match &list.delimiter {
        syn::MacroDelimiter::Paren(one) => one.span.close(),
        syn::MacroDelimiter::Brace(one) => one.span.close(),
        syn::MacroDelimiter::Bracket(one) => one.span.close(),
    };
    End {
        at: span.byte_range().start,
        needs_comma: !items.empty_or_trailing(),
    }
}

fn entry(pair: Pair<&Meta, &Token![,]>) -> Entry {
    let (meta, comma) = pair.into_tuple();
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
            paths.map(|paths| (paths.iter().map(shown).collect(), end(list, &paths)))
        }
        _ => None,
    };
    Entry {
        name: name.unwrap_or_default(),
        range: meta.span().byte_range(),
        comma: comma.map(|comma| comma.span().byte_range()),
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
