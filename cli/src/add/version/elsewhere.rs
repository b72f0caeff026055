//! Which types of a source are defined elsewhere in its crate: a copy of the types would share them.

use std::collections::BTreeSet;

use syn::{File, Item, Type, UseTree};

/// Names that a glob import of the crate does not have to bring: those of the language, of the framework, and of serde.
const KNOWN: [&str; 26] = [
    "Action",
    "Arc",
    "BTreeMap",
    "BTreeSet",
    "Box",
    "Condition",
    "Context",
    "Duration",
    "HashMap",
    "HashSet",
    "IntOrString",
    "IpAddr",
    "LabelSelector",
    "Map",
    "ObjectMeta",
    "Option",
    "PodTemplateSpec",
    "Quantity",
    "Rc",
    "Result",
    "Self",
    "String",
    "Time",
    "Value",
    "Vec",
    "VecDeque",
];

/// Whether the source imports the name from its crate, by its name or with all others of a module.
pub(super) fn has(file: &File, word: &str) -> bool {
    let of_crate = of_crate(file);
    if of_crate.iter().any(|tree| imports(tree, word)) {
        return true;
    }
    let is_imported = trees(file).into_iter().any(|tree| imports(tree, word));
    !KNOWN.contains(&word) && !is_imported && of_crate.iter().any(|tree| has_glob(tree))
}

/// All imports of the source. The parts of a group stand for themselves: `use {crate::a, std::b};`.
fn trees(file: &File) -> Vec<&UseTree> {
    fn add<'a>(tree: &'a UseTree, all: &mut Vec<&'a UseTree>) {
        match tree {
            UseTree::Group(group) => group.items.iter().for_each(|tree| add(tree, all)),
            tree => all.push(tree),
        }
    }
    let mut all = Vec::new();
    for item in &file.items {
        if let Item::Use(one) = item {
            add(&one.tree, &mut all);
        }
    }
    all
}

/// What the source imports from its crate.
fn of_crate(file: &File) -> Vec<&UseTree> {
    let trees = trees(file).into_iter().filter_map(|tree| match tree {
        UseTree::Path(path) if is_root(file, &path.ident.to_string()) => Some(&*path.tree),
        _ => None,
    });
    trees.collect()
}

/// Adds the types that are named by their path in the crate, such as `crate::parts::Board`.
pub(super) fn paths(file: &File, ty: &Type, found: &mut BTreeSet<String>) {
    struct Paths<'a>(&'a File, &'a mut BTreeSet<String>);
    impl<'ast> syn::visit::Visit<'ast> for Paths<'_> {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            let names: Vec<String> = path
                .segments
                .iter()
                .map(|one| one.ident.to_string())
                .collect();
            if let [first, .., last] = names.as_slice()
                && path.leading_colon.is_none()
                && is_of_crate(self.0, first)
            {
                self.1.insert(last.clone());
            }
            syn::visit::visit_path(self, path);
        }
    }
    syn::visit::Visit::visit_type(&mut Paths(file, found), ty);
}

/// Whether a path that begins so leads into the crate: from its root, or by a module that the source imports from it.
fn is_of_crate(file: &File, first: &str) -> bool {
    is_root(file, first) || of_crate(file).iter().any(|tree| imports(tree, first))
}

fn is_root(file: &File, first: &str) -> bool {
    let is_module = |item: &Item| matches!(item, Item::Mod(one) if one.ident == first);
    ["crate", "super", "self"].contains(&first) || file.items.iter().any(is_module)
}

fn imports(tree: &UseTree, word: &str) -> bool {
    match tree {
        UseTree::Path(path) => {
            imports(&path.tree, word) || (path.ident == word && names_itself(&path.tree))
        }
        UseTree::Name(name) => name.ident == word,
        UseTree::Rename(name) => name.rename == word,
        UseTree::Group(group) => group.items.iter().any(|tree| imports(tree, word)),
        UseTree::Glob(_) => false,
    }
}

/// Whether the module itself is imported: `use crate::parts::{self, Board};`.
fn names_itself(tree: &UseTree) -> bool {
    match tree {
        UseTree::Name(name) => name.ident == "self",
        UseTree::Group(group) => group.items.iter().any(names_itself),
        UseTree::Rename(_) | UseTree::Path(_) | UseTree::Glob(_) => false,
    }
}

fn has_glob(tree: &UseTree) -> bool {
    match tree {
        UseTree::Path(path) => has_glob(&path.tree),
        UseTree::Group(group) => group.items.iter().any(has_glob),
        UseTree::Glob(_) => true,
        UseTree::Name(_) | UseTree::Rename(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_crate_are_found_however_they_are_named() {
        let file = syn::parse_file(
            "use std::net::IpAddr; use crate::parts::{Named, inner::Deep as Renamed}; use crate::all::*; use serde_json::Value; mod near;",
        );
        let file = file.unwrap();
        for (word, expected) in [
            ("Named", true),
            ("Renamed", true),
            ("FromGlob", true),
            ("IpAddr", false),
            ("Value", false),
            ("String", false),
        ] {
            assert_eq!(has(&file, word), expected, "{word}");
        }
        let grouped = syn::parse_file(
            "use {crate::{parts::Named, shapes::{self, Square}}, std::net::IpAddr, super::more as others};",
        );
        let grouped = grouped.unwrap();
        for (word, expected) in [("Named", true), ("IpAddr", false), ("FromGlob", false)] {
            assert_eq!(has(&grouped, word), expected, "{word}");
        }
        let mut found = BTreeSet::new();
        for ty in ["shapes::Round", "Vec<others::Flat>", "net::Other", "Named"] {
            paths(&grouped, &syn::parse_str(ty).unwrap(), &mut found);
        }
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["Flat", "Round"]);
        let without = syn::parse_file("use pilothouse::prelude::*;").unwrap();
        assert!(!has(&without, "FromGlob"));
        let ty = syn::parse_str("BTreeMap<String, Vec<crate::parts::Board>>").unwrap();
        let near = syn::parse_str("Option<near::Shelf>").unwrap();
        let other = syn::parse_str("pilothouse::k8s::Pod").unwrap();
        let mut found = BTreeSet::new();
        for ty in [&ty, &near, &other] {
            paths(&file, ty, &mut found);
        }
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["Board", "Shelf"]);
    }
}
