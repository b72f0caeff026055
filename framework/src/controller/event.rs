use super::Context;
use crate::{
    events::Event,
    resource::{ApiResource, ObjectRef, Resource},
};

impl<K: Resource> Context<K> {
    /// Records that `event` happened to the reconciled object, in the name of `<operator>/<controller>`.
    ///
    /// It never waits and never fails: see [`events`](crate::events) for what becomes of it. A write that matters
    /// comes first, then the event that tells of it.
    ///
    /// ```no_run
    /// # use pilothouse::{controller::{Context, Result}, events::Event, k8s::api::core::v1::ConfigMap};
    /// # async fn example(cx: &Context<ConfigMap>, child: ConfigMap) -> Result<()> {
    /// let child = cx.apply(child).await?;
    /// cx.event(Event::normal("Applied", "Apply").note("the page is up to date").related(&child));
    /// # Ok(()) }
    /// ```
    pub fn event(&self, event: Event) {
        let events = &self.shared.events;
        match &self.object {
            Some(object) => events.event(&**object, event),
            None => {
                let gone = ObjectRef::new(ApiResource::of::<K>(), self.key.clone());
                events.event_on(&gone, event);
            }
        }
    }
}
