//! Named formats: `format.dns1123Label().validate('a')`.

use std::sync::Arc;

use cel::common::types::Type;
use cel::objects::Opaque;
use cel::{Env, Value};

use super::functions::{
    Args, Declared, FunctionResult, declare, no_overload, text, to_result, values,
};
use super::values::optional;
use crate::names;
use crate::schema::format;

const TYPE: &str = "kubernetes.NamedFormat";

/// A format by its name.
#[derive(Debug)]
struct Format {
    name: &'static str,
    /// The length of its pattern, as costs count it.
    pattern: u64,
    check: fn(&str) -> Vec<String>,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

static FORMATS: [Format; 13] = [
    of("dns1123Label", 30, names::dns_label),
    of("dns1123Subdomain", 60, names::dns_subdomain),
    of("dns1035Label", 30, names::dns_1035_label),
    of("qualifiedName", 60, names::qualified_name),
    of("dns1123LabelPrefix", 30, |text| {
        names::dns_label(&prefix(text))
    }),
    of("dns1123SubdomainPrefix", 60, |text| {
        names::dns_subdomain(&prefix(text))
    }),
    of("dns1035LabelPrefix", 30, |text| {
        names::dns_1035_label(&prefix(text))
    }),
    of("labelValue", 40, names::label_value),
    of("uri", 1103, uri),
    of("uuid", 70, |text| {
        known("uuid", text, "does not match the UUID format")
    }),
    of("byte", 84, |text| known("byte", text, "invalid base64")),
    of("date", 71, |text| known("date", text, "invalid date")),
    of("datetime", 71, |text| {
        known("datetime", text, "invalid datetime")
    }),
];

const fn of(name: &'static str, pattern: u64, check: fn(&str) -> Vec<String>) -> Format {
    Format {
        name,
        pattern,
        check,
    }
}

/// A prefix to which a name is added may end with a dash.
fn prefix(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut rest: String = rest.chars().take(rest.chars().count() - 1).collect();
            rest.push('a');
            rest
        }
        _ => text.to_owned(),
    }
}

fn uri(text: &str) -> Vec<String> {
    match super::urls::is_request(text) {
        true => Vec::new(),
        false if text.is_empty() => vec!["parse \"\": empty url".into()],
        false => vec![format!("parse {text:?}: invalid URI for request")],
    }
}

fn known(format: &str, text: &str, wrong: &str) -> Vec<String> {
    match format::is_valid(format, text) {
        true => Vec::new(),
        false => vec![wrong.into()],
    }
}

pub(super) fn register(env: &mut Env) {
    let mut declared = vec![
        Declared {
            name: "format.named",
            id: "format-named",
            on: None,
            args: 1,
            run: named,
        },
        Declared {
            name: "validate",
            id: "format-validate",
            on: Some(Type::new_opaque_type(TYPE)),
            args: 1,
            run: validate,
        },
    ];
    macro_rules! constants {
        ($($name:literal),*) => {
            $(declared.push(Declared {
                name: concat!("format.", $name),
                id: concat!("format.", $name),
                on: None,
                args: 0,
                run: |_| to_result("format", find($name).map_or(Value::Null, value)),
            });)*
        };
    }
    constants!(
        "dns1123Label",
        "dns1123Subdomain",
        "dns1035Label",
        "qualifiedName",
        "dns1123LabelPrefix",
        "dns1123SubdomainPrefix",
        "dns1035LabelPrefix",
        "labelValue",
        "uri",
        "uuid",
        "byte",
        "date",
        "datetime"
    );
    declare(env, declared);
}

/// A format as a value: a reference to one of [`FORMATS`].
#[derive(Debug, PartialEq, Eq)]
struct Named(&'static Format);

impl Opaque for Named {
    fn runtime_type_name(&self) -> &str {
        TYPE
    }
}

fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

fn value(format: &'static Format) -> Value {
    Value::Opaque(Arc::new(Named(format)))
}

fn as_format(value: &Value) -> Option<&'static Format> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<Named>().map(|named| named.0),
        _ => None,
    }
}

/// The length of the pattern of a format. Returns `None` if the value is no format.
pub(super) fn pattern_size(value: &Value) -> Option<u64> {
    as_format(value).map(|format| format.pattern)
}

fn named<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let name = text("format.named", &values(args)?, 0)?;
    to_result("format.named", optional(find(&name).map(value)))
}

fn validate<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let format = values.first().and_then(as_format);
    let format = format.ok_or_else(|| no_overload("validate", &values))?;
    let wrong = (format.check)(&text("validate", &values, 1)?);
    let wrong: Vec<Value> = wrong.into_iter().map(Value::from).collect();
    let wrong = (!wrong.is_empty()).then(|| Value::List(wrong.into()));
    to_result("validate", optional(wrong))
}
