use serde::Serialize;

use crate::{
    controller::{ControllerStatus, ObjectReport},
    health::decoded_parameter,
    resource::ObjectKey,
};

/// At most this many objects are found.
const MOST_FOUND: usize = 100;

/// The objects whose key contains a text.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FoundObjects {
    objects: Vec<FoundObject>,
    /// The number of further objects.
    more: usize,
}

#[derive(Debug, Serialize)]
struct FoundObject {
    controller: String,
    key: String,
}

impl FoundObjects {
    /// Searches for the parameter `contains` of the query.
    pub(super) fn of(controllers: &[ControllerStatus], query: Option<&str>) -> Self {
        let text = decoded_parameter(query, "contains").unwrap_or_default();
        let found = controllers.iter().flat_map(|controller| {
            let name = controller.name().to_owned();
            let keys = controller.search(&text).into_iter();
            keys.map(move |key| FoundObject {
                controller: name.clone(),
                key: key.to_string(),
            })
        });
        let mut objects: Vec<_> = found.collect();
        let more = objects.len().saturating_sub(MOST_FOUND);
        objects.truncate(MOST_FOUND);
        Self { objects, more }
    }
}

/// The object that the parameters `controller` and `key` of the query name. The error says what is wrong with them.
pub(super) fn object(
    controllers: &[ControllerStatus],
    query: Option<&str>,
) -> Result<ObjectReport, String> {
    let parameter = |name: &str| {
        let value = decoded_parameter(query, name).filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("the parameter `{name}` is missing: write /debug/object.json?controller=NAME&key=NAMESPACE/NAME"))
    };
    let (name, key) = (parameter("controller")?, parameter("key")?);
    let controller = controllers.iter().find(|one| one.name() == name);
    let controller = controller.ok_or_else(|| {
        let known: Vec<_> = controllers.iter().map(ControllerStatus::name).collect();
        format!(
            "no controller is called {name}: there are {}",
            known.join(", ")
        )
    })?;
    let parts = key.split_once('/');
    let (namespace, object) =
        parts.map_or((None, &*key), |(namespace, name)| (Some(namespace), name));
    let report = controller.object(&ObjectKey::new(namespace, object));
    report.ok_or_else(|| format!("the controller {name} does not run"))
}
