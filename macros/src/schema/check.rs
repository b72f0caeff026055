use darling::{Error, Result};
use proc_macro2::Span;
use syn::{Type, spanned::Spanned};

use super::{
    attributes::{Field, ListType, Scale, error},
    number::{Number, Value},
    serde::{Conversion, Serde},
};
use crate::shape::{self, Shape};

/// The formats of strings and numbers that the API server knows.
const FORMATS: [&str; 28] = [
    "int32",
    "int64",
    "float",
    "double",
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "date-time",
    "duration",
];

/// Checks that the attributes of a field fit its Rust type, and reports all errors at once.
pub(crate) fn field(field: &Field, ty: &Type, serde: &Serde) -> Result<()> {
    let mut errors = Error::accumulator();
    if field.with.is_none() && !serde.is_skipped() {
        errors.handle(shape::refuse(ty));
    }
    let ty_of_form = match &field.with {
        Some(with) => Some(with),
        None if field.int_or_string.is_present() => None,
        None => Some(ty),
    };
    errors.handle(bounds(field, ty_of_form, "this field"));
    if (serde.has("flatten") || serde.is_skipped()) && !field.is_plain() {
        let text = if serde.has("flatten") {
            "a flattened field is not in the object itself: set the attribute on the fields of its type"
        } else {
            "serde skips this field, so the attribute has no effect: remove it"
        };
        errors.push(error(text, ty.span()));
    }
    errors.handle(scalar(field, &shape_of(ty_of_form)));
    errors.handle(both_ways(serde));
    if field.immutable.is_present() && !serde.aliases().is_empty() {
        errors.push(error(
            "the API server compares each name with its own old value only, so the value could change together with its name: remove `immutable` or the alias",
            field.immutable.span(),
        ));
    }
    errors.finish()
}

fn shape_of(ty: Option<&Type>) -> Shape {
    ty.map_or(Shape::Unknown, Shape::of)
}

/// Checks what holds for a value of this type, and for the values in it. `ty` is `None` if the type does not show the form, and `value` names the
/// value in errors.
fn bounds(field: &Field, ty: Option<&Type>, value: &str) -> Result<()> {
    let mut errors = Error::accumulator();
    let shape = shape_of(ty);
    for (name, span, applies_to) in uses(field) {
        if !applies_to.allows(&shape) {
            errors.push(error(
                format!(
                    "`{name}` applies to {}, and {value} is {}",
                    applies_to.describe(),
                    shape.describe()
                ),
                span,
            ));
        }
    }
    errors.handle(numbers(field, &shape));
    for (min, max, what) in [
        (&field.min_length, &field.max_length, "length"),
        (&field.min_items, &field.max_items, "items"),
        (&field.min_properties, &field.max_properties, "properties"),
    ] {
        if let (Some(min), Some(max)) = (min, max)
            && min.value > max.value
        {
            errors.push(error(
                format!("`min_{what}` is greater than `max_{what}`, so no value would be valid"),
                min.span,
            ));
        }
    }
    errors.handle(list(field, &shape));
    if let Some(format) = &field.format
        && !FORMATS.contains(&format.value().as_str())
    {
        let text = format!(
            "Kubernetes does not know this format: use one of {}",
            FORMATS.join(", ")
        );
        errors.push(error(text, format.span()));
    }
    for (values, value) in [
        (&field.items, "each item"),
        (&field.additional_properties, "each value"),
    ] {
        let Some(values) = values else { continue };
        errors.handle(values.check());
        let inner = ty.and_then(shape::values_of);
        let inner = inner.filter(|_| !values.0.int_or_string.is_present());
        errors.handle(bounds(&values.0, inner, value));
    }
    errors.finish()
}

/// Checks that serde reads what it writes: the server drops fields that the schema does not have.
fn both_ways(serde: &Serde) -> Result<()> {
    if let Some(meta) = serde.two_names() {
        return Err(two_names(meta));
    }
    match serde.meta("skip_deserializing") {
        Some(meta) if !serde.is_skipped() => Err(error(
            "the schema has the fields that serde reads, so the API server would drop what serde writes here: write `skip`, or let serde read the field, too",
            meta.span(),
        )),
        _ => Ok(()),
    }
}

/// The error for a type, variant or field that serde reads and writes under two names.
pub(crate) fn two_names(meta: &syn::Meta) -> Error {
    error(
        "a field has one name in a schema: let serde read and write it under the same name, as `rename = \"name\"`; older names are `alias = \"name\"`",
        meta.span(),
    )
}

/// Checks that the form in which serde writes the field is known, and that serde reads a missing field as the schema says.
pub(crate) fn conversion(
    conversion: Option<&Conversion>,
    read: &Field,
    field: &syn::Field,
    has_default: bool,
) -> Result<()> {
    let Some(conversion) = conversion else {
        return Ok(());
    };
    let Conversion {
        attribute, path, ..
    } = conversion;
    let mut errors = Error::accumulator();
    if conversion.writes && !conversion.is_duration && read.with.is_none() {
        errors.push(error(
            format!("serde writes this field with `{path}`, in a form that its type does not show: add `#[schema(with = \"String\")]`, with a type that has this form"),
            conversion.span,
        ));
    }
    if conversion.reads
        && field.ident.is_some()
        && !has_default
        && shape::optional(&field.ty).is_some()
    {
        errors.push(error(
            format!("serde demands a field that it reads with a function, even if it is an `Option`: write `#[serde(default, {attribute} = \"{path}\")]`"),
            conversion.span,
        ));
    }
    errors.finish()
}

/// Checks that serde reads an object without a field that it leaves out when it writes.
pub(crate) fn left_out(serde: &Serde, field: &syn::Field, has_default: bool) -> Result<()> {
    let Some(meta) = serde.meta("skip_serializing_if") else {
        return Ok(());
    };
    let condition = serde.string("skip_serializing_if").unwrap_or_default();
    // An alias of `Option` shows in the function only.
    let is_optional = shape::optional(&field.ty).is_some()
        || condition
            .split("::")
            .any(|part| part.trim_start().starts_with("Option"));
    if has_default || is_optional || field.ident.is_none() || serde.has("flatten") {
        return Ok(());
    }
    Err(error(
        format!(
            "serde leaves this field out if `{condition}` holds, and does not read an object without it, so an API server would demand it: write `#[serde(default, skip_serializing_if = \"{condition}\")]`"
        ),
        meta.span(),
    ))
}

/// The types that an attribute applies to. It allows types whose name does not show their form: `crd()` checks these.
#[derive(Clone, Copy)]
enum AppliesTo {
    Number,
    Text,
    List,
    Map,
}

impl AppliesTo {
    fn allows(self, shape: &Shape) -> bool {
        matches!(
            (self, shape),
            (_, Shape::Unknown)
                | (Self::Number, Shape::Integer { .. } | Shape::Number)
                | (Self::Text, Shape::Text)
                | (Self::List, Shape::List(_) | Shape::Set(_))
                | (Self::Map, Shape::Map)
        )
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Number => "numbers",
            Self::Text => "strings",
            Self::List => "lists",
            Self::Map => "maps",
        }
    }
}

fn uses(field: &Field) -> Vec<(&'static str, Span, AppliesTo)> {
    let mut uses = Vec::new();
    let mut add = |name, span: Option<Span>, applies_to| {
        uses.extend(span.map(|span| (name, span, applies_to)));
    };
    for (name, number) in [
        ("minimum", &field.minimum),
        ("maximum", &field.maximum),
        ("exclusive_minimum", &field.exclusive_minimum),
        ("exclusive_maximum", &field.exclusive_maximum),
        ("multiple_of", &field.multiple_of),
    ] {
        add(name, number.as_ref().map(Number::span), AppliesTo::Number);
    }
    for (name, count, applies_to) in [
        ("min_length", &field.min_length, AppliesTo::Text),
        ("max_length", &field.max_length, AppliesTo::Text),
        ("min_items", &field.min_items, AppliesTo::List),
        ("max_items", &field.max_items, AppliesTo::List),
        ("min_properties", &field.min_properties, AppliesTo::Map),
        ("max_properties", &field.max_properties, AppliesTo::Map),
    ] {
        add(name, count.map(|count| count.span), applies_to);
    }
    add(
        "pattern",
        field.pattern.as_ref().map(|text| text.span()),
        AppliesTo::Text,
    );
    add(
        "values",
        field.values.as_ref().map(|values| values.span()),
        AppliesTo::Text,
    );
    add(
        "list_type",
        field.list_type.as_ref().map(|value| value.span()),
        AppliesTo::List,
    );
    add(
        "list_map_keys",
        field.list_map_keys.as_ref().map(|value| value.span()),
        AppliesTo::List,
    );
    add(
        "items",
        field.items.as_ref().map(|values| values.span()),
        AppliesTo::List,
    );
    add(
        "additional_properties",
        field
            .additional_properties
            .as_ref()
            .map(|values| values.span()),
        AppliesTo::Map,
    );
    add(
        "map_type",
        field.map_type.as_ref().map(|value| value.span()),
        AppliesTo::Map,
    );
    if field.unique_items.is_present() {
        add(
            "unique_items",
            Some(field.unique_items.span()),
            AppliesTo::List,
        );
    }
    uses
}

fn numbers(field: &Field, shape: &Shape) -> Result<()> {
    let mut errors = Error::accumulator();
    let bounds = [
        &field.minimum,
        &field.maximum,
        &field.exclusive_minimum,
        &field.exclusive_maximum,
        &field.multiple_of,
    ];
    if let Shape::Integer { name, min, max } = shape {
        for number in bounds.into_iter().flatten() {
            match number.value {
                Value::Float(_) => errors.push(error(
                    "the field is an integer: write an integer here",
                    number.span(),
                )),
                Value::Integer(value) if value < *min || value > *max => errors.push(error(
                    format!("`{name}` has the range {min} to {max}: this bound is outside of it"),
                    number.span(),
                )),
                Value::Integer(_) => {}
            }
        }
    }
    if let (Some(min), Some(max)) = (&field.minimum, &field.maximum)
        && min.as_f64() > max.as_f64()
    {
        errors.push(error(
            "`minimum` is greater than `maximum`, so no value would be valid",
            min.span(),
        ));
    }
    for (one, other, text) in [
        (
            &field.minimum,
            &field.exclusive_minimum,
            "`minimum` and `exclusive_minimum` exclude each other: remove one",
        ),
        (
            &field.maximum,
            &field.exclusive_maximum,
            "`maximum` and `exclusive_maximum` exclude each other: remove one",
        ),
    ] {
        if let (Some(_), Some(other)) = (one, other) {
            errors.push(error(text, other.span()));
        }
    }
    if let Some(multiple) = &field.multiple_of
        && multiple.as_f64() <= 0.0
    {
        errors.push(error(
            "`multiple_of` must be greater than 0",
            multiple.span(),
        ));
    }
    errors.finish()
}

fn list(field: &Field, shape: &Shape) -> Result<()> {
    let list_type = field.list_type.as_deref().copied();
    let span = field
        .list_type
        .as_ref()
        .map_or_else(|| field.unique_items.span(), |value| value.span());
    match (list_type, &field.list_map_keys) {
        (Some(ListType::Map), None) => {
            return Err(error(
                "a list of type map needs keys: add `list_map_keys(\"name\")` with the fields that identify an item",
                span,
            ));
        }
        (Some(ListType::Map), Some(_)) | (_, None) => {}
        (_, Some(keys)) => {
            return Err(error(
                "`list_map_keys` applies to lists of type map: add `list_type = \"map\"`",
                keys.span(),
            ));
        }
    }
    let item = match shape {
        Shape::List(item) | Shape::Set(item) => item.as_ref(),
        _ => return Ok(()),
    };
    let is_set = list_type == Some(ListType::Set) || field.unique_items.is_present();
    if field.unique_items.is_present()
        && list_type.is_some_and(|list_type| list_type != ListType::Set)
    {
        return Err(error(
            "`unique_items` means `list_type = \"set\"`: remove one of the two",
            field.unique_items.span(),
        ));
    }
    if list_type == Some(ListType::Map) && *item != Shape::Unknown {
        return Err(error(
            format!(
                "the items of a list of type map must be objects, and these are {}",
                plural(item)
            ),
            span,
        ));
    }
    if is_set && matches!(item, Shape::List(_) | Shape::Set(_) | Shape::Map) {
        return Err(error(
            "the items of a set must be scalars or atomic: Kubernetes cannot compare these",
            span,
        ));
    }
    Ok(())
}

fn plural(item: &Shape) -> &'static str {
    match item {
        Shape::Integer { .. } => "integers",
        Shape::Number => "numbers",
        Shape::Boolean => "booleans",
        Shape::Text => "strings",
        Shape::List(_) | Shape::Set(_) => "lists",
        Shape::Map => "maps",
        Shape::Unknown => "objects",
    }
}

/// Checks that a column or a scale path leads to one value.
fn scalar(field: &Field, shape: &Shape) -> Result<()> {
    let mut errors = Error::accumulator();
    if field.selectable.is_present()
        && !matches!(
            shape,
            Shape::Text | Shape::Integer { .. } | Shape::Boolean | Shape::Unknown
        )
    {
        errors.push(error(
            format!("a field selector compares text, integers and booleans, and this field is {}: remove `selectable`, or add a field that sums it up", shape.describe()),
            field.selectable.span(),
        ));
    }
    if let Some(column) = &field.column
        && matches!(shape, Shape::List(_) | Shape::Set(_) | Shape::Map)
        && column.more.ty.is_none()
    {
        errors.push(error(
            format!("a column shows one value, and this field is {}: add a field that sums it up, set the column's `type`, or give the kind a column with a JSON path", shape.describe()),
            column.span(),
        ));
    }
    if let Some(column) = &field.column
        && let Some(path) = &column.more.json_path
    {
        errors.push(error(
            "a column of a field shows the field: remove `json_path`, or move the column to the kind, where `json_path` begins with `.spec` or `.status`",
            path.span(),
        ));
    }
    if let Some(scale) = &field.scale {
        let fits = match **scale {
            Scale::Spec | Scale::Status => matches!(shape, Shape::Integer { .. } | Shape::Unknown),
            Scale::Selector => matches!(shape, Shape::Text | Shape::Unknown),
        };
        if !fits {
            let wanted = if **scale == Scale::Selector {
                "the selector must be a label selector in a `String`"
            } else {
                "`kubectl scale` reads and writes a number of replicas: use an `i32`"
            };
            errors.push(error(
                format!("{wanted}; this field is {}", shape.describe()),
                scale.span(),
            ));
        }
    }
    errors.finish()
}
