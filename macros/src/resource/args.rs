use darling::{
    Error, FromDeriveInput, Result,
    ast::{Data, Fields},
    util::{Flag, SpannedValue},
};
use syn::{Attribute, Generics, Ident, LitStr, Path, Type, ext::IdentExt, spanned::Spanned};

use super::{
    names,
    pair::Pair,
    served::{Conversion, Served},
};
use crate::{schema::KindAttributes, shape, strings::Strings};

/// The struct with its `#[resource(..)]`, not yet checked.
#[derive(Debug, FromDeriveInput)]
#[darling(attributes(resource), forward_attrs(doc, schema))]
pub(super) struct Args {
    pub(super) ident: Ident,
    pub(super) generics: Generics,
    pub(super) data: Data<darling::util::Ignored, syn::Field>,
    pub(super) attrs: Vec<Attribute>,
    pub(super) group: Option<LitStr>,
    pub(super) version: Option<LitStr>,
    pub(super) kind: Option<LitStr>,
    pub(super) plural: Option<LitStr>,
    pub(super) singular: Option<LitStr>,
    #[darling(default)]
    pub(super) short_names: Strings,
    #[darling(default)]
    pub(super) categories: Strings,
    pub(super) namespaced: Flag,
    pub(super) cluster: Flag,
    #[darling(multiple, rename = "label")]
    pub(super) labels: Vec<Pair>,
    #[darling(multiple, rename = "annotation")]
    pub(super) annotations: Vec<Pair>,
    pub(super) deprecated: Option<LitStr>,
    pub(super) foreign: Flag,
    pub(super) served: Option<Served>,
    pub(super) conversion: Option<Conversion>,
    pub(super) view_of: Option<Path>,
    pub(super) max_description: Option<SpannedValue<usize>>,
    #[darling(rename = "crate")]
    pub(super) krate: Option<Path>,
}

/// A kind whose attributes and fields have been checked.
pub(super) struct Kind {
    pub(super) ident: Ident,
    pub(super) krate: Path,
    pub(super) docs: Vec<Attribute>,
    pub(super) schema: KindAttributes,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) labels: Vec<Pair>,
    pub(super) annotations: Vec<Pair>,
    pub(super) deprecated: Option<LitStr>,
    /// The types of the other versions.
    pub(super) served: Vec<Path>,
    /// Whether the program converts between the versions.
    pub(super) is_converted: bool,
    /// Whether another program installs the definition.
    pub(super) is_foreign: bool,
    pub(super) namespaced: bool,
    pub(super) max_description: Option<usize>,
    pub(super) metadata: Type,
    pub(super) spec: Option<Spec>,
    pub(super) status: Option<Type>,
    /// The other fields, which only a foreign kind has.
    pub(super) others: Vec<Other>,
}

/// A field beside `metadata`, `spec` and `status`.
pub(super) struct Other {
    pub(super) ident: Ident,
    pub(super) ty: Type,
    /// Its name in JSON.
    pub(super) name: String,
}

/// The type of `spec`, without its `Option`.
pub(super) struct Spec {
    pub(super) ty: Type,
    pub(super) optional: bool,
}

impl Args {
    /// Checks everything, and reports all errors at once.
    pub(super) fn check(self) -> Result<Kind> {
        let mut errors = Error::accumulator();
        if !self.generics.params.is_empty() {
            errors.push(
                Error::custom("a kind must not be generic, because it has one schema: remove the parameters, and name concrete types in its fields")
                    .with_span(&self.generics),
            );
        }
        let group = errors.handle_in(|| {
            required(
                self.group.as_ref(),
                &self.ident,
                "group = \"demo.example.com\"",
                names::check_group,
            )
        });
        let version = errors.handle_in(|| {
            required(
                self.version.as_ref(),
                &self.ident,
                "version = \"v1\"",
                names::check_version,
            )
        });
        let kind = self
            .kind
            .as_ref()
            .map_or_else(|| self.ident.to_string(), LitStr::value);
        let kind_span = self.kind.as_ref().map_or(self.ident.span(), LitStr::span);
        errors.handle(spanned(names::check_kind(&kind), kind_span));
        let singular = self
            .singular
            .as_ref()
            .map_or_else(|| kind.to_lowercase(), LitStr::value);
        let plural = self
            .plural
            .as_ref()
            .map_or_else(|| names::plural(&singular), LitStr::value);
        for (what, name) in [("singular", &self.singular), ("plural", &self.plural)]
            .into_iter()
            .filter_map(|(what, name)| Some((what, name.as_ref()?)))
            .chain(self.short_names.0.iter().map(|name| ("short name", name)))
            .chain(self.categories.0.iter().map(|name| ("category", name)))
        {
            errors.handle(spanned(
                names::check_label(what, &name.value()),
                name.span(),
            ));
        }
        for label in &self.labels {
            errors.handle(label.check_label());
        }
        for annotation in &self.annotations {
            errors.handle(annotation.check_key());
        }
        if let Some(text) = &self.deprecated
            && (!matches!(text.value().len(), 1..=256)
                || text.value().chars().any(char::is_control))
        {
            errors.push(
                Error::custom(
                    "the API server sends this text to each client, in one line of at most 256 bytes: write what to use instead",
                )
                .with_span(text),
            );
        }
        errors.handle(self.check_foreign());
        if let (Some(conversion), None) = (&self.conversion, &self.served) {
            errors.push(
                Error::custom(
                    "a kind with one version has no conversion: name the types of the other versions in `served(..)`, or remove `conversion`",
                )
                .with_span(&conversion.span),
            );
        }
        if self.namespaced.is_present() == self.cluster.is_present() {
            let (text, span) = if self.cluster.is_present() {
                (
                    "a kind is either namespaced or cluster-scoped: remove one of the two",
                    self.cluster.span(),
                )
            } else {
                (
                    "the scope of the kind is missing: add one of\n    #[resource(namespaced)]  each object is in a namespace\n    #[resource(cluster)]     objects belong to the whole cluster",
                    self.ident.span(),
                )
            };
            errors.push(Error::custom(text).with_span(&span));
        }
        let schema = errors.handle_in(|| KindAttributes::read(&self.attrs));
        let is_foreign = self.foreign.is_present();
        let fields = errors.handle_in(|| fields(self.data, &self.ident, is_foreign));
        let errors = errors.finish();
        let (Some(group), Some(version), Some(schema), Some((metadata, spec, status, others))) =
            (group, version, schema, fields)
        else {
            errors?;
            return Err(Error::custom("the kind could not be read").with_span(&self.ident));
        };
        errors?;
        let values = |strings: Strings| strings.0.iter().map(LitStr::value).collect();
        Ok(Kind {
            krate: crate::crate_path::path(self.krate.as_ref()),
            docs: self.attrs,
            schema,
            group,
            version,
            kind,
            plural,
            singular,
            short_names: values(self.short_names),
            categories: values(self.categories),
            labels: self.labels,
            annotations: self.annotations,
            deprecated: self.deprecated,
            is_converted: self.conversion.is_none(),
            served: self.served.map(|served| served.0).unwrap_or_default(),
            is_foreign,
            namespaced: self.namespaced.is_present(),
            max_description: self.max_description.map(|max| *max),
            metadata,
            spec,
            status,
            others,
            ident: self.ident,
        })
    }
}

impl Args {
    /// Refuses what belongs into the definition of a foreign kind, which another program installs.
    fn check_foreign(&self) -> Result<()> {
        if !self.foreign.is_present() {
            return Ok(());
        }
        let mut errors = Error::accumulator();
        for (name, span) in self.of_definition() {
            errors.push(
                Error::custom(format!(
                    "the definition of a foreign kind belongs to another program, so `{name}` has no effect: remove it"
                ))
                .with_span(&span),
            );
        }
        errors.finish()
    }

    /// The attributes that only a definition shows, with their spans.
    pub(super) fn of_definition(&self) -> Vec<(&'static str, proc_macro2::Span)> {
        let lists = [
            ("short_names", self.short_names.0.first()),
            ("categories", self.categories.0.first()),
            ("label", self.labels.first().map(|pair| &pair.key)),
            ("annotation", self.annotations.first().map(|pair| &pair.key)),
            ("singular", self.singular.as_ref()),
            ("deprecated", self.deprecated.as_ref()),
        ];
        let served = self.served.as_ref().and_then(|served| served.0.first());
        let served = served.map(|version| ("served", version.span()));
        let conversion = self.conversion.as_ref();
        let conversion = conversion.map(|conversion| ("conversion", conversion.span));
        let lists = lists
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?.span())));
        let max = self.max_description.as_ref();
        let max = max.map(|max| ("max_description", max.span()));
        let schema = schema_attribute(&self.attrs).map(|attribute| ("schema", attribute.span()));
        let lists = lists.chain(max).chain(schema);
        lists.chain(served).chain(conversion).collect()
    }
}

type Parts = (Type, Option<Spec>, Option<Type>, Vec<Other>);

fn fields(
    data: Data<darling::util::Ignored, syn::Field>,
    ident: &Ident,
    is_foreign: bool,
) -> Result<Parts> {
    let Data::Struct(Fields { fields, style, .. }) = data else {
        return Err(Error::custom(
            "a kind must be a struct with the fields `metadata`, `spec` and `status`: use the enum as the type of a field in the spec",
        )
        .with_span(ident));
    };
    if !style.is_struct() {
        return Err(Error::custom(
            "a kind must be a struct with the named fields `metadata`, `spec` and `status`",
        )
        .with_span(ident));
    }
    let mut errors = Error::accumulator();
    let (mut metadata, mut spec, mut status) = (None, None, None);
    let mut others = Vec::new();
    for field in fields {
        let name = field
            .ident
            .as_ref()
            .map(Ident::to_string)
            .unwrap_or_default();
        if let Some(attribute) = schema_attribute(&field.attrs) {
            errors.push(
                Error::custom(format!(
                    "`#[schema]` has no meaning on `{name}`: set it on the type of `{name}` or on a field of it; what concerns the whole object stands on the kind"
                ))
                .with_span(attribute),
            );
        }
        match name.as_str() {
            "metadata" => {
                if shape::named(&field.ty).is_none_or(|(name, _)| name != "ObjectMeta") {
                    errors.push(Error::custom("`metadata` must be an `ObjectMeta`: write `pub metadata: ObjectMeta`").with_span(&field.ty));
                }
                metadata = Some(field.ty);
            }
            "spec" => {
                let inner = shape::optional(&field.ty);
                spec = Some(Spec { optional: inner.is_some(), ty: inner.unwrap_or(&field.ty).clone() });
            }
            "status" => match shape::optional(&field.ty) {
                Some(inner) => status = Some(inner.clone()),
                None => {
                    let ty = &field.ty;
                    let ty = quote::quote!(#ty).to_string();
                    errors.push(
                        Error::custom(format!("a new object has no status: write `pub status: Option<{ty}>`"))
                            .with_span(&field.ty),
                    );
                }
            },
            "api_version" | "kind" | "types" | "type_meta" => errors.push(
                Error::custom(format!("the derive writes `{name}` from the attribute: remove the field"))
                    .with_span(&field.span()),
            ),
            _ if is_foreign => others.extend(field.ident.map(|ident| Other {
                name: camel_case(&ident),
                ty: field.ty,
                ident,
            })),
            _ => errors.push(
                Error::custom(format!("a kind has only the fields `metadata`, `spec` and `status`: move `{name}` into the type of `spec`"))
                    .with_span(&field.ident.as_ref().map_or_else(|| field.ty.span(), Ident::span)),
            ),
        }
    }
    if metadata.is_none() {
        errors.push(
            Error::custom("the field `metadata` is missing: add `pub metadata: ObjectMeta`")
                .with_span(ident),
        );
    }
    errors.finish()?;
    metadata
        .map(|metadata| (metadata, spec, status, others))
        .ok_or_else(|| Error::custom("the metadata is missing"))
}

/// The name of a field in JSON: `data_source` is `dataSource`, and `r#type` and `type_` are `type`.
fn camel_case(ident: &Ident) -> String {
    let text = ident.unraw().to_string();
    let mut words = text.split('_').filter(|word| !word.is_empty());
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

/// The first `#[schema(..)]`.
pub(super) fn schema_attribute(attributes: &[Attribute]) -> Option<&Attribute> {
    attributes
        .iter()
        .find(|attribute| attribute.path().is_ident("schema"))
}

fn required(
    value: Option<&LitStr>,
    ident: &Ident,
    example: &str,
    check: fn(&str) -> std::result::Result<(), String>,
) -> Result<String> {
    let Some(value) = value else {
        let name = example.split(' ').next().unwrap_or_default();
        return Err(Error::custom(format!(
            "the {name} is missing: add `#[resource({example})]`"
        ))
        .with_span(ident));
    };
    spanned(check(&value.value()), value.span())?;
    Ok(value.value())
}

fn spanned(result: std::result::Result<(), String>, span: proc_macro2::Span) -> Result<()> {
    result.map_err(|text| Error::custom(text).with_span(&span))
}
