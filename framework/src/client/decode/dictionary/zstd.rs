use parking_lot::Mutex;
use zstd_safe::{CCtx, CDict, DCtx, DDict, compress_bound, get_error_name, train_from_buffer};

use super::Samples;

/// What many objects of a kind contain, in the form that zstd needs for both ways.
pub(crate) struct Dictionary {
    compressing: CDict<'static>,
    decompressing: DDict<'static>,
}

static COMPRESSORS: Pool<Compressor> = Pool::new();
static DECOMPRESSORS: Pool<DCtx<'static>> = Pool::new();

impl Dictionary {
    /// Bytes of a dictionary. A quarter makes large objects, such as Nodes, almost twice as large. More gains nothing.
    const SIZE: usize = 64 * 1024;

    /// The fastest of zstd's usual levels. The third makes the objects a tenth smaller, and takes half as long again.
    const LEVEL: i32 = 1;

    /// Takes about 40 ms for 128 samples of 2 KB.
    ///
    /// # Errors
    /// zstd's reason, for example that there are too few samples.
    pub(crate) fn train(samples: &Samples) -> Result<Self, &'static str> {
        let mut bytes = Vec::with_capacity(Self::SIZE);
        let (objects, sizes) = samples.parts();
        train_from_buffer(&mut bytes, objects, sizes).map_err(get_error_name)?;
        let dictionaries = CDict::try_create(&bytes, Self::LEVEL).zip(DDict::try_create(&bytes));
        let (compressing, decompressing) = dictionaries.ok_or(NO_MEMORY)?;
        Ok(Self {
            compressing,
            decompressing,
        })
    }

    /// The compressed form. `None` if zstd gets no memory.
    pub(crate) fn compress(&self, object: &[u8]) -> Option<Vec<u8>> {
        let compressed = COMPRESSORS.with(Compressor::new, |compressor| {
            let buffer = &mut compressor.buffer;
            buffer.clear();
            buffer.reserve(compress_bound(object.len()));
            let context = &mut compressor.context;
            let result = context.compress_using_cdict(buffer, object, &self.compressing);
            result.is_ok().then(|| buffer.clone())
        });
        compressed.flatten()
    }

    /// The object, which has `len` bytes.
    ///
    /// # Errors
    /// zstd's reason, if `compressed` does not come from this dictionary.
    pub(crate) fn decompress(&self, compressed: &[u8], len: usize) -> Result<Vec<u8>, String> {
        let mut object = Vec::with_capacity(len);
        let result = DECOMPRESSORS.with(DCtx::try_create, |context| {
            context.decompress_using_ddict(&mut object, compressed, &self.decompressing)
        });
        match result.ok_or(NO_MEMORY)? {
            Ok(read) if read == len => Ok(object),
            Ok(_) => Err("the compressed form has another length".to_owned()),
            Err(code) => Err(format!("the compressed form: {}", get_error_name(code))),
        }
    }
}

/// Compresses one object after the other.
struct Compressor {
    context: CCtx<'static>,
    /// The result has its place here before its size is known.
    buffer: Vec<u8>,
}

impl Compressor {
    fn new() -> Option<Self> {
        Some(Self {
            context: CCtx::try_create()?,
            buffer: Vec::new(),
        })
    }
}

const NO_MEMORY: &str = "there is no memory";

/// Contexts of the program that nobody uses at the moment.
struct Pool<T>(Mutex<Vec<T>>);

impl<T> Pool<T> {
    /// No more are kept, however many threads had one at the same time.
    const KEPT: usize = 8;

    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// `None` if there is no memory for a `new` one.
    fn with<R>(
        &self,
        new: impl FnOnce() -> Option<T>,
        function: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let free = self.0.lock().pop();
        let mut context = free.or_else(new)?;
        let result = function(&mut context);
        let mut free = self.0.lock();
        if free.len() < Self::KEPT {
            free.push(context);
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects that repeat each other, and differ in some digits.
    fn trained(word: &str) -> Dictionary {
        let mut samples = Samples::default();
        for number in 0..128 {
            samples.push(object(word, number).as_bytes());
        }
        Dictionary::train(&samples).unwrap()
    }

    fn object(word: &str, number: usize) -> String {
        let field = |field| {
            format!(
                "the {word} number {} of field {field}; ",
                number * 7919 % 1009
            )
        };
        (0..20).map(field).collect()
    }

    #[test]
    fn what_was_compressed_is_the_same_and_smaller() {
        let dictionary = trained("image");
        for number in 1000..1100 {
            let object = object("image", number);
            let compressed = dictionary.compress(object.as_bytes()).unwrap();
            assert!(compressed.len() * 4 < object.len(), "{}", compressed.len());
            let again = dictionary.decompress(&compressed, object.len()).unwrap();
            assert_eq!(again, object.as_bytes());
        }
        // Anything else is larger, and the same.
        for other in [vec![], vec![0; 100_000], (0..=255).collect()] {
            let compressed = dictionary.compress(&other).unwrap();
            assert_eq!(dictionary.decompress(&compressed, other.len()), Ok(other));
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let (dictionary, other) = (trained("image"), trained("colour"));
        let object = object("image", 1000);
        let compressed = dictionary.compress(object.as_bytes()).unwrap();
        let wrong = other.decompress(&compressed, object.len());
        assert_eq!(
            wrong.unwrap_err(),
            "the compressed form: Dictionary mismatch"
        );
        let cut = dictionary.decompress(&compressed[..20], object.len());
        assert_eq!(
            cut.unwrap_err(),
            "the compressed form: Src size is incorrect"
        );
        let short = dictionary.decompress(&compressed, object.len() - 1);
        let short = short.unwrap_err();
        assert_eq!(
            short,
            "the compressed form: Destination buffer is too small"
        );
        let long = dictionary.decompress(&compressed, object.len() + 1);
        let long = long.unwrap_err();
        assert_eq!(long, "the compressed form has another length");
        // The contexts still work.
        let again = dictionary.decompress(&compressed, object.len()).unwrap();
        assert_eq!(again, object.as_bytes());
    }

    #[test]
    fn few_contexts_are_kept_however_many_were_in_use_at_once() {
        fn nested(pool: &Pool<usize>, depth: usize) {
            pool.with(
                || Some(depth),
                |_| {
                    if depth > 0 {
                        nested(pool, depth - 1);
                    }
                },
            );
        }
        let pool = Pool::new();
        nested(&pool, 3 * Pool::<usize>::KEPT);
        assert_eq!(pool.0.lock().len(), Pool::<usize>::KEPT);
    }

    #[test]
    fn too_few_samples_are_an_error() {
        assert!(Dictionary::train(&Samples::default()).is_err());
    }
}
