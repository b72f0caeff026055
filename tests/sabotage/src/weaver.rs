use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use quote::{ToTokens, quote};
use syn::{Block, File, ImplItem, Item, ReturnType, Signature, TraitItem, parse_quote};

use crate::patch::patched;

/// The variable that names the sabotage which is on.
const SWITCH: &str = "PILOTHOUSE_SABOTAGE";

/// Files in which functions have, beside their own body, those that sabotages give them.
pub(crate) struct Weaver {
    sources: PathBuf,
    files: BTreeMap<String, Woven>,
}

struct Woven {
    original: File,
    /// By the place of the function in the file: the name of the sabotage, and the body.
    bodies: BTreeMap<usize, Vec<(String, Block)>>,
}

/// A function with a body. Those within bodies are part of them.
struct Function<'a> {
    signature: &'a Signature,
    body: &'a mut Block,
}

impl<'a> Function<'a> {
    fn of(signature: &'a Signature, body: &'a mut Block) -> Self {
        Self { signature, body }
    }
}

impl Weaver {
    pub(crate) fn new(sources: &Path) -> Self {
        Self {
            sources: sources.to_owned(),
            files: BTreeMap::new(),
        }
    }

    /// Takes a patch up, and answers its name.
    ///
    /// # Errors
    /// It does not apply, or it changes more than what functions do.
    pub(crate) fn add(&mut self, patch: &Path) -> Result<String, String> {
        let name = patch.file_stem().unwrap_or_default().to_string_lossy();
        let mut changes = Vec::new();
        for (file, text) in patched(&self.sources, patch)? {
            for (place, body) in self.changed(&file, &text)? {
                changes.push((file.clone(), place, body));
            }
        }
        for (file, place, body) in changes {
            if let Some(woven) = self.files.get_mut(&file) {
                let bodies = woven.bodies.entry(place).or_default();
                bodies.push((name.to_string(), body));
            }
        }
        Ok(name.into_owned())
    }

    /// Writes the files that have changed.
    pub(crate) fn write(self) -> io::Result<()> {
        for (file, woven) in self.files {
            let Woven {
                mut original,
                mut bodies,
            } = woven;
            if bodies.is_empty() {
                continue;
            }
            let functions = functions(&mut original.items);
            for (place, function) in functions.into_iter().enumerate() {
                let own = function.body.clone();
                let others = bodies.remove(&place).unwrap_or_default();
                *function.body = others.into_iter().rfold(own, with);
            }
            let text = original.into_token_stream().to_string();
            fs::write(self.sources.join(file), text)?;
        }
        Ok(())
    }

    /// The bodies that another text gives the functions of a file.
    fn changed(&mut self, file: &str, text: &str) -> Result<Vec<(usize, Block)>, String> {
        // What a macro does is done when the switches are not read yet.
        if !file.ends_with(".rs") || file.starts_with("macros/") {
            return Err(format!("{file} has no functions that run with the tests"));
        }
        if !self.files.contains_key(file) {
            let original = fs::read_to_string(self.sources.join(file));
            let original = original.map_err(|error| error.to_string())?;
            let woven = Woven {
                original: parsed(file, &original)?,
                bodies: BTreeMap::new(),
            };
            self.files.insert(file.to_owned(), woven);
        }
        let mut before = self.files[file].original.clone();
        let mut after = parsed(file, text)?;
        let mut changed = Vec::new();
        let pairs = functions(&mut before.items)
            .into_iter()
            .zip(functions(&mut after.items));
        for (place, (before, after)) in pairs.enumerate() {
            let empty = || Block {
                brace_token: Default::default(),
                stmts: Vec::new(),
            };
            let was = std::mem::replace(before.body, empty());
            let is = std::mem::replace(after.body, empty());
            if was == is {
                continue;
            }
            if let Some(reason) = fixed(before.signature) {
                return Err(format!("`{}` of {file} {reason}", before.signature.ident));
            }
            changed.push((place, is));
        }
        // Without bodies they are the same, unless something else was changed.
        match before == after {
            true => Ok(changed),
            false => Err(format!("it changes {file} outside of functions")),
        }
    }
}

fn parsed(file: &str, text: &str) -> Result<File, String> {
    syn::parse_file(text).map_err(|error| format!("{file} cannot be parsed: {error}"))
}

/// Why a function cannot have two bodies, if it cannot.
fn fixed(signature: &Signature) -> Option<&'static str> {
    if signature.constness.is_some() {
        return Some("is `const`");
    }
    let ReturnType::Type(_, returned) = &signature.output else {
        return None;
    };
    let returned = returned.to_token_stream().to_string();
    let is_opaque = returned.split_whitespace().any(|word| word == "impl");
    is_opaque.then_some("returns a type that its body makes")
}

/// The body with another one before it that counts if its sabotage is on.
fn with(own: Block, (name, other): (String, Block)) -> Block {
    let is_on = quote! {
        static IS_ON: ::std::sync::LazyLock<bool> = ::std::sync::LazyLock::new(|| {
            ::std::env::var_os(#SWITCH).is_some_and(|name| name == #name)
        });
    };
    parse_quote!({ if { #is_on *IS_ON } #other else #own })
}

fn functions(items: &mut [Item]) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    collect(items, &mut found);
    found
}

fn collect<'a>(items: &'a mut [Item], found: &mut Vec<Function<'a>>) {
    for item in items {
        match item {
            Item::Fn(one) => found.push(Function::of(&one.sig, &mut one.block)),
            Item::Impl(block) => found.extend(block.items.iter_mut().filter_map(|one| match one {
                ImplItem::Fn(one) => Some(Function::of(&one.sig, &mut one.block)),
                _ => None,
            })),
            Item::Trait(block) => {
                found.extend(block.items.iter_mut().filter_map(|one| match one {
                    TraitItem::Fn(one) => Some(Function::of(&one.sig, one.default.as_mut()?)),
                    _ => None,
                }))
            }
            Item::Mod(module) => {
                if let Some((_, items)) = &mut module.content {
                    collect(items, found);
                }
            }
            _ => {}
        }
    }
}
