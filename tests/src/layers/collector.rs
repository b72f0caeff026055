use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Item, UseTree,
    parse::{Parse, Parser},
    visit::{self, Visit},
};

use crate::attributes::attributes;

use super::{
    CRATE, ModulePath,
    tree::{Tree, Used},
};

/// Collects the imports and the paths of one file.
pub(super) struct Collector<'a> {
    pub(super) file: &'a str,
    pub(super) module: ModulePath,
    /// An item with `#[cfg(test)]` is being read.
    pub(super) is_test: bool,
    pub(super) tree: &'a mut Tree,
    pub(super) paths: Vec<Used>,
}

impl Collector<'_> {
    fn used(&self, segments: Vec<String>, glob: bool) -> Used {
        Used {
            file: self.file.to_owned(),
            module: self.module.clone(),
            segments,
            glob,
            is_test: self.is_test,
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
        if is_test(&item.attrs) {
            self.tree.tests.insert(module);
        }
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let outside = self.is_test;
        self.is_test |= is_test(attributes(item));
        if let Item::Use(used) = item {
            self.import(&used.tree, &[]);
        }
        visit::visit_item(self, item);
        self.is_test = outside;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let outside = self.is_test;
        self.is_test |= is_test(&item.attrs);
        visit::visit_impl_item_fn(self, item);
        self.is_test = outside;
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

/// Whether the item is compiled for tests only: `cfg(test)`, or `cfg(all(test, …))`.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .filter_map(|attribute| attribute.meta.require_list().ok())
        .any(|cfg| requires_test(cfg.tokens.clone()))
}

fn requires_test(condition: TokenStream) -> bool {
    let trees: Vec<TokenTree> = condition.into_iter().collect();
    match &trees[..] {
        [TokenTree::Ident(name), TokenTree::Group(group)] if name == "all" => group
            .stream()
            .into_iter()
            .any(|tree| matches!(tree, TokenTree::Ident(name) if name == "test")),
        [TokenTree::Ident(name)] => name == "test",
        _ => false,
    }
}
