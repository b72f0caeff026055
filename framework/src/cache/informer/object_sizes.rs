use serde::Serialize;
use tokio::time::{Duration, Instant};

use crate::{
    cache::{Entry, Snapshot},
    metrics::GaugeShare,
    resource::Object,
};

/// Returns the size of an object in bytes.
pub(in crate::cache) type MeasureFn<K> = fn(&K) -> usize;

/// Reports how large the objects of a cache are. It does not measure each object that arrives, because that would
/// cost a notable part of what decoding costs.
pub(super) struct ObjectSizes<K> {
    measure: MeasureFn<K>,
    share: GaugeShare,
    due: Option<Instant>,
    sample: Sample,
}

/// What a measurement has found.
#[derive(Default)]
struct Sample {
    /// How many objects there were.
    objects: usize,
    measured: usize,
    /// How many bytes the measured ones have.
    bytes: usize,
}

impl<K: Object> ObjectSizes<K> {
    /// At most this many objects are measured; if there are more, each measured one stands for several.
    const SAMPLE: usize = 200;
    const PERIOD: Duration = Duration::from_secs(60);

    pub(super) fn new(measure: MeasureFn<K>, share: GaugeShare) -> Self {
        Self {
            measure,
            share,
            due: None,
            sample: Sample::default(),
        }
    }

    /// Reports a change. Measures again if the last measurement is old, or if there are half as many objects more than
    /// then, or less than half as many. Until then objects count with their mean size.
    pub(super) fn changed(&mut self, present: &Snapshot<K>) {
        let now = Instant::now();
        let (count, before) = (present.len(), self.sample.objects);
        let differs = count > before + before / 2 || count < before / 2;
        if differs || self.due.is_none_or(|due| due <= now) {
            self.due = Some(now + Self::PERIOD);
            self.sample = self.measured(present);
        }
        self.share.set(self.sample.size_of(count));
    }

    fn measured(&self, present: &Snapshot<K>) -> Sample {
        let objects = present.len();
        let step = objects.div_ceil(Self::SAMPLE).max(1);
        let sizes = present.iter().step_by(step);
        let sizes = sizes.map(|(_, entry)| self.size_of(entry));
        let (measured, bytes) = sizes.fold((0, 0), |(count, sum), size| (count + 1, sum + size));
        Sample {
            objects,
            measured,
            bytes,
        }
    }

    fn size_of(&self, entry: &Entry<K>) -> usize {
        let packed = entry.packed_size();
        let measured = || entry.last_object().map(|object| (self.measure)(&object));
        packed.or_else(measured).unwrap_or_default()
    }
}

impl Sample {
    /// The size of so many objects.
    fn size_of(&self, objects: usize) -> usize {
        match self.measured {
            0 => 0,
            measured => self.bytes.saturating_mul(objects) / measured,
        }
    }
}

/// The size of an object as JSON, in bytes.
pub(in crate::cache) fn json_size<K: Serialize>(object: &K) -> usize {
    // Few objects are measured. A writer that only counts would compile the serialization of each type once more into
    // each program.
    let mut json = Vec::new();
    // If an object cannot be serialized, the part before the error counts.
    _ = serde_json::to_writer(&mut json, object);
    json.len()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;
    use prometheus::IntGauge;

    use super::*;
    use crate::{
        cache::{
            Store,
            fake::{object, undecodable},
        },
        resource::ObjectKey,
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
        let mut sizes = ObjectSizes::new(json_size::<ConfigMap>, GaugeShare::of(&gauge));
        let mut store = Store::new();
        let exact: usize = (0..200).map(|number| put(&mut store, number)).sum();
        sizes.changed(store.working());
        assert_eq!(gauge.get(), exact as i64);
        // Not each batch causes a measurement: the new object counts with the mean size.
        let before = (exact * 201 / 200) as i64;
        let exact = exact + put(&mut store, 200);
        sizes.changed(store.working());
        assert_eq!(gauge.get(), before);
        tokio::time::advance(ObjectSizes::<ConfigMap>::PERIOD).await;
        sizes.changed(store.working());
        assert_ne!(gauge.get(), before);
        // Many more objects, of another size, and then few.
        let large = (201..5000).map(|number| put(&mut store, 7 * number + 6));
        let exact = exact + large.sum::<usize>();
        sizes.changed(store.working());
        let ratio = gauge.get() as f64 / exact as f64;
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
        for number in 201..5000 {
            store.remove(&ObjectKey::namespaced(
                "default",
                &format!("o{}", 7 * number + 6),
            ));
        }
        sizes.changed(store.working());
        assert!(gauge.get() < 201 * 1000, "{}", gauge.get());
    }

    #[test]
    fn an_empty_cache_and_objects_that_never_decoded_have_size_zero() {
        let gauge = IntGauge::new("bytes", "Bytes").unwrap();
        let share = GaugeShare::of(&gauge);
        share.set(7);
        let mut sizes = ObjectSizes::new(json_size::<ConfigMap>, share);
        let mut store = Store::new();
        sizes.changed(store.working());
        assert_eq!(gauge.get(), 0);
        store.insert_undecodable(Arc::new(undecodable("default", "bad", "u", 1)), None);
        sizes.changed(store.working());
        assert_eq!(gauge.get(), 0);
    }
}
