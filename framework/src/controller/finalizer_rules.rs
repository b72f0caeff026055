use std::sync::Arc;

use super::{
    error::{Error, Result},
    predicate::Predicate,
};
use crate::resource::{Object, ObjectMeta, check_qualified_name};

/// Which finalizers a controller puts on its objects, and which it takes away.
///
/// It only decides. `finalizers` writes, and `sources` wakes the key when the decision changes.
pub(crate) struct FinalizerRules<K> {
    declared: Vec<DeclaredFinalizer<K>>,
    /// Those of a former version of the program. They are removed.
    retired: Vec<Arc<str>>,
    /// The first invalid name, and what is wrong with it.
    invalid: Option<(Box<str>, &'static str)>,
    /// The controller's predicate. No finalizer is added to an object that it leaves out.
    pub(crate) predicate: Option<Predicate<K>>,
}

struct DeclaredFinalizer<K> {
    name: Arc<str>,
    /// Whether an object needs the finalizer; `None` if every object does.
    condition: Option<Arc<Condition<K>>>,
}

/// Whether an object needs a finalizer.
pub(crate) type Condition<K> = dyn Fn(&K) -> bool + Send + Sync;

impl<K> DeclaredFinalizer<K> {
    fn is_needed(&self, object: &K) -> bool {
        let condition = self.condition.as_ref();
        condition.is_none_or(|condition| condition(object))
    }
}

impl<K: Object> FinalizerRules<K> {
    /// Declares one more finalizer. [`check`](Self::check) reports an invalid name.
    pub(crate) fn declare(&mut self, name: &str, condition: Option<Arc<Condition<K>>>) {
        self.note_problem(name);
        let name = name.into();
        self.declared.push(DeclaredFinalizer { name, condition });
    }

    /// Declares a finalizer that a former version of the program used. [`check`](Self::check) reports an invalid name.
    pub(crate) fn retire(&mut self, name: &str) {
        self.note_problem(name);
        self.retired.push(name.into());
    }

    fn note_problem(&mut self, name: &str) {
        let is_known = self.names().chain(&self.retired).any(|one| **one == *name);
        let problem = match check_qualified_name(name) {
            Err(_) if name.ends_with('/') => Some("must have a name after the `/`"),
            Err(problem) => Some(problem),
            Ok(()) if !name.contains('/') => Some("must have your domain and a `/` before it"),
            Ok(()) if is_known => Some("is declared twice"),
            Ok(()) => None,
        };
        if let Some(problem) = problem {
            self.invalid.get_or_insert((name.into(), problem));
        }
    }

    /// Refuses a name that the API server would refuse, and one that was declared twice. `kind` is the reconciled kind.
    pub(crate) fn check(&self, kind: &str) -> Result<(), Error> {
        match &self.invalid {
            None => Ok(()),
            Some((name, problem)) => Err(Error::FinalizerName {
                name: name.to_string(),
                problem,
                example: format!("example.com/{}", kind.to_lowercase()),
            }),
        }
    }

    /// The declared finalizers, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.declared.iter().map(|one| &one.name)
    }

    /// The finalizers of a former version of the program.
    pub(crate) fn retired_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.retired.iter()
    }

    /// Whether no finalizer is declared that an object may need.
    pub(crate) fn is_empty(&self) -> bool {
        self.declared.is_empty()
    }

    /// Whether the controller never changes the finalizers of an object.
    pub(crate) fn change_nothing(&self) -> bool {
        self.declared.is_empty() && self.retired.is_empty()
    }

    /// The declared finalizers that the object has, in order.
    pub(crate) fn present_on(&self, object: &ObjectMeta) -> Vec<Arc<str>> {
        let present = self.names().filter(|name| has(object, name));
        present.cloned().collect()
    }

    /// The declared finalizers that the object needs and does not have, in order.
    pub(crate) fn missing_on(&self, object: &K) -> Vec<Arc<str>> {
        let absent = |one: &&DeclaredFinalizer<K>| !has(object.metadata(), &one.name);
        let missing = self.declared.iter().filter(absent);
        let missing = missing.filter(|one| one.is_needed(object));
        missing.map(|one| one.name.clone()).collect()
    }

    /// The declared finalizers that the object has and does not need, in order.
    pub(crate) fn unneeded_on(&self, object: &K) -> Vec<Arc<str>> {
        let conditional = self.declared.iter().filter(|one| one.condition.is_some());
        let present = conditional.filter(|one| has(object.metadata(), &one.name));
        let unneeded = present.filter(|one| !one.is_needed(object));
        unneeded.map(|one| one.name.clone()).collect()
    }

    /// Whether a finalizer stays on the object until its detached children are deleted. `left_out` tells whether the predicate
    /// leaves the object out, so that no finalizer is added to it.
    pub(crate) fn guard_children_of(&self, object: &K, left_out: bool) -> bool {
        let metadata = object.metadata();
        let guards = |one: &DeclaredFinalizer<K>| match object.is_deleting() {
            // While it is being deleted the conditions are not asked.
            true => has(metadata, &one.name),
            false => one.is_needed(object) && (!left_out || has(metadata, &one.name)),
        };
        self.declared.iter().any(guards)
    }

    /// Whether the object has a finalizer of a former version.
    pub(crate) fn has_retired(&self, object: &ObjectMeta) -> bool {
        self.retired.iter().any(|name| has(object, name))
    }

    pub(crate) fn is_retired(&self, name: &str) -> bool {
        self.retired.iter().any(|retired| **retired == *name)
    }

    /// Whether the object is being deleted and has a declared finalizer.
    pub(crate) fn hold_back_deletion_of(&self, object: &ObjectMeta) -> bool {
        object.deletion_timestamp.is_some() && self.names().any(|name| has(object, name))
    }

    /// Whether a finalizer with a condition has to be added or removed because of the change from `old` to `new`. A
    /// finalizer that already had to be before is left to the reconcile that the earlier change led to.
    pub(crate) fn change_between(&self, old: &K, new: &K) -> bool {
        let is_wrong = |one: &DeclaredFinalizer<K>, object: &K| {
            one.is_needed(object) != has(object.metadata(), &one.name)
        };
        let mut conditional = self.declared.iter().filter(|one| one.condition.is_some());
        conditional.any(|one| is_wrong(one, new) && !is_wrong(one, old))
    }

    /// Whether a finalizer depends on a condition.
    pub(crate) fn have_conditions(&self) -> bool {
        self.declared.iter().any(|one| one.condition.is_some())
    }
}

fn has(object: &ObjectMeta, finalizer: &str) -> bool {
    let present = object.finalizers.as_deref().unwrap_or_default();
    present.iter().any(|one| one == finalizer)
}

impl<K> Clone for FinalizerRules<K> {
    fn clone(&self) -> Self {
        let declared = self.declared.iter().map(|one| DeclaredFinalizer {
            name: one.name.clone(),
            condition: one.condition.clone(),
        });
        Self {
            declared: declared.collect(),
            retired: self.retired.clone(),
            invalid: self.invalid.clone(),
            predicate: self.predicate.clone(),
        }
    }
}

impl<K> Default for FinalizerRules<K> {
    fn default() -> Self {
        Self {
            declared: Vec::new(),
            retired: Vec::new(),
            invalid: None,
            predicate: None,
        }
    }
}
