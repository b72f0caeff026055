use super::Samples;

/// A build without the feature `zstd` has no dictionaries, so this type has no values.
pub(crate) enum Dictionary {}

impl Dictionary {
    /// # Errors
    /// Always.
    pub(crate) fn train(_: &Samples) -> Result<Self, &'static str> {
        Err("this build has no zstd")
    }

    /// Is never called.
    pub(crate) fn compress(&self, _: &[u8]) -> Option<Vec<u8>> {
        match *self {}
    }

    /// Is never called.
    pub(crate) fn decompress(&self, _: &[u8], _: usize) -> Result<Vec<u8>, String> {
        match *self {}
    }
}
