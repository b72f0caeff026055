use serde_json::Value;

use super::cells::{age, items, text};
use super::printer::Printer;

pub(super) const ROLES: Printer = Printer {
    named: true,
    columns: &[("Created At", "date", 0)],
    cells: |object, _| vec![text(object, "/metadata/creationTimestamp").into()],
};

pub(super) const BINDINGS: Printer = Printer {
    named: true,
    columns: &[
        ("Role", "string", 0),
        ("Age", "string", 0),
        ("Users", "string", 1),
        ("Groups", "string", 1),
        ("ServiceAccounts", "string", 1),
    ],
    cells: |object, now| {
        let role = format!(
            "{}/{}",
            text(object, "/roleRef/kind"),
            text(object, "/roleRef/name")
        );
        vec![
            role.into(),
            age(object, now),
            subjects(object, "User"),
            subjects(object, "Group"),
            subjects(object, "ServiceAccount"),
        ]
    },
};

fn subjects(binding: &Value, kind: &str) -> Value {
    let names: Vec<String> = items(binding, "/subjects")
        .iter()
        .filter(|subject| subject["kind"] == kind)
        .map(|subject| {
            let (namespace, name) = (text(subject, "/namespace"), text(subject, "/name"));
            match kind {
                "ServiceAccount" => format!("{namespace}/{name}"),
                _ => name.to_owned(),
            }
        })
        .collect();
    names.join(", ").into()
}
