//! The public interface of a crate, read from its sources, as one line for each item.
//!
//! [`public_interface`] parses the sources with syn and follows modules and re-exports from `lib.rs`. So it needs neither a
//! build nor a nightly compiler, and its output does not depend on the compiler's version. It has two limits: it does not
//! see items that a macro generates, and it does not know which types are `Send` or `Sync`.

mod description;

use std::collections::{BTreeMap, BTreeSet};

use description::{describe, described_impl, is_hidden, is_public, name_of};
use syn::{Item, ItemImpl, Type, UseTree, Visibility};

use crate::attributes::attributes;

/// The path of a module or an item in the crate, without the crate's name.
type Path = Vec<String>;

/// Describes the public items of the crate `name` with these sources, whose keys are paths relative to `src`.
///
/// Each line begins with the shortest public path of its item. Other public paths of an item are `use` lines.
///
/// # Errors
///
/// A source does not parse, or the file of a module is missing.
pub fn public_interface(
    name: &str,
    sources: &BTreeMap<String, String>,
) -> Result<Vec<String>, String> {
    let mut krate = Crate::default();
    let root = parse(sources, "lib.rs")?;
    krate.add_module(sources, Vec::new(), "", root.items)?;
    let mut exports = Exports {
        krate: &krate,
        by_item: BTreeMap::new(),
        foreign: BTreeSet::new(),
        open: BTreeSet::new(),
    };
    exports.visit(&Vec::new(), &Vec::new());
    Ok(exports.lines(name))
}

fn parse(sources: &BTreeMap<String, String>, file: &str) -> Result<syn::File, String> {
    let text = sources
        .get(file)
        .ok_or_else(|| format!("{file} is missing"))?;
    syn::parse_file(text).map_err(|error| format!("{file}: {error}"))
}

#[derive(Default)]
struct Module {
    items: Vec<Item>,
    /// Names that `use` brings in, with the path as it is written and whether others see it.
    uses: Vec<Use>,
}

struct Use {
    name: String,
    target: Path,
    is_glob: bool,
    is_public: bool,
}

#[derive(Default)]
struct Crate {
    modules: BTreeMap<Path, Module>,
    /// Impl blocks with the module that holds them.
    impls: Vec<(Path, ItemImpl)>,
}

impl Crate {
    fn add_module(
        &mut self,
        sources: &BTreeMap<String, String>,
        path: Path,
        folder: &str,
        items: Vec<Item>,
    ) -> Result<(), String> {
        let mut module = Module::default();
        for item in items {
            if is_hidden(attributes(&item)) {
                continue;
            }
            match item {
                Item::Use(item) => {
                    let is_public = matches!(item.vis, Visibility::Public(_));
                    flatten(&item.tree, &mut Vec::new(), is_public, &mut module.uses);
                }
                Item::Impl(item) => self.impls.push((path.clone(), item)),
                Item::Mod(mut item) => {
                    let mut inner = path.clone();
                    inner.push(item.ident.to_string());
                    let below = format!("{folder}{}/", item.ident);
                    let items = match item.content.take() {
                        Some((_, items)) => items,
                        None => {
                            let file = format!("{folder}{}.rs", item.ident);
                            let nested = format!("{below}mod.rs");
                            let file = if sources.contains_key(&file) {
                                file
                            } else {
                                nested
                            };
                            parse(sources, &file)?.items
                        }
                    };
                    self.add_module(sources, inner, &below, items)?;
                    module.items.push(Item::Mod(item));
                }
                item => module.items.push(item),
            }
        }
        self.modules.insert(path, module);
        Ok(())
    }

    /// The path of the item that `written` names in the module `from`; `None` if it is in another crate.
    fn resolve(&self, from: &[String], written: &[String], depth: usize) -> Option<Path> {
        let (first, rest) = written.split_first()?;
        if depth > 32 {
            return None;
        }
        let start = match first.as_str() {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => from.split_last()?.1.to_vec(),
            name => self.lookup(from, name, depth)?,
        };
        let Some((next, _)) = rest.split_first() else {
            return Some(start);
        };
        if next == "super" || !self.modules.contains_key(&start) {
            return self.resolve(&start, rest, depth + 1);
        }
        let mut relative = vec!["self".to_owned()];
        relative.extend_from_slice(rest);
        match rest.len() {
            1 => self.lookup(&start, next, depth),
            _ => self.lookup(&start, next, depth).and_then(|found| {
                let mut all = vec!["self".to_owned()];
                all.extend_from_slice(&rest[1..]);
                self.resolve(&found, &all, depth + 1)
            }),
        }
    }

    /// The path of the item with this name in the scope of a module.
    fn lookup(&self, module: &[String], name: &str, depth: usize) -> Option<Path> {
        let found = self.modules.get(module)?;
        if found
            .items
            .iter()
            .any(|item| name_of(item).as_deref() == Some(name))
        {
            let mut path = module.to_vec();
            path.push(name.to_owned());
            return Some(path);
        }
        if depth > 32 {
            return None;
        }
        let named = found
            .uses
            .iter()
            .filter(|one| !one.is_glob && one.name == name);
        let globs = found.uses.iter().filter(|one| one.is_glob);
        named
            .filter_map(|one| self.resolve(module, &one.target, depth + 1))
            .chain(globs.filter_map(|one| {
                let target = self.resolve(module, &one.target, depth + 1)?;
                if target == module {
                    return None;
                }
                self.lookup(&target, name, depth + 1)
            }))
            .next()
    }

    fn item(&self, path: &[String]) -> Option<&Item> {
        let (name, module) = path.split_last()?;
        let module = self.modules.get(module)?;
        let mut items = module.items.iter();
        items.find(|item| name_of(item).as_deref() == Some(name))
    }
}

/// The public paths of each item.
struct Exports<'a> {
    krate: &'a Crate,
    by_item: BTreeMap<Path, BTreeSet<Path>>,
    /// Re-exports of other crates' items: public path and target.
    foreign: BTreeSet<(Path, String)>,
    open: BTreeSet<(Path, Path)>,
}

impl Exports<'_> {
    /// Adds the public items of a module that is reachable by the path `public`.
    fn visit(&mut self, module: &Path, public: &Path) {
        let krate = self.krate;
        let Some(found) = krate.modules.get(module) else {
            return;
        };
        if !self.open.insert((module.clone(), public.clone())) {
            return;
        }
        for item in &found.items {
            let Some(name) = name_of(item).filter(|_| is_public(item)) else {
                continue;
            };
            let path = join(module, &name);
            self.add(path, join(public, &name));
        }
        for one in found.uses.iter().filter(|one| one.is_public) {
            let target = krate.resolve(module, &one.target, 0);
            match target {
                Some(target) if one.is_glob => self.visit(&target, public),
                Some(target) => self.add(target, join(public, &one.name)),
                None => {
                    let star = if one.is_glob { "::*" } else { "" };
                    let name = if one.is_glob { "*" } else { &one.name };
                    let text = format!("{}{star}", one.target.join("::"));
                    self.foreign.insert((join(public, name), text));
                }
            }
        }
    }

    fn add(&mut self, path: Path, public: Path) {
        if self.krate.modules.contains_key(&path) {
            self.visit(&path, &public);
        }
        self.by_item.entry(path).or_default().insert(public);
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let mut lines = BTreeSet::new();
        let shown = |path: &Path| [&[name.to_owned()][..], path].concat().join("::");
        for (public, target) in &self.foreign {
            lines.insert(format!("{} = use {target}", shown(public)));
        }
        for (path, publics) in &self.by_item {
            let prelude = |path: &Path| path.first().is_some_and(|first| first == "prelude");
            let shortest = publics
                .iter()
                .min_by_key(|path| (prelude(path), path.len()));
            let Some(shortest) = shortest else { continue };
            let main = shown(shortest);
            for other in publics.iter().filter(|other| *other != shortest) {
                lines.insert(format!("{} = use {main}", shown(other)));
            }
            let Some(item) = self.krate.item(path) else {
                continue;
            };
            for line in describe(item) {
                lines.insert(format!("{main}{line}"));
            }
            for (module, block) in &self.krate.impls {
                if self.self_type(module, block).as_ref() == Some(path) {
                    lines.extend(
                        described_impl(block)
                            .into_iter()
                            .map(|line| format!("{main}{line}")),
                    );
                }
            }
        }
        lines.into_iter().collect()
    }

    fn self_type(&self, module: &Path, block: &ItemImpl) -> Option<Path> {
        let Type::Path(ty) = &*block.self_ty else {
            return None;
        };
        let segments = ty.path.segments.iter().map(|one| one.ident.to_string());
        let written: Vec<String> = segments.collect();
        self.krate.resolve(module, &written, 0)
    }
}

fn join(path: &Path, name: &str) -> Path {
    let mut all = path.clone();
    all.push(name.to_owned());
    all
}

fn flatten(tree: &UseTree, before: &mut Path, is_public: bool, uses: &mut Vec<Use>) {
    let mut add = |name: String, target: Path, is_glob| {
        uses.push(Use {
            name,
            target,
            is_glob,
            is_public,
        });
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, is_public, uses);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            add(
                before.last().cloned().unwrap_or_default(),
                before.clone(),
                false,
            );
        }
        UseTree::Name(name) => add(
            name.ident.to_string(),
            join(before, &name.ident.to_string()),
            false,
        ),
        UseTree::Rename(rename) => {
            let target = match rename.ident == "self" {
                true => before.clone(),
                false => join(before, &rename.ident.to_string()),
            };
            add(rename.rename.to_string(), target, false);
        }
        UseTree::Glob(_) => add(String::new(), before.clone(), true),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, is_public, uses);
            }
        }
    }
}
