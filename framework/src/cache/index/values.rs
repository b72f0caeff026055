use std::slice;

/// The values of one key. Most keys have one.
#[derive(Clone)]
pub(in crate::cache) enum ValueList<V> {
    None,
    One(V),
    Many(Box<[V]>),
}

impl<V> ValueList<V> {
    /// In the order in which they were given.
    pub(super) fn as_slice(&self) -> &[V] {
        match self {
            Self::None => &[],
            Self::One(value) => slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

impl<V> From<Vec<V>> for ValueList<V> {
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
