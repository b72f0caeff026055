use std::{any::TypeId, borrow::Cow};

use crate::{
    client::EncodedObject,
    resource::{ApiResource, ObjectKey},
};

/// Identifies a child: the Rust type that it was written as, its group and plural, and its key.
pub(crate) type ChildId = (TypeId, Cow<'static, str>, Cow<'static, str>, ObjectKey);

pub(crate) fn child_id<C: 'static>(resource: &ApiResource, key: &ObjectKey) -> ChildId {
    let (group, plural) = (resource.group.clone(), resource.plural.clone());
    (TypeId::of::<C>(), group, plural, key.clone())
}

/// The last apply of each child of one object.
///
/// There is one value per object, and most objects have one or two children. So this is a sorted list: the smallest node of
/// a map would be ten times as large.
#[derive(Debug, Default)]
pub(crate) struct AppliedChildren(Vec<(ChildId, Applied)>);

/// The last apply of a child.
#[derive(Debug)]
pub(crate) struct Applied {
    /// `None` if this process deleted the child afterwards.
    pub(crate) written: Option<Written>,
    /// The object in the answer. It is kept until the cache has it.
    pub(crate) answer: Option<EncodedObject>,
    /// The last run that applied the child.
    pub(crate) run: u64,
}

/// The fingerprint of a body, and the resource version that the write led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) body: u128,
    pub(crate) version: String,
}

impl AppliedChildren {
    pub(crate) fn get_mut(&mut self, id: &ChildId) -> Option<&mut Applied> {
        let place = self.place(id).ok()?;
        self.0.get_mut(place).map(|(_, applied)| applied)
    }

    pub(crate) fn get(&self, id: &ChildId) -> Option<&Applied> {
        let place = self.place(id).ok()?;
        self.0.get(place).map(|(_, applied)| applied)
    }

    pub(crate) fn insert(&mut self, id: ChildId, applied: Applied) {
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
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&Applied) -> bool) {
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

    /// The id of one of a few children of two types.
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
        fn the_list_holds_what_a_map_would_hold(steps in proptest::collection::vec((0..2_u8, 0..12_u8), 0..100)) {
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
