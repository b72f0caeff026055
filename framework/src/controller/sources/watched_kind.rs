use serde::{Serialize, de::DeserializeOwned};

use super::{
    described::described,
    enqueuer::Enqueuer,
    filter::{passes, priority, shown},
    kind::{Kind, KindWiring},
    mapping::Mapping,
    wiring::Connection,
};
use crate::{
    cache::Event,
    controller::{
        cause::Cause,
        environment::Environment,
        predicate::{Predicate, Versions},
        reconcilable::Reconcilable,
        wired::Role,
    },
    resource::Object,
};

/// A kind whose objects lead to reconciled objects by a mapping.
pub(super) struct WatchedKind<C> {
    pub(super) kind: Kind<C>,
    pub(super) mapping: Mapping<C>,
    pub(super) predicate: Option<Predicate<C>>,
}

impl<C> KindWiring for WatchedKind<C>
where
    C: Object + Serialize + DeserializeOwned,
{
    type Object = C;
    const ROLE: Role = Role::Watched;

    fn kind(&self) -> &Kind<C> {
        &self.kind
    }

    fn connect<K: Reconcilable>(
        self,
        environment: &Environment,
        enqueuer: &Enqueuer<K>,
    ) -> Connection {
        let queue = enqueuer.clone();
        let Self {
            kind,
            mapping,
            predicate,
        } = self;
        let resource = kind.resource.clone();
        let name = resource.kind.clone();
        let reads =
            mapping.reads_objects() || predicate.as_ref().is_some_and(Predicate::reads_objects);
        let kind = kind.reading_objects(reads);
        kind.listen(environment, enqueuer, move |event: &Event<C>, origin| {
            let is_undecodable = event.undecodable().is_some();
            for change in Versions::of(event).changes() {
                if is_undecodable || passes(&queue, predicate.as_ref(), &change) {
                    let shown = shown(&resource, &change).filter(|_| !is_undecodable);
                    for key in mapping.keys(&name, &queue, &change) {
                        let what = || described(&name, &change);
                        queue.enqueue_for(key, priority(origin), Cause::Watched, shown, what);
                    }
                }
            }
        })
    }
}
