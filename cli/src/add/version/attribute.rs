//! Changes of `#[resource(..)]`. They keep the user's text around what they change.

use std::ops::Range;

use syn::{
    Attribute, Expr, ExprLit, Lit, Meta, MetaList, Token,
    punctuated::{Pair, Punctuated},
    spanned::Spanned,
};

use crate::add::edit::line_end;

/// `#[resource(..)]` of a kind.
pub(in crate::add) struct ResourceAttribute {
    entries: Vec<Entry>,
    /// Where the list of the entries ends.
    end: End,
}

/// Where a list ends.
struct End {
    at: usize,
    /// The last item.
    last: Option<Range<usize>>,
    /// The comma behind it.
    comma: Option<Range<usize>>,
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

    /// Whether another program defines the kind: the type is foreign, or a view of a type.
    pub(in crate::add) fn is_of_another(&self) -> bool {
        self.has("foreign") || self.has("view_of")
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

    /// The changes by which the kind gets a new version and serves another type. `text` is the whole source.
    pub(super) fn serve(&self, text: &str, version: &str, other: &str) -> Vec<Change> {
        let mut changes = Vec::new();
        let at = self.entry("version").and_then(|entry| entry.value.as_ref());
        if let Some((_, range)) = at {
            changes.push((range.clone(), format!("{version:?}")));
        }
        let list = self.entry("served").and_then(|entry| entry.list.as_ref());
        changes.extend(match list {
            Some((_, end)) => end.append(text, other),
            None => self.end.append(text, &format!("served({other})")),
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
    /// An item for the end of the list, in the layout of the last one.
    fn append(&self, text: &str, item: &str) -> Vec<Change> {
        let Some(last) = &self.last else {
            return vec![(self.at..self.at, item.to_owned())];
        };
        let end = self.comma.as_ref().map_or(last.end, |comma| comma.end);
        // A comment in the line is about the last item.
        let behind = line_end(text, end);
        let line = text[..last.start].rsplit('\n').next().unwrap_or_default();
        let spaces = &line[..line.len() - line.trim_start().len()];
        let between = match (line == spaces, behind == end) {
            (true, _) => format!("\n{spaces}"),
            (false, false) => format!("\n{spaces}    "),
            (false, true) => " ".to_owned(),
        };
        match self.comma {
            Some(_) => vec![(behind..behind, format!("{between}{item},"))],
            None if behind == end => vec![(end..end, format!(",{between}{item}"))],
            None => vec![
                (end..end, ",".to_owned()),
                (behind..behind, format!("{between}{item}")),
            ],
        }
    }
}

fn end<T: Spanned>(list: &MetaList, items: &Punctuated<T, Token![,]>) -> End {
    let span = match &list.delimiter {
        syn::MacroDelimiter::Paren(one) => one.span.close(),
        syn::MacroDelimiter::Brace(one) => one.span.close(),
        syn::MacroDelimiter::Bracket(one) => one.span.close(),
    };
    End {
        at: span.byte_range().start,
        last: items.last().map(|item| item.span().byte_range()),
        comma: items
            .pairs()
            .next_back()
            .and_then(|pair| pair.punct().map(|comma| comma.span().byte_range())),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn served(text: &str) -> String {
        let text = format!("{text}\nstruct Kiosk;\n");
        let file = syn::parse_file(&text).unwrap();
        let syn::Item::Struct(item) = &file.items[0] else {
            panic!("{text}");
        };
        let attribute = ResourceAttribute::of(&item.attrs).unwrap();
        let changed = changed(&text, 0, attribute.serve(&text, "v2", "v1::Kiosk"));
        syn::parse_file(&changed).unwrap();
        changed.replace("\nstruct Kiosk;\n", "")
    }

    #[test]
    fn a_new_entry_has_the_layout_of_the_last_one() {
        for (before, after) in [
            (
                "#[resource(version=\"v1\",namespaced)]",
                "#[resource(version=\"v2\",namespaced, served(v1::Kiosk))]",
            ),
            (
                "#[resource(\n  version = \"v1\",\n  namespaced\n  )]",
                "#[resource(\n  version = \"v2\",\n  namespaced,\n  served(v1::Kiosk)\n  )]",
            ),
            (
                "#[resource(\n\tnamespaced,\n\tversion = \"v1\", // stored\n)]",
                "#[resource(\n\tnamespaced,\n\tversion = \"v2\", // stored\n\tserved(v1::Kiosk),\n)]",
            ),
            (
                "#[resource(version = \"v1\", namespaced // each\n)]",
                "#[resource(version = \"v2\", namespaced, // each\n    served(v1::Kiosk)\n)]",
            ),
            (
                "#[resource(version = \"v1\", served( v0::Kiosk ), namespaced)]",
                "#[resource(version = \"v2\", served( v0::Kiosk, v1::Kiosk ), namespaced)]",
            ),
            (
                "#[resource(version = \"v1\", served())]",
                "#[resource(version = \"v2\", served(v1::Kiosk))]",
            ),
        ] {
            assert_eq!(served(before), after);
        }
    }
}
