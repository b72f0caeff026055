use std::{mem, ops::Range};

use quote::{ToTokens, quote};
use syn::{
    Block, File, ImplItem, Item, ReturnType, Signature, TraitBound, TraitItem, Type, TypeParamBound,
};

/// A parsed file, and the functions that were taken out of it.
pub(crate) struct Functions {
    /// The file with empty bodies.
    pub(crate) rest: File,
    /// In the order of the file. Functions within bodies are part of those.
    pub(crate) all: Vec<Function>,
}

/// A function with a body.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) body: Block,
    /// Where the body is in the text, with its braces.
    pub(crate) place: Range<usize>,
    pub(crate) bodies: Bodies,
}

/// Whether a function can have several bodies.
pub(crate) enum Bodies {
    Plain,
    /// Each body makes a type of its own. Boxed by the second, they are of the first.
    Boxed(String, &'static str),
    /// The reason why not.
    One(&'static str),
}

impl Functions {
    /// # Errors
    /// The text is no Rust.
    pub(crate) fn of(text: &str) -> syn::Result<Self> {
        let mut rest = syn::parse_file(text)?;
        let mut all = Vec::new();
        collect(&mut rest.items, &mut all);
        Ok(Self { rest, all })
    }
}

fn collect(items: &mut [Item], found: &mut Vec<Function>) {
    for item in items {
        match item {
            Item::Fn(one) => found.push(taken(&one.sig, &mut one.block)),
            Item::Impl(block) => found.extend(block.items.iter_mut().filter_map(|one| match one {
                ImplItem::Fn(one) => Some(taken(&one.sig, &mut one.block)),
                _ => None,
            })),
            Item::Trait(block) => {
                found.extend(block.items.iter_mut().filter_map(|one| match one {
                    TraitItem::Fn(one) => Some(taken(&one.sig, one.default.as_mut()?)),
                    _ => None,
                }));
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

fn taken(signature: &Signature, body: &mut Block) -> Function {
    let empty = Block {
        brace_token: syn::token::Brace::default(),
        stmts: Vec::new(),
    };
    let body = mem::replace(body, empty);
    let braces = body.brace_token.span;
    let place = braces.open().byte_range().start..braces.close().byte_range().end;
    Function {
        name: signature.ident.to_string(),
        body,
        place,
        bodies: bodies(signature),
    }
}

fn bodies(signature: &Signature) -> Bodies {
    if signature.constness.is_some() {
        return Bodies::One("is `const`");
    }
    let ReturnType::Type(_, returned) = &signature.output else {
        return Bodies::Plain;
    };
    if let Type::ImplTrait(made) = &**returned
        && let Some((boxed, new)) = boxed(made.bounds.iter())
    {
        return Bodies::Boxed(boxed, new);
    }
    let returned = returned.to_token_stream().to_string();
    match returned.split_whitespace().any(|word| word == "impl") {
        true => Bodies::One("returns a type that its body makes"),
        false => Bodies::Plain,
    }
}

/// A box of an iterator or a future, and the function that makes it.
///
/// A caller may need the returned value to be `Send`, although the signature does not say so.
fn boxed<'a>(bounds: impl Iterator<Item = &'a TypeParamBound>) -> Option<(String, &'static str)> {
    let traits = bounds.filter_map(|bound| match bound {
        TypeParamBound::Trait(bound) => Some(bound),
        _ => None,
    });
    let name = |bound: &TraitBound| Some(bound.path.segments.last()?.ident.to_string());
    let is_send = |bound: &&TraitBound| name(bound).as_deref() == Some("Send");
    let others: Vec<_> = traits.filter(|bound| !is_send(bound)).collect();
    let [made] = others[..] else {
        return None;
    };
    let object = quote!(::std::boxed::Box<dyn #made + Send>);
    match name(made)?.as_str() {
        "Iterator" => Some((object.to_string(), "Box::new")),
        "Future" => Some((format!("::std::pin::Pin<{object}>"), "Box::pin")),
        _ => None,
    }
}
