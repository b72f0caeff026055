use std::collections::BTreeMap;

use darling::{Error, Result};
use proc_macro2::Span;
use quote::ToTokens;
use syn::{DataEnum, Fields, Ident, Variant, ext::IdentExt, spanned::Spanned};

use super::{attributes::error, check::two_names, serde::Serde};
use crate::shape::Shape;

/// Checks that a Kubernetes schema can describe the enum in the form that serde writes. The error says what to change.
pub(crate) fn check(data: &DataEnum, serde: &Serde, ident: &Ident) -> Result<()> {
    let variants: Vec<&Variant> = data
        .variants
        .iter()
        .filter(|variant| !Serde::of(&variant.attrs).is_skipped())
        .collect();
    let Some(first) = variants.first() else {
        return Err(error(
            "an enum without variants has no value: add a variant",
            ident.span(),
        ));
    };
    let mut errors = Error::accumulator();
    for variant in &variants {
        let of_variant = Serde::of(&variant.attrs);
        if let Some(meta) = of_variant.two_names() {
            errors.push(two_names(meta));
        }
        let is_name = is_unit(variant) && !serde.has("tag") && !serde.has("untagged");
        if let Some(alias) = of_variant.meta("alias")
            && !is_name
        {
            errors.push(error(
                "an alias of a variant with fields, or with a tag, would need the fields twice in the schema: write a variant of its own for the older name",
                alias.span(),
            ));
        }
        if of_variant.has("untagged") {
            errors.push(error("Kubernetes has no schema for a mixture of tagged and untagged variants: tag all of them or none", variant.span()));
        }
        if let Fields::Unnamed(fields) = &variant.fields
            && fields.unnamed.len() != 1
        {
            errors.push(error(
                "a variant with several unnamed fields is a list of mixed types, which a Kubernetes schema cannot describe: name the fields",
                fields.span(),
            ));
        }
    }
    if serde.has("untagged") {
        errors.handle(untagged(&variants));
    } else if serde.has("tag") {
        errors.handle(tagged(&variants, serde));
    } else if let Some(unit) = variants.iter().find(|variant| is_unit(variant))
        && variants.iter().any(|variant| !is_unit(variant))
    {
        errors.push(error(
            format!(
                "serde writes `{0}` as a string and the other variants as objects, and Kubernetes allows one type for a field. Write `{0} {{}}`, or use `#[serde(tag = \"type\")]` on the enum",
                unit.ident
            ),
            unit.span(),
        ));
    }
    if serde.has("content") && !serde.has("tag") {
        errors.push(error(
            "`content` needs `tag`: add `tag = \"type\"`",
            first.span(),
        ));
    }
    errors.finish()
}

fn is_unit(variant: &Variant) -> bool {
    matches!(variant.fields, Fields::Unit)
}

/// The JSON type of a variant's content; `None` if its name does not show it.
fn payload(variant: &Variant) -> Option<&'static str> {
    match &variant.fields {
        Fields::Named(_) => Some("object"),
        Fields::Unit => None,
        Fields::Unnamed(fields) => fields
            .unnamed
            .first()
            .and_then(|field| Shape::of(&field.ty).json_type()),
    }
}

fn tagged(variants: &[&Variant], serde: &Serde) -> Result<()> {
    let mut errors = Error::accumulator();
    if serde.has("content") {
        errors.handle(one_payload(variants));
    } else {
        for variant in variants {
            if let (Fields::Unnamed(fields), Some(payload)) = (&variant.fields, payload(variant))
                && payload != "object"
            {
                errors.push(error(
                    "serde writes the tag into the variant's object, and this variant is not an object: name the field",
                    fields.span(),
                ));
            }
        }
    }
    errors.handle(same_fields(variants));
    errors.finish()
}

fn untagged(variants: &[&Variant]) -> Result<()> {
    let mut errors = Error::accumulator();
    for variant in variants.iter().filter(|variant| is_unit(variant)) {
        errors.push(error("serde writes an untagged unit variant as null, which Kubernetes removes: remove the variant and use `Option`", variant.span()));
    }
    let mut types: Vec<&str> = variants
        .iter()
        .filter_map(|variant| payload(variant))
        .collect();
    types.sort_unstable();
    types.dedup();
    if types != ["integer", "string"] {
        errors.handle(one_payload(variants));
    }
    errors.handle(same_fields(variants));
    errors.finish()
}

/// Checks that the contents of all variants have one JSON type.
fn one_payload(variants: &[&Variant]) -> Result<()> {
    let mut first: Option<(&Variant, &str)> = None;
    for variant in variants {
        let Some(payload) = payload(variant) else {
            continue;
        };
        match first {
            None => first = Some((variant, payload)),
            Some((other, expected)) if expected != payload => {
                return Err(error(
                    format!(
                        "`{}` holds {} {expected} and `{}` {} {payload}: Kubernetes allows one type for a field (or an integer and a string)",
                        other.ident,
                        article(expected),
                        variant.ident,
                        article(payload)
                    ),
                    variant.span(),
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

/// Checks that fields with the same name in several variants have the same type, because they are one property.
fn same_fields(variants: &[&Variant]) -> Result<()> {
    let mut seen: BTreeMap<String, (String, &Ident)> = BTreeMap::new();
    let mut errors = Error::accumulator();
    for variant in variants {
        for field in &variant.fields {
            let Some(ident) = &field.ident else { continue };
            let name = Serde::of(&field.attrs)
                .string("rename")
                .unwrap_or_else(|| ident.unraw().to_string());
            let ty = field.ty.to_token_stream().to_string();
            let span: Span = field.ty.span();
            match seen.get(&name) {
                Some((other, of)) if *other != ty => errors.push(error(
                    format!("`{name}` has another type in `{of}`, and both are one property in the schema: give both the same type, or rename one"),
                    span,
                )),
                Some(_) => {}
                None => {
                    seen.insert(name, (ty, &variant.ident));
                }
            }
        }
    }
    errors.finish()
}
