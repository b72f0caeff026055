use std::borrow::Cow;

/// What a cache needs of an object before somebody reads it. Slices lie in the bytes of the object.
#[derive(Default)]
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(crate) struct ObjectOutline<'de> {
    /// `None` if the object has no metadata.
    pub(crate) metadata: Option<&'de [u8]>,
    pub(crate) name: Option<Cow<'de, str>>,
    pub(crate) namespace: Option<Cow<'de, str>>,
    pub(crate) uid: Option<Cow<'de, str>>,
    pub(crate) resource_version: Option<Cow<'de, str>>,
    pub(crate) labels: Option<&'de [u8]>,
    pub(crate) owner_references: Option<&'de [u8]>,
    pub(crate) managed_fields: Option<&'de [u8]>,
    pub(crate) is_deleting: bool,
}
