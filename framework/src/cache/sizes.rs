use serde::Serialize;
use tokio::time::{Duration, Instant};

use super::{Entry, Snapshot};
use crate::{metrics::Share, resource::Object};

/// How large an object is.
pub(super) type Measure<K> = fn(&K) -> usize;

/// Tells how large the objects of a cache are, without measuring each that comes: that would cost a part of
/// what decoding does.
pub(super) struct Sizes<K> {
    measure: Measure<K>,
    share: Share,
    due: Option<Instant>,
    /// How many objects there were when they were measured.
    objects: usize,
}

impl<K: Object> Sizes<K> {
    /// So many objects are measured; of more, each stands for several.
    const SAMPLE: usize = 200;
    const PERIOD: Duration = Duration::from_secs(60);

    pub(super) fn new(measure: Measure<K>, share: Share) -> Self {
        Self {
            measure,
            share,
            due: None,
            objects: 0,
        }
    }

    /// Something changed: once in a while, and when there are a tenth more or less, it is measured anew.
    pub(super) fn changed(&mut self, present: &Snapshot<K>) {
        let now = Instant::now();
        let differs = present.len().abs_diff(self.objects) > self.objects / 10;
        if differs || self.due.is_none_or(|due| due <= now) {
            self.due = Some(now + Self::PERIOD);
            self.objects = present.len();
            self.share.set(self.size(present));
        }
    }

    fn size(&self, present: &Snapshot<K>) -> usize {
        let step = present.len().div_ceil(Self::SAMPLE).max(1);
        let sample = present.iter().step_by(step);
        let sizes = sample.map(|(_, entry)| self.size_of(entry));
        let (count, size) = sizes.fold((0, 0), |(count, sum), size| (count + 1, sum + size));
        match count {
            0 => 0,
            count => size * present.len() / count,
        }
    }

    fn size_of(&self, entry: &Entry<K>) -> usize {
        let packed = entry.packed_size();
        let measured = || entry.last_object().map(|object| (self.measure)(&object));
        packed.or_else(measured).unwrap_or_default()
    }
}

/// Bytes of an object as JSON.
pub(super) fn json_size<K: Serialize>(object: &K) -> usize {
    // Few are measured: a writer that only counts would be one more form of each type's writing in each program.
    let mut json = Vec::new();
    // What cannot be written counts as far as it could.
    _ = serde_json::to_writer(&mut json, object);
    json.len()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;
    use prometheus::IntGauge;

    use super::*;
    use crate::cache::{
        Store,
        fake::{object, undecodable},
    };

    fn put(store: &mut Store<ConfigMap>, number: usize) -> usize {
        let mut object = object("default", &format!("o{number}"), "u", 1, &[]);
        let value = "x".repeat(number % 7 * 100);
        object.data = Some([("key".to_owned(), value)].into());
        let size = serde_json::to_string(&object).unwrap().len();
        store.insert(object.key(), Arc::new(object));
        size
    }

    #[tokio::test(start_paused = true)]
    async fn few_objects_are_measured_exactly_and_many_by_a_sample() {
        let gauge = IntGauge::new("bytes", "Bytes").unwrap();
        let mut sizes = Sizes::new(json_size::<ConfigMap>, Share::of(&gauge));
        let mut store = Store::new();
        let exact: usize = (0..200).map(|number| put(&mut store, number)).sum();
        sizes.changed(store.working());
        assert_eq!(gauge.get(), exact as i64);
        // Not each batch costs it.
        let exact = exact + put(&mut store, 200);
        let before = gauge.get();
        sizes.changed(store.working());
        assert_eq!(gauge.get(), before);
        tokio::time::advance(Sizes::<ConfigMap>::PERIOD).await;
        sizes.changed(store.working());
        assert_ne!(gauge.get(), before);
        let exact = exact
            + (201..5000)
                .map(|number| put(&mut store, number))
                .sum::<usize>();
        sizes.changed(store.working());
        let ratio = gauge.get() as f64 / exact as f64;
        assert!((0.8..1.2).contains(&ratio), "{ratio}");
    }

    #[test]
    fn nothing_and_what_never_did_decode_weigh_nothing() {
        let gauge = IntGauge::new("bytes", "Bytes").unwrap();
        let sizes = Sizes::new(json_size::<ConfigMap>, Share::of(&gauge));
        let mut store = Store::new();
        assert_eq!(sizes.size(store.working()), 0);
        store.insert_undecodable(Arc::new(undecodable("default", "bad", "u", 1)), None);
        assert_eq!(sizes.size(store.working()), 0);
    }
}
