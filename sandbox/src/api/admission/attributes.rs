use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::api::{DeleteOptions, Propagation, Target, WriteOptions};
use crate::authentication::User;
use crate::record::Audit;

/// What a request does with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// What admission knows of a request beside its object.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'a> {
    pub(crate) target: &'a Target,
    /// Empty for the main resource.
    pub(crate) subresource: &'a str,
    pub(crate) operation: Operation,
    /// Empty for a new object without a name, and for a deletion of a collection.
    pub(crate) name: &'a str,
    pub(crate) user: &'a User,
    pub(crate) dry_run: bool,
    pub(crate) audit: &'a Audit,
    /// When the server stops to work on the request.
    pub(crate) deadline: Option<Instant>,
    /// The options of the operation, as an object.
    pub(crate) options: Value,
}

/// Group, version and kind, or group, version and resource.
pub(crate) type Triple<'a> = [&'a str; 3];

impl<'a> Attributes<'a> {
    /// Returns the attributes of a write.
    pub(crate) fn of_write(
        target: &'a Target,
        subresource: &'a str,
        operation: Operation,
        name: &'a str,
        options: &'a WriteOptions,
    ) -> Self {
        let kind = match operation {
            Operation::Update => "UpdateOptions",
            _ => "CreateOptions",
        };
        let mut shown = options.given.clone();
        shown.insert("kind".into(), kind.into());
        shown.insert("apiVersion".into(), "meta.k8s.io/v1".into());
        Self {
            target,
            subresource,
            operation,
            name,
            user: &options.user,
            dry_run: options.dry_run,
            audit: &options.audit,
            deadline: options.deadline,
            options: Value::Object(shown),
        }
    }

    /// Returns the attributes of a deletion.
    pub(crate) fn of_deletion(
        target: &'a Target,
        name: &'a str,
        options: &'a DeleteOptions,
    ) -> Self {
        Self {
            target,
            subresource: "",
            operation: Operation::Delete,
            name,
            user: &options.user,
            dry_run: options.dry_run,
            audit: &options.audit,
            deadline: options.deadline,
            options: deletion(options),
        }
    }

    /// The namespace; for a namespace its own name.
    pub(crate) fn namespace(&self) -> &str {
        match &self.target.namespace {
            Some(namespace) => namespace,
            None if self.is_of_namespaces() => self.name,
            None => "",
        }
    }

    /// Whether the request is for namespaces.
    pub(crate) fn is_of_namespaces(&self) -> bool {
        let kind = &self.target.kind;
        kind.group.is_empty() && kind.plural == "namespaces"
    }

    /// Group, version and kind of the object.
    pub(crate) fn kind(&self) -> Triple<'_> {
        let kind = &self.target.kind;
        own_kind(self.subresource).unwrap_or([&kind.group, &kind.version, &kind.kind])
    }

    /// Group, version and plural name of the resource.
    pub(crate) fn resource(&self) -> Triple<'_> {
        let kind = &self.target.kind;
        [&kind.group, &kind.version, &kind.plural]
    }
}

/// The kind of the object that a subresource takes, if it is not the kind of the main resource.
pub(crate) fn own_kind(subresource: &str) -> Option<Triple<'static>> {
    Some(match subresource {
        "scale" => ["autoscaling", "v1", "Scale"],
        "eviction" => ["policy", "v1", "Eviction"],
        "binding" => ["", "v1", "Binding"],
        "token" => ["authentication.k8s.io", "v1", "TokenRequest"],
        "exec" => ["", "v1", "PodExecOptions"],
        "attach" => ["", "v1", "PodAttachOptions"],
        "portforward" => ["", "v1", "PodPortForwardOptions"],
        _ => return None,
    })
}

/// The name of the definition of a built-in kind.
pub(crate) fn definition([group, version, kind]: Triple<'_>) -> String {
    let group = group.split('.').next().filter(|group| !group.is_empty());
    format!("io.k8s.api.{}.{version}.{kind}", group.unwrap_or("core"))
}

fn deletion(options: &DeleteOptions) -> Value {
    let mut shown = Map::new();
    shown.insert("kind".into(), "DeleteOptions".into());
    shown.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    if let Some(seconds) = options.grace_period {
        shown.insert("gracePeriodSeconds".into(), seconds.into());
    }
    let mut preconditions = Map::new();
    for (field, value) in [
        ("uid", &options.uid),
        ("resourceVersion", &options.resource_version),
    ] {
        if let Some(value) = value {
            preconditions.insert(field.into(), value.as_str().into());
        }
    }
    if !preconditions.is_empty() {
        shown.insert("preconditions".into(), preconditions.into());
    }
    if let Some(orphan) = options.orphan_dependents {
        shown.insert("orphanDependents".into(), orphan.into());
    }
    let propagation = options.propagation.map(|propagation| match propagation {
        Propagation::Orphan => "Orphan",
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
    });
    if let Some(propagation) = propagation {
        shown.insert("propagationPolicy".into(), propagation.into());
    }
    if options.dry_run {
        shown.insert("dryRun".into(), json!(["All"]));
    }
    Value::Object(shown)
}
