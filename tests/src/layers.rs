//! Checks that the framework's modules use only modules of earlier layers.
//!
//! [`violations`] parses sources, resolves every path that leads into the crate (`crate`, `super`, `self`,
//! the crate's own name, names imported, renamed or re-exported anywhere on the way, globs, groups, paths in
//! attributes and in macros' tokens) and reports each that touches a later layer.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::Path,
};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Item, UseTree,
    parse::{Parse, Parser},
    visit::{self, Visit},
};

/// The framework's layers, lowest first.
pub const LAYERS: &[&str] = &[
    "metrics",
    "health",
    "resource",
    "client",
    "events",
    "crd",
    "cache",
    "queue",
    "election",
    "controller",
    "server",
    "webhook",
    "operator",
    "testing",
];

/// Modules beside the layers which only re-export: a name reached through them counts as what it is.
const FACADES: &[&str] = &["prelude", "__private"];

/// Name by which the crate may call itself.
const CRATE: &str = "pilothouse";

/// Something in a layer that the order forbids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file, relative to the source folder.
    pub file: String,
    /// The path as it is written there, or what else is wrong.
    pub what: String,
    /// The later layer it leads to.
    pub layer: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} leads to {}", self.file, self.what, self.layer)
    }
}

/// Reads all `.rs` files below `folder`, by their path relative to it.
///
/// # Errors
/// A file or folder cannot be read.
pub fn read_sources(folder: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut sources = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(current) = open.pop() {
        for entry in fs::read_dir(&current)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).unwrap_or(&path);
                sources.insert(name.display().to_string(), fs::read_to_string(&path)?);
            }
        }
    }
    Ok(sources)
}

/// Every use of a later layer in `sources`, which map a path below `src/` to its text.
///
/// # Errors
/// A source does not parse.
pub fn violations(sources: &BTreeMap<String, String>) -> syn::Result<BTreeSet<Violation>> {
    let mut tree = Tree::default();
    let mut found = Vec::new();
    for (file, text) in sources {
        let module = module_of(file);
        let mut collector = Collector {
            file,
            module: module.clone(),
            tree: &mut tree,
            paths: Vec::new(),
        };
        collector.tree.declare(&module);
        collector.visit_file(&syn::parse_file(text)?);
        found.append(&mut collector.paths);
    }
    let mut violations = BTreeSet::new();
    for used in &found {
        let Some(row) = row(&used.module) else {
            continue;
        };
        for layer in tree.layers_of(used) {
            if LAYERS.iter().position(|known| *known == layer) > Some(row) {
                violations.insert(Violation {
                    file: used.file.clone(),
                    what: used.text(),
                    layer,
                });
            }
        }
    }
    for (path, _) in tree.modules.iter().filter(|(path, _)| path.len() == 1) {
        if !LAYERS.contains(&path[0].as_str()) && !FACADES.contains(&path[0].as_str()) {
            violations.insert(Violation {
                file: path[0].clone(),
                what: "a module without a place in the order".into(),
                layer: path[0].clone(),
            });
        }
    }
    Ok(violations)
}

type ModulePath = Vec<String>;

fn module_of(file: &str) -> ModulePath {
    let mut path: ModulePath = file
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    if path
        .last()
        .is_some_and(|last| last == "mod" || last == "lib")
    {
        path.pop();
    }
    path
}

fn row(module: &[String]) -> Option<usize> {
    let first = module.first()?;
    LAYERS.iter().position(|layer| layer == first)
}

/// A path somewhere in the sources, as it is written.
#[derive(Clone)]
struct Used {
    file: String,
    module: ModulePath,
    segments: Vec<String>,
    glob: bool,
}

impl Used {
    fn text(&self) -> String {
        let glob = if self.glob { "::*" } else { "" };
        format!("{}{glob}", self.segments.join("::"))
    }
}

/// The crate's modules with the names that `use` brings into each.
#[derive(Default)]
struct Tree {
    modules: BTreeMap<ModulePath, Scope>,
}

#[derive(Default)]
struct Scope {
    /// Imported name → what was imported under it; private imports count, a child sees them.
    names: BTreeMap<String, Vec<Used>>,
    globs: Vec<Used>,
}

impl Tree {
    fn declare(&mut self, module: &[String]) -> &mut Scope {
        self.modules.entry(module.to_vec()).or_default()
    }

    /// All layers that are touched on the way to what the path means.
    fn layers_of(&self, used: &Used) -> BTreeSet<String> {
        let mut layers = BTreeSet::new();
        let ends = self.walk(&used.module, &used.segments, &mut layers, &mut Vec::new());
        if used.glob {
            for end in ends {
                self.layers_below(&end, &mut layers, &mut BTreeSet::new());
            }
        }
        layers
    }

    /// What a glob of `module` may bring: of a layer itself, of a facade or the root all it re-exports.
    fn layers_below(
        &self,
        module: &ModulePath,
        layers: &mut BTreeSet<String>,
        seen: &mut BTreeSet<ModulePath>,
    ) {
        if row(module).is_some() || !seen.insert(module.clone()) {
            return;
        }
        if module.is_empty() {
            layers.extend(
                self.modules
                    .keys()
                    .filter(|path| row(path).is_some())
                    .map(|path| path[0].clone()),
            );
        }
        let Some(scope) = self.modules.get(module) else {
            return;
        };
        for used in scope.names.values().flatten().chain(&scope.globs) {
            for end in self.walk(&used.module, &used.segments, layers, &mut Vec::new()) {
                self.layers_below(&end, layers, seen);
            }
        }
    }

    /// Follows `segments` from `module`; collects the layers entered, answers the modules reached.
    fn walk(
        &self,
        module: &ModulePath,
        segments: &[String],
        layers: &mut BTreeSet<String>,
        trail: &mut Vec<(ModulePath, Vec<String>)>,
    ) -> Vec<ModulePath> {
        let step = (module.clone(), segments.to_vec());
        if trail.contains(&step) {
            return Vec::new();
        }
        trail.push(step);
        let ends = self.step(module, segments, layers, trail);
        trail.pop();
        ends
    }

    fn step(
        &self,
        module: &ModulePath,
        segments: &[String],
        layers: &mut BTreeSet<String>,
        trail: &mut Vec<(ModulePath, Vec<String>)>,
    ) -> Vec<ModulePath> {
        let Some((first, rest)) = segments.split_first() else {
            if row(module).is_some() {
                layers.insert(module[0].clone());
            }
            return vec![module.clone()];
        };
        let next = match first.as_str() {
            "crate" | CRATE | "$crate" => Some(Vec::new()),
            "self" => Some(module.clone()),
            "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
            name => {
                let child: ModulePath = module.iter().cloned().chain([name.to_owned()]).collect();
                self.modules.contains_key(&child).then_some(child)
            }
        };
        if let Some(next) = next {
            return self.walk(&next, rest, layers, trail);
        }
        let Some(scope) = self.modules.get(module) else {
            return Vec::new();
        };
        // An item of this module ends the way; an import leads on. Both count where they stand.
        if row(module).is_some() {
            layers.insert(module[0].clone());
        }
        let mut ends = Vec::new();
        for target in scope.names.get(first).into_iter().flatten() {
            let onward: Vec<String> = target.segments.iter().chain(rest).cloned().collect();
            ends.extend(self.walk(&target.module, &onward, layers, trail));
        }
        for glob in &scope.globs {
            // A glob of something outside the crate reaches no module of ours.
            let mut ignored = BTreeSet::new();
            for end in self.walk(&glob.module, &glob.segments, &mut ignored, trail) {
                if self.knows(&end, first) {
                    ends.extend(self.walk(&end, segments, layers, trail));
                }
            }
        }
        ends
    }

    /// Whether `name` may come out of `module`: a child, an import, or from a glob there.
    fn knows(&self, module: &ModulePath, name: &str) -> bool {
        let child: ModulePath = module.iter().cloned().chain([name.to_owned()]).collect();
        self.modules.contains_key(&child)
            || self
                .modules
                .get(module)
                .is_some_and(|scope| scope.names.contains_key(name) || !scope.globs.is_empty())
    }
}

/// Collects the imports and the paths of one file.
struct Collector<'a> {
    file: &'a str,
    module: ModulePath,
    tree: &'a mut Tree,
    paths: Vec<Used>,
}

impl Collector<'_> {
    fn used(&self, segments: Vec<String>, glob: bool) -> Used {
        Used {
            file: self.file.to_owned(),
            module: self.module.clone(),
            segments,
            glob,
        }
    }

    fn import(&mut self, tree: &UseTree, prefix: &[String]) {
        let with = |name: &syn::Ident| -> Vec<String> {
            let mut path = prefix.to_vec();
            if name != "self" || path.is_empty() {
                path.push(name.to_string());
            }
            path
        };
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            UseTree::Name(name) => {
                let path = with(&name.ident);
                let own_name = path.last().cloned().unwrap_or_default();
                self.name(own_name, path);
            }
            UseTree::Rename(rename) => self.name(rename.rename.to_string(), with(&rename.ident)),
            UseTree::Glob(_) => {
                let used = self.used(prefix.to_vec(), true);
                self.tree.declare(&self.module).globs.push(used.clone());
                self.paths.push(used);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, prefix);
                }
            }
        }
    }

    fn name(&mut self, name: String, path: Vec<String>) {
        let used = self.used(path, false);
        self.paths.push(used.clone());
        let scope = self.tree.declare(&self.module);
        scope.names.entry(name).or_default().push(used);
    }

    /// Paths in tokens that no parser of ours understands: a macro's input or body.
    fn tokens(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, tree) in trees.iter().enumerate() {
            match tree {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident)
                    if ["crate", "super", "self", CRATE].contains(&ident.to_string().as_str())
                        && !follows_path(&trees[..at]) =>
                {
                    let rest: TokenStream = trees[at..].iter().cloned().collect();
                    let import = |input: syn::parse::ParseStream<'_>| {
                        let tree = UseTree::parse(input);
                        input.parse::<TokenStream>()?;
                        tree
                    };
                    if let Ok(tree) = import.parse2(rest) {
                        self.import(&tree, &[]);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether what comes next is the middle of a path.
fn follows_path(before: &[TokenTree]) -> bool {
    matches!(before, [.., TokenTree::Ident(_), TokenTree::Punct(a), TokenTree::Punct(b)]
        if a.as_char() == ':' && b.as_char() == ':')
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        let module = self.module.clone();
        self.tree.declare(&module);
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item(&mut self, item: &'ast Item) {
        if let Item::Use(used) = item {
            self.import(&used.tree, &[]);
        }
        visit::visit_item(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        let used = self.used(segments, false);
        self.paths.push(used);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        // Prose may name what it likes.
        if attribute.path().is_ident("doc") {
            return;
        }
        let mut open = match &attribute.meta {
            syn::Meta::Path(_) => return,
            syn::Meta::List(list) => vec![list.tokens.clone()],
            syn::Meta::NameValue(pair) => vec![quoted(&pair.value)],
        };
        while let Some(tokens) = open.pop() {
            self.tokens(tokens.clone());
            for tree in tokens {
                match tree {
                    TokenTree::Group(group) => open.push(group.stream()),
                    // serde and its like take paths as strings.
                    TokenTree::Literal(literal) => {
                        if let syn::Lit::Str(text) = syn::Lit::new(literal)
                            && let Ok(path) = text.parse::<syn::Path>()
                        {
                            self.visit_path(&path);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

fn quoted(value: &syn::Expr) -> TokenStream {
    match value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) => TokenTree::Literal(text.token()).into(),
        _ => TokenStream::new(),
    }
}
