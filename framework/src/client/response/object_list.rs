use crate::resource::{ListMeta, Undecodable};

/// The answer to a list: the decoded objects, and the objects that do not fit the type.
#[derive(Clone, Debug)]
pub struct ObjectList<K> {
    /// The resource version of the collection, and the token of the next page.
    pub metadata: ListMeta,
    /// The objects, in the server's order.
    pub items: Vec<K>,
    /// The objects that exist but could not be decoded.
    pub undecodable: Vec<Undecodable>,
}

impl<K> Default for ObjectList<K> {
    fn default() -> Self {
        Self {
            metadata: ListMeta::default(),
            items: Vec::new(),
            undecodable: Vec::new(),
        }
    }
}

impl<K> ObjectList<K> {
    /// The resource version of the collection. A watch can start from it.
    pub fn resource_version(&self) -> Option<&str> {
        let version = self.metadata.resource_version.as_deref();
        version.filter(|version| !version.is_empty())
    }

    /// The number of objects on later pages. `None` if the server does not tell it, as for lists with selectors.
    pub fn remaining(&self) -> Option<u64> {
        u64::try_from(self.metadata.remaining_item_count?).ok()
    }

    /// The token of the next page; `None` on the last one.
    pub fn continue_token(&self) -> Option<&str> {
        let token = self.metadata.continue_.as_deref();
        token.filter(|token| !token.is_empty())
    }
}

impl<K> IntoIterator for ObjectList<K> {
    type Item = K;
    type IntoIter = std::vec::IntoIter<K>;

    /// Only the objects that could be decoded.
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, K> IntoIterator for &'a ObjectList<K> {
    type Item = &'a K;
    type IntoIter = std::slice::Iter<'a, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}
