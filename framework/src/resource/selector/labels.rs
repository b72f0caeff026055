use std::{collections::BTreeMap, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::resource::ObjectMeta;

/// One set of labels, in each of the forms that the Kubernetes types need.
///
/// ```
/// use pilothouse::{k8s::api::core::v1::PodTemplateSpec, resource::Labels};
///
/// let labels = Labels::from([("app", "web")]);
/// let template = PodTemplateSpec { metadata: Some(labels.metadata()), ..Default::default() };
/// assert_eq!(labels.selector().match_labels, template.metadata.unwrap().labels);
/// assert_eq!(labels.to_string(), "app=web");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    labels: BTreeMap<String, String>,
}

impl Labels {
    /// The labels as a map, for `metadata.labels`.
    pub fn map(&self) -> BTreeMap<String, String> {
        self.labels.clone()
    }

    /// The labels as metadata that holds nothing else, for a pod template.
    pub fn metadata(&self) -> ObjectMeta {
        ObjectMeta {
            labels: Some(self.map()),
            ..ObjectMeta::default()
        }
    }

    /// A selector of the objects that have all of these labels.
    pub fn selector(&self) -> LabelSelector {
        LabelSelector {
            match_labels: Some(self.map()),
            ..LabelSelector::default()
        }
    }
}

impl<K: Into<String>, V: Into<String>, const N: usize> From<[(K, V); N]> for Labels {
    fn from(labels: [(K, V); N]) -> Self {
        labels.into_iter().collect()
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(labels: I) -> Self {
        let labels = labels
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        Self { labels }
    }
}

/// The syntax of a label selector in a request: `app=web,tier=front`.
impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, value)) in self.labels.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}
