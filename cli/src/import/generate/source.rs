//! The text of the types.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    attributes::{self, literal},
    definition::{APPROVAL, Definition, Version},
    docs::comment,
    names::names,
    schema::{names_on, text},
    types::{Body, Field, Item, Slot, Type, Types},
    words::{camel_case, distinct, type_name},
};

/// What the user wants of the types.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// The operator is going to define the kind itself: the types have schemas, and the kind is not `foreign`.
    pub(crate) is_own: bool,
}

/// The source of a definition.
#[derive(Debug)]
pub(crate) struct Source {
    /// The name of its module.
    pub(crate) module: String,
    pub(crate) text: String,
    /// What could not be taken over, each with its place.
    pub(crate) notes: Vec<String>,
}

/// Writes the types of all versions of the definition. rustfmt has to format the text.
pub(crate) fn source(definition: &Definition, options: Options) -> Source {
    let Definition {
        name, kind, group, ..
    } = definition;
    let mut notes = Vec::new();
    let whose = match options.is_own {
        true => "with the schema of its definition",
        false => "which another program defines",
    };
    let mut text = format!(
        "//! The kind {kind} of the group {group}, {whose}.\n//!\n//! `cargo pilothouse import` wrote the types from the definition `{name}`.\n\n// The comments are those of the definition.\n#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_overindented_list_items)]\n\n"
    );
    let is_single = definition.versions.len() == 1;
    for version in &definition.versions {
        let types = Types::of(version);
        let mut writer = Writer {
            definition,
            version,
            options,
            names: names(&types, kind),
            types: &types,
            text: String::new(),
            paths: BTreeSet::new(),
            left_out: BTreeMap::new(),
            notes: &mut notes,
        };
        writer.write();
        let body = writer.text;
        let imports = imports(&body, options);
        if is_single {
            text += &format!("{imports}\n{body}");
            continue;
        }
        let stored = match version.is_stored {
            true => ", in which the API server stores the objects",
            false => "",
        };
        text += &format!(
            "/// The version {0}{stored}.\npub mod {0} {{\n{imports}\n{body}}}\n\n",
            version.name
        );
    }
    Source {
        module: definition.module(),
        text,
        notes,
    }
}

fn imports(body: &str, options: Options) -> String {
    let code = body
        .lines()
        .filter(|line| !line.trim_start().starts_with("///"));
    let body = code.collect::<Vec<_>>().join("\n");
    let uses = |what: &str| body.contains(what);
    let mut lines = String::new();
    if uses("BTreeMap<") {
        lines += "use std::collections::BTreeMap;\n\n";
    }
    let is_type = |name: &str| {
        let ends = |rest: &str| rest.starts_with(['>', ',', ';']);
        body.match_indices(name)
            .any(|(at, _)| ends(&body[at + name.len()..]) && body[..at].ends_with(['<', ' ']))
    };
    let meta: Vec<&str> = ["Condition", "LabelSelector", "Time"]
        .into_iter()
        .filter(|name| is_type(name))
        .collect();
    let has_number = is_type("IntOrString");
    let mut parts = Vec::new();
    if !meta.is_empty() {
        parts.push(format!("apis::meta::v1::{{{}}}", meta.join(", ")));
    }
    if has_number {
        parts.push("util::intstr::IntOrString".into());
    }
    let mut of_framework = vec!["Resource".to_owned()];
    if options.is_own && uses("Schema, ") {
        of_framework.push("Schema".into());
    }
    if !parts.is_empty() {
        of_framework.push(format!("k8s::apimachinery::pkg::{{{}}}", parts.join(", ")));
    }
    of_framework.push("resource::ObjectMeta".into());
    lines += &format!("use pilothouse::{{{}}};\n", of_framework.join(", "));
    if uses("Deserialize") {
        lines += "use serde::{Deserialize, Serialize};\n";
    }
    if is_type("Value") {
        lines += "use serde_json::Value;\n";
    }
    lines
}

/// The most fields that are named in a note.
const MOST_NAMED: usize = 3;

struct Writer<'a> {
    definition: &'a Definition,
    version: &'a Version,
    options: Options,
    types: &'a Types<'a>,
    /// Those of the items of `types`.
    names: Vec<String>,
    text: String,
    /// The names on the ways to the fields that have one value.
    paths: BTreeSet<Vec<String>>,
    /// What the derives cannot say, with the fields that have it.
    left_out: BTreeMap<&'static str, BTreeSet<String>>,
    notes: &'a mut Vec<String>,
}

impl Writer<'_> {
    fn write(&mut self) {
        self.kind();
        let mut order: Vec<usize> = (0..self.types.items.len()).collect();
        order.sort_by_key(|at| self.types.items[*at].path.first() != Some(&"spec".to_owned()));
        for at in order {
            let item = &self.types.items[at];
            self.text += "\n";
            self.docs_of_item(item);
            match &item.body {
                Body::Enum(values) => self.enumeration(at, values),
                Body::Struct { fields, others } => self.structure(at, fields, others.as_deref()),
            }
        }
        if self.options.is_own {
            self.note_the_rest();
        }
    }

    fn kind(&mut self) {
        let Definition {
            group,
            kind,
            plural,
            singular,
            ..
        } = self.definition;
        let mut description = match text(&self.version.schema, "description") {
            "" => format!("An object of the kind {kind}."),
            description => description.to_owned(),
        };
        if let Some(warning) = &self.version.deprecated {
            description += &format!("\n\n{warning}");
        }
        self.text += &comment(&description, "");
        let mut attributes = vec![
            format!("group = {}", literal(group)),
            format!("version = {}", literal(&self.version.name)),
            format!("plural = {}", literal(plural)),
        ];
        let scope = match self.definition.namespaced {
            true => "namespaced",
            false => "cluster",
        };
        attributes.push(scope.into());
        if self.options.is_own {
            if *singular != kind.to_lowercase() {
                attributes.push(format!("singular = {}", literal(singular)));
            }
            for (name, values) in [
                ("short_names", &self.definition.short_names),
                ("categories", &self.definition.categories),
            ] {
                if !values.is_empty() {
                    let values: Vec<String> = values.iter().map(|one| literal(one)).collect();
                    attributes.push(format!("{name}({})", values.join(", ")));
                }
            }
            if let Some(approval) = &self.definition.approval {
                let (key, value) = (literal(APPROVAL), literal(approval));
                attributes.push(format!("annotation({key}, {value})"));
            }
        } else {
            attributes.push("foreign".into());
        }
        let defaults = if self.types.root.iter().all(|field| self.has_default(field)) {
            "Default, "
        } else {
            ""
        };
        self.text += &format!(
            "#[derive(Resource, Clone, Debug, {defaults}PartialEq)]\n#[resource({})]\n",
            attributes.join(", ")
        );
        if self.options.is_own {
            let of_kind = attributes::rules(&self.version.schema)
                .into_iter()
                .chain(attributes::columns(self.version));
            for attribute in of_kind {
                self.text += &format!("#[schema({attribute})]\n");
            }
        }
        self.text += &format!("pub struct {kind} {{\n    pub metadata: ObjectMeta,\n");
        for field in &self.types.root {
            let is_known = ["spec", "status"].contains(&field.name);
            if !is_known && (self.options.is_own || camel_case(&field.ident) != field.name) {
                let version = &self.version.name;
                self.notes.push(format!(
                    "{kind} {version}: the field `{}` of the object is left out: write the object as a `DynamicObject` if you need it",
                    field.name
                ));
                continue;
            }
            self.text += &comment(&self.description(field), "    ");
            let ty = self.rust(&field.ty);
            self.text += &match field.required {
                true => format!("    pub {}: {ty},\n", field.ident),
                false => format!("    pub {}: Option<{ty}>,\n", field.ident),
            };
        }
        self.text += "}\n";
    }

    fn docs_of_item(&mut self, item: &Item<'_>) {
        let description = text(item.schema, "description");
        let text = match item.is_slot && !description.is_empty() {
            true => description.to_owned(),
            false => {
                let fields = item.place.fields.join(".");
                match item.place.has_several {
                    true => format!("A value in `{fields}`."),
                    false => format!("The value of `{fields}`."),
                }
            }
        };
        self.text += &comment(&text, "");
    }

    /// The traits that each type has.
    fn derives(&self, more: &str) -> String {
        let schema = if self.options.is_own { "Schema, " } else { "" };
        format!("#[derive({schema}Clone, Debug, {more}PartialEq, Deserialize, Serialize)]\n")
    }

    fn enumeration(&mut self, at: usize, values: &[&str]) {
        self.text += &self.derives("Copy, Eq, ");
        self.text += &format!("pub enum {} {{\n", self.names[at]);
        let mut taken = BTreeSet::new();
        for value in values {
            let name = distinct(variant(value), "", |name| taken.contains(name));
            if name != *value {
                self.text += &format!("    #[serde(rename = {})]\n", literal(value));
            }
            self.text += &format!("    {name},\n");
            taken.insert(name);
        }
        self.text += "}\n";
    }

    fn structure(&mut self, at: usize, fields: &[Field<'_>], others: Option<&str>) {
        let item = &self.types.items[at];
        let defaults = match fields.iter().all(|field| self.has_default(field)) {
            true => "Default, ",
            false => "",
        };
        self.text += &self.derives(defaults);
        if self.options.is_own {
            for rule in attributes::rules(item.schema) {
                self.text += &format!("#[schema({rule})]\n");
            }
        }
        let is_renamed =
            |field: &Field<'_>| field.ident != field.name && camel_case(&field.ident) == field.name;
        let all = fields.iter().any(is_renamed);
        if all {
            self.text += "#[serde(rename_all = \"camelCase\")]\n";
        }
        self.text += &format!("pub struct {} {{\n", self.names[at]);
        for field in fields {
            self.field(item, field, all);
        }
        if let Some(others) = others {
            self.text += &format!(
                "    /// The fields that the schema does not name.\n    #[serde(flatten)]\n    pub {others}: BTreeMap<String, Value>,\n"
            );
        }
        self.text += "}\n";
    }

    fn field(&mut self, item: &Item<'_>, field: &Field<'_>, is_camel_case: bool) {
        self.text += &comment(&self.description(field), "    ");
        let mut serde = Vec::new();
        let written = match is_camel_case {
            true => camel_case(&field.ident),
            false => field.ident.clone(),
        };
        if written != field.name {
            serde.push(format!("rename = {}", literal(field.name)));
        }
        let is_option = !field.required || field.nullable;
        if !field.required {
            serde.push("skip_serializing_if = \"Option::is_none\"".into());
        }
        if !serde.is_empty() {
            self.text += &format!("    #[serde({})]\n", serde.join(", "));
        }
        if self.options.is_own {
            let path = self.path(item, field);
            self.paths.extend(path.clone());
            let attributes = attributes::of_field(field, path.as_deref(), self.version);
            if !attributes.is_empty() {
                self.text += &format!("    #[schema({})]\n", attributes.join(", "));
            }
            for key in attributes::left_out(&field.ty, field.schema) {
                let mut path = item.place.fields.clone();
                path.push(field.name.to_owned());
                self.left_out.entry(key).or_default().insert(path.join("."));
            }
            let default = &field.schema["default"];
            if *default != Value::Null {
                let default = attributes::json(default);
                self.text += &format!("    #[schemars(extend(\"default\" = {default}))]\n");
            }
            if let Some(values) = attributes::schemars_enum(&field.ty, field.schema) {
                let values = attributes::json(values);
                self.text += &format!("    #[schemars(extend(\"enum\" = {values}))]\n");
            }
        }
        let ty = self.rust(&field.ty);
        self.text += &match is_option {
            true => format!("    pub {}: Option<{ty}>,\n", field.ident),
            false => format!("    pub {}: {ty},\n", field.ident),
        };
    }

    /// The names on the way to a field that has one value in an object.
    fn path(&self, item: &Item<'_>, field: &Field<'_>) -> Option<Vec<String>> {
        let mut names = item.path.clone();
        names.push(field.name.to_owned());
        let mut schema = &self.version.schema;
        for name in &names {
            schema = &schema["properties"][name];
        }
        // A type in a list has another place than the path of its name says.
        (item.uses == 1 && std::ptr::eq(schema, field.schema)).then_some(names)
    }

    /// Whether a JSON path leads to one of the fields.
    fn has(&self, path: &str) -> bool {
        names_on(path).is_some_and(|names| self.paths.contains(&names))
    }

    /// Names what only the definition says.
    fn note_the_rest(&mut self) {
        let kind = &self.definition.kind;
        let version = &self.version.name;
        let mut left_out = Vec::new();
        for path in &self.version.selectable {
            if !self.has(path) {
                left_out.push(format!("the selectable field `{path}`"));
            }
        }
        for key in [
            "specReplicasPath",
            "statusReplicasPath",
            "labelSelectorPath",
        ] {
            let path = text(&self.version.scale, key);
            if !path.is_empty() && !self.has(path) {
                left_out.push(format!("the path `{path}` of the subresource scale"));
            }
        }
        for field in &self.types.root {
            for key in attributes::left_out(&field.ty, field.schema) {
                let fields = self.left_out.entry(key).or_default();
                fields.insert(field.name.to_owned());
            }
            if !field.schema["default"].is_null() {
                left_out.push(format!("the default of `{}`", field.name));
            }
            let of_field = attributes::of_field(field, None, self.version);
            if !of_field.is_empty() {
                left_out.push(format!("the bounds and rules of `{}`", field.name));
            }
        }
        left_out.extend(attributes::second_columns(self.version));
        let notes = left_out.into_iter().map(|what| {
            format!("{kind} {version}: {what} is left out: add it by hand if you need it")
        });
        self.notes.extend(notes);
        let notes = self.left_out.iter().map(|(key, fields)| {
            let mut named: Vec<String> = fields.iter().take(MOST_NAMED).map(|one| format!("`{one}`")).collect();
            if let Some(more @ 1..) = fields.len().checked_sub(MOST_NAMED) {
                named.push(format!("{more} more"));
            }
            let of = match named.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, others)) => format!("{} and {last}", others.join(", ")),
                None => String::new(),
            };
            format!("{kind} {version}: `{key}` of {of} is left out: `#[schema(..)]` cannot say it, so write a CEL rule if you need it")
        });
        self.notes.extend(notes);
    }

    fn description(&self, field: &Field<'_>) -> String {
        let mut parts = vec![text(field.schema, "description").trim().to_owned()];
        if let Some(reason) = reason(&field.ty) {
            parts.push(format!("Any value, because {reason}."));
        }
        if is_quantity(&field.ty) {
            parts.push("A quantity, such as `500m` or `2Gi`.".into());
        }
        if let Some(default) = default(field) {
            parts.push(format!("The default is `{default}`."));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n")
    }

    /// Whether the field has a value if nothing is said.
    fn has_default(&self, field: &Field<'_>) -> bool {
        if !field.required || field.nullable {
            return true;
        }
        match &field.ty {
            Type::Time | Type::Condition => false,
            Type::Item(at) => match &self.types.items[*at].body {
                Body::Enum(_) => false,
                Body::Struct { fields, .. } => fields.iter().all(|field| self.has_default(field)),
            },
            _ => true,
        }
    }

    fn rust(&self, ty: &Type) -> String {
        match ty {
            Type::Any(_) => "Value".into(),
            Type::AnyObject => "BTreeMap<String, Value>".into(),
            Type::Boolean => "bool".into(),
            Type::Int32 => "i32".into(),
            Type::Int64 => "i64".into(),
            Type::Number => "f64".into(),
            Type::Text => "String".into(),
            Type::Time => "Time".into(),
            Type::IntOrString | Type::Quantity => "IntOrString".into(),
            Type::Condition => "Condition".into(),
            Type::LabelSelector => "LabelSelector".into(),
            Type::ObjectMeta => "ObjectMeta".into(),
            Type::List(slot) => format!("Vec<{}>", self.slot(slot)),
            Type::Map(slot) => format!("BTreeMap<String, {}>", self.slot(slot)),
            Type::Item(at) => self.names[*at].clone(),
        }
    }

    fn slot(&self, slot: &Slot) -> String {
        let ty = self.rust(&slot.ty);
        match slot.nullable && slot.ty != Type::Any(None) {
            true if ty != "Value" => format!("Option<{ty}>"),
            _ => ty,
        }
    }
}

/// Why the value, or the values in it, have no type.
fn reason(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Any(reason) => *reason,
        Type::List(slot) | Type::Map(slot) => reason(&slot.ty),
        _ => None,
    }
}

fn is_quantity(ty: &Type) -> bool {
    match ty {
        Type::Quantity => true,
        Type::List(slot) | Type::Map(slot) => is_quantity(&slot.ty),
        _ => false,
    }
}

/// The default of the schema as JSON, in one line.
fn default(field: &Field<'_>) -> Option<String> {
    let default = &field.schema["default"];
    (*default != Value::Null).then(|| default.to_string())
}

/// The name of the variant for a value.
fn variant(value: &str) -> String {
    let name = type_name(value);
    if name == "Self" {
        return "SelfValue".into();
    }
    if !name.is_empty() {
        return name;
    }
    let words = value.chars().map(|letter| match letter {
        '=' => "Equal",
        '!' => "Not",
        '~' => "Tilde",
        '<' => "Less",
        '>' => "Greater",
        '*' => "Star",
        '+' => "Plus",
        '-' => "Minus",
        '.' => "Dot",
        '/' => "Slash",
        _ => "Sign",
    });
    let name: String = words.collect();
    match name.is_empty() {
        true => "Empty".into(),
        false => name,
    }
}
