use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::Expression;
use super::declare::{Declared, Object};
use super::typed::type_of;
use super::types::{LIST, MAP, Type};

/// The variables that an expression about a request may use, with their types.
///
/// The types are those of a real server: of the request and of the namespace all fields are known, of other objects none,
/// unless [`with_object`](Self::with_object) says more.
#[derive(Clone, Debug)]
pub(crate) struct Declarations {
    variables: Vec<(String, Type)>,
    params: Type,
    /// The schema of the object, if it is known.
    pub(super) schema: Option<Arc<Value>>,
    /// The variables that a policy defines; `None` if there cannot be any.
    defined: Option<BTreeMap<String, Declared>>,
}

impl Declarations {
    /// The variables of every expression about a request.
    pub(crate) fn of_request() -> Self {
        let variables = [
            ("object", Type::Dyn),
            ("oldObject", Type::Dyn),
            ("request", request()),
            ("namespaceObject", namespace()),
        ];
        Self {
            variables: variables.map(|(name, of)| (name.to_owned(), of)).into(),
            params: Type::Dyn,
            schema: None,
            defined: None,
        }
    }

    /// Takes the type of the object, before and after the request, from the schema of its kind.
    pub(crate) fn with_object(mut self, kind: &str, schema: Arc<Value>) -> Self {
        let of = type_of(&schema, kind);
        for (name, known) in &mut self.variables {
            if matches!(name.as_str(), "object" | "oldObject") {
                *known = of.clone();
            }
        }
        self.schema = Some(schema);
        self
    }

    /// Takes the type of the parameters from the schema of their kind.
    pub(crate) fn with_params_of(mut self, kind: &str, schema: &Value) -> Self {
        self.params = type_of(schema, kind);
        self
    }

    /// Adds the parameters of a policy.
    pub(crate) fn with_params(mut self) -> Self {
        self.variables.push(("params".into(), self.params.clone()));
        self
    }

    /// Adds what asks about permissions.
    pub(crate) fn with_authorizer(mut self) -> Self {
        for (name, of) in [
            ("authorizer", "kubernetes.authorization.Authorizer"),
            (
                "authorizer.requestResource",
                "kubernetes.authorization.ResourceCheck",
            ),
        ] {
            self.variables.push((name.into(), Type::Library(of)));
        }
        self
    }

    /// Lets the expression use variables that a policy defines.
    pub(crate) fn with_variables(mut self) -> Self {
        self.defined = Some(BTreeMap::new());
        self
    }

    /// Adds a variable that a policy defines; without an expression, if that is wrong.
    pub(crate) fn define(&mut self, name: &str, expression: Option<&Expression>) {
        let of = expression.map_or(Type::Dyn, |expression| known(&expression.result));
        self.variables.push((qualified(name), of.clone()));
        let defined = self.defined.get_or_insert_default();
        defined.insert(name.to_owned(), Declared::of_type(of));
    }

    pub(super) fn all(&self) -> Vec<(&str, Type)> {
        let variables = self.variables.iter();
        let mut all: Vec<(&str, Type)> = variables
            .map(|(name, of)| (name.as_str(), of.clone()))
            .collect();
        if let Some(defined) = &self.defined {
            let of = Object {
                name: "kubernetes.variables".into(),
                fields: defined.clone(),
            };
            all.push((VARIABLES, Type::Object(Arc::new(of))));
        }
        all
    }
}

/// The object whose fields are the variables that a policy defines.
pub(super) const VARIABLES: &str = "variables";

/// A variable that a policy defines, as expressions refer to it.
pub(crate) fn qualified(name: &str) -> String {
    format!("{VARIABLES}.{name}")
}

/// The type of a variable as other expressions know it: types that have fields are not passed on.
fn known(of: &Type) -> Type {
    match of {
        Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => of.clone(),
        Type::Made(made) if [LIST, MAP].contains(&made.name) => {
            Type::made(made.name, made.parameters.iter().map(known).collect())
        }
        _ => Type::Dyn,
    }
}

fn object<const N: usize>(name: &str, fields: [(&str, Type); N]) -> Type {
    let fields = fields.into_iter();
    Type::Object(Arc::new(Object {
        name: format!("kubernetes.{name}"),
        fields: fields
            .map(|(name, of)| (name.to_owned(), Declared::of_type(of)))
            .collect(),
    }))
}

fn texts() -> Type {
    Type::list(Type::String)
}

fn request() -> Type {
    let kind = object(
        "GroupVersionKind",
        ["group", "version", "kind"].map(|name| (name, Type::String)),
    );
    let resource = object(
        "GroupVersionResource",
        ["group", "version", "resource"].map(|name| (name, Type::String)),
    );
    let user = object(
        "UserInfo",
        [
            ("username", Type::String),
            ("uid", Type::String),
            ("groups", texts()),
            ("extra", Type::map(Type::String, texts())),
        ],
    );
    object(
        "AdmissionRequest",
        [
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", Type::String),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", Type::String),
            ("name", Type::String),
            ("namespace", Type::String),
            ("operation", Type::String),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
}

fn namespace() -> Type {
    let labels = || Type::map(Type::String, Type::String);
    let metadata = object(
        "NamespaceMetadata",
        [
            ("name", Type::String),
            ("generateName", Type::String),
            ("namespace", Type::String),
            ("labels", labels()),
            ("annotations", labels()),
            ("UID", Type::String),
            ("creationTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds", Type::Int),
            ("deletionTimestamp", Type::Timestamp),
            ("generation", Type::Int),
            ("resourceVersion", Type::String),
            ("finalizers", texts()),
        ],
    );
    let condition = object(
        "NamespaceCondition",
        [
            ("status", Type::String),
            ("type", Type::String),
            ("lastTransitionTime", Type::Timestamp),
            ("message", Type::String),
            ("reason", Type::String),
        ],
    );
    let status = [
        ("conditions", Type::list(condition)),
        ("phase", Type::String),
    ];
    let spec = object("NamespaceSpec", [("finalizers", texts())]);
    let status = object("NamespaceStatus", status);
    object(
        "Namespace",
        [("metadata", metadata), ("spec", spec), ("status", status)],
    )
}
