use std::collections::BTreeSet;

use super::{AdmissionRule, ValidationAction, rule::KnownKind};
use crate::{resource::dns, webhook::Operation};

impl AdmissionRule {
    /// What is wrong with the rule, as far as the program knows without its expressions, and what to do.
    ///
    /// # Errors
    /// The problem.
    pub(crate) fn check_settings(&self) -> Result<(), String> {
        if let Err(rule) = dns::check_label(&self.name) {
            return Err(format!("its name {rule}"));
        }
        if !self.validates() && !self.mutates() {
            return Err(
                "it does nothing: add what has to hold with `check`, or a default with `apply`"
                    .into(),
            );
        }
        if self.operations.is_empty() {
            return Err("it has no operations: name at least one in `operations`".into());
        }
        if self.subresources.is_empty() {
            return Err(
                "it is for no subresource and not for the object: name one in `subresources`, or \"\" for the object".into(),
            );
        }
        self.check_defaults()?;
        self.check_actions()?;
        if let Some(check) = self.checks.iter().find(|one| is_blank(&one.message.text)) {
            let expression = &check.expression.text;
            return Err(format!(
                "the check `{expression}` has no message: say what has to hold"
            ));
        }
        self.check_params()
    }

    fn check_defaults(&self) -> Result<(), String> {
        let others = [Operation::Delete, Operation::Connect];
        let other = others.iter().find(|one| self.operations.contains(one));
        if self.mutates()
            && let Some(other) = other
        {
            return Err(format!(
                "a default has no object in the operation {other}: remove it from `operations`, or make two rules"
            ));
        }
        if self.reinvokes && !self.mutates() {
            return Err("`reinvoke` is for defaults, and it has none: remove it".into());
        }
        Ok(())
    }

    fn check_actions(&self) -> Result<(), String> {
        let is_default = self.actions == BTreeSet::from([ValidationAction::Deny]);
        if self.actions.is_empty() {
            return Err("it has no actions: name at least one in `actions`".into());
        }
        if self.checks.is_empty() && !is_default {
            return Err("`actions` are for checks, and it has none: remove them".into());
        }
        match self.actions.contains(&ValidationAction::Deny) && self.actions.contains(&ValidationAction::Warn) {
            true => Err("it denies and warns: the message of a denial has the same text, so name only one of both in `actions`".into()),
            false => Ok(()),
        }
    }

    fn check_params(&self) -> Result<(), String> {
        let Some((KnownKind { resource, .. }, params)) = &self.params else {
            return Ok(());
        };
        let kind = &resource.kind;
        match (resource.namespaced, &params.namespace) {
            (false, Some(namespace)) => Err(format!(
                "its parameters are in the namespace `{namespace}`, but {kind} objects are in no namespace: remove `in_namespace`"
            )),
            (true, None) if !self.kind.resource.namespaced => Err(format!(
                "its parameters are {kind} objects in the namespace of the object, but a {} is in no namespace: name one with \
                 `Params::in_namespace`",
                self.kind.resource.kind
            )),
            (true, Some(namespace)) => dns::check_label(namespace)
                .map_err(|rule| format!("the namespace `{namespace}` of its parameters {rule}")),
            _ => Ok(()),
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
