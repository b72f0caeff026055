use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::client::{Dictionary, ObjectBytes, Samples};

/// Compresses the objects of one cache on their way in, with a dictionary that is trained while the cache runs.
///
/// The objects of a small cache stay as they came. When the cache is larger, the next objects are samples: the dictionary is
/// trained from them, and they stay as they came, too. When the dictionary makes newer objects less small than the first ones, there
/// is a new training. Objects keep the dictionary with which they were compressed.
pub(super) struct Compression(Mutex<CompressionState>);

struct CompressionState {
    dictionary: Option<Arc<Dictionary>>,
    /// Objects for the next training, if there will be one.
    samples: Option<Samples>,
    /// All dictionaries. Some are not in use any more.
    trained: Vec<Weak<Dictionary>>,
    /// The share of their bytes that the first objects after the training take.
    usual: Option<f64>,
    window: Window,
    /// The number of objects that judge the dictionary. It doubles with each training.
    judges: usize,
}

/// Objects that were compressed one after the other.
#[derive(Default)]
struct Window {
    objects: usize,
    bytes: usize,
    compressed: usize,
}

impl Compression {
    /// Smaller objects stay as they are: they take little more than what a cache stores about each object anyway.
    const SMALLEST: usize = 512;

    /// Larger objects stay as they are: most of one is in one field, such as a file or a certificate.
    const LARGEST: usize = 64 * 1024;

    /// A cache has so many bytes before there are samples. A dictionary and its training take more memory than a small cache.
    const FLOOR: usize = 1024 * 1024;

    /// So many objects are enough for a dictionary. The training takes 50 to 100 ms.
    const SAMPLES: usize = 128;

    /// And so many bytes of them. So the samples of large objects take no more memory, and their training little more time.
    const SAMPLE_BYTES: usize = 1024 * 1024;

    /// The first dictionary is judged by so many objects.
    const JUDGES: usize = 4096;

    /// The dictionary does not fit any more when objects take so many times as much as usual.
    const UNFIT: f64 = 1.5;

    /// Nor does it if objects take this share of their bytes: it may have been trained from unusual ones.
    const POOR: f64 = 0.6;

    /// So many dictionaries may be in use at once. Each takes about 300 KB.
    const MOST: usize = 8;

    pub(super) fn new() -> Self {
        Self::judged_by(Self::JUDGES)
    }

    fn judged_by(judges: usize) -> Self {
        Self(Mutex::new(CompressionState {
            judges,
            dictionary: None,
            samples: Some(Samples::default()),
            trained: Vec::new(),
            usual: None,
            window: Window::default(),
        }))
    }

    /// The object, as the cache stores it, which has so many bytes of objects `stored` now.
    pub(super) fn apply(&self, object: ObjectBytes, stored: usize) -> ObjectBytes {
        if !(Self::SMALLEST..=Self::LARGEST).contains(&object.len()) {
            return object;
        }
        let mut state = self.0.lock();
        if stored >= Self::FLOOR {
            state.sample(&object);
        }
        let size = object.size();
        let object = match state.dictionary.clone() {
            Some(dictionary) => object.compressed(&dictionary),
            None => object,
        };
        state.note(size, object.size());
        object
    }
}

impl CompressionState {
    /// Takes the object as a sample, if samples are needed, and trains a dictionary when there are enough.
    fn sample(&mut self, object: &ObjectBytes) {
        let (Some(samples), Ok(bytes)) = (&mut self.samples, object.object()) else {
            return;
        };
        samples.push(&bytes);
        let is_enough =
            samples.len() >= Compression::SAMPLES || samples.size() >= Compression::SAMPLE_BYTES;
        if !is_enough {
            return;
        }
        match Dictionary::train(samples) {
            Ok(dictionary) => {
                let dictionary = Arc::new(dictionary);
                self.trained.push(Arc::downgrade(&dictionary));
                self.dictionary = Some(dictionary);
                self.usual = None;
            }
            // The objects stay as they are, or with the dictionary that there was.
            Err(reason) => tracing::debug!(reason, "objects of a cache have no dictionary"),
        }
        self.samples = None;
        self.window = Window::default();
        self.judges = self.judges.saturating_mul(2);
    }

    /// Notes that an object of `bytes` is stored as `compressed`. When the objects do not get small enough, samples are taken.
    fn note(&mut self, bytes: usize, compressed: usize) {
        if self.samples.is_some() {
            return;
        }
        self.window.objects += 1;
        self.window.bytes += bytes;
        self.window.compressed += compressed;
        if self.window.objects < self.judges {
            return;
        }
        let window = std::mem::take(&mut self.window);
        let share = window.compressed as f64 / window.bytes as f64;
        let usual = *self.usual.get_or_insert(share);
        self.trained
            .retain(|dictionary| dictionary.strong_count() > 0);
        let may_train = self.trained.len() < Compression::MOST;
        if share > (usual * Compression::UNFIT).min(Compression::POOR) && may_train {
            self.samples = Some(Samples::default());
        }
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use base64::Engine;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    const JUDGES: usize = 32;

    /// An object with 50 fields that are the same in all objects with the same `word`, and one that differs.
    fn object(word: &str, number: usize) -> ObjectBytes {
        let field = |field: usize| {
            let text = |part: usize| {
                let hasher = BuildHasherDefault::<DefaultHasher>::default();
                let hash = hasher.hash_one((word, field, part));
                base64::engine::general_purpose::STANDARD.encode(hash.to_be_bytes())
            };
            let value: String = (1..4).map(text).collect();
            (text(0), value.into())
        };
        let mut data: serde_json::Map<_, _> = (0..50).map(field).collect();
        data.insert("number".to_owned(), number.to_string().into());
        let name = format!("o{number}");
        let object = json!({"metadata": {"name": name, "uid": name}, "data": data});
        ObjectBytes::of_json::<ConfigMap>(&object.to_string())
    }

    /// The share of their bytes that `count` objects take.
    fn share(compression: &Compression, word: &str, count: usize) -> f64 {
        let sizes = (0..count).map(|number| {
            let object = compression.apply(object(word, number), Compression::FLOOR);
            (object.size(), object.len())
        });
        let (sizes, lens) = sizes.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        sizes as f64 / lens as f64
    }

    /// The number of dictionaries that were in use when one was trained or judged last.
    fn in_use(compression: &Compression) -> usize {
        compression.0.lock().trained.len()
    }

    fn dictionary(compression: &Compression) -> Option<Arc<Dictionary>> {
        compression.0.lock().dictionary.clone()
    }

    fn is_same(one: Option<&Arc<Dictionary>>, other: Option<&Arc<Dictionary>>) -> bool {
        one.zip(other)
            .is_some_and(|(one, other)| Arc::ptr_eq(one, other))
    }

    #[test]
    fn the_first_objects_stay_and_the_ones_after_them_are_small() {
        let compression = Compression::new();
        for number in 0..2 * Compression::SAMPLES {
            compression.apply(object("a", number), Compression::FLOOR - 1);
        }
        let plain = share(&compression, "a", Compression::SAMPLES - 1);
        assert_eq!(plain, 1.0);
        let small = share(&compression, "a", 100);
        assert!(small < 0.2, "{small}");
    }

    #[test]
    fn objects_of_unusual_sizes_stay_and_are_no_samples() {
        let compression = Compression::judged_by(JUDGES);
        let sized = |size: usize| {
            let text = "x".repeat(size);
            let object = json!({"metadata": {"name": "o"}, "data": {"text": text}});
            ObjectBytes::of_json::<ConfigMap>(&object.to_string())
        };
        for _ in 0..2 * Compression::SAMPLES {
            for size in [100, Compression::LARGEST] {
                let object = compression.apply(sized(size), Compression::FLOOR);
                assert_eq!(object.size(), object.len());
            }
        }
        assert!(dictionary(&compression).is_none());
    }

    /// Enough objects to judge the dictionary and to train another one.
    fn enough(compression: &Compression) -> usize {
        3 * compression.0.lock().judges + Compression::SAMPLES + 8
    }

    #[test]
    fn objects_of_another_form_lead_to_another_dictionary() {
        let compression = Compression::judged_by(JUDGES);
        share(&compression, "a", enough(&compression));
        let first = dictionary(&compression);
        share(&compression, "a", 2 * enough(&compression));
        assert!(is_same(dictionary(&compression).as_ref(), first.as_ref()));
        let before = share(&compression, "b", JUDGES);
        share(&compression, "b", enough(&compression));
        let second = dictionary(&compression);
        assert!(!is_same(second.as_ref(), first.as_ref()));
        let after = share(&compression, "b", JUDGES);
        assert!(after < before / 2.0, "{after} after {before}");
        // As before, so there is no other training.
        share(&compression, "b", 2 * enough(&compression));
        assert!(is_same(dictionary(&compression).as_ref(), second.as_ref()));
    }

    #[test]
    fn a_dictionary_from_unusual_objects_is_replaced() {
        let compression = Compression::judged_by(JUDGES);
        // Nothing in them repeats, neither in one nor in all of them.
        for number in 0..Compression::SAMPLES {
            share(&compression, &number.to_string(), 1);
        }
        let first = dictionary(&compression);
        assert!(first.is_some());
        for number in 0..enough(&compression) {
            share(&compression, &format!("other-{number}"), 1);
        }
        let second = dictionary(&compression);
        assert!(!is_same(second.as_ref(), first.as_ref()));
    }

    #[test]
    fn large_samples_are_few() {
        let compression = Compression::judged_by(JUDGES);
        let words: Vec<_> = (0..15).map(|word| object(&word.to_string(), 0)).collect();
        let fields: Vec<_> = words.iter().map(|one| one.object().unwrap()).collect();
        let data = fields.iter().map(|one| String::from_utf8_lossy(one));
        let text = data.collect::<String>();
        for number in 0..Compression::SAMPLE_BYTES / text.len() + 2 {
            let object =
                json!({"metadata": {"name": format!("o{number}")}, "data": {"text": text}});
            let object = ObjectBytes::of_json::<ConfigMap>(&object.to_string());
            compression.apply(object, Compression::FLOOR);
        }
        assert!(dictionary(&compression).is_some());
    }

    #[test]
    fn no_more_dictionaries_are_trained_than_allowed_while_all_are_in_use() {
        let compression = Compression::judged_by(1);
        let mut held = Vec::new();
        for round in 0..Compression::MOST + 1 {
            let word = format!("word-{round}");
            for number in 0..enough(&compression) {
                held.push(compression.apply(object(&word, number), Compression::FLOOR));
            }
        }
        assert_eq!(in_use(&compression), Compression::MOST);
        held.clear();
        let last = dictionary(&compression);
        share(&compression, "other", enough(&compression));
        assert!(!is_same(dictionary(&compression).as_ref(), last.as_ref()));
    }
}
