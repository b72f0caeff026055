use std::collections::BTreeSet;

use super::{controller::Controller, reconciler::Reconciler};
use crate::{controller::wired::Role, resource::ApiResource};

/// The kinds of objects that a controller writes, and the finalizers that it puts on objects.
///
/// It tells a command that runs no controller where to look for what the controllers of a program have written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenKinds {
    pub(crate) reconciled: ApiResource,
    /// Whether it writes the status of the reconciled objects.
    pub(crate) writes_status: bool,
    /// The declared finalizers.
    pub(crate) finalizers: BTreeSet<String>,
    /// The finalizers of a former version of the program, which it removes.
    pub(crate) retired: BTreeSet<String>,
    /// The kinds that it owns, and those that it writes without an owner.
    pub(crate) children: BTreeSet<ApiResource>,
}

impl WrittenKinds {
    /// Adds what another controller of the same kind writes.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.writes_status |= other.writes_status;
        self.finalizers.extend(other.finalizers.iter().cloned());
        self.retired.extend(other.retired.iter().cloned());
        self.children.extend(other.children.iter().cloned());
    }
}

impl<R: Reconciler> Controller<R> {
    pub(crate) fn written_kinds(&self) -> WrittenKinds {
        let reconciled = self.resource();
        let status = format!("{}/status", reconciled.plural);
        let needs = self.needs();
        let mut permissions = needs.iter();
        let writes_status = permissions.any(|one| {
            ["patch", "update"]
                .iter()
                .any(|verb| one.names_action(verb, &reconciled.group, &status, None))
        });
        let owned = self.wired().into_iter();
        let owned = owned.filter(|wired| wired.role == Role::Owned);
        let mut children: BTreeSet<_> = owned.map(|wired| wired.resource).collect();
        children.extend(self.written.iter().cloned());
        let rules = &self.own.rules;
        WrittenKinds {
            reconciled,
            writes_status,
            finalizers: rules.names().map(|name| (**name).to_owned()).collect(),
            retired: rules
                .retired_names()
                .map(|name| (**name).to_owned())
                .collect(),
            children,
        }
    }
}
