/// Copies of objects, one after the other, from which a [`Dictionary`](super::Dictionary) is trained.
#[derive(Default)]
pub(crate) struct Samples {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
}

impl Samples {
    pub(crate) fn push(&mut self, object: &[u8]) {
        self.bytes.extend_from_slice(object);
        self.sizes.push(object.len());
    }

    /// The number of objects.
    pub(crate) fn len(&self) -> usize {
        self.sizes.len()
    }

    /// The bytes of all of them.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    #[cfg(feature = "zstd")]
    pub(super) fn parts(&self) -> (&[u8], &[usize]) {
        (&self.bytes, &self.sizes)
    }
}
