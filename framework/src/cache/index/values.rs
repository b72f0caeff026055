use std::slice;

/// What a key bears. Most bear one value.
#[derive(Clone)]
pub(in crate::cache) enum Values<V> {
    None,
    One(V),
    Many(Box<[V]>),
}

impl<V> Values<V> {
    /// In the order in which they were given.
    pub(in crate::cache) fn as_slice(&self) -> &[V] {
        match self {
            Self::None => &[],
            Self::One(value) => slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

impl<V> From<Vec<V>> for Values<V> {
    fn from(mut values: Vec<V>) -> Self {
        match (values.len(), values.pop()) {
            (_, None) => Self::None,
            (1, Some(value)) => Self::One(value),
            (_, Some(last)) => {
                values.push(last);
                Self::Many(values.into())
            }
        }
    }
}
