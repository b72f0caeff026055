use darling::{Error, Result};
use proc_macro2::Span;
use syn::{Type, spanned::Spanned};

use super::{
    field::{Field, ListType, Scale, error},
    number::{Number, Value},
    serde::Serde,
};
use crate::shape::{self, Shape};

/// Formats of strings and numbers that the API server checks.
const FORMATS: [&str; 27] = [
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
];

/// What stands in a field's attributes must fit its Rust type.
pub(crate) fn field(field: &Field, ty: &Type, serde: &Serde) -> Result<()> {
    let mut errors = Error::accumulator();
    if field.with.is_none() && !serde.is_skipped() {
        errors.handle(shape::refuse(ty));
    }
    let shape = match &field.with {
        Some(ty) => Shape::of(ty),
        None if field.int_or_string.is_present() => Shape::Unknown,
        None => Shape::of(ty),
    };
    for (name, span, wants) in uses(field) {
        if !wants.allows(&shape) {
            errors.push(error(
                format!(
                    "`{name}` is for {}, and this field is {}",
                    wants.describe(),
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
                format!("`min_{what}` is above `max_{what}`: nothing would fit"),
                min.span,
            ));
        }
    }
    errors.handle(list(field, &shape));
    if (serde.has("flatten") || serde.is_skipped()) && !field.is_plain() {
        let text = if serde.has("flatten") {
            "a flattened field has no place of its own in the object: set the attribute on the fields of its type"
        } else {
            "serde skips this field, so it is not in the object: remove the attribute"
        };
        errors.push(error(text, ty.span()));
    }
    if let Some(format) = &field.format
        && !FORMATS.contains(&format.value().as_str())
    {
        let text = format!("Kubernetes knows the formats {}", FORMATS.join(", "));
        errors.push(error(text, format.span()));
    }
    errors.handle(scalar(field, &shape));
    errors.finish()
}

/// Kinds of types an attribute is for; types whose spelling says nothing are left to `crd()`.
#[derive(Clone, Copy)]
enum Wants {
    Number,
    Text,
    List,
    Map,
}

impl Wants {
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

fn uses(field: &Field) -> Vec<(&'static str, Span, Wants)> {
    let mut uses = Vec::new();
    let mut add = |name, span: Option<Span>, wants| {
        uses.extend(span.map(|span| (name, span, wants)));
    };
    for (name, number) in [
        ("minimum", &field.minimum),
        ("maximum", &field.maximum),
        ("exclusive_minimum", &field.exclusive_minimum),
        ("exclusive_maximum", &field.exclusive_maximum),
        ("multiple_of", &field.multiple_of),
    ] {
        add(name, number.as_ref().map(Number::span), Wants::Number);
    }
    for (name, count, wants) in [
        ("min_length", &field.min_length, Wants::Text),
        ("max_length", &field.max_length, Wants::Text),
        ("min_items", &field.min_items, Wants::List),
        ("max_items", &field.max_items, Wants::List),
        ("min_properties", &field.min_properties, Wants::Map),
        ("max_properties", &field.max_properties, Wants::Map),
    ] {
        add(name, count.map(|count| count.span), wants);
    }
    add(
        "pattern",
        field.pattern.as_ref().map(|text| text.span()),
        Wants::Text,
    );
    add(
        "values",
        field.values.as_ref().map(|values| values.span()),
        Wants::Text,
    );
    add(
        "list_type",
        field.list_type.as_ref().map(|value| value.span()),
        Wants::List,
    );
    add(
        "list_map_keys",
        field.list_map_keys.as_ref().map(|value| value.span()),
        Wants::List,
    );
    add(
        "map_type",
        field.map_type.as_ref().map(|value| value.span()),
        Wants::Map,
    );
    if field.unique_items.is_present() {
        add("unique_items", Some(field.unique_items.span()), Wants::List);
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
                    "the field is an integer: write one here",
                    number.span(),
                )),
                Value::Integer(value) if value < *min || value > *max => errors.push(error(
                    format!("`{name}` holds {min} to {max}: this bound is outside"),
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
            "`minimum` is above `maximum`: nothing would fit",
            min.span(),
        ));
    }
    for (one, other, text) in [
        (
            &field.minimum,
            &field.exclusive_minimum,
            "`minimum` or `exclusive_minimum`, not both",
        ),
        (
            &field.maximum,
            &field.exclusive_maximum,
            "`maximum` or `exclusive_maximum`, not both",
        ),
    ] {
        if let (Some(_), Some(other)) = (one, other) {
            errors.push(error(text, other.span()));
        }
    }
    if let Some(multiple) = &field.multiple_of
        && multiple.as_f64() <= 0.0
    {
        errors.push(error("`multiple_of` is above 0", multiple.span()));
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
                "a list of type map has keys: add `list_map_keys(\"name\")` with the fields that tell items apart",
                span,
            ));
        }
        (Some(ListType::Map), Some(_)) | (_, None) => {}
        (_, Some(keys)) => {
            return Err(error(
                "`list_map_keys` is for lists of type map: add `list_type = \"map\"`",
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
            "`unique_items` is `list_type = \"set\"`: keep one of the two",
            field.unique_items.span(),
        ));
    }
    if list_type == Some(ListType::Map) && *item != Shape::Unknown {
        return Err(error(
            format!(
                "the items of a list of type map are objects, and these are {}",
                plural(item)
            ),
            span,
        ));
    }
    if is_set && matches!(item, Shape::List(_) | Shape::Set(_) | Shape::Map) {
        return Err(error(
            "the items of a set are scalars or atomic: Kubernetes cannot compare these",
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

/// Columns and scale paths end at one value.
fn scalar(field: &Field, shape: &Shape) -> Result<()> {
    let mut errors = Error::accumulator();
    if let Some(column) = &field.column
        && matches!(shape, Shape::List(_) | Shape::Set(_) | Shape::Map)
        && column.more.ty.is_none()
    {
        errors.push(error(
            format!("a column shows one value, and this field is {}: add a field that sums it up, or name the column's `type`", shape.describe()),
            column.span(),
        ));
    }
    if let Some(scale) = &field.scale {
        let fits = match **scale {
            Scale::Spec | Scale::Status => matches!(shape, Shape::Integer { .. } | Shape::Unknown),
            Scale::Selector => matches!(shape, Shape::Text | Shape::Unknown),
        };
        if !fits {
            let wanted = if **scale == Scale::Selector {
                "the selector is a label selector written as a `String`"
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
