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
    let trees = || {
        file.items.iter().filter_map(|item| match item {
            Item::Use(one) => Some(&one.tree),
            _ => None,
        })
    };
    let of_crate = || {
        trees().filter_map(|tree| match tree {
            UseTree::Path(path) if is_of_crate(file, &path.ident.to_string()) => Some(&*path.tree),
            _ => None,
        })
    };
    if of_crate().any(|tree| imports(tree, word)) {
        return true;
    }
    !KNOWN.contains(&word) && !trees().any(|tree| imports(tree, word)) && of_crate().any(has_glob)
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

/// Whether a path that begins so leads into the crate.
fn is_of_crate(file: &File, first: &str) -> bool {
    let is_module = |item: &Item| matches!(item, Item::Mod(one) if one.ident == first);
    ["crate", "super", "self"].contains(&first) || file.items.iter().any(is_module)
}

fn imports(tree: &UseTree, word: &str) -> bool {
    match tree {
        UseTree::Path(path) => imports(&path.tree, word),
        UseTree::Name(name) => name.ident == word,
        UseTree::Rename(name) => name.rename == word,
        UseTree::Group(group) => group.items.iter().any(|tree| imports(tree, word)),
        UseTree::Glob(_) => false,
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
