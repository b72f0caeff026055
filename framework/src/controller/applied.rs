use std::{any::TypeId, borrow::Cow};

use crate::{
    client::Kept,
    resource::{ApiResource, ObjectKey},
};

/// A child: the type that it was written as, its group and plural, and its key.
pub(super) type ChildId = (TypeId, Cow<'static, str>, Cow<'static, str>, ObjectKey);

pub(super) fn child_id<C: 'static>(resource: &ApiResource, key: &ObjectKey) -> ChildId {
    let (group, plural) = (resource.group.clone(), resource.plural.clone());
    (TypeId::of::<C>(), group, plural, key.clone())
}

/// What was applied for one object. There is one for each object, and most have a child or two: so it is a sorted list,
/// of which a map's smallest node would be ten times the size.
#[derive(Debug, Default)]
pub(super) struct AppliedChildren(Vec<(ChildId, Applied)>);

/// The last apply of a child.
#[derive(Debug)]
pub(super) struct Applied {
    /// `None` if this process deleted the child since.
    pub(super) written: Option<Written>,
    /// The object in the answer, kept until the cache has it.
    pub(super) answer: Option<Kept>,
    /// The last run that asked for it.
    pub(super) run: u64,
}

/// A body and the resource version it led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) body: u128,
    pub(super) version: String,
}

impl AppliedChildren {
    pub(super) fn get_mut(&mut self, id: &ChildId) -> Option<&mut Applied> {
        let place = self.place(id).ok()?;
        self.0.get_mut(place).map(|(_, applied)| applied)
    }

    pub(super) fn get(&self, id: &ChildId) -> Option<&Applied> {
        let place = self.place(id).ok()?;
        self.0.get(place).map(|(_, applied)| applied)
    }

    pub(super) fn insert(&mut self, id: ChildId, applied: Applied) {
        match self.place(&id) {
            Ok(place) => self.0[place].1 = applied,
            Err(place) => {
                if self.0.is_empty() {
                    self.0.reserve_exact(1);
                }
                self.0.insert(place, (id, applied));
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&Applied) -> bool) {
        self.0.retain(|(_, applied)| keep(applied));
    }

    fn place(&self, id: &ChildId) -> Result<usize, usize> {
        self.0.binary_search_by(|(one, _)| one.cmp(id))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use proptest::prelude::*;

    use super::*;

    /// One of a few children of two types.
    fn id(number: u8) -> ChildId {
        let key = ObjectKey::namespaced("default", &(number / 2).to_string());
        match number % 2 {
            0 => child_id::<ConfigMap>(&ApiResource::of::<ConfigMap>(), &key),
            _ => child_id::<Secret>(&ApiResource::of::<Secret>(), &key),
        }
    }

    fn applied(run: u64) -> Applied {
        let written = Written {
            body: 1,
            version: "1".to_owned(),
        };
        Applied {
            written: Some(written),
            answer: None,
            run,
        }
    }

    proptest! {
        #[test]
        fn it_holds_what_a_map_would(steps in proptest::collection::vec((0..2_u8, 0..12_u8), 0..100)) {
            let mut children = AppliedChildren::default();
            let mut map = std::collections::BTreeMap::new();
            for (run, (step, number)) in steps.into_iter().enumerate() {
                let run = run as u64;
                match step {
                    0 => {
                        children.insert(id(number), applied(run));
                        map.insert(id(number), run);
                    }
                    _ => {
                        children.retain(|one| one.run % 3 != 0);
                        map.retain(|_, run| *run % 3 != 0);
                    }
                }
                for number in 0..12 {
                    let found = children.get_mut(&id(number)).map(|one| one.run);
                    prop_assert_eq!(found, map.get(&id(number)).copied());
                    prop_assert_eq!(children.get(&id(number)).map(|one| one.run), found);
                }
            }
        }
    }
}
